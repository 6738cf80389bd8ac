#include "runtime/shardlab/job_trace.h"

#include <fmt/format.h>

#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/control/coordinator.h"
#include "runtime/control/network.h"
#include "traces/checks/check_def.h"
#include "traces/recorder/merge.h"
#include "traces/recorder/part.h"

namespace shardlab {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kPartsLimit{10'000}, kBetween{20};

// It writes no more: it said so, or it is no process of this host any more.
bool has_ended(const control::Member& member, const control::TracePlace& place) {
  const int last = std::max(recorder::recorded_incarnations(place.parts, member.process) - 1, 0);
  if (recorder::is_part_closed(recorder::part_path(place.parts, member.process, last))) return true;
  return member.host_id == control::host_identity() && ::kill(pid_t(member.pid), 0) != 0 && errno == ESRCH;
}

// Nobody tells when a part is closed: looking again is all there is.
bool await_parts(const std::vector<control::Member>& members, const control::TracePlace& place) {
  const auto end = std::chrono::steady_clock::now() + kPartsLimit;
  auto all_ended = [&] {
    return std::all_of(members.begin(), members.end(), [&](const auto& member) { return has_ended(member, place); });
  };
  while (!all_ended()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(kBetween);
  }
  return true;
}

}  // namespace

void check_trace_file(const std::string& trace) {
  if (std::string why = recorder::why_not_writable(trace); !why.empty())
    throw_user_error("{} is {}, and no trace can be written there: {}", control::kTraceVariable, trace, why);
}

control::TracePlace make_trace_place(const control::JobEnvironment& environment) {
  if (environment.trace.empty()) return {};
  check_trace_file(environment.trace);
  control::TracePlace place{.out = fs::absolute(environment.trace).string(), .parts = environment.trace_dir};
  if (!place.parts.empty()) {
    place.parts = fs::absolute(place.parts).string();
    place.keep = true;
    return place;
  }
  place.parts = place.out + ".parts-XXXXXX";
  if (::mkdtemp(place.parts.data()) == nullptr)
    throw IoError(fmt::format("SHARDLAB_TRACE is {}, and no folder for its parts can be made beside it: {}", environment.trace,
                              std::strerror(errno)));
  return place;
}

void merge_job_trace(const control::Coordinator& coordinator, const control::TracePlace& place) {
  const std::vector<control::Member> members = coordinator.members();
  const bool ended = await_parts(members, place);
  recorder::MergeOptions merge{.directory = place.parts, .out = place.out};
  merge.diagnoses = coordinator.diagnoses();
  merge.evidence = coordinator.evidence();
  if (merge.diagnoses.empty()) merge.diagnoses = remarks(merge.evidence);
  merge.running = !ended;
  try {
    recorder::merge_parts(merge);
  } catch (const IoError&) { return; }  // the parts stay, and process 0 says so
  std::error_code ignored;
  if (ended && !place.keep) fs::remove_all(place.parts, ignored);
}

}  // namespace shardlab
