#include "runtime/control/https_client.h"

#include <fmt/format.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/control/free_handles.h"

namespace shardlab::control {
namespace {

constexpr std::size_t kAnswerBytesMax = std::size_t(16) << 20;

// The place of a request, for messages.
std::string url_of(const HttpsRequest& request) { return fmt::format("https://{}:{}{}", request.host, request.port, request.path); }

[[noreturn]] void fail(const HttpsRequest& request, const std::string& why) {
  throw TransportError(fmt::format("{}: {}", url_of(request), why));
}

std::string last_ssl_error() {
  char text[256];
  unsigned long code = ERR_get_error();
  if (code == 0) return errno != 0 ? std::strerror(errno) : "the connection was closed";
  ERR_error_string_n(code, text, sizeof text);
  return text;
}

class Connection {
 public:
  explicit Connection(const HttpsRequest& request) {
    connect_socket(request);
    context_.reset(SSL_CTX_new(TLS_client_method()));
    if (!context_) fail(request, last_ssl_error());
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    if (SSL_CTX_load_verify_locations(context_.get(), request.ca_file.c_str(), nullptr) != 1)
      fail(request, fmt::format("the certificate authority in {} cannot be read: {}", request.ca_file, last_ssl_error()));
    ssl_.reset(SSL_new(context_.get()));
    X509_VERIFY_PARAM* wanted = SSL_get0_param(ssl_.get());
    in6_addr ignored;
    bool numeric = inet_pton(AF_INET, request.host.c_str(), &ignored) == 1 || inet_pton(AF_INET6, request.host.c_str(), &ignored) == 1;
    if (numeric) {
      X509_VERIFY_PARAM_set1_ip_asc(wanted, request.host.c_str());
    } else {
      X509_VERIFY_PARAM_set1_host(wanted, request.host.c_str(), 0);
      SSL_set_tlsext_host_name(ssl_.get(), request.host.c_str());
    }
    SSL_set_fd(ssl_.get(), socket_);
    if (SSL_connect(ssl_.get()) != 1) {
      long verdict = SSL_get_verify_result(ssl_.get());
      fail(request, verdict != X509_V_OK ? fmt::format("its certificate is not trusted: {}", X509_verify_cert_error_string(verdict))
                                         : last_ssl_error());
    }
  }
  ~Connection() {
    ssl_.reset();
    if (socket_ >= 0) close(socket_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool send(std::string_view text) { return SSL_write(ssl_.get(), text.data(), int(text.size())) == int(text.size()); }
  std::string receive_all() {
    std::string text;
    char bytes[16384];
    int n;
    while (text.size() < kAnswerBytesMax && (n = SSL_read(ssl_.get(), bytes, sizeof bytes)) > 0) text.append(bytes, std::size_t(n));
    return text;
  }

 private:
  void connect_socket(const HttpsRequest& request) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    int error = getaddrinfo(request.host.c_str(), std::to_string(request.port).c_str(), &hints, &found);
    if (error != 0) fail(request, gai_strerror(error));
    std::unique_ptr<addrinfo, Free> addresses(found);
    timeval limit{request.limit.count() / 1000, (request.limit.count() % 1000) * 1000};
    std::string why;
    for (const addrinfo* each = found; each; each = each->ai_next) {
      int fd = socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (fd < 0) continue;
      setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
      setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      if (connect(fd, each->ai_addr, each->ai_addrlen) == 0) {
        socket_ = fd;
        return;
      }
      why = std::strerror(errno == EINPROGRESS ? ETIMEDOUT : errno);
      close(fd);
    }
    fail(request, why);
  }

  int socket_ = -1;
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> ssl_;
};

}  // namespace

HttpResponse https_get(const HttpsRequest& request) {
  Connection connection(request);
  // HTTP/1.0: the answer ends where the connection does, and comes in one piece.
  std::string text = fmt::format("GET {} HTTP/1.0\r\nHost: {}\r\nAccept: application/json\r\n", request.path, request.host);
  if (!request.bearer_token.empty()) text += fmt::format("Authorization: Bearer {}\r\n", request.bearer_token);
  if (!connection.send(text + "\r\n")) fail(request, last_ssl_error());
  std::string answer = connection.receive_all();
  HttpResponse response;
  std::size_t space = answer.find(' '), end = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.") || space == std::string::npos || end == std::string::npos ||
      std::from_chars(answer.data() + space + 1, answer.data() + end, response.status).ec != std::errc())
    fail(request, "what it answers is not HTTP");
  response.body = answer.substr(end + 4);
  return response;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (unsigned char c : text) {
    if (std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == '~')
      result += char(c);
    else
      result += fmt::format("%{:02X}", c);
  }
  return result;
}

}  // namespace shardlab::control
