// "expect".
#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/base/text.h"
#include "runtime/comm/collectives.h"
#include "scenarios/document/document_error.h"
#include "scenarios/document/sections.h"
#include "scenarios/document/values.h"

namespace shardlab::scenarios {
namespace {

// One kind of expectation, told by its key. Without `read` this version does not check it.
struct CheckDef {
  std::string_view key;
  Check (*read)(const Node& node, const Document& document);
};

std::vector<std::pair<int, Box>> read_shards(const Node& node, const Document& document) {
  std::vector<std::pair<int, Box>> shards;
  for (const Node& item : node.items()) {
    if (item.size() != 2) item.wanted("[ordinal, [[start, stop], …]]");
    std::vector<Node> parts = item.items();
    Box box;
    for (const Node& interval : parts[1].items()) {
      std::vector<std::int64_t> ends = interval.integers(0);
      if (ends.size() != 2) interval.wanted("[start, stop]");
      box.push_back({ends[0], ends[1]});
    }
    shards.emplace_back(int(parts[0].integer(0, document.cluster.device_count() - 1)), std::move(box));
  }
  std::sort(shards.begin(), shards.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return shards;
}

std::vector<std::pair<std::int64_t, double>> read_samples(const Node& node) {
  std::vector<std::pair<std::int64_t, double>> samples;
  for (const Node& item : node.items()) {
    if (item.size() != 2) item.wanted("[flat index, value]");
    std::vector<Node> parts = item.items();
    samples.emplace_back(parts[0].integer(0), parts[1].number());
  }
  return samples;
}

Check read_array(const Node& node, const Document& document) {
  static constexpr std::string_view kKeys[] = {"array",   "shape",   "dtype",          "sharding", "shards", "values", "sum",
                                               "abs_sum", "samples", "addressable_on", "rtol",     "atol",   "note"};
  node.only_keys(kKeys, "an array's expectation");
  ArrayCheck check;
  check.array = node.at("array").string();
  if (auto each = node.find("shape")) check.shape = each->integers(0);
  if (auto each = node.find("dtype")) check.dtype = std::string(name_of(read_dtype(*each)));
  if (auto each = node.find("sharding")) check.sharding = read_sharding(*each, document);
  if (auto each = node.find("shards")) check.shards = read_shards(*each, document);
  if (auto each = node.find("values")) check.values = each->is_list() ? read_numbers(*each) : std::vector<double>{each->number()};
  if (auto each = node.find("sum")) check.sum = each->number();
  if (auto each = node.find("abs_sum")) check.abs_sum = each->number();
  if (auto each = node.find("samples")) check.samples = read_samples(*each);
  if (auto each = node.find("addressable_on")) check.addressable_on = read_processes(*each, document);
  if (auto each = node.find("rtol")) check.rtol = each->number_from(0);
  if (auto each = node.find("atol")) check.atol = each->number_from(0);
  return check;
}

Check read_collectives(const Node& node, const Document& document) {
  static constexpr std::string_view kKeys[] = {"collectives", "count", "at_most", "groups", "note"};
  node.only_keys(kKeys, "a collectives expectation");
  CollectivesCheck check;
  Node kind = node.at("collectives");
  check.kind = kind.string();
  std::vector<std::string_view> kinds = {"*", "send", "recv", "barrier"};
  for (const comm::CollectiveDef* def : comm::all_collectives()) kinds.push_back(def->name);
  if (std::find(kinds.begin(), kinds.end(), check.kind) == kinds.end())
    kind.fail(fmt::format("unknown kind of collective '{}'{}", check.kind, did_you_mean(check.kind, kinds)));
  if (auto each = node.find("count")) check.count = each->integer(0);
  if (auto each = node.find("at_most")) check.at_most = each->integer(0);
  if (auto each = node.find("groups")) {
    check.groups.emplace();
    for (const Node& group : each->items()) check.groups->push_back(read_ordinals(group, document));
  }
  if (!check.count && !check.at_most && !check.groups) node.fail("wanted \"count\", \"at_most\" or \"groups\"");
  return check;
}

Check read_wire_bytes(const Node& node, const Document&) {
  static constexpr std::string_view kKeys[] = {"wire_bytes", "note"}, kInner[] = {"at_most"};
  node.only_keys(kKeys, "a wire_bytes expectation");
  Node limit = node.at("wire_bytes");
  limit.only_keys(kInner, "wire_bytes");
  return WireBytesCheck{limit.at("at_most").integer(0)};
}

Check read_diagnosis(const Node& node, const Document& document) {
  static constexpr std::string_view kKeys[] = {"diagnosis", "processes", "statement", "note"};
  static constexpr std::string_view kCodes[] = {"order-mismatch",     "program-mismatch", "missing-participant", "deadlock",
                                                "potential-deadlock", "process-raised",   "process-exited",      "process-killed",
                                                "process-stuck",      "input-divergence", "straggler",           "unawaited"};
  node.only_keys(kKeys, "a diagnosis expectation");
  DiagnosisCheck check;
  Node code = node.at("diagnosis");
  if (code.is_null()) {
    static constexpr std::string_view kNull[] = {"diagnosis", "note"};
    node.only_keys(kNull, "the expectation of no diagnosis");
    return check;
  }
  check.code = code.string();
  if (std::find(std::begin(kCodes), std::end(kCodes), *check.code) == std::end(kCodes))
    code.fail(fmt::format("unknown diagnosis '{}'{}", *check.code, did_you_mean(*check.code, kCodes)));
  if (auto each = node.find("processes")) check.processes = read_processes(*each, document);
  if (auto each = node.find("statement")) {
    check.statement = each->is_string() ? Document::statement_index(each->string()) : int(each->integer(0, INT32_MAX));
    if (*check.statement < 0 || std::size_t(*check.statement) >= document.program.size())
      each->fail(fmt::format("there is no statement {}", each->text()));
  }
  return check;
}

Check read_error(const Node& node, const Document&) {
  static constexpr std::string_view kKeys[] = {"error", "note"};
  node.only_keys(kKeys, "an error expectation");
  return ErrorCheck{node.at("error").string()};
}

std::string cell_text(const Node& node) { return node.is_string() ? node.string() : node.json().dump(); }

Check read_trace(const Node& node, const Document&) {
  static constexpr std::string_view kKeys[] = {"trace", "rows", "note"};
  node.only_keys(kKeys, "a trace expectation");
  TraceCheck check{node.at("trace").string(), {}};
  for (const Node& row : node.at("rows").items()) {
    check.rows.emplace_back();
    if (!row.is_list())
      check.rows.back().push_back(cell_text(row));
    else
      for (const Node& cell : row.items()) check.rows.back().push_back(cell_text(cell));
  }
  return check;
}

const CheckDef kChecks[] = {
    {"array", read_array},
    {"collectives", read_collectives},
    {"wire_bytes", read_wire_bytes},
    {"diagnosis", read_diagnosis},
    {"error", read_error},
    {"trace", read_trace},
    {"peak_bytes_per_device", nullptr},
    {"output", nullptr},
    {"predicted_ms", nullptr},
};

Expectation read_expectation(const Node& node, const Document& document) {
  for (const CheckDef& def : kChecks) {
    auto key = node.find(def.key);
    if (!key) continue;
    if (def.read == nullptr) throw NotSupportedError(key->pointer(), fmt::format("the expectation '{}'", def.key));
    return {node.pointer(), node.json().dump(), def.read(node, document)};
  }
  std::vector<std::string_view> keys;
  for (const CheckDef& def : kChecks) keys.push_back(def.key);
  node.only_keys(keys, "an expectation");
  node.fail(fmt::format("an expectation has one of {}", fmt::join(keys, ", ")));
}

}  // namespace

std::vector<Expectation> read_expectations(const Node& node, const Document& document, const std::set<std::string>& names) {
  std::vector<Expectation> result;
  for (const Node& item : node.items()) {
    result.push_back(read_expectation(item, document));
    const auto* check = std::get_if<ArrayCheck>(&result.back().check);
    if (!check || names.contains(check->array)) continue;
    std::vector<std::string_view> near(names.begin(), names.end());
    item.at("array").fail(fmt::format("the program binds no '{}'{}", check->array, did_you_mean(check->array, near)));
  }
  return result;
}

}  // namespace shardlab::scenarios
