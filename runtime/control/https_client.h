// Just enough of an HTTP client for the Kubernetes API: GET over TLS, with a bearer token and a certificate authority of one's own.
#pragma once

#include <chrono>
#include <string>

namespace shardlab::control {

struct HttpsRequest {
  std::string host;
  int port = 443;
  std::string path;          // "/api/v1/…", escaped
  std::string bearer_token;  // empty: none
  std::string ca_file;       // PEM: whom to trust; the server's certificate must name `host`
  std::chrono::milliseconds limit{10'000};
};

struct HttpResponse {
  int status = 0;
  std::string body;
};

// Throws TransportError that says what did not work: the name, the connection, the certificate, or what was answered.
HttpResponse https_get(const HttpsRequest&);

// For a query: what is no letter, digit, '-', '_', '.' or '~' as %XX.
std::string escaped(const std::string& text);

}  // namespace shardlab::control
