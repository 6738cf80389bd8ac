// SARIF 2.1.0 (OASIS): each diagnosis a result, the guilty side its location, all other sides related locations; what came otherwise than
// planned a warning at its line.
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "traces/checks/check_def.h"
#include "traces/report_data.h"
#include "traces/report_json.h"
#include "traces/source_lines.h"

namespace shardlab::traces {
namespace {

using Json = nlohmann::ordered_json;

std::string_view level_of(const Diagnosis& diagnosis) {
  return diagnosis.severity == "error" ? "error" : diagnosis.severity == "warning" ? "warning" : "note";
}

// Reserved and non-ASCII characters as %XX (RFC 3986); "/" stays.
std::string uri_of(std::string_view path) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const unsigned char c : path) {
    if (std::isalnum(c) || c == '/' || c == '-' || c == '_' || c == '.' || c == '~')
      uri += char(c);
    else
      uri += {'%', kHex[c >> 4], kHex[c & 15]};
  }
  return uri;
}

Json place_of(std::string_view file, int line) {
  Json location = Json::object();
  location["physicalLocation"]["artifactLocation"]["uri"] = uri_of(file);
  if (line > 0) location["physicalLocation"]["region"]["startLine"] = line;
  return location;
}

Json place_of(const ReportData& data, const std::string& pointer) {
  const int line = data.places.line_of(pointer);
  Json location = line > 0 ? place_of(data.places.file, line) : Json::object();
  location["logicalLocations"] = Json::array({Json{{"fullyQualifiedName", pointer}, {"kind", "statement"}}});
  return location;
}

Json location_of(const ReportData& data, const Participant& side) {
  Json location = {{"message",
                    {{"text", fmt::format("process {}: {}{}{}", side.process, side.op.empty() ? side.kind : side.op,
                                          side.op.empty() && side.kind.empty() ? "" : ", ", side.state)}}}};
  if (side.where.empty()) {
    location["logicalLocations"] = Json::array({Json{{"name", fmt::format("process {}", side.process)}, {"kind", "process"}}});
    return location;
  }
  if (side.statement >= 0) {
    const std::string pointer = pointer_of(side.where);
    location.update(place_of(data, pointer.empty() ? fmt::format("/program/{}", side.statement) : pointer));
    return location;
  }
  const auto colon = side.where.rfind(':');
  int line = 0;
  if (colon != std::string::npos) std::from_chars(side.where.data() + colon + 1, side.where.data() + side.where.size(), line);
  location.update(place_of(data.file_of(side.where), line));
  return location;
}

Json stack_of(const Participant& side, const Callers& callers) {
  Json stack = {{"message", {{"text", fmt::format("process {}: {}", side.process, side.op)}}}, {"frames", Json::array()}};
  for (const FrameRow& caller : callers) {
    Json location = caller.file.empty() ? Json::object() : place_of(caller.file, caller.line);
    location["logicalLocations"] = Json::array({Json{{"fullyQualifiedName", caller.function}, {"kind", "function"}}});
    stack["frames"].push_back({{"location", std::move(location)}});
  }
  return stack;
}

Json rule_of(const std::string& code) {
  Json rule = {{"id", code}};
  for (auto checks : {all_checks(), all_remarks()})
    for (const auto* check : checks)
      if (check->code == code) {
        rule["shortDescription"]["text"] = check->summary;
        rule["fullDescription"]["text"] = check->explain;
      }
  if (code == Deviation::kCode) {
    rule["shortDescription"]["text"] = "Something came otherwise than planned.";
    rule["fullDescription"]["text"] =
        "What was recorded of a program is not what its partitioning predicted: another collective, other bytes, another number of times, "
        "or a result with another sharding.";
  }
  return rule;
}

Json result_of(const ReportData& data, const Deviation& deviation) {
  Json result = {{"level", "warning"}, {"message", {{"text", deviation.message}}}};
  if (const SiteRow& site = data.site_of(deviation); site.known())
    result["locations"] = Json::array({site.line > 0 ? place_of(site.file, site.line) : place_of(data, std::string(site.pointer))});
  result["properties"] = {{"program", deviation.name}, {"planned", deviation.planned}, {"recorded", deviation.recorded}};
  return result;
}

}  // namespace

void write_report_sarif(const ReportData& data, std::ostream& out) {
  Json rules = Json::array(), results = Json::array();
  std::map<std::string, std::size_t> rule_index;
  const auto add = [&](const std::string& code, const Json& about) {
    const auto [rule, added] = rule_index.try_emplace(code, rules.size());
    if (added) rules.push_back(rule_of(code));
    Json result = {{"ruleId", code}, {"ruleIndex", rule->second}};
    result.update(about);
    results.push_back(std::move(result));
  };
  for (std::size_t i = 0; i < data.diagnoses.size(); ++i) {
    const Diagnosis& diagnosis = data.diagnoses[i];
    Json result = {{"level", level_of(diagnosis)}, {"message", {{"text", diagnosis.message}}}};
    int id = 0;
    for (std::size_t s = 0; s < diagnosis.participants.size(); ++s) {
      const Participant& side = diagnosis.participants[s];
      if (!data.callers[i][s].empty()) result["stacks"].push_back(stack_of(side, data.callers[i][s]));
      Json location = location_of(data, side);
      if (id > 0) location["id"] = id;
      result[id++ == 0 ? "locations" : "relatedLocations"].push_back(std::move(location));
    }
    result["properties"] = diagnosis_to_report(diagnosis);
    add(diagnosis.code, result);
  }
  for (const auto& deviation : data.deviations) add(std::string(Deviation::kCode), result_of(data, deviation));
  Json notifications = Json::array();
  for (const auto& notice : data.notices) notifications.push_back({{"level", "warning"}, {"message", {{"text", notice}}}});
  Json run;
  run["tool"]["driver"] = {{"name", "shardlab"}, {"version", data.version.empty() ? "0" : data.version}, {"rules", rules}};
  run["invocations"] =
      Json::array({Json{{"executionSuccessful", true}, {"commandLine", data.command_line}, {"toolExecutionNotifications", notifications}}});
  run["results"] = results;
  Json json = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"}, {"version", "2.1.0"}};
  json["runs"] = Json::array({run});
  out << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace shardlab::traces
