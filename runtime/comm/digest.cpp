#include "runtime/comm/digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/base/text.h"

namespace shardlab::comm {
namespace {

// Eight bytes a multiplication, in four lanes: a value is hashed each time that it is placed, so it must cost less than its copy.
std::uint64_t fast_hash(std::span<const std::byte> data) {
  constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15ULL;
  std::uint64_t lanes[4] = {data.size(), 1, 2, 3};
  std::size_t at = 0;
  auto word_at = [&](std::size_t offset) {
    std::uint64_t word;
    std::memcpy(&word, data.data() + offset, 8);
    return word;
  };
  for (; at + 32 <= data.size(); at += 32)
    for (int lane = 0; lane < 4; ++lane) {
      std::uint64_t mixed = (lanes[lane] ^ word_at(at + std::size_t(lane) * 8)) * kMultiplier;
      lanes[lane] = mixed ^ (mixed >> 29);
    }
  return hash_bytes({reinterpret_cast<const char*>(data.data()) + at, data.size() - at},
                    hash_bytes({reinterpret_cast<const char*>(lanes), sizeof lanes}));
}

template <typename T>
std::string element_text(const T& value) {
  if constexpr (Half<T>)
    return shortest(float(value));
  else if constexpr (Cplx<T>)
    return fmt::format("{}{}{}j", shortest(value.real()), value.imag() < 0 ? "" : "+", shortest(value.imag()));
  else if constexpr (Real<T>)
    return shortest(value);
  else
    return fmt::format("{}", value);
}

}  // namespace

ValueDigest digest_of(const TensorType& type, std::span<const std::byte> data) {
  ValueDigest digest{fast_hash(data), {}};
  std::int64_t shown = std::min<std::int64_t>(type.elements(), ValueDigest::kHeadMax);
  visit_dtype(type.dtype, [&]<typename T>(T) {
    for (std::int64_t i = 0; i < shown; ++i) {
      T value;
      std::memcpy(&value, data.data() + std::size_t(i) * sizeof(T), sizeof(T));
      digest.head.push_back(element_text(value));
    }
  });
  return digest;
}

}  // namespace shardlab::comm
