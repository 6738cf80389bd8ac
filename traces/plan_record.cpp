#include "traces/plan_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "traces/report_data.h"

namespace shardlab::traces {
namespace {

// The runs of a program, each counted once over its processes.
struct Runs {
  std::set<std::int64_t> seqs;
  bool unfinished = false;
};

// What was recorded of one collective of a program.
struct Recorded {
  CollectiveShape first;
  Id collective = 0, site = 0;
  std::int64_t count = 0;
  bool alike = true;
};

bool same(const CollectiveShape& plan, const CollectiveShape& seen) {
  return plan.kind == seen.kind && plan.bytes == seen.bytes && plan.wire_bytes == seen.wire_bytes && plan.groups == seen.groups &&
         plan.pairs == seen.pairs;
}

std::string text_of(const CollectiveShape& what) {
  const std::string axes = fmt::format("{}", fmt::join(what.axes.empty() ? std::vector<std::string>() : parse_text_list(what.axes), ","));
  return fmt::format("{}{}{}{}{}, {} on a device, {} on the wire", what.kind, axes.empty() ? "" : " over ", axes,
                     what.op.empty() ? "" : " of ", what.op, bytes_text(what.bytes), bytes_text(what.wire_bytes));
}

std::string times(std::int64_t count) { return count == 1 ? "once" : fmt::format("{} times", count); }
std::string in_runs(std::int64_t runs) { return runs == 1 ? "in one run" : fmt::format("in {} runs", runs); }

class Comparison {
 public:
  explicit Comparison(TraceReader& reader) : reader_(reader), programs_(reader.programs()) {
    for (const LaunchRow& launch : reader.launches()) {
      Runs& runs = runs_[launch.program];
      runs.seqs.insert(launch.seq);
      runs.unfinished |= launch.done_ns == kNoTime;
      program_of_[{launch.process, launch.launch}] = launch.program;
    }
    cut_short_ = reader.meta("running") == "1";
  }

  std::vector<Deviation> deviations() {
    record_collectives();
    record_results();
    cut_short_ |= reader_.torn();
    std::vector<Deviation> out;
    for (const ProgramRow& program : programs_) {
      add_collectives(program, out);
      const auto results = results_.find(program.id);
      if (results == results_.end()) continue;
      for (auto& [position, deviation] : results->second) out.push_back(std::move(deviation));
    }
    return out;
  }

 private:
  void record_collectives() {
    for (const CollectiveRow& row : reader_.collectives()) {
      Recorded& recorded = recorded_[row.program][row.call];
      if (recorded.count++ == 0) recorded = {row.what, row.id, row.what.site, 1, true};
      const CollectiveShape* plan = plan_of(row.program, row.call);
      recorded.alike &= plan && same(*plan, row.what);
    }
  }

  const ProgramRow* program(Id id) const {
    const auto found = std::lower_bound(programs_.begin(), programs_.end(), id, [](const ProgramRow& row, Id of) { return row.id < of; });
    return found == programs_.end() || found->id != id ? nullptr : &*found;
  }
  const CollectiveShape* plan_of(Id of, int call) const {
    const ProgramRow* row = program(of);
    return row && call >= 0 && std::size_t(call) < row->collectives.size() ? &row->collectives[std::size_t(call)] : nullptr;
  }

