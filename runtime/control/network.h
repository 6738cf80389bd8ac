// Addresses: taking "host:port" apart, resolving names, and which of this host's addresses others reach it at.
#pragma once

#include <chrono>
#include <string>
#include <utility>

namespace shardlab::control {

// "192.0.2.1:8000", "[fe80::1]:8000", "node1:8000"; throws UserError that says what is wrong. `what` names the value.
std::pair<std::string, int> split_address(const std::string& address, const std::string& what);
// The inverse: brackets around what has colons.
std::string join_address(const std::string& host, int port);

// Whether the name means this host's loopback alone.
bool is_loopback(const std::string& host);

// "192.0.2.1", "fe80::1"; not a name, nor brackets.
bool is_numeric_address(const std::string& text);

// The numeric address from which this host reaches `host`: where others reach this one. Throws TransportError where the name means nothing.
std::string own_address_towards(const std::string& host);

// Waits until the name can be resolved; false when it cannot within the limit.
bool wait_resolved(const std::string& host, std::chrono::milliseconds limit);

}  // namespace shardlab::control
