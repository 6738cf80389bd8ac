#include "gui/models/prediction.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "traces/plan_record.h"

namespace shardlab::gui {
namespace {

bool same(const CollectiveType& plan, const CollectiveType& seen) {
  return plan.kind == seen.kind && plan.bytes == seen.bytes && plan.wire_bytes == seen.wire_bytes &&
         plan.groups->lists == seen.groups->lists && plan.pairs == seen.pairs;
}

std::vector<Prediction> compare_collectives(const TraceData& trace) {
  std::map<std::pair<int, int>, Prediction> rows;
  for (std::size_t p = 0; p < trace.programs.size(); ++p)
    for (std::size_t call = 0; call < trace.programs[p].collectives.size(); ++call)
      rows[{int(p), int(call)}].planned = trace.programs[p].collectives[call];
  for (std::size_t i = 0; i < trace.collectives.size(); ++i) {
    const Collective& call = trace.collectives[i];
    if (call.program < 0) continue;  // its program was lost, and its plan with it
    Prediction& row = rows[{call.program, call.call}];
    if (row.recorded++ == 0) {
      row.seen = call.type;
      row.collective = int(i);
    }
    row.as_planned &= row.planned && same(*row.planned, *call.type);
    for (const auto& member : call.members) row.moved_bytes += member.moved_bytes;
  }
  std::vector<Prediction> out;
  for (auto& [key, row] : rows) {
    row.program = key.first;
    row.call = key.second;
    out.push_back(std::move(row));
  }
  return out;
}

// A launch's arrays are its program's results of that type, in order.
std::vector<Prediction> compare_results(const TraceData& trace) {
  std::vector<std::vector<Prediction>> rows(trace.programs.size());
  for (std::size_t p = 0; p < trace.programs.size(); ++p)
    for (std::size_t r = 0; r < trace.programs[p].results.size(); ++r)
      rows[p].push_back({.program = int(p), .result = int(r), .planned_sharding = trace.programs[p].results[r].sharding});
  std::unordered_map<const Launch*, std::vector<bool>> taken;  // the results that have their array
  for (std::size_t i = 0; i < trace.arrays.size(); ++i) {
    const Array& array = trace.arrays[i];
    const Launch* launch = array.launch < 0 ? nullptr : trace.launch(array.process, array.launch);
    if (!launch || launch->program < 0) continue;
    const auto& results = trace.programs[std::size_t(launch->program)].results;
    auto& had = taken[launch];
    had.resize(results.size());
    for (std::size_t r = 0; r < results.size(); ++r) {
      if (had[r] || results[r].dtype != array.dtype || results[r].shape != array.layout->shape) continue;
      had[r] = true;
      Prediction& row = rows[std::size_t(launch->program)][r];
      ++row.recorded;
      const bool alike = traces::same_spec(row.planned_sharding, array.layout->spec);
      if (row.array < 0 || (row.as_planned && !alike)) {
        row.array = int(i);
        row.seen_sharding = array.layout->spec;
      }
      row.as_planned &= alike;
      break;
    }
  }
  std::vector<Prediction> out;
  for (auto& each : rows) out.insert(out.end(), each.begin(), each.end());
  return out;
}

}  // namespace

std::vector<Prediction> compare_with_plan(const TraceData& trace) {
  std::map<int, std::vector<std::int64_t>> ranks;  // of each program's runs, on its devices
  std::set<int> unfinished;                        // programs of which a run did not end
  for (const auto& launch : trace.launches) {
    ranks[launch.program].push_back(launch.seq);
    if (launch.done == kOpen) unfinished.insert(launch.program);
  }
  for (auto& [program, seqs] : ranks) {
    std::sort(seqs.begin(), seqs.end());
    seqs.erase(std::unique(seqs.begin(), seqs.end()), seqs.end());
  }
  std::vector<Prediction> rows = compare_collectives(trace);
  for (auto& row : rows) {
    if (const auto runs = ranks.find(row.program); runs != ranks.end()) row.runs = int(runs->second.size());
    const bool ends_early = trace.running || trace.torn() || unfinished.contains(row.program);
    // Of a torn trace one table may have what another lacks.
    row.as_planned &= row.planned && (row.recorded == row.runs || trace.torn() || (ends_early && row.recorded < row.runs));
  }
  for (auto& row : compare_results(trace)) {
    if (const auto runs = ranks.find(row.program); runs != ranks.end()) row.runs = int(runs->second.size());
    rows.push_back(std::move(row));
  }
  // A program's collectives, then its results.
  std::stable_sort(rows.begin(), rows.end(), [](const Prediction& a, const Prediction& b) { return a.program < b.program; });
  return rows;
}

}  // namespace shardlab::gui
