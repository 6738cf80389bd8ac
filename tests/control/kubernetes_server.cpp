#include "tests/control/kubernetes_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "runtime/base/error.h"

namespace shardlab::testing_ {
namespace {

constexpr char kToken[] = "the-account's-token";

// A certificate for 127.0.0.1 that signs itself, as files of the context and of the account.
void make_certificate(SSL_CTX* context, const std::filesystem::path& ca_file) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("stand-in"), -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  X509_EXTENSION* names = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
  X509_add_ext(certificate, names, -1);
  X509_EXTENSION_free(names);
  X509_sign(certificate, key, EVP_sha256());
  SSL_CTX_use_certificate(context, certificate);
  SSL_CTX_use_PrivateKey(context, key);
  std::FILE* file = std::fopen(ca_file.c_str(), "w");
  PEM_write_X509(file, certificate);
  std::fclose(file);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

}  // namespace

KubernetesServer::KubernetesServer() {
  std::ofstream(folder_ / "token") << kToken << "\n";
  std::ofstream(folder_ / "namespace") << "training";
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  context_ = context;
  make_certificate(context, folder_ / "ca.crt");
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener_, 16) != 0) throw IoError("no port");
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  thread_ = std::jthread([this] { serve(); });
}

KubernetesServer::~KubernetesServer() {
  shutdown(listener_, SHUT_RDWR);
  thread_.join();
  close(listener_);
  SSL_CTX_free(static_cast<SSL_CTX*>(context_));
}

void KubernetesServer::put(const std::string& path, std::string json) {
  std::lock_guard lock(mutex_);
  objects_[path] = std::move(json);
}
void KubernetesServer::forbid(const std::string& part) {
  std::lock_guard lock(mutex_);
  forbidden_.push_back(part);
}
std::vector<std::string> KubernetesServer::requests() const {
  std::lock_guard lock(mutex_);
  return requests_;
}
void KubernetesServer::talk_nonsense() {
  std::lock_guard lock(mutex_);
  nonsense_ = true;
}

void KubernetesServer::serve() {
  while (true) {
    int connection = accept(listener_, nullptr, nullptr);
    if (connection < 0) return;
    SSL* ssl = SSL_new(static_cast<SSL_CTX*>(context_));
    SSL_set_fd(ssl, connection);
    if (SSL_accept(ssl) == 1) {
      std::string request;
      char bytes[4096];
      int n;
      while (request.find("\r\n\r\n") == std::string::npos && (n = SSL_read(ssl, bytes, sizeof bytes)) > 0)
        request.append(bytes, std::size_t(n));
      std::string text = answer(request);
      SSL_write(ssl, text.data(), int(text.size()));
      SSL_shutdown(ssl);
    }
    SSL_free(ssl);
    close(connection);
  }
}

std::string KubernetesServer::answer(const std::string& request) {
  std::lock_guard lock(mutex_);
  if (nonsense_) return "220 mail.example.org ESMTP\r\n";
  auto reply = [](const char* status, const std::string& body) {
    return fmt::format("HTTP/1.0 {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}", status, body.size(), body);
  };
  std::size_t from = request.find(' ') + 1;
  std::string path = request.substr(from, request.find(' ', from) - from);
  requests_.push_back(path);
  if (request.find(fmt::format("\r\nAuthorization: Bearer {}\r\n", kToken)) == std::string::npos)
    return reply("401 Unauthorized", R"({"kind": "Status", "code": 401})");
  for (const std::string& part : forbidden_)
    if (path.find(part) != std::string::npos) return reply("403 Forbidden", R"({"kind": "Status", "code": 403})");
  auto found = objects_.find(path);
  return found == objects_.end() ? reply("404 Not Found", R"({"kind": "Status", "code": 404})") : reply("200 OK", found->second);
}

}  // namespace shardlab::testing_
