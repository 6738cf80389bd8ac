#include "gui/models/launch_events.h"

#include <algorithm>
#include <map>

#include "gui/models/array_uses.h"
#include "gui/models/collective_index.h"

namespace shardlab::gui {
namespace {

bool runs_on(const TraceData& trace, const Launch& launch, int device) {
  if (launch.program < 0) return true;
  const auto& devices = trace.programs[std::size_t(launch.program)].devices;
  return std::find(devices.begin(), devices.end(), device) != devices.end();
}

// Several may be issued at one time: in the order of their numbers.
EventRun issue_of(const TraceData& trace, const Launch& launch, const LaneEvents& events) {
  std::ptrdiff_t rank = 0;
  for (const Launch* before = &launch; before != trace.launches.data(); ++rank) {
    --before;
    if (before->process != launch.process || before->issued != launch.issued) break;
  }
  const auto [first, last] = std::equal_range(events.begin.begin(), events.begin.end(), launch.issued);
  for (auto at = first; at != last; ++at) {
    const auto i = std::uint32_t(at - events.begin.begin());
    if (events.kind[i] == EventKind::kLaunch && rank-- == 0) return {i, i + 1};
  }
  return {};
}

EventRun run_on_device(const Launch& launch, const LaneEvents& events) {
  if (launch.started == kOpen) return {};
  const auto from = std::lower_bound(events.begin.begin(), events.begin.end(), launch.started);
  auto to = launch.done == kOpen ? events.begin.end() : std::lower_bound(from, events.begin.end(), launch.done);
  // In virtual time a launch may take none: what begins then is the next one's.
  if (launch.done == launch.started)
    while (to != events.begin.end() && *to == launch.done && events.end[std::size_t(to - events.begin.begin())] == launch.done) ++to;
  return {std::uint32_t(from - events.begin.begin()), std::uint32_t(to - events.begin.begin())};
}

std::span<const Launch> launches_of(const TraceData& trace, int process) {
  const auto [first, last] = std::equal_range(trace.launches.begin(), trace.launches.end(), Launch{.process = process},
                                              [](const Launch& a, const Launch& b) { return a.process < b.process; });
  return {first, last};
}

}  // namespace

EventRun events_of_launch(const TraceData& trace, const Launch& launch, int lane) {
  const Lane& row = trace.lanes[std::size_t(lane)];
  if (row.process != launch.process || trace.preview) return {};
  if (row.device < 0) return issue_of(trace, launch, *row.events);
  return runs_on(trace, launch, row.device) ? run_on_device(launch, *row.events) : EventRun{};
}

const Launch* launch_of_event(const TraceData& trace, int lane, std::int64_t event) {
  const Lane& row = trace.lanes[std::size_t(lane)];
  const Ns begin = row.events->begin[std::size_t(event)];
  for (const Launch& launch : launches_of(trace, row.process)) {
    if (row.device < 0 ? launch.issued != begin : launch.started > begin || launch.done < begin) continue;
    const EventRun run = events_of_launch(trace, launch, lane);
    if (run.first <= event && event < run.last) return &launch;
  }
  return nullptr;
}

std::pair<int, std::int64_t> event_of_launch(const TraceData& trace, int process, std::int64_t launch) {
  const Launch* row = trace.launch(process, launch);
  if (!row) return {-1, -1};
  // Of the process's devices, else of its host thread, where it was issued.
  for (const bool device : {true, false})
    for (std::size_t l = 0; l < trace.lanes.size(); ++l)
      if ((trace.lanes[l].device >= 0) == device)
        if (const EventRun run = events_of_launch(trace, *row, int(l)); !run.empty()) return {int(l), run.first};
  // It did nothing that was recorded: what came then.
  for (std::size_t l = 0; l < trace.lanes.size(); ++l) {
    const auto& begin = trace.lanes[l].events->begin;
    const auto at = std::lower_bound(begin.begin(), begin.end(), row->started == kOpen ? row->issued : row->started);
    if (trace.lanes[l].process == process && at != begin.end()) return {int(l), at - begin.begin()};
  }
  return {-1, -1};
}

std::vector<int> collectives_of_launch(const TraceData& trace, const Launch& launch, int device) {
  constexpr std::size_t kLookedAtMax = 100'000;
  std::vector<int> found;
  if (!trace.collectives_by_time || launch.started == kOpen) return found;
  const Ns end = launch.done == kOpen ? trace.range.end : launch.done;
  for (const int index : trace.collectives_by_time->find({launch.started, end}, kLookedAtMax)) {
    const Collective& call = trace.collectives[std::size_t(index)];
    if (call.program != launch.program || call.seq != launch.seq) continue;
    const auto is_member = [&](const Member& member) {
      return member.process == launch.process && member.enter >= launch.started && member.enter <= end;
    };
    if (std::none_of(call.members.begin(), call.members.end(), is_member)) continue;
    if (device < 0 || call.type->groups->contains(device)) found.push_back(index);
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool TouchedLanes::has(const std::vector<Runs>& lanes, std::vector<EventRun> Runs::*side, int lane, std::int64_t event) {
  if (lane < 0 || std::size_t(lane) >= lanes.size()) return false;
  const auto& runs = lanes[std::size_t(lane)].*side;
  const auto after = std::partition_point(runs.begin(), runs.end(), [event](const EventRun& run) { return run.last <= event; });
  return after != runs.end() && after->first <= event;
}

TouchedLanes find_touched(const TraceData& trace, int array, const std::stop_token& stop) {
  TouchedLanes touched;
  if (!trace.array_uses || trace.preview) return touched;
  touched.lanes.resize(trace.lanes.size());
  std::map<int, std::vector<int>> lanes_of;
  for (std::size_t l = 0; l < trace.lanes.size(); ++l) lanes_of[trace.lanes[l].process].push_back(int(l));
  trace.array_uses->for_each_of(array, [&](const ArrayUse& use) {
    const Launch* launch = stop.stop_requested() ? nullptr : trace.launch(use.process, use.launch);
    if (!launch) return;
    for (const int lane : lanes_of[use.process])
      if (const EventRun run = events_of_launch(trace, *launch, lane); !run.empty()) {
        auto& runs = touched.lanes[std::size_t(lane)];
        (use.gives ? runs.gives : runs.takes).push_back(run);
      }
  });
  // An array that is given twice to a launch touches it once.
  for (auto& lane : touched.lanes)
    for (auto* runs : {&lane.takes, &lane.gives}) {
      const auto key = [](const EventRun& run) { return std::pair(run.first, run.last); };
      std::sort(runs->begin(), runs->end(), [&](const EventRun& a, const EventRun& b) { return key(a) < key(b); });
      runs->erase(std::unique(runs->begin(), runs->end(), [&](const EventRun& a, const EventRun& b) { return key(a) == key(b); }),
                  runs->end());
    }
  return touched;
}

}  // namespace shardlab::gui
