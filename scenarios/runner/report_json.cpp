// Reports as JSON.
#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/runner/report.h"
#include "traces/report_json.h"

namespace shardlab::scenarios {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::int64_t kWholeElementsMax = 256;
constexpr int kSamples = 17;

ordered_json finite(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return value;
}

ordered_json element(const ArrayReport& array, std::int64_t index) {
  if (is_inexact(array.type.dtype)) return finite(array.flat(index));
  return visit_dtype(array.type.dtype, [&]<typename T>(T) -> ordered_json {
    if constexpr (std::is_integral_v<T>)
      return array.whole->as<T>()[index];
    else
      throw InternalError("a number that is not whole");
  });
}

ordered_json box_json(const Box& box) {
  ordered_json result = ordered_json::array();
  for (const Interval& each : box) result.push_back({each.start, each.stop});
  return result;
}

ordered_json spec_json(const std::vector<std::vector<std::string>>& spec) {
  ordered_json result = ordered_json::array();
  for (const auto& axes : spec) {
    if (axes.empty())
      result.push_back(nullptr);
    else if (axes.size() == 1)
      result.push_back(axes[0]);
    else
      result.push_back(axes);
  }
  return result;
}

// Evenly spaced over the flat value, the ends included; rounded down, as numpy's linspace(…).astype(int) does.
std::int64_t sample_index(std::int64_t size, int sample) {
  if (sample == kSamples - 1) return size - 1;
  return std::int64_t(double(sample) * (double(size - 1) / (kSamples - 1)));
}

void add_values(ordered_json& result, const ArrayReport& array) {
  if (!array.whole) return;
  std::int64_t size = array.flat_size();
  if (array.type.elements() <= kWholeElementsMax) {
    ordered_json values = ordered_json::array();
    for (std::int64_t i = 0; i < size; ++i) values.push_back(element(array, i));
    result["values"] = std::move(values);
  }
  if (size <= kWholeElementsMax) return;
  result["sum"] = finite(array.sum());
  result["abs_sum"] = finite(array.abs_sum());
  ordered_json samples = ordered_json::array();
  for (int i = 0; i < kSamples; ++i) {
    std::int64_t index = sample_index(size, i);
    samples.push_back({index, finite(array.flat(index))});
  }
  result["samples"] = std::move(samples);
}

ordered_json array_json(const ArrayReport& array) {
  ordered_json result;
  result["shape"] = array.type.shape;
  result["dtype"] = name_of(array.type.dtype);
  if (array.spec) result["spec"] = spec_json(*array.spec);
  ordered_json shards = ordered_json::array();
  for (const auto& [ordinal, box] : array.shards) shards.push_back({ordinal, box_json(box)});
  result["shards"] = std::move(shards);
  if (!array.bound_on.empty()) result["bound_on"] = array.bound_on;
  add_values(result, array);
  return result;
}

ordered_json collective_json(const CollectiveReport& collective) {
  const SeenCollective& seen = collective.seen;
  ordered_json result;
  result["seq"] = collective.seq;
  result["kind"] = seen.kind;
  if (!seen.pairs.empty())
    result["pairs"] = seen.pairs;
  else
    result["groups"] = seen.groups;
  result["bytes"] = seen.bytes;
  result["wire_bytes"] = seen.wire_bytes;
  result["statement"] = seen.statement;
  result["op"] = seen.op;
  result["axes"] = seen.axes;
  return result;
}

ordered_json transfer_json(const CollectiveReport& transfer) {
  ordered_json result;
  result["statement"] = transfer.seen.statement;
  result["array"] = transfer.seen.array;
  result["bytes"] = transfer.seen.bytes;
  result["pairs"] = transfer.seen.pairs;
  return result;
}

ordered_json report_json(const Report& report) {
  ordered_json result;
  result["name"] = report.name;
  result["status"] = name_of(report.status);
  result["duration_ms"] = report.duration_ms;
  if (!report.message.empty()) result["message"] = report.message;
  if (!report.pointer.empty() || report.status == Status::kError) result["pointer"] = report.pointer;
  if (!report.source.empty()) result["source"] = report.source;
  result["arrays"] = ordered_json::object();
  for (const ArrayReport& array : report.arrays) result["arrays"][array.name] = array_json(array);
  result["collectives"] = ordered_json::array();
  for (const CollectiveReport& each : report.collectives) result["collectives"].push_back(collective_json(each));
  result["wire_bytes"] = report.wire_bytes;
  result["moved_bytes"] = report.moved_bytes;
  result["transfers"] = ordered_json::array();
  for (const CollectiveReport& each : report.transfers) result["transfers"].push_back(transfer_json(each));
  result["diagnoses"] = ordered_json::array();
  for (const Diagnosis& each : report.diagnoses) result["diagnoses"].push_back(traces::diagnosis_to_report(each));
  result["expectations"] = ordered_json::array();
  for (const ExpectationReport& each : report.expectations)
    result["expectations"].push_back({{"check", ordered_json::parse(each.check)}, {"passed", each.passed}, {"message", each.message}});
  if (!report.sweep.empty()) result["sweep"] = ordered_json::array();
  for (const SweepCell& cell : report.sweep)
    result["sweep"].push_back({{"process", cell.process},
                               {"call", cell.call},
                               {"do", ordered_json::parse(cell.fault)},
                               {"outcome", cell.outcome},
                               {"as_expected", cell.as_expected}});
  if (!report.notes.empty()) result["notes"] = report.notes;
  if (!report.trace.empty()) result["trace"] = report.trace;
  return result;
}

}  // namespace

std::string to_json(const Report& report) { return report_json(report).dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace shardlab::scenarios
