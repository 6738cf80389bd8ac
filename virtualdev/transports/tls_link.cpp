#include "virtualdev/transports/tls_link.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "runtime/base/error.h"
#include "runtime/base/sha256.h"
#include "runtime/comm/launch.h"
#include "virtualdev/transports/tcp_link.h"

namespace shardlab {
namespace {

constexpr char kIdentity[] = "shardlab";
constexpr std::size_t kRecordBytes = 16384;                  // of plain text, the most that one record of TLS holds
constexpr unsigned char kAes128GcmSha256[2] = {0x13, 0x01};  // the suite that goes with a key whose hash is SHA-256

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

std::string last_ssl_error() {
  unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code != 0 && ERR_reason_error_string(code)) return ERR_reason_error_string(code);
  return errno != 0 ? std::strerror(errno) : "the other side closed it";
}

// The secret as the session that TLS resumes.
SSL_SESSION* session_of(SSL* ssl, const std::string& secret) {
  const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl, kAes128GcmSha256);
  auto key = sha256("shardlab link " + secret);
  SSL_SESSION* session = SSL_SESSION_new();
  bool good = session && cipher && SSL_SESSION_set1_master_key(session, reinterpret_cast<const unsigned char*>(key.data()), key.size()) &&
              SSL_SESSION_set_cipher(session, cipher) && SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION);
  if (good) return session;
  SSL_SESSION_free(session);
  return nullptr;
}

