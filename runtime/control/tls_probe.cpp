#include "runtime/control/tls_probe.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/control/free_handles.h"
#include "runtime/control/network.h"

namespace shardlab::control {
namespace {

constexpr unsigned char kHttp2[] = {2, 'h', '2'};

// Writing to a connection that the other side has closed is an error of that call, not the end of the process.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    timespec at_once{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_, before_;
  bool was_pending_ = false;
};

class Socket {
 public:
  Socket(const std::string& address, std::chrono::milliseconds limit) {
    auto [host, port] = split_address(address, "the coordinator's address");
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (error != 0) {
      why = gai_strerror(error);
      return;
    }
    std::unique_ptr<addrinfo, Free> addresses(found);
    timeval time{limit.count() / 1000, (limit.count() % 1000) * 1000};
    for (const addrinfo* each = found; each && fd < 0; each = each->ai_next) {
      fd = socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (fd < 0) continue;
      setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
      setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
      if (connect(fd, each->ai_addr, each->ai_addrlen) == 0) return;
      why = std::strerror(errno == EINPROGRESS ? ETIMEDOUT : errno);
      close(fd);
      fd = -1;
    }
  }
  ~Socket() {
    if (fd >= 0) close(fd);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int fd = -1;
  std::string why;
};

std::string name_text(const X509_NAME* name) {
  char text[256];
  return X509_NAME_oneline(name, text, sizeof text) ? text : "";
}

// The names and addresses that a certificate is for.
std::string names_of(X509* certificate) {
  std::unique_ptr<GENERAL_NAMES, Free> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> texts;
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) {
      texts.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)));
    } else if (name->type == GEN_IPADD) {
      char text[INET6_ADDRSTRLEN] = {};
      inet_ntop(ASN1_STRING_length(name->d.iPAddress) == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(name->d.iPAddress), text,
                sizeof text);
      texts.emplace_back(text);
    }
  }
  return texts.empty() ? "nobody (it has no subjectAltName)" : fmt::format("{}", fmt::join(texts, ", "));
}

// What OpenSSL says of a certificate that it does not take, in our words.
std::string explain(long error, X509* certificate, const std::string& name, const TlsOptions& options) {
  std::string subject = certificate ? name_text(X509_get_subject_name(certificate)) : "";
  switch (error) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return fmt::format(
          "its certificate is for another host: wanted {}, got {}. Have one made whose subjectAltName has the host of the coordinator's "
          "address, or give the address by a name that it has",
          name, certificate ? names_of(certificate) : "none");
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return fmt::format("its certificate {} has expired. Have a new one made for the host that runs the coordinator", subject);
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return fmt::format("its certificate {} is not good yet: are the clocks of both hosts right?", subject);
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return fmt::format(
          "its certificate {} was signed by an authority that is unknown here: wanted one of {} '{}', got {}. Is this the coordinator of "
          "this job, and do all hosts have the same authority?",
          subject, kTlsCaVariable, options.ca, certificate ? name_text(X509_get_issuer_name(certificate)) : "none");
    default:
      return fmt::format("its certificate {} is not trusted: {}", subject, X509_verify_cert_error_string(error));
  }
}

// What is seen in a handshake, for the message: OpenSSL forgets it.
struct Seen {
  std::unique_ptr<X509, Free> refused;  // the certificate that is not taken
  bool asked = false;                   // for a certificate of ours
};

int keep_certificate(int good, X509_STORE_CTX* store) {
  auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  X509* certificate = X509_STORE_CTX_get0_cert(store);
  if (!good && certificate && X509_up_ref(certificate)) static_cast<Seen*>(SSL_get_app_data(ssl))->refused.reset(certificate);
  return good;
}

int note_asked(SSL* ssl, void*) {
  static_cast<Seen*>(SSL_get_app_data(ssl))->asked = true;
  return 1;
}

