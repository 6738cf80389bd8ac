#include "runtime/control/network.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/control/free_handles.h"

namespace shardlab::control {
namespace {

using Addresses = std::unique_ptr<addrinfo, Free>;

Addresses resolve(const std::string& host, int& error) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  error = getaddrinfo(host.c_str(), "9", &hints, &found);  // no packet is sent: any port will do
  return Addresses(error == 0 ? found : nullptr);
}

std::string numeric(const sockaddr* address, socklen_t size) {
  char text[NI_MAXHOST];
  return getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0 ? text : "";
}

// The first address of this host that is not loopback; empty where there is none.
std::string first_outer_address() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return "";
  std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  for (const ifaddrs* each = list; each; each = each->ifa_next) {
    bool outer = each->ifa_addr && each->ifa_addr->sa_family == AF_INET && (each->ifa_flags & IFF_UP) && !(each->ifa_flags & IFF_LOOPBACK);
    if (outer) return numeric(each->ifa_addr, sizeof(sockaddr_in));
  }
  return "";
}

}  // namespace

std::pair<std::string, int> split_address(const std::string& address, const std::string& what) {
  std::size_t colon = address.rfind(':');
  int port = 0;
  std::string host = address.substr(0, colon);
  const char *begin = address.data() + colon + 1, *end = address.data() + address.size();
  bool good = colon != std::string::npos && !host.empty() && begin < end;
  if (good) {
    auto [stop, error] = std::from_chars(begin, end, port);
    good = error == std::errc() && stop == end && port >= 0 && port <= 65535;
  }
  if (good && host.front() == '[') {
    good = host.back() == ']' && host.size() > 2;
    host = host.substr(1, host.size() - 2);
  } else {
    good = good && host.find(':') == std::string::npos;
  }
  if (!good) throw_user_error("{} must be of the form host:port, as in 192.0.2.1:8000 or [fe80::1]:8000; got '{}'", what, address);
  return {host, port};
}

std::string join_address(const std::string& host, int port) {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

bool is_loopback(const std::string& host) { return host == "localhost" || host == "::1" || host.starts_with("127."); }

bool is_numeric_address(const std::string& text) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (getaddrinfo(text.c_str(), nullptr, &hints, &found) != 0) return false;
  freeaddrinfo(found);
  return true;
}

std::string own_address_towards(const std::string& host) {
  int error = 0;
  Addresses addresses = resolve(host, error);
  if (!addresses) throw TransportError(fmt::format("the host '{}' is not known here: {}", host, gai_strerror(error)));
  std::string why;
  for (const addrinfo* each = addresses.get(); each; each = each->ai_next) {
    int probe = socket(each->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (probe < 0) continue;
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    bool good = connect(probe, each->ai_addr, each->ai_addrlen) == 0 && getsockname(probe, reinterpret_cast<sockaddr*>(&own), &size) == 0;
    if (!good) why = std::strerror(errno);
    close(probe);
    if (!good) continue;
    std::string address = numeric(reinterpret_cast<sockaddr*>(&own), size);
    // Some systems give a host's own name a loopback address, by which nobody else reaches it.
    std::string outer = is_loopback(address) && !is_loopback(host) ? first_outer_address() : std::string();
    return outer.empty() ? address : outer;
  }
  throw TransportError(fmt::format("there is no way from here to the host '{}': {}", host, why));
}

bool wait_resolved(const std::string& host, std::chrono::milliseconds limit) {
  constexpr std::chrono::milliseconds kBetween{200};
  auto end = std::chrono::steady_clock::now() + limit;
  while (true) {
    int error = 0;
    if (resolve(host, error)) return true;
    if (std::chrono::steady_clock::now() + kBetween > end) return false;
    std::this_thread::sleep_for(kBetween);  // nobody tells when a name becomes known
  }
}

}  // namespace shardlab::control
