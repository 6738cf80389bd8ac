// Small helpers for messages: joining, nearest names, numbers as JAX prints them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardlab {

// The candidate with the smallest edit distance to `word`, or "" where none is near (more than a third differs, or all).
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> candidates);

// The same however far it is; "" where there are no candidates.
std::string_view closest_name(std::string_view word, std::span<const std::string_view> candidates);

// " did you mean 'x'?" or "".
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

std::vector<std::string_view> split(std::string_view text, char separator);

// Shortest text that reads back to the same float, always with a point or an exponent ("2.0", "1e-07").
std::string shortest(float value);
std::string shortest(double value);

// 64-bit FNV-1a, for hashes that are no security matter.
std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed = 1469598103934665603ULL);
// A hash with one word more, in two steps of MurmurHash3's finalizer.
inline std::uint64_t hash_word(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 32);
}

}  // namespace shardlab
