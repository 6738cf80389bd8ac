#include "traces/statement_places.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "traces/trace_reader.h"

namespace shardlab::traces {

using nlohmann::json;

int StatementPlaces::line_of(std::string_view pointer) const {
  const auto found = lines.find(std::string(pointer));
  return found == lines.end() ? line : found->second;
}

std::string StatementPlaces::in(std::string_view text) const {
  std::string result;
  for (std::size_t from = 0;;) {
    const std::size_t open = text.find("(/", from), close = text.find(')', open == std::string_view::npos ? from : open);
    if (open == std::string_view::npos || close == std::string_view::npos) return result += text.substr(from);
    result += text.substr(from, close - from);
    if (const auto found = lines.find(std::string(text.substr(open + 1, close - open - 1))); found != lines.end())
      result += fmt::format(", line {}", found->second);
    from = close;
  }
}

std::string json_of(const StatementPlaces& places) {
  const json told = {{"file", places.file}, {"line", places.line}, {"lines", places.lines}};
  return told.dump(-1, ' ', false, json::error_handler_t::replace);
}

StatementPlaces read_statement_places(const TraceReader& reader) {
  StatementPlaces places;
  const json told = json::parse(reader.meta(kStatementPlacesKey), nullptr, false);
  if (!told.is_object()) return places;
  try {
    places.file = told.value("file", "");
    places.line = told.value("line", 0);
    places.lines = told.value("lines", std::map<std::string, int>());
  } catch (const json::exception&) { return {}; }  // written by somebody else: it says less, and is read all the same
  return places;
}

}  // namespace shardlab::traces
