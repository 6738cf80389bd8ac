#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include <fmt/ranges.h>

#include "runtime/base/error.h"
#include "virtualdev/transports/connect.h"
#include "virtualdev/transports/handshake.h"
#include "virtualdev/transports/tcp_link.h"
#include "virtualdev/transports/tls_link.h"

namespace shardlab {
namespace {

using comm::now_ns;
using comm::Ns;
using comm::ProcessIndex;

constexpr std::size_t kStrangersMax = 64;          // connections that have not proved themselves; the oldest goes first
constexpr Ns kStrangerNs = Ns(5) * 1'000'000'000;  // how long each may take

class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Addresses resolve(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) throw TransportError(fmt::format("'{}' port {} is no address: {}", host, port, gai_strerror(error)));
  return Addresses(found);
}

Socket listen_at(const std::string& host) {
  Addresses addresses = resolve(host, "0");
  Socket listener(socket(addresses->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (listener.get() < 0 || bind(listener.get(), addresses->ai_addr, addresses->ai_addrlen) != 0 || listen(listener.get(), 256) != 0)
    throw TransportError(fmt::format("the transport tcp cannot listen at {}: {}", host, std::strerror(errno)));
  return listener;
}

int port_of(const Socket& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

// Waits until the socket is ready; false when the time is over.
bool wait_for(int fd, short events, Ns end_ns) {
  while (true) {
    Ns left = end_ns - now_ns();
    if (left <= 0) return false;
    pollfd polled{fd, events, 0};
    int count = poll(&polled, 1, int(std::min<Ns>((left + 999'999) / 1'000'000, 60'000)));
    if (count > 0) return true;
    if (count < 0 && errno != EINTR) return false;
  }
}

bool send_all(int fd, const void* data, std::size_t size, Ns end_ns) {
  for (std::size_t at = 0; at < size;) {
    ssize_t n = send(fd, static_cast<const char*>(data) + at, size - at, MSG_NOSIGNAL);
    if (n > 0)
      at += std::size_t(n);
    else if (errno != EAGAIN && errno != EINTR)
      return false;
    else if (!wait_for(fd, POLLOUT, end_ns))
      return false;
  }
  return true;
}

bool receive_all(int fd, void* data, std::size_t size, Ns end_ns) {
  for (std::size_t at = 0; at < size;) {
    ssize_t n = recv(fd, static_cast<char*>(data) + at, size - at, 0);
    if (n > 0)
      at += std::size_t(n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
      return false;
    else if (!wait_for(fd, POLLIN, end_ns))
      return false;
  }
  return true;
}

// A connection to a listening process that has proved itself; nothing where another try may help.
Socket try_connect(const TransportOptions& options, ProcessIndex peer, const std::string& host, const std::string& port, Ns end_ns,
                   std::string& why) {
  Addresses addresses = resolve(host, port);
  Socket link(socket(addresses->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (link.get() < 0) throw TransportError(fmt::format("no socket: {}", std::strerror(errno)));
  int error = connect(link.get(), addresses->ai_addr, addresses->ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    socklen_t size = sizeof error;
    if (!wait_for(link.get(), POLLOUT, end_ns))
      error = ETIMEDOUT;
    else
      getsockopt(link.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0) {
    why = std::strerror(error);
    return Socket();
  }
  Greeting greeting{.from = options.process_index, .to = peer, .nonce = random_nonce()};
  Answer answer;
  if (!send_all(link.get(), &greeting, sizeof greeting, end_ns) || !receive_all(link.get(), &answer, sizeof answer, end_ns)) {
    why = "it does not answer the greeting";
    return Socket();
  }
  if (!equal(answer.mac, answer_to(greeting, answer.nonce, options.secret).mac))
    throw TransportError(
        fmt::format("process {} finds at {}:{}, where process {} should listen, somebody who does not know this job's token",
                    options.process_index, host, port, peer));
  Proof proof = proof_of(greeting, answer.nonce, options.secret);
  if (!send_all(link.get(), &proof, sizeof proof, end_ns)) {
    why = "it closed the connection";
    return Socket();
  }
  return link;
}

Socket connect_to(const TransportOptions& options, ProcessIndex peer, const std::string& address, Ns end_ns) {
  std::size_t colon = address.rfind(':');
  SL_CHECK(colon != std::string::npos, "process {} listens at '{}'", peer, address);
  std::string host = address.substr(0, colon), port = address.substr(colon + 1), why;
  constexpr int kBetweenMs = 50;
  do {
    if (Socket link = try_connect(options, peer, host, port, end_ns, why); link.get() >= 0) return link;
    poll(nullptr, 0, kBetweenMs);  // nobody tells when a connection would succeed
  } while (now_ns() < end_ns);
  throw TransportError(fmt::format("process {} cannot connect to process {} at {}: {}; can the hosts reach each other there?",
                                   options.process_index, peer, address, why));
}

// Of a socket on which both sides have proved themselves; encrypted, they shake hands once more.
std::unique_ptr<ByteLink> make_link(const TransportOptions& options, Socket socket, TlsRole role) {
  return options.encrypted ? make_tls_link(socket.release(), role, options.secret, options.limit, options.link)
                           : make_tcp_link(socket.release(), options.link);
}

// A connection that was accepted and has not proved itself.
struct Stranger {
  Socket socket;
  Ns end_ns = 0;
  Greeting greeting;
  Nonce nonce{};
  Proof proof;
  std::size_t bytes = 0;  // of the greeting, then of the proof
};

class Reception {
 public:
  Reception(const TransportOptions& options, const Socket& listener, std::set<ProcessIndex> expected)
      : options_(options), listener_(listener), expected_(std::move(expected)) {}

  // Until all that are expected have come.
  void run(Links& links, Ns end_ns) {
    while (!expected_.empty()) {
      std::vector<pollfd> polled{{listener_.get(), POLLIN, 0}};
      Ns next = end_ns;
      for (const Stranger& each : strangers_) {
        polled.push_back({each.socket.get(), POLLIN, 0});
        next = std::min(next, each.end_ns);
      }
      if (now_ns() >= end_ns)
        throw TransportError(fmt::format("process {}: no connection from processes {} came within {} ms", options_.process_index,
                                         fmt::join(expected_, ", "), options_.limit.count()));
      poll(polled.data(), polled.size(), int(std::max<Ns>((next - now_ns() + 999'999) / 1'000'000, 0)));
      accept_all();
      for (auto each = strangers_.begin(); each != strangers_.end();)
        each = hear(*each, links) && now_ns() < each->end_ns ? std::next(each) : strangers_.erase(each);
    }
  }

 private:
  void accept_all() {
    while (true) {
      Socket socket(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (socket.get() < 0) return;
      if (strangers_.size() == kStrangersMax) strangers_.erase(strangers_.begin());
      strangers_.push_back({std::move(socket), now_ns() + kStrangerNs, {}, random_nonce(), {}, 0});
    }
  }

  // False when it is done with, for good or ill.
  bool hear(Stranger& stranger, Links& links) {
    while (stranger.bytes < sizeof(Greeting) + sizeof(Proof)) {
      bool greeted = stranger.bytes >= sizeof(Greeting);
      std::size_t at = greeted ? stranger.bytes - sizeof(Greeting) : stranger.bytes;
      char* into = greeted ? reinterpret_cast<char*>(&stranger.proof) : reinterpret_cast<char*>(&stranger.greeting);
      ssize_t n = recv(stranger.socket.get(), into + at, (greeted ? sizeof(Proof) : sizeof(Greeting)) - at, 0);
      if (n <= 0) return n < 0 && (errno == EAGAIN || errno == EINTR);
      stranger.bytes += std::size_t(n);
      if (stranger.bytes == sizeof(Greeting) && !welcome(stranger)) return false;
    }
    if (equal(stranger.proof.mac, proof_of(stranger.greeting, stranger.nonce, options_.secret).mac)) {
      expected_.erase(stranger.greeting.from);
      links.to[std::size_t(stranger.greeting.from)] = make_link(options_, std::move(stranger.socket), TlsRole::kAccepts);
    }
    return false;
  }

  bool welcome(const Stranger& stranger) {
    if (stranger.greeting.magic != Greeting().magic || stranger.greeting.to != options_.process_index ||
        !expected_.contains(stranger.greeting.from))
      return false;
    Answer answer = answer_to(stranger.greeting, stranger.nonce, options_.secret);
    // A fresh connection has room for so little; one that has not is no process of ours.
    return send(stranger.socket.get(), &answer, sizeof answer, MSG_NOSIGNAL) == ssize_t(sizeof answer);
  }

  const TransportOptions& options_;
  const Socket& listener_;
  std::set<ProcessIndex> expected_;
  std::vector<Stranger> strangers_;
};

std::string key_of(ProcessIndex process) { return fmt::format("shardlab/tcp/{}", process); }

}  // namespace

void connect_by_tcp(const TransportOptions& options, const std::vector<ProcessIndex>& peers, Links& links) {
  if (peers.empty()) return;
  SL_CHECK(options.rendezvous != nullptr, "the transport tcp needs a rendezvous");
  Ns end_ns = now_ns() + Ns(options.limit.count()) * 1'000'000;
  Socket listener = listen_at(options.bind_address);
  options.rendezvous->set(key_of(options.process_index), fmt::format("{}:{}", options.bind_address, port_of(listener)));
  std::set<ProcessIndex> expected;
  for (ProcessIndex peer : peers) {
    if (peer > options.process_index) {
      expected.insert(peer);
      continue;
    }
    std::string address = options.rendezvous->get(key_of(peer), options.limit);
    links.to[std::size_t(peer)] = make_link(options, connect_to(options, peer, address, end_ns), TlsRole::kConnects);
  }
  Reception(options, listener, std::move(expected)).run(links, end_ns);
}

}  // namespace shardlab
