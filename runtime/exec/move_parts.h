// What the plans of moves.h share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "runtime/core/tensor_type.h"

namespace shardlab {

// A box as a map key.
inline std::vector<std::int64_t> key_of(const Box& box) {
  std::vector<std::int64_t> key;
  key.reserve(box.size() * 2);
  for (const Interval& interval : box) {
    key.push_back(interval.start);
    key.push_back(interval.stop);
  }
  return key;
}

// The entry of a peer in a list of messages, made where there is none.
template <typename Message>
Message& message_of(std::vector<Message>& list, int peer) {
  auto found = std::find_if(list.begin(), list.end(), [&](const Message& each) { return each.peer == peer; });
  return found != list.end() ? *found : list.emplace_back(Message{.peer = peer});
}

template <typename Stages>
void add_sent_by(const Stages& stages, std::map<int, std::int64_t>& bytes_by_process) {
  for (const auto& stage : stages)
    for (const auto& message : stage.sends) bytes_by_process[message.peer] += message.bytes;
}

}  // namespace shardlab
