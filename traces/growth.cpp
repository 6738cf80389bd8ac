#include "traces/growth.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

namespace shardlab::traces {

std::int64_t Growth::least(std::string_view table, std::int64_t of) const {
  const auto rows = from.find(table);
  if (rows == from.end()) return kNoRow;
  const auto key = rows->second.find(of);
  return key == rows->second.end() ? kNoRow : key->second;
}

std::string Growth::json() const {
  nlohmann::json tables = nlohmann::json::object();
  for (const auto& [table, keys] : from)
    for (const auto& [of, key] : keys) tables[table][std::to_string(of)] = key;
  return nlohmann::json{{"made", made}, {"publication", publication}, {"from", tables}}.dump();
}

Growth Growth::from_json(std::string_view text) {
  Growth growth;
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    growth.made = json.at("made").get<std::string>();
    for (const auto& [table, keys] : json.at("from").items())
      for (const auto& [of, key] : keys.items()) growth.from[table][std::stoll(of)] = key.get<std::int64_t>();
    growth.publication = json.at("publication").get<std::int64_t>();
  } catch (const std::exception&) { return {}; }
  return growth;
}

bool grows(std::string_view table) {
  static constexpr std::array<std::string_view, 9> kTables{"events",     "launches",   "collectives", "arrays",       "layouts",
                                                           "host_reads", "wait_edges", "programs",    "launch_arrays"};
  return std::find(kTables.begin(), kTables.end(), table) != kTables.end();
}

}  // namespace shardlab::traces
