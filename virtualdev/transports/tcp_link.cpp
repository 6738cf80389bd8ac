#include "virtualdev/transports/tcp_link.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace shardlab {
namespace {

constexpr std::size_t kPartsMax = 64;  // of one call to the kernel

void set_option(int socket, int level, int option, int value) { setsockopt(socket, level, option, &value, sizeof value); }

class TcpLink final : public ByteLink {
 public:
  TcpLink(int socket, std::chrono::milliseconds silence) : socket_(socket) {
    fcntl(socket, F_SETFL, O_NONBLOCK);
    set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    // An idle connection is asked for a sign of life; an unanswered question and unacknowledged data end it after `silence`.
    int seconds = std::max(int(silence.count() / 1000), 1), probes = 3;
    set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, std::max(seconds / (probes + 1), 1));
    set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, std::max(seconds / (probes + 1), 1));
    set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, probes);
    set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, int(silence.count()));
  }
  ~TcpLink() override { close(socket_); }

  std::size_t write(std::span<const std::span<const std::byte>> parts) override {
    std::array<iovec, kPartsMax> vectors;
    std::size_t count = 0;
    for (std::span<const std::byte> part : parts) {
      if (part.empty()) continue;
      if (count == kPartsMax) break;
      vectors[count++] = {const_cast<std::byte*>(part.data()), part.size()};
    }
    if (count == 0 || broken_) return 0;
    msghdr message{};
    message.msg_iov = vectors.data();
    message.msg_iovlen = count;
    ssize_t n;
    do n = sendmsg(socket_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return taken(n);
  }

  std::size_t read(std::span<std::byte> into) override {
    if (into.empty() || ended_) return 0;
    ssize_t n;
    do n = recv(socket_, into.data(), into.size(), MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n == 0) {
      ended_ = true;
      if (!broken_) broken_ = "the other side closed it";
    }
    return taken(n);
  }

  int fd() const override { return socket_; }
  std::optional<std::string> broken() const override { return broken_; }

 private:
  std::size_t taken(ssize_t n) {
    if (n >= 0) return std::size_t(n);
    if (errno != EAGAIN && errno != EWOULDBLOCK) {
      broken_ = std::strerror(errno);
      ended_ = ended_ || errno != EPIPE;  // what had arrived before can still be read
    }
    return 0;
  }

  int socket_;
  bool ended_ = false;
  std::optional<std::string> broken_;
};

}  // namespace

std::unique_ptr<ByteLink> make_tcp_link(int socket, std::chrono::milliseconds silence) {
  return std::make_unique<TcpLink>(socket, silence);
}

}  // namespace shardlab