// A socket for TLS that raises no SIGPIPE; its number is the BIO's data.
int send_some(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  ssize_t n = send(int(reinterpret_cast<std::intptr_t>(BIO_get_data(bio))), data, std::size_t(size), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return int(n);
}

int receive_some(BIO* bio, char* data, int size) {
  BIO_clear_retry_flags(bio);
  ssize_t n = recv(int(reinterpret_cast<std::intptr_t>(BIO_get_data(bio))), data, std::size_t(size), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return int(n);
}

long control_socket(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO* make_bio(int socket) {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "shardlab socket");
    BIO_meth_set_write(made, send_some);
    BIO_meth_set_read(made, receive_some);
    BIO_meth_set_ctrl(made, control_socket);
    return made;
  }();
  BIO* bio = BIO_new(method);
  if (!bio) return nullptr;
  BIO_set_data(bio, reinterpret_cast<void*>(std::intptr_t(socket)));
  BIO_set_init(bio, 1);
  return bio;
}

const std::string& secret_of(SSL* ssl) { return *static_cast<const std::string*>(SSL_get_app_data(ssl)); }

int use_session(SSL* ssl, const EVP_MD*, const unsigned char** identity, std::size_t* size, SSL_SESSION** session) {
  *session = session_of(ssl, secret_of(ssl));
  *identity = reinterpret_cast<const unsigned char*>(kIdentity);
  *size = sizeof kIdentity - 1;
  return *session != nullptr;
}

int find_session(SSL* ssl, const unsigned char* identity, std::size_t size, SSL_SESSION** session) {
  bool ours = std::string_view(reinterpret_cast<const char*>(identity), size) == kIdentity;
  *session = ours ? session_of(ssl, secret_of(ssl)) : nullptr;
  return 1;
}

class TlsLink final : public ByteLink {
 public:
  TlsLink(std::unique_ptr<ByteLink> tcp, TlsRole role, std::string secret)
      : tcp_(std::move(tcp)), secret_(std::move(secret)), context_(SSL_CTX_new(TLS_method())) {
    bool good = context_ && SSL_CTX_set_min_proto_version(context_.get(), TLS1_3_VERSION) &&
                SSL_CTX_set_ciphersuites(context_.get(), "TLS_AES_128_GCM_SHA256") && SSL_CTX_set_num_tickets(context_.get(), 0);
    if (good) {
      SSL_CTX_set_mode(context_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
      SSL_CTX_set_psk_use_session_callback(context_.get(), use_session);
      SSL_CTX_set_psk_find_session_callback(context_.get(), find_session);
      ssl_.reset(SSL_new(context_.get()));
    }
    BIO* bio = ssl_ ? make_bio(tcp_->fd()) : nullptr;
    if (!bio) throw TransportError(fmt::format("no TLS: {}", last_ssl_error()));
    SSL_set_bio(ssl_.get(), bio, bio);
    SSL_set_app_data(ssl_.get(), &secret_);
    role == TlsRole::kConnects ? SSL_set_connect_state(ssl_.get()) : SSL_set_accept_state(ssl_.get());
  }

  void shake_hands(std::chrono::milliseconds limit) {
    comm::Ns end_ns = comm::now_ns() + std::chrono::nanoseconds(limit).count();
    while (true) {
      ERR_clear_error();
      errno = 0;
      int done = SSL_do_handshake(ssl_.get());
      if (done == 1) return;
      int wanted = SSL_get_error(ssl_.get(), done);
      if (wanted != SSL_ERROR_WANT_READ && wanted != SSL_ERROR_WANT_WRITE)
        throw TransportError(fmt::format("TLS with another process of the job failed: {}", last_ssl_error()));
      int left_ms = int((end_ns - comm::now_ns()) / 1'000'000);
      pollfd polled{tcp_->fd(), short(wanted == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT), 0};
      if (left_ms <= 0 || (poll(&polled, 1, left_ms) < 0 && errno != EINTR))
        throw TransportError(fmt::format("TLS with another process of the job was not ready within {} ms", limit.count()));
    }
  }

  // Parts go together into records: a header does not cost one of its own. Where a record did not go out whole, the same bytes come again,
  // because they were not counted as written.
  std::size_t write(std::span<const std::span<const std::byte>> parts) override {
    std::size_t written = 0, part = 0, at = 0;
    while (!broken_) {
      std::size_t size = 0;
      std::array<std::byte, kRecordBytes> gathered;
      std::size_t next_part = part, next_at = at;
      while (next_part < parts.size() && size < kRecordBytes) {
        std::span<const std::byte> rest = parts[next_part].subspan(next_at);
        std::size_t taken = std::min(rest.size(), kRecordBytes - size);
        if (taken > 0) std::memcpy(gathered.data() + size, rest.data(), taken);
        size += taken;
        next_at += taken;
        if (next_at == parts[next_part].size()) {
          ++next_part;
          next_at = 0;
        }
      }
      if (size == 0 || !move([&](std::size_t* moved) { return SSL_write_ex(ssl_.get(), gathered.data(), size, moved); }, size)) break;
      written += size;
      part = next_part;
      at = next_at;
    }
    return written;
  }

  // Until `into` is full or the socket is empty: poll() knows nothing of what is decrypted already.
  std::size_t read(std::span<std::byte> into) override {
    std::size_t taken = 0;
    while (taken < into.size() && !ended_) {
      std::size_t moved = 0;
      ERR_clear_error();
      errno = 0;
      int done = SSL_read_ex(ssl_.get(), into.data() + taken, into.size() - taken, &moved);
      taken += moved;
      if (done == 1) continue;
      note_error(done);
      break;
    }
    return taken;
  }

  int fd() const override { return tcp_->fd(); }
  std::optional<std::string> broken() const override { return broken_; }

 private:
  // A record goes whole or not at all.
  template <typename Write>
  bool move(const Write& write, std::size_t size) {
    std::size_t moved = 0;
    ERR_clear_error();
    errno = 0;
    int done = write(&moved);
    if (done != 1) note_error(done);
    SL_CHECK(done != 1 || moved == size, "a record of {} bytes went as {}", size, moved);
    return done == 1;
  }
  void note_error(int done) {
    int error = SSL_get_error(ssl_.get(), done);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return;
    ended_ = true;
    if (!broken_) broken_ = error == SSL_ERROR_ZERO_RETURN ? "the other side closed it" : last_ssl_error();
  }

  std::unique_ptr<ByteLink> tcp_;  // owns the socket and its options
  const std::string secret_;
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> ssl_;
  bool ended_ = false;
  std::optional<std::string> broken_;
};

}  // namespace

std::unique_ptr<ByteLink> make_tls_link(int socket, TlsRole role, const std::string& secret, std::chrono::milliseconds limit,
                                        std::chrono::milliseconds silence) {
  auto link = std::make_unique<TlsLink>(make_tcp_link(socket, silence), role, secret);
  link->shake_hands(limit);
  return link;
}

}  // namespace shardlab
