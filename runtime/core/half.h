// The 16-bit floating point types: storage alone; arithmetic is done in float and rounded once, to nearest, ties to even.
#pragma once

#include <bit>
#include <compare>
#include <concepts>
#include <cstdint>

namespace shardlab {

// 1 sign, 8 exponent, 7 fraction bits: the upper half of a float.
struct Bfloat16 {
  std::uint16_t bits = 0;

  Bfloat16() = default;
  explicit Bfloat16(float value) {
    std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    std::uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1)) >> 16;
    std::uint32_t nan = (word >> 16) | 0x40;  // a quiet NaN of the same sign
    bits = std::uint16_t((word & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
  }
  explicit operator float() const { return std::bit_cast<float>(std::uint32_t(bits) << 16); }
};

// IEEE binary16: 1 sign, 5 exponent, 10 fraction bits.
//
// The conversions are free of branches, so that loops over them vectorise: subnormal numbers are shifted into place by an addition
// whose rounding the processor does. Source: the method of F. Giesen's "half-float conversions".
struct Float16 {
  std::uint16_t bits = 0;

  Float16() = default;
  explicit Float16(float value) {
    std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    std::uint32_t sign = (word >> 16) & 0x8000u, size = word & 0x7fffffffu;
    std::uint32_t odd = (size >> 13) & 1;
    std::uint32_t normal = (size - (112u << 23) + 0xfffu + odd) >> 13;
    constexpr std::uint32_t kMagic = 126u << 23;  // 0.5: its last bit weighs as much as the last of a subnormal half
    std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + std::bit_cast<float>(kMagic)) - kMagic;
    std::uint32_t special = size > 0x7f800000u ? 0x7e00u : 0x7c00u;
    std::uint32_t finite = size < (113u << 23) ? subnormal : normal;
    bits = std::uint16_t(sign | (size >= (143u << 23) ? special : finite));  // from 65536 on; 65520 rounds up to infinity by itself
  }
  explicit operator float() const {
    std::uint32_t size = (bits & 0x7fffu) << 13, exponent = size & (0x1fu << 23);
    std::uint32_t normal = size + (112u << 23);
    std::uint32_t special = size + (224u << 23);
    constexpr std::uint32_t kMagic = 113u << 23;
    std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size + kMagic) - std::bit_cast<float>(kMagic));
    std::uint32_t value = exponent == 0 ? subnormal : exponent == (0x1fu << 23) ? special : normal;
    return std::bit_cast<float>(value | (std::uint32_t(bits & 0x8000u) << 16));
  }
};

template <typename T>
concept Half = std::same_as<T, Bfloat16> || std::same_as<T, Float16>;

template <Half T>
bool operator==(T a, T b) {
  return float(a) == float(b);
}
template <Half T>
std::partial_ordering operator<=>(T a, T b) {
  return float(a) <=> float(b);
}

}  // namespace shardlab