  void add_collectives(const ProgramRow& program, std::vector<Deviation>& out) {
    auto& recorded = recorded_[program.id];
    const Runs& runs = runs_[program.id];
    const auto count = std::int64_t(runs.seqs.size());
    for (std::size_t call = 0; call < program.collectives.size(); ++call) recorded.try_emplace(int(call));
    for (const auto& [call, seen] : recorded) {
      const CollectiveShape* plan = plan_of(program.id, call);
      const bool ends_early = cut_short_ || runs.unfinished;
      // Of a torn trace one table may have what another lacks.
      if (reader_.torn() && (!plan || seen.alike)) continue;
      if (plan && seen.alike && (seen.count == count || (ends_early && seen.count < count))) continue;
      Deviation deviation{.program = program.id, .name = program.name, .call = call, .site = seen.site, .collective = seen.collective};
      if (plan) deviation.planned = text_of(*plan);
      if (seen.count > 0) deviation.recorded = text_of(seen.first);
      if (plan && deviation.site == 0) deviation.site = plan->site;
      if (!plan)
        deviation.message =
            fmt::format("{} was recorded {} in {}, whose plan does not have it", deviation.recorded, times(seen.count), program.name);
      else if (seen.count == 0)
        deviation.message = fmt::format("{} has planned {}, and it was never recorded {}", program.name, deviation.planned, in_runs(count));
      else if (seen.alike)
        deviation.message = fmt::format("{} has planned {} once a run, and it was recorded {} {}", program.name, deviation.planned,
                                        times(seen.count), in_runs(count));
      else
        deviation.message =
            fmt::format("{} has planned {}, and what was recorded is {}{}", program.name, deviation.planned, deviation.recorded,
                        plan->groups == seen.first.groups && plan->pairs == seen.first.pairs ? "" : ", among other devices");
      out.push_back(std::move(deviation));
    }
  }

  // A launch's arrays are its program's results of that type, in order.
  void record_results() {
    std::map<Id, LayoutRow> layouts;
    for (LayoutRow& layout : reader_.layouts()) layouts.emplace(layout.id, std::move(layout));
    std::map<std::pair<int, std::int64_t>, std::set<int>> taken;  // by launch: the results that have their array
    for (const ArrayRow& array : reader_.arrays()) {
      const auto launch = program_of_.find({array.process, array.launch});
      const auto layout = layouts.find(array.layout);
      const ProgramRow* of = launch == program_of_.end() ? nullptr : program(launch->second);
      if (!of || layout == layouts.end()) continue;
      int position = -1;
      for (const ProgramValueRow& value : of->values) {
        if (!value.is_result) continue;
        ++position;
        if (value.dtype != array.dtype || value.shape != layout->second.shape || !taken[launch->first].insert(position).second) continue;
        if (!same_spec(value.sharding, layout->second.spec)) add_result(*of, position, value, array, layout->second.spec);
        break;
      }
    }
  }

  void add_result(const ProgramRow& program, int position, const ProgramValueRow& plan, const ArrayRow& array, const std::string& spec) {
    const auto [found, added] = results_[program.id].try_emplace(position);
    if (!added) return;
    found->second = {.program = program.id,
                     .name = program.name,
                     .result = position,
                     .message = fmt::format("result {} of {}{}{} was planned as {} and lies as {}", position, program.name,
                                            array.name.empty() ? "" : ", ", array.name, plan.sharding, spec),
                     .planned = plan.sharding,
                     .recorded = spec,
                     .site = array.site};
  }

  TraceReader& reader_;
  const std::vector<ProgramRow> programs_;  // by id
  std::map<Id, Runs> runs_;
  std::map<std::pair<int, std::int64_t>, Id> program_of_;  // by process and launch
  std::map<Id, std::map<int, Recorded>> recorded_;         // by program and call
  std::map<Id, std::map<int, Deviation>> results_;         // by program and position
  bool cut_short_ = false;
};

}  // namespace

bool same_spec(std::string_view plan, std::string_view seen) {
  // Up to the last dimension that is cut; what follows the bracket (partial sums) counts.
  const auto shortened = [](std::string_view spec) {
    int depth = 0;
    std::size_t end = 0;
    for (; end < spec.size(); ++end) {
      depth += spec[end] == '(' ? 1 : spec[end] == ')' ? -1 : 0;
      if (spec[end] == ')' && depth == 0) break;
    }
    std::string_view dims = spec.substr(0, end);
    for (bool shorter = true; shorter;) {
      shorter = false;
      for (const std::string_view tail : {" ", ",", "None"})
        if (dims.ends_with(tail)) dims.remove_suffix(tail.size()), shorter = true;
    }
    return std::string(dims) + std::string(spec.substr(end));
  };
  return plan == seen || shortened(plan) == shortened(seen);
}

std::vector<Deviation> deviations_from_plan(TraceReader& reader) { return Comparison(reader).deviations(); }

}  // namespace shardlab::traces
