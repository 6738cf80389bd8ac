#include "scenarios/runner/outcome.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/base/error.h"

namespace shardlab::scenarios {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

fs::path file_of(const fs::path& folder, int process, std::string_view extension) {
  return folder / fmt::format("outcome.{}.{}", process, extension);
}

json to_json(const Box& box) {
  json result = json::array();
  for (const Interval& each : box) result.push_back({each.start, each.stop});
  return result;
}

Box box_from(const json& value) {
  Box box;
  for (const json& each : value) box.push_back({each.at(0).get<std::int64_t>(), each.at(1).get<std::int64_t>()});
  return box;
}

json to_json(const SeenCollective& c) {
  return {{"fingerprint", c.fingerprint},
          {"device_set", c.device_set},
          {"launch_seq", c.launch_seq},
          {"index", c.index},
          {"run", c.run},
          {"kind", c.kind},
          {"op", c.op},
          {"array", c.array},
          {"statement", c.statement},
          {"groups", c.groups},
          {"pairs", c.pairs},
          {"axes", c.axes},
          {"bytes", c.bytes},
          {"wire_bytes", c.wire_bytes},
          {"is_transfer", c.is_transfer}};
}

SeenCollective collective_from(const json& value) {
  SeenCollective c;
  value.at("fingerprint").get_to(c.fingerprint);
  value.at("device_set").get_to(c.device_set);
  value.at("launch_seq").get_to(c.launch_seq);
  value.at("index").get_to(c.index);
  value.at("run").get_to(c.run);
  value.at("kind").get_to(c.kind);
  value.at("op").get_to(c.op);
  value.at("array").get_to(c.array);
  value.at("statement").get_to(c.statement);
  value.at("groups").get_to(c.groups);
  value.at("pairs").get_to(c.pairs);
  value.at("axes").get_to(c.axes);
  value.at("bytes").get_to(c.bytes);
  value.at("wire_bytes").get_to(c.wire_bytes);
  value.at("is_transfer").get_to(c.is_transfer);
  return c;
}

// The parts' data goes to `data`, one after another.
json to_json(const BoundArray& array, std::ostream& data) {
  json shards = json::array(), parts = json::array();
  for (const auto& [ordinal, box] : array.shards) shards.push_back({ordinal, to_json(box)});
  for (const Part& part : array.parts) {
    parts.push_back({to_json(part.box), part.device});
    data.write(reinterpret_cast<const char*>(part.data->data()), std::streamsize(part.data->size()));
  }
  json result = {{"name", array.name},        {"dtype", name_of(array.type.dtype)},
                 {"shape", array.type.shape}, {"committed", array.committed},
                 {"shards", shards},          {"parts", parts}};
  if (array.spec) result["spec"] = *array.spec;
  return result;
}

BoundArray array_from(const json& value, std::istream& data) {
  BoundArray array;
  value.at("name").get_to(array.name);
  auto dtype = dtype_from_name(value.at("dtype").get<std::string>());
  if (!dtype) throw IoError("an outcome names no dtype");
  array.type = {*dtype, value.at("shape").get<Shape>()};
  value.at("committed").get_to(array.committed);
  if (value.contains("spec")) array.spec = value.at("spec").get<std::vector<std::vector<std::string>>>();
  for (const json& each : value.at("shards")) array.shards.emplace_back(each.at(0).get<int>(), box_from(each.at(1)));
  for (const json& each : value.at("parts")) {
    Box box = box_from(each.at(0));
    auto buffer = std::make_shared<Buffer>(std::size_t(element_count(box) * size_of(array.type.dtype)));
    if (!data.read(reinterpret_cast<char*>(buffer->data()), std::streamsize(buffer->size())))
      throw IoError(fmt::format("the data of '{}' is cut short", array.name));
    array.parts.push_back({std::move(box), std::move(buffer), each.at(1).get<int>()});
  }
  return array;
}

}  // namespace

void write_outcome(const ProcessOutcome& outcome, const fs::path& folder) {
  std::ofstream data(file_of(folder, outcome.process, "bin"), std::ios::binary);
  json arrays = json::array(), collectives = json::array();
  for (const BoundArray& each : outcome.arrays) arrays.push_back(to_json(each, data));
  for (const SeenCollective& each : outcome.collectives) collectives.push_back(to_json(each));
  data.close();
  json root = {{"process", outcome.process},
               {"arrays", arrays},
               {"collectives", collectives},
               {"moved_bytes", outcome.moved_bytes},
               {"records_lost", outcome.records_lost},
               {"diagnosis", outcome.diagnosis},
               {"where", outcome.where},
               {"pointer", outcome.pointer},
               {"statement", outcome.statement},
               {"internal", outcome.internal},
               {"fired", outcome.fired}};
  if (outcome.error) root["error"] = *outcome.error;
  fs::path final_path = file_of(folder, outcome.process, "json"), partial = final_path;
  partial += ".partial";
  std::ofstream text(partial, std::ios::binary);
  text << root.dump(-1, ' ', false, json::error_handler_t::replace);
  text.close();
  if (!data || !text)
    throw IoError(fmt::format("the result of process {} cannot be written to {}; is the disk full?", outcome.process, folder.string()));
  fs::rename(partial, final_path);
}

std::optional<ProcessOutcome> read_outcome(const fs::path& folder, int process) {
  std::ifstream text(file_of(folder, process, "json"), std::ios::binary);
  if (!text) return std::nullopt;
  try {
    json root = json::parse(text);
    std::ifstream data(file_of(folder, process, "bin"), std::ios::binary);
    ProcessOutcome outcome;
    root.at("process").get_to(outcome.process);
    for (const json& each : root.at("arrays")) outcome.arrays.push_back(array_from(each, data));
    for (const json& each : root.at("collectives")) outcome.collectives.push_back(collective_from(each));
    root.at("moved_bytes").get_to(outcome.moved_bytes);
    root.at("records_lost").get_to(outcome.records_lost);
    root.at("diagnosis").get_to(outcome.diagnosis);
    root.at("where").get_to(outcome.where);
    root.at("pointer").get_to(outcome.pointer);
    root.at("statement").get_to(outcome.statement);
    root.at("internal").get_to(outcome.internal);
    root.at("fired").get_to(outcome.fired);
    if (root.contains("error")) outcome.error = root.at("error").get<std::string>();
    return outcome;
  } catch (const json::exception& error) {
    throw IoError(fmt::format("the result of process {} cannot be read: {}", process, error.what()));
  }
}

}  // namespace shardlab::scenarios
