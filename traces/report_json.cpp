#include "traces/report_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.h"

namespace shardlab::traces {
namespace {

using Json = nlohmann::ordered_json;

Json participant_to_report(const Participant& side) {
  Json json = {{"process", side.process}};
  if (side.seq >= 0) json["seq"] = side.seq;
  const auto put = [&](const char* key, const std::string& value) {
    if (!value.empty()) json[key] = value;
  };
  put("kind", side.kind);
  put("op", side.op);
  if (side.statement >= 0) json["statement"] = side.statement;
  put("where", side.where);
  put("state", side.state);
  put("sharding", side.sharding);
  put("shape", side.shape);
  put("dtype", side.dtype);
  put("mesh", side.mesh);
  put("callers", side.callers);
  if (!side.devices.empty()) json["devices"] = side.devices;
  return json;
}

}  // namespace

Json diagnosis_to_report(const Diagnosis& diagnosis) {
  Json json = {{"code", diagnosis.code}, {"severity", diagnosis.severity}, {"message", diagnosis.message}};
  if (!diagnosis.explain.empty()) json["explain"] = diagnosis.explain;
  json["processes"] = diagnosis.processes;
  if (diagnosis.tie) json["tie"] = true;
  if (!diagnosis.fields.empty()) json["fields"] = diagnosis.fields;
  for (const auto& [name, value] : diagnosis.details) {  // some come more than once: these are lists
    Json& told = json["details"][name];
    if (told.is_string()) told = Json::array({told});
    if (told.is_array())
      told.push_back(value);
    else
      told = value;
  }
  json["participants"] = Json::array();
  for (const auto& side : diagnosis.participants) json["participants"].push_back(participant_to_report(side));
  json["detected_after_ms"] = diagnosis.detected_after_ms();
  return json;
}

std::string details_to_json(const std::vector<std::pair<std::string, std::string>>& details) {
  return Json(details).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::pair<std::string, std::string>> details_from_json(std::string_view json) {
  try {
    return Json::parse(json).get<std::vector<std::pair<std::string, std::string>>>();
  } catch (const Json::exception& error) { throw IoError(fmt::format("diagnosis: details: {}", error.what())); }
}

}  // namespace shardlab::traces
