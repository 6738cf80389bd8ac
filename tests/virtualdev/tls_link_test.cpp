// The encrypted link: what travels is not what is said, and both sides must know the secret.
#include "virtualdev/transports/tls_link.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/error.h"

namespace shardlab {
namespace {

using namespace std::chrono_literals;

// Two sockets with somebody between them who hears everything, and may change it.
class Wire {
 public:
  Wire() {
    int left[2], right[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, left), 0);
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, right), 0);
    ends_ = {left[0], right[0]};
    middle_ = {left[1], right[1]};
    listener_ = std::jthread([this] { listen(); });
  }
  int connecting() const { return ends_[0]; }  // whoever takes an end closes it
  int accepting() const { return ends_[1]; }
  // From now on a bit of what goes to the accepting side is another.
  void spoil() { spoiled_ = true; }
  std::string heard() {
    listener_.join();
    return heard_;
  }

 private:
  void listen() {
    std::array<bool, 2> open{true, true};
    while (open[0] && open[1]) {
      std::array<pollfd, 2> polled{pollfd{middle_[0], POLLIN, 0}, pollfd{middle_[1], POLLIN, 0}};
      poll(polled.data(), polled.size(), -1);
      for (std::size_t side = 0; side < 2; ++side) {
        if (polled[side].revents == 0) continue;
        char bytes[65536];
        ssize_t n = recv(middle_[side], bytes, sizeof bytes, 0);
        if (n <= 0) {
          open[side] = false;
          continue;
        }
        if (side == 0 && spoiled_) bytes[n / 2] = char(bytes[n / 2] ^ 1);
        heard_.append(bytes, std::size_t(n));
        for (ssize_t at = 0, m = 0; at < n && (m = send(middle_[1 - side], bytes + at, std::size_t(n - at), MSG_NOSIGNAL)) > 0;) at += m;
      }
    }
    for (int fd : middle_) close(fd);
  }

  std::array<int, 2> ends_, middle_;
  std::string heard_;
  std::atomic<bool> spoiled_ = false;
  std::jthread listener_;
};

struct Links {
  std::unique_ptr<ByteLink> connecting, accepting;
  std::string errors;  // of both sides
};

Links connect(const Wire& wire, const std::string& secret, const std::string& other) {
  Links links;
  auto make = [&](int socket, TlsRole role, const std::string& known) -> std::pair<std::unique_ptr<ByteLink>, std::string> {
    try {
      return {make_tls_link(socket, role, known, 5s, 10s), ""};
    } catch (const TransportError& error) { return {nullptr, error.what()}; }
  };
  auto accepted = std::async(std::launch::async, make, wire.accepting(), TlsRole::kAccepts, other);
  std::string first, second;
  std::tie(links.connecting, first) = make(wire.connecting(), TlsRole::kConnects, secret);
  std::tie(links.accepting, second) = accepted.get();
  links.errors = first + second;
  return links;
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// Sends the parts as one stream; what arrived at the other side.
std::string carry(ByteLink& from, ByteLink& to, std::vector<std::string> parts) {
  std::string whole, got;
  for (const std::string& part : parts) whole += part;
  std::size_t sent = 0;
  std::vector<std::byte> into(whole.size());
  std::size_t have = 0;
  for (int idle = 0; have < whole.size() && idle < 5000; ++idle) {
    std::vector<std::span<const std::byte>> rest;
    std::size_t skip = sent;
    for (const std::string& part : parts) {
      std::size_t skipped = std::min(skip, part.size());
      rest.push_back(bytes_of(part).subspan(skipped));
      skip -= skipped;
    }
    std::size_t wrote = from.write(rest), read = to.read(std::span(into).subspan(have));
    sent += wrote;
    have += read;
    if (wrote + read > 0) idle = 0;
    if (wrote + read == 0) std::this_thread::sleep_for(1ms);
    if (to.broken()) break;
  }
  got.assign(reinterpret_cast<const char*>(into.data()), have);
  return got;
}

TEST(TlsLink, WhatIsSaidIsNotHeardByOthers) {
  Wire wire;
  Links links = connect(wire, "secret", "secret");
  ASSERT_TRUE(links.connecting && links.accepting) << links.errors;
  std::string text = "the weights of the first layer", large(3'000'017, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = char(i * 7 + i / 251);
  EXPECT_EQ(carry(*links.connecting, *links.accepting, {text, "", text}), text + text);
  EXPECT_EQ(carry(*links.accepting, *links.connecting, {text, large}), text + large);
  EXPECT_EQ(carry(*links.connecting, *links.accepting, {large, text, large}), large + text + large);
  links = {};
  std::string heard = wire.heard();
  EXPECT_GT(heard.size(), 3 * large.size());
  EXPECT_EQ(heard.find(text), std::string::npos);
  EXPECT_EQ(heard.find(large.substr(1000, 30)), std::string::npos);
  EXPECT_EQ(heard.find("secret"), std::string::npos);
}

TEST(TlsLink, AnotherSecretIsRefusedOnBothSides) {
  Wire wire;
  Links links = connect(wire, "secret", "another");
  EXPECT_FALSE(links.connecting || links.accepting);
  EXPECT_NE(links.errors.find("TLS with another process of the job failed"), std::string::npos) << links.errors;
}

TEST(TlsLink, WhatWasChangedOnTheWayIsNotTaken) {
  Wire wire;
  Links links = connect(wire, "secret", "secret");
  ASSERT_TRUE(links.connecting && links.accepting) << links.errors;
  EXPECT_EQ(carry(*links.connecting, *links.accepting, {"right"}), "right");
  wire.spoil();
  EXPECT_EQ(carry(*links.connecting, *links.accepting, {"wrong"}), "");
  EXPECT_TRUE(links.accepting->broken());
}

TEST(TlsLink, TheEndOfTheOtherSideIsTold) {
  Wire wire;
  Links links = connect(wire, "secret", "secret");
  ASSERT_TRUE(links.connecting && links.accepting) << links.errors;
  links.connecting.reset();
  std::byte byte;
  for (int i = 0; i < 5000 && !links.accepting->broken(); ++i) {
    EXPECT_EQ(links.accepting->read({&byte, 1}), 0u);
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_TRUE(links.accepting->broken());
  std::span<const std::byte> part(&byte, 1);
  EXPECT_EQ(links.accepting->write({&part, 1}), 0u);
}

}  // namespace
}  // namespace shardlab
