#include "traces/exporters/text.h"

#include <fmt/format.h>

namespace shardlab::exporters {
namespace {

// How many bytes the character at the front has; 0 where it is none.
std::size_t character_bytes(std::string_view at) {
  const auto byte = [&](std::size_t i) { return i < at.size() ? unsigned(static_cast<unsigned char>(at[i])) : 0U; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t count = first >= 0xC2 && first < 0xE0 ? 2 : first >= 0xE0 && first < 0xF0 ? 3 : first >= 0xF0 && first < 0xF5 ? 4 : 0;
  for (std::size_t i = 1; i < count; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool none = (first == 0xED && byte(1) >= 0xA0) || (first == 0xF4 && byte(1) >= 0x90);  // surrogates; beyond the last
  return overlong || none ? 0 : count;
}

template <typename Put>
void for_each_character(std::string_view bytes, const Put& put) {
  while (!bytes.empty()) {
    const std::size_t count = character_bytes(bytes);
    put(count == 0 ? std::string_view("\xEF\xBF\xBD") : bytes.substr(0, count));
    bytes.remove_prefix(count == 0 ? 1 : count);
  }
}

}  // namespace

std::string clean_text(std::string_view bytes) {
  std::string clean;
  clean.reserve(bytes.size());
  for_each_character(bytes, [&](std::string_view character) { clean += character; });
  return clean;
}

std::string json_text(std::string_view bytes) {
  std::string json = "\"";
  for_each_character(bytes, [&](std::string_view character) {
    const auto first = static_cast<unsigned char>(character[0]);
    if (first == '"' || first == '\\')
      json += '\\', json += character;
    else if (first < 0x20 || first == 0x7F)
      json += fmt::format("\\u{:04x}", first);
    else
      json += character;
  });
  return json + '"';
}

}  // namespace shardlab::exporters
