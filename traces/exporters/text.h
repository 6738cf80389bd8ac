// Text that comes from programs, made fit for formats that want UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace shardlab::exporters {

// The same, with U+FFFD in place of each byte that is no UTF-8 (RFC 3629); control characters stay.
std::string clean_text(std::string_view bytes);

// In quotes, as JSON (RFC 8259) wants it: control characters and quotes escaped, otherwise as clean_text().
std::string json_text(std::string_view bytes);

}  // namespace shardlab::exporters
