#include "gui/models/prediction.h"

#include <map>
#include <set>

namespace shardlab::gui {
namespace {

bool same(const CollectiveType& plan, const CollectiveType& seen) {
  return plan.kind == seen.kind && plan.bytes == seen.bytes && plan.wire_bytes == seen.wire_bytes &&
         plan.groups->lists == seen.groups->lists && plan.pairs == seen.pairs;
}

}  // namespace

std::vector<Prediction> compare_with_plan(const TraceData& trace) {
  std::map<std::pair<int, int>, Prediction> rows;
  std::map<int, std::set<std::int64_t>> ranks;  // of each program's runs, on its devices
  std::set<int> unfinished;                     // programs of which a run did not end
  for (const auto& launch : trace.launches) {
    ranks[launch.program].insert(launch.seq);
    if (launch.done == kOpen) unfinished.insert(launch.program);
  }
  for (std::size_t p = 0; p < trace.programs.size(); ++p)
    for (std::size_t call = 0; call < trace.programs[p].collectives.size(); ++call)
      rows[{int(p), int(call)}].planned = trace.programs[p].collectives[call];
  for (std::size_t i = 0; i < trace.collectives.size(); ++i) {
    const Collective& call = trace.collectives[i];
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
    if (const auto runs = ranks.find(key.first); runs != ranks.end()) row.runs = int(runs->second.size());
    const bool ends_early = trace.running || trace.torn() || unfinished.contains(key.first);
    row.as_planned &= row.planned && (row.recorded == row.runs || (ends_early && row.recorded < row.runs));
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace shardlab::gui
