// Reads a JSON text strictly: no duplicate keys, bounded depth and size, and every error at a JSON pointer.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace shardlab::scenarios {

inline constexpr std::size_t kDocumentBytesMax = std::size_t{64} << 20;
inline constexpr int kDocumentDepthMax = 64;

// Throws DocumentError; of a syntax error the pointer is that of the value being read.
nlohmann::json parse_json(std::string_view text);

// `pointer` with one more step, escaped as RFC 6901 wants.
std::string child_pointer(std::string_view pointer, std::string_view key);
std::string child_pointer(std::string_view pointer, std::size_t index);

}  // namespace shardlab::scenarios
