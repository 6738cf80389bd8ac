// Ports for programs that are told one by hand.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

namespace shardlab::support {

// One that nobody listens at now, another one each time. Below those that Linux gives to outgoing connections (32768 and up), or another
// test's might have it by the time it is listened at; other processes begin elsewhere.
inline int unused_port() {
  static int next = 20000 + getpid() * 16 % 12000;
  for (int tries = 0;; ++tries) {
    const int port = next++;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    address.sin_port = htons(std::uint16_t(port));
    const bool is_free = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    close(fd);
    if (is_free || tries == 100) return port;
  }
}

}  // namespace shardlab::support
