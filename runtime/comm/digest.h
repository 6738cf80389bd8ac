// A digest of a value that every process brings whole and that must be equal on all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/tensor_type.h"

namespace shardlab::comm {

struct ValueDigest {
  static constexpr int kHeadMax = 64;

  std::uint64_t hash = 0;         // of the bytes
  std::vector<std::string> head;  // the first elements, as text, to name one that differs
};

ValueDigest digest_of(const TensorType& type, std::span<const std::byte> data);

}  // namespace shardlab::comm
