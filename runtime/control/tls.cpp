#include "runtime/control/tls.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "runtime/base/error.h"
#include "runtime/control/cluster.h"
#include "runtime/control/free_handles.h"

namespace shardlab::control {
namespace {

using Certificate = std::unique_ptr<X509, Free>;

// One of the files: what it is, where the user named it, and its content.
struct File {
  const char* what;
  const char* variable;
  const std::string& path;

  std::string place() const { return fmt::format("the {} of TLS ({}), '{}',", what, variable, path); }
  std::string read() const {
    std::ifstream file(path);
    if (!file)
      throw_user_error("{} cannot be read: {}. It must be a PEM file that this process may read, on each host that needs it", place(),
                       std::strerror(errno));
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

File certificate_of(const TlsOptions& options) { return {"certificate", kTlsCertificateVariable, options.certificate}; }
File key_of(const TlsOptions& options) { return {"key", kTlsKeyVariable, options.key}; }
File ca_of(const TlsOptions& options) { return {"certificate authority", kTlsCaVariable, options.ca}; }

std::string time_text(const ASN1_TIME* time) {
  std::unique_ptr<BIO, Free> bio(BIO_new(BIO_s_mem()));
  ASN1_TIME_print(bio.get(), time);
  char* text = nullptr;
  long size = BIO_get_mem_data(bio.get(), &text);
  return {text, std::size_t(size)};
}

Certificate read_certificate(const File& file) {
  std::string pem = file.read();
  std::unique_ptr<BIO, Free> bio(BIO_new_mem_buf(pem.data(), int(pem.size())));
  Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (!certificate)
    throw_user_error("{} holds no certificate: wanted a PEM file with a block that begins with -----BEGIN CERTIFICATE-----", file.place());
  if (X509_cmp_current_time(X509_get0_notAfter(certificate.get())) < 0)
    throw_user_error("{} has expired: it was good until {}. Have a new one made", file.place(),
                     time_text(X509_get0_notAfter(certificate.get())));
  if (X509_cmp_current_time(X509_get0_notBefore(certificate.get())) > 0)
    throw_user_error("{} is not good before {}: is this host's clock right?", file.place(),
                     time_text(X509_get0_notBefore(certificate.get())));
  return certificate;
}

void check_pair(const TlsOptions& options) {
  Certificate certificate = read_certificate(certificate_of(options));
  std::string pem = key_of(options).read();
  std::unique_ptr<BIO, Free> bio(BIO_new_mem_buf(pem.data(), int(pem.size())));
  std::unique_ptr<EVP_PKEY, Free> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, const_cast<char*>("")));
  ERR_clear_error();
  if (!key) throw_user_error("{} holds no private key without a password, in PEM", key_of(options).place());
  bool fits = X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (!fits)
    throw_user_error("{} is not that of the certificate '{}': both must have been made together", key_of(options).place(),
                     options.certificate);
}

[[noreturn]] void throw_missing(const char* what, const char* variable, std::string_view who) {
  throw_user_error("TLS is on, but {} has no {}: set {} to a PEM file (docs/launching.md)", who, what, variable);
}

}  // namespace

TlsOptions complete_tls(TlsOptions said) {
  auto complete = [](std::string& value, const char* name) {
    if (value.empty()) value = variable(name);
  };
  complete(said.certificate, kTlsCertificateVariable);
  complete(said.key, kTlsKeyVariable);
  complete(said.ca, kTlsCaVariable);
  std::string mutual = variable(kTlsMutualVariable);
  if (!mutual.empty() && mutual != "0" && mutual != "1") throw_user_error("{} must be 0 or 1; got '{}'", kTlsMutualVariable, mutual);
  said.mutual = said.mutual || mutual == "1";
  return said;
}

void check_tls(const TlsOptions& options, TlsSide side) {
  if (!options.on()) return;
  bool coordinator = side == TlsSide::kCoordinator;
  std::string_view who = coordinator ? "the coordinator, which process 0 or the launcher starts," : "this process";
  bool has_pair = !options.certificate.empty() || !options.key.empty();
  if (coordinator || options.mutual || has_pair) {
    if (options.certificate.empty()) throw_missing("certificate", kTlsCertificateVariable, who);
    if (options.key.empty()) throw_missing("key", kTlsKeyVariable, who);
    check_pair(options);
  }
  if (!coordinator || options.mutual) {
    if (options.ca.empty()) throw_missing("certificate authority", kTlsCaVariable, who);
    read_certificate(ca_of(options));
  }
}

std::shared_ptr<grpc::ServerCredentials> server_credentials(const TlsOptions& options) {
  if (!options.on()) return grpc::InsecureServerCredentials();
  check_tls(options, TlsSide::kCoordinator);
  grpc::SslServerCredentialsOptions ssl(options.mutual ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                                       : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  ssl.pem_key_cert_pairs.push_back({key_of(options).read(), certificate_of(options).read()});
  if (options.mutual) ssl.pem_root_certs = ca_of(options).read();
  return grpc::SslServerCredentials(ssl);
}

std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const TlsOptions& options) {
  if (!options.on()) return grpc::InsecureChannelCredentials();
  check_tls(options, TlsSide::kProcess);
  grpc::SslCredentialsOptions ssl;
  ssl.pem_root_certs = ca_of(options).read();
  if (options.mutual) {
    ssl.pem_private_key = key_of(options).read();
    ssl.pem_cert_chain = certificate_of(options).read();
  }
  return grpc::SslCredentials(ssl);
}

}  // namespace shardlab::control
