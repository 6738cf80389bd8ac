#include "scenarios/runner/simulated_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "runtime/base/scratch_folder.h"
#include "runtime/exec/device.h"
#include "scenarios/runner/simulate.h"
#include "traces/checks/wording.h"
#include "traces/recorder/merge.h"
#include "traces/recorder/recorder.h"

namespace shardlab::scenarios {
namespace {

namespace fs = std::filesystem;
using simulate::Happened;
using simulate::Simulation;

constexpr std::size_t kRingBytes = std::size_t(64) << 20;  // sparse, and one at a time

// When each process issued the same call: who came later is who the others waited for.
class Arrivals {
 public:
  explicit Arrivals(const std::vector<Happened>& log) {
    for (const Happened& each : log)
      if (each.event->kind == simulate::Event::Kind::kCall) times_[key_of(each)][each.process] = each.begin_ns;
  }
  std::vector<int> awaited_by(const Happened& call) const {
    std::vector<int> peers;
    const auto& times = times_.at(key_of(call));
    for (int p : call.event->program->processes) {
      auto came = times.find(p);
      if (p != call.process && (came == times.end() || came->second > call.begin_ns)) peers.push_back(p);
    }
    return peers;
  }

 private:
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::int64_t>;
  static Key key_of(const Happened& call) { return {call.event->call.fingerprint, call.event->call.group, call.event->call.seq}; }
  std::map<Key, std::map<int, std::int64_t>> times_;
};

// Puts what one process did into its part.
class ProcessWriter {
 public:
  ProcessWriter(const std::string& folder, int process, const Document& document, const Arrivals& arrivals)
      : arrivals_(arrivals),
        recorder_({.directory = folder,
                   .process = process,
                   .process_count = document.cluster.processes,
                   .ring_bytes = kRingBytes,
                   .drain_ms = 5,
                   .clock = [this] { return clock_ns_; }}) {
    std::vector<recorder::DeviceRecord> devices;
    for (int p = 0; p < document.cluster.processes; ++p)
      for (int d = 0; d < document.cluster.devices; ++d) {
        int ordinal = p * document.cluster.devices + d;
        devices.push_back({ordinal, p, "cpu", fmt::format("CPU {}", ordinal)});
      }
    recorder_.describe_devices(devices);
  }

  void add(const Happened& happened) {
    clock_ns_ = std::max(clock_ns_, happened.begin_ns);
    end_arrays(*happened.event);
    if (happened.event->kind == simulate::Event::Kind::kRead)
      recorder_.on_host_read(happened.event->step.what, happened.event->place, happened.begin_ns, happened.end_ns);
    else if (happened.event->record)
      add_launch(happened);
    clock_ns_ = std::max(clock_ns_, happened.end_ns);
  }
  // What it still waits in ends with the run.
  void end(std::int64_t now_ns) {
    clock_ns_ = std::max(clock_ns_, now_ns);
    if (blocked_in_) {
      if (!blocked_in_->program->collectives.empty()) recorder_.on_call_done(*blocked_in_, 0, clock_ns_, comm::CallStatus::kPoisoned, 0);
      recorder_.on_launch_done(*blocked_in_, clock_ns_, comm::CallStatus::kPoisoned);
    }
    recorder_.close();
    fs::remove(recorder_.ring_file());
  }

