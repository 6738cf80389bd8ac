// All to all over a transport, with messages whose bytes say who sent what to whom.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/comm/transport.h"

namespace shardlab::testing {

using Bytes = std::vector<std::byte>;

inline std::byte element(int from, int to, std::size_t i) {
  return std::byte((std::size_t(from) * 31 + std::size_t(to) * 7 + i * 13 + i / 251) & 0xff);
}

inline Bytes message(int from, int to, std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = element(from, to, i);
  return bytes;
}

// All to all with `size` bytes a pair, in two parts, `rounds` times; whether all arrived as they were sent.
inline bool exchange_all(comm::Transport& transport, int self, int n, std::size_t size, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    comm::MessageHeader header{.fingerprint = 5, .history = std::uint64_t(round), .group = 9, .seq = round, .call = 2};
    std::vector<Bytes> out(static_cast<std::size_t>(n)), in(static_cast<std::size_t>(n));
    std::vector<comm::Send> sends;
    std::vector<comm::Receive> receives;
    for (int p = 0; p < n; ++p) {
      if (p == self) continue;
      auto at = std::size_t(p);
      out[at] = message(self, p, size);
      in[at].resize(size);
      std::span<const std::byte> whole(out[at]);
      sends.push_back({p, {whole.first(size / 3), whole.subspan(size / 3)}});
      receives.push_back({p, in[at]});
    }
    int waits = 0;
    comm::ExchangeResult result = transport.exchange(header, sends, receives, [&](const std::vector<comm::ProcessIndex>& peers) {
      ++waits;
      if (peers.empty()) waits = 100;
    });
    if (result.status != comm::ExchangeStatus::kDone || waits > 1) return false;
    for (int p = 0; p < n; ++p)
      if (p != self && in[std::size_t(p)] != message(p, self, size)) return false;
  }
  return true;
}

}  // namespace shardlab::testing
