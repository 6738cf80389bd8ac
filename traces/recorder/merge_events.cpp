// The events of the timeline, track by track, in order of time.
#include <algorithm>
#include <map>

#include "traces/recorder/merge_rows.h"

namespace shardlab::recorder {
namespace {

using traces::EventKind;
using traces::EventRow;
using traces::kNoTime;
using traces::MemberStatus;

void write_in_order(traces::TraceWriter& writer, std::vector<EventRow>& events) {
  std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  for (const auto& event : events) writer.add(event);
}

}  // namespace

void RowWriter::write_host_events(std::size_t index) {
  const ProcessTrace& process = processes_[index];
  std::vector<EventRow> events;
  events.reserve(process.launches.size() + process.host_reads.size());
  for (const auto& [number, launch] : process.launches)
    events.push_back(
        {.track = tracks_.host[index],
         .time_ns = launch.issued_ns,
         .duration_ns = 0,
         .kind = EventKind::kLaunch,
         .name = definitions_.program(index, launch.program).name,
         .launch = number,
         .site = definitions_.site(index, launch.site),
         .flags = launch.status == MemberStatus::kFailed || launch.status == MemberStatus::kPoisoned ? traces::kErrorFlag : 0});
  for (const auto& read : process.host_reads) {
    const std::string_view what = process.text(read.what);
    writer_.add(traces::HostReadRow{.process = process.process,
                                    .begin_ns = read.begin_ns,
                                    .end_ns = read.end_ns,
                                    .what = what,
                                    .site = definitions_.site(index, read.site)});
    events.push_back({.track = tracks_.host[index],
                      .time_ns = read.begin_ns,
                      .duration_ns = read.end_ns - read.begin_ns,
                      .kind = EventKind::kHostRead,
                      .name = what,
                      .site = definitions_.site(index, read.site)});
  }
  write_in_order(writer_, events);
}

void RowWriter::write_batch_events(std::size_t index) {
  const ProcessTrace& process = processes_[index];
  std::vector<EventRow> events;
  events.reserve(process.computes.size());
  std::map<const UnifiedProgram*, std::vector<int>> devices;
  for (const auto& compute : process.computes) {
    const auto launch = joined_.launch_of[index].find(compute.launch);
    const UnifiedProgram* program = launch == joined_.launch_of[index].end() ? nullptr : joined_.launches[launch->second].program;
    auto [concerned, is_new] = devices.try_emplace(program);
    if (is_new && program) {
      concerned->second = program->devices;
      std::sort(concerned->second.begin(), concerned->second.end());
    }
    events.push_back({.track = tracks_.batch[index],
                      .time_ns = compute.begin_ns,
                      .duration_ns = compute.end_ns - compute.begin_ns,
                      .kind = EventKind::kCompute,
                      .name = process.text(compute.op),
                      .launch = compute.launch,
                      .site = definitions_.site(index, compute.site),
                      .flags = traces::kBatched,
                      .devices = program ? &concerned->second : nullptr});
  }
  for (const auto& [number, launch] : process.launches) {
    const std::size_t logical = joined_.launch_of[index].at(number);
    const auto& what = joined_.launches[logical].program->collectives;
    for (std::size_t call = 0; call < launch.calls.size() && call < what.size(); ++call) {
      const CallTrace& member = launch.calls[call];
      if (member.start_ns == kNoTime) continue;
      const std::size_t row = joined_.calls_of[logical][call];
      const bool error =
          member.status == MemberStatus::kFailed || member.status == MemberStatus::kPoisoned || diagnosis_of_call_.contains(row);
      events.push_back(
          {.track = tracks_.batch[index],
           .time_ns = member.start_ns,
           .duration_ns = member.end_ns == kNoTime ? kNoTime : member.end_ns - member.start_ns,
           .kind = EventKind::kCollective,
           .name = what[call].kind,
           .collective = joined_.calls[row].id,
           .launch = number,
           .site = what[call].site != 0 ? what[call].site : definitions_.site(index, launch.site),
           .flags = traces::kBatched | (member.wait_ns != kNoTime ? traces::kWaited : 0u) | (error ? traces::kErrorFlag : 0u)});
    }
  }
  write_in_order(writer_, events);
}

}  // namespace shardlab::recorder