 private:
  // A launch begins when the one before it is over. It waits where it moves something: until all have come, and a while for the data.
  void add_launch(const Happened& happened) {
    comm::Launch launch = happened.event->record->launch;
    launch.issued_ns = happened.begin_ns;
    recorder_.on_launch_issued(launch);
    for (const comm::ArrayInfo& array : happened.event->record->arrays) recorder_.on_array(array);
    if (blocked_in_) return;
    comm::Ns at = std::max(happened.begin_ns, free_ns_);
    recorder_.on_launch_started(launch, at);
    const auto& calls = launch.program->collectives;
    const bool moves =
        happened.event->kind == simulate::Event::Kind::kCall &&
        std::any_of(calls.begin(), calls.end(), [](const auto& call) { return !call.groups.empty() || !call.pairs.empty(); });
    const std::vector<int> peers = moves ? arrivals_.awaited_by(happened) : std::vector<int>();
    if (moves && happened.end_ns < 0) blocked_in_ = launch;
    for (int i = 0; i < int(calls.size()); ++i) {
      recorder_.on_call_started(launch, i, at);
      if (i == 0 && !peers.empty()) recorder_.on_call_waiting(launch, i, at, peers);
      if (blocked_in_) return;
      if (moves) at = std::max(at, happened.end_ns) + Simulation::kCallNs / comm::Ns(calls.size());
      recorder_.on_call_done(launch, i, at, comm::CallStatus::kOk, 0);
    }
    if (blocked_in_) return;
    free_ns_ = at;
    recorder_.on_launch_done(launch, free_ns_, comm::CallStatus::kOk);
  }

  // What was launched before still needs them.
  void end_arrays(const simulate::Event& event) {
    if (blocked_in_ || event.array_ends.empty()) return;
    const comm::Ns now = std::exchange(clock_ns_, std::max(clock_ns_, free_ns_));
    for (const std::int64_t id : event.array_ends) recorder_.on_array_end(id, false);
    clock_ns_ = now;
  }

  const Arrivals& arrivals_;
  comm::Ns clock_ns_ = 0, free_ns_ = 0;
  std::optional<comm::Launch> blocked_in_;
  recorder::Recorder recorder_;
};

}  // namespace

std::vector<std::string> write_simulated_trace(const Document& document, const SimulatedTrace& wanted) {
  const std::int64_t processes = document.cluster.processes, devices = processes * document.cluster.devices;
  if (processes * devices > kTraceSizeMax)
    throw_user_error(
        "--trace: {} simulated processes with {} devices in all leave no trace: the product is at most {} (--shrink finds the fewest that "
        "show a verdict)",
        processes, devices, kTraceSizeMax);
  PlannedBefore before;
  PlannedCluster planned = plan_cluster(document, before, {.explain = false, .records = true});
  simulate::SimulationOptions options = simulation_options(document);
  options.keeps_log = true;
  Simulation run(planned.plans, options);
  std::unique_ptr<simulate::Schedule> schedule = simulate::replay_schedule(wanted.choices);
  run.run(*schedule);

  const ScratchFolder folder("simulated");
  const Arrivals arrivals(run.log());
  std::vector<std::vector<const Happened*>> by_process(planned.plans.size());
  for (const Happened& each : run.log()) by_process[std::size_t(each.process)].push_back(&each);
  recorder::MergeOptions merge{
      .directory = folder.path().string(), .out = wanted.out, .diagnoses = wanted.diagnoses, .evidence = run.evidence()};
  merge.title = wanted.title;
  merge.command_line = wanted.command_line;
  const bool is_cut = !wanted.diagnoses.empty() && wanted.diagnoses.front().severity == "error";
  for (const ProcessEvidence& end : run.evidence().processes) {
    ProcessWriter writer(folder.path().string(), end.process, document, arrivals);
    for (const Happened* each : by_process[std::size_t(end.process)]) writer.add(*each);
    writer.end(end.state == ProcessState::kLeft || end.state == ProcessState::kKilled ? run.clock_of(end.process)
                                                                                      : run.virtual_ns() + Simulation::kCallNs);
    recorder::ProcessEnd told{end.process, 0, "simulated", end.exit_code, end.signal, end.error};
    // Whoever still stood somewhere at the verdict ended in it.
    if (is_cut && end.state != ProcessState::kLeft && told.exit_code == 0 && told.signal == 0) {
      told.exit_code = 1;
      if (told.last_words.empty()) told.last_words = text_of(wanted.diagnoses.front());
    }
    merge.ends.push_back(std::move(told));
  }
  return recorder::merge_parts(merge).problems;
}

}  // namespace shardlab::scenarios
