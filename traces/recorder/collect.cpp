#include "traces/recorder/collect.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace shardlab::recorder {
namespace {

using traces::kNoTime;
using traces::MatchState;

// (epoch, device set, seq): the place of a launch; the program and the rank among equal launches of one process tell its rows apart.
using Place = std::tuple<std::int64_t, int, std::int64_t>;

void judge_states(Joined& joined, const std::map<Place, std::vector<std::size_t>>& places, const std::vector<ProcessTrace>& processes) {
  for (const auto& [place, launches] : places)
    for (const std::size_t index : launches) {
      LogicalLaunch& launch = joined.launches[index];
      std::set<int> issuers;
      for (const auto& [process, trace] : launch.issuers) issuers.insert(processes[process].process);
      bool all = true;
      for (const int process : launch.program->processes) all &= issuers.contains(process);
      if (!all) launch.state = launches.size() > 1 ? MatchState::kMismatched : MatchState::kPartial;
    }
}

LogicalCall timed_call(const LogicalLaunch& launch, std::size_t index, int call) {
  LogicalCall logical{.launch = index, .call = call};
  bool open = false;
  Ns issued = kNoTime;
  for (const auto& [process, trace] : launch.issuers) {
    issued = issued == kNoTime ? trace->issued_ns : std::min(issued, trace->issued_ns);
    if (std::size_t(call) >= trace->calls.size() || trace->calls[std::size_t(call)].start_ns == kNoTime) {
      open |= trace->done_ns == kNoTime;
      continue;
    }
    const CallTrace& member = trace->calls[std::size_t(call)];
    logical.first_ns = logical.first_ns == kNoTime ? member.start_ns : std::min(logical.first_ns, member.start_ns);
    logical.last_ns = std::max(logical.last_ns, member.end_ns);
    open |= member.end_ns == kNoTime;
  }
  if (logical.first_ns == kNoTime) logical.first_ns = issued;
  if (open) logical.last_ns = kNoTime;
  return logical;
}

}  // namespace

Joined join(const std::vector<ProcessTrace>& processes, const Definitions& definitions) {
  Joined joined;
  joined.launch_of.resize(processes.size());
  std::map<Place, std::vector<std::size_t>> places;
  std::map<std::tuple<const UnifiedProgram*, std::int64_t, std::int64_t, int>, std::size_t> known;
  for (std::size_t p = 0; p < processes.size(); ++p) {
    std::map<std::tuple<const UnifiedProgram*, std::int64_t, std::int64_t>, int> again;
    for (const auto& [number, trace] : processes[p].launches) {
      const UnifiedProgram& program = definitions.program(p, trace.program);
      const int rank = again[{&program, trace.epoch, trace.seq}]++;
      auto [found, added] = known.try_emplace({&program, trace.epoch, trace.seq, rank}, joined.launches.size());
      // Launches whose program was lost are joined with nothing.
      if (program.id == 0 && !added) added = true, found->second = joined.launches.size();
      if (added) {
        joined.launches.push_back({.program = &program, .seq = trace.seq, .epoch = trace.epoch});
        places[{trace.epoch, program.device_set, trace.seq}].push_back(found->second);
      }
      joined.launches[found->second].issuers.emplace_back(p, &trace);
      joined.launch_of[p][number] = found->second;
    }
  }
  judge_states(joined, places, processes);

  for (std::size_t i = 0; i < joined.launches.size(); ++i) {
    Ns earlier = kNoTime;
    for (int call = 0; call < int(joined.launches[i].program->collectives.size()); ++call) {
      joined.calls.push_back(timed_call(joined.launches[i], i, call));
      earlier = joined.calls.back().order_ns = std::max(joined.calls.back().first_ns, earlier);
    }
  }
  std::stable_sort(joined.calls.begin(), joined.calls.end(), [](const auto& a, const auto& b) { return a.order_ns < b.order_ns; });
  joined.calls_of.resize(joined.launches.size());
  for (std::size_t i = 0; i < joined.calls.size(); ++i) {
    auto& calls = joined.calls_of[joined.calls[i].launch];
    calls.resize(joined.launches[joined.calls[i].launch].program->collectives.size());
    calls[std::size_t(joined.calls[i].call)] = i;
  }
  return joined;
}

}  // namespace shardlab::recorder
