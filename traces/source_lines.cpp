#include "traces/source_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/base/error.h"
#include "traces/trace_reader.h"

namespace shardlab::traces {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uintmax_t kSourceBytesMax = 8 << 20;
constexpr std::size_t kTextMax = 160;

fs::path find(const fs::path& file, const fs::path& trace_folder) {
  for (const fs::path& candidate : {file, trace_folder / file, trace_folder / file.filename()}) {
    std::error_code failed;
    if (!fs::is_regular_file(candidate, failed)) continue;
    if (const std::uintmax_t size = fs::file_size(candidate, failed); !failed && size <= kSourceBytesMax) return candidate;
  }
  return {};
}

std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "None";
  if (!value.is_array()) return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string parts;
  for (const Json& each : value) {
    if (each.is_object() && each.contains("op")) return fmt::format("{} statement{}", value.size(), value.size() == 1 ? "" : "s");
    parts += (parts.empty() ? "" : ", ") + value_text(each);
  }
  return "[" + parts + "]";
}

std::string statement_text(const Json& statement) {
  std::string inside;
  const auto add = [&](const std::string& part) { inside += (inside.empty() ? "" : ", ") + part; };
  if (statement.contains("args") && statement["args"].is_array())
    for (const Json& each : statement["args"]) add(value_text(each));
  for (const auto& [key, value] : statement.items())
    if (key != "let" && key != "op" && key != "args") add(key + ": " + value_text(value));
  if (statement.contains("op")) inside = value_text(statement["op"]) + "(" + inside + ")";
  if (statement.contains("let")) inside = value_text(statement["let"]) + " = " + inside;
  if (inside.size() <= kTextMax) return inside;
  std::size_t end = kTextMax;
  while (end > 0 && (static_cast<unsigned char>(inside[end]) & 0xc0) == 0x80) --end;  // not within a UTF-8 character
  return inside.substr(0, end) + " …";
}

}  // namespace

SourceLines read_source_lines(const std::string& where, const std::string& trace_path, int context) {
  SourceLines result;
  const std::size_t colon = where.rfind(':');
  if (colon == std::string::npos || colon == 0) return result;
  std::from_chars(where.data() + colon + 1, where.data() + where.size(), result.line);
  result.file = where.substr(0, colon);
  if (result.line <= 0) return result;
  const fs::path path = find(result.file, fs::path(trace_path).parent_path());
  std::ifstream file(path);
  if (path.empty() || !file) return result;
  result.file = path.string();
  result.first = std::max(1, result.line - context);
  std::string line;
  for (int number = 1; number <= result.line + context && std::getline(file, line); ++number)
    if (number >= result.first) result.lines.push_back(line.substr(0, line.find('\r')));
  return result;
}

SourceLines read_statement_lines(const std::string& scenario, const std::string& pointer, int context) {
  SourceLines result;
  const std::size_t slash = pointer.rfind('/');
  if (slash == std::string::npos) return result;
  int place = -1;
  const auto [end, error] = std::from_chars(pointer.data() + slash + 1, pointer.data() + pointer.size(), place);
  const Json document = Json::parse(scenario, nullptr, false);
  if (error != std::errc() || end != pointer.data() + pointer.size() || document.is_discarded()) return result;
  Json list;
  try {
    list = document.at(Json::json_pointer(pointer.substr(0, slash)));
  } catch (const Json::exception&) { return result; }
  if (!list.is_array()) return result;
  if (place < 0 || place >= int(list.size())) return result;
  result.file = pointer;
  result.line = place;
  result.first = std::max(place - context, 0);
  for (int i = result.first; i < std::min(int(list.size()), place + context + 1); ++i)
    result.lines.push_back(statement_text(list[std::size_t(i)]));
  return result;
}

std::string scenario_of(const std::string& trace_path) {
  if (trace_path.empty()) return {};
  try {
    return TraceReader(trace_path).meta("scenario");
  } catch (const IoError&) { return {}; }  // who shows the trace has said already what is wrong with the file
}

std::string pointer_of(std::string_view where) {
  const std::size_t open = where.empty() ? std::string_view::npos : where.rfind("(/");
  if (open == std::string_view::npos || where.back() != ')') return {};
  const std::string_view inside = where.substr(open + 1, where.size() - open - 2);
  return std::string(inside.substr(0, inside.rfind(", line ")));
}

}  // namespace shardlab::traces