// After the handshake or in it: why the other side ended it.
std::string explain_alert(unsigned long code, bool asked, const TlsOptions& options) {
  const char* reason = ERR_reason_error_string(code);
  std::string text = reason ? reason : code ? fmt::format("error {:#x}", code) : "it closed the connection";
  int number = ERR_GET_REASON(code);
  if (number == SSL_R_WRONG_VERSION_NUMBER || number == SSL_R_PACKET_LENGTH_TOO_LONG || number == SSL_R_HTTP_REQUEST ||
      (code == 0 && !asked))
    return fmt::format(
        "it does not speak TLS ({}), and this process was asked to ({}): set the certificate and the key where the coordinator is started, "
        "too, or TLS nowhere",
        text, kTlsCaVariable);
  // gRPC's server only closes the connection where it wants another certificate.
  bool certificate = asked || text.find("certificate") != std::string::npos || text.find("unknown ca") != std::string::npos;
  if (certificate && !options.mutual)
    return fmt::format(
        "it wants a certificate of this process, too, and got none ({}): mutual TLS is on there. Set {}=1 with {} and {} here", text,
        kTlsMutualVariable, kTlsCertificateVariable, kTlsKeyVariable);
  if (certificate)
    return fmt::format("it does not take this process's certificate '{}' ({}): is it signed by the authority that the coordinator knows?",
                       options.certificate, text);
  return text;
}

}  // namespace

TlsFinding probe_tls(const std::string& address, const std::string& name, const TlsOptions& options, std::chrono::milliseconds limit) {
  check_tls(options, TlsSide::kProcess);
  NoPipeSignal no_signal;
  Socket socket(address, limit);
  if (socket.fd < 0) return {TlsVerdict::kUnreachable, socket.why};
  std::unique_ptr<SSL_CTX, Free> context(SSL_CTX_new(TLS_client_method()));
  if (!context) throw TransportError("no TLS here");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, keep_certificate);
  SSL_CTX_load_verify_locations(context.get(), options.ca.c_str(), nullptr);
  if (options.mutual) {
    SSL_CTX_use_certificate_chain_file(context.get(), options.certificate.c_str());
    SSL_CTX_use_PrivateKey_file(context.get(), options.key.c_str(), SSL_FILETYPE_PEM);
  }
  SSL_CTX_set_cert_cb(context.get(), note_asked, nullptr);
  Seen seen;
  std::unique_ptr<SSL, Free> ssl(SSL_new(context.get()));
  SSL_set_app_data(ssl.get(), &seen);
  SSL_set_alpn_protos(ssl.get(), kHttp2, sizeof kHttp2);
  in6_addr ignored;
  bool numeric = inet_pton(AF_INET, name.c_str(), &ignored) == 1 || inet_pton(AF_INET6, name.c_str(), &ignored) == 1;
  if (numeric) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), name.c_str());
  } else {
    SSL_set1_host(ssl.get(), name.c_str());
    SSL_set_tlsext_host_name(ssl.get(), name.c_str());
  }
  SSL_set_fd(ssl.get(), socket.fd);
  ERR_clear_error();
  errno = 0;
  bool shaken = SSL_connect(ssl.get()) == 1;
  char byte = 0;
  // Who wants a certificate says so after the handshake; who wants none begins to speak HTTP/2.
  if (shaken && SSL_read(ssl.get(), &byte, 1) == 1) return {};
  unsigned long code = ERR_peek_last_error();
  if (!shaken && (errno == EAGAIN || errno == ETIMEDOUT)) return {TlsVerdict::kUnreachable, "it does not answer"};
  if (shaken && code == 0 && errno == EAGAIN) return {};
  long verdict = SSL_get_verify_result(ssl.get());
  ERR_clear_error();
  if (verdict != X509_V_OK) return {TlsVerdict::kRefused, explain(verdict, seen.refused.get(), name, options)};
  return {TlsVerdict::kRefused, explain_alert(code, seen.asked, options)};
}

bool speaks_tls(const std::string& address, std::chrono::milliseconds limit) {
  NoPipeSignal no_signal;
  Socket socket(address, limit);
  if (socket.fd < 0) return false;
  std::unique_ptr<SSL_CTX, Free> context(SSL_CTX_new(TLS_client_method()));
  std::unique_ptr<SSL, Free> ssl(context ? SSL_new(context.get()) : nullptr);
  if (!ssl) return false;
  SSL_set_alpn_protos(ssl.get(), kHttp2, sizeof kHttp2);
  SSL_set_fd(ssl.get(), socket.fd);
  bool shaken = SSL_connect(ssl.get()) == 1;
  ERR_clear_error();
  return shaken;
}

}  // namespace shardlab::control
