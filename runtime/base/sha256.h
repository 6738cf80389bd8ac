// SHA-256 (FIPS 180-4), for program fingerprints that must agree over processes and machines.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace shardlab {

std::array<std::uint8_t, 32> sha256(std::string_view bytes);

// The digest's first 8 bytes, big-endian: what travels with messages.
std::uint64_t sha256_prefix(std::string_view bytes);

// Lower-case hexadecimal of the whole digest.
std::string sha256_hex(std::string_view bytes);

}  // namespace shardlab
