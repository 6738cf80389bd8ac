#include "traces/recorder/merge_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

namespace shardlab::recorder {
namespace {

using traces::EventKind;
using traces::Id;
using traces::kNoTime;
using traces::MemberStatus;
using traces::TrackKind;

const ProcessEnd* end_of(const MergeOptions& options, int process) {
  for (const auto& end : options.ends)
    if (end.process == process) return &end;
  return nullptr;
}

const ProcessEvidence* evidence_of(const MergeOptions& options, int process) {
  for (const auto& evidence : options.evidence.processes)
    if (evidence.process == process) return &evidence;
  return nullptr;
}

bool is_end(ProcessState state) {
  return state == ProcessState::kLeft || state == ProcessState::kRaised || state == ProcessState::kExited || state == ProcessState::kKilled;
}

// What the supervisor saw is certain; the ledger knows an error from a plain exit code.
ProcessState final_state(const ProcessEnd* end, const ProcessEvidence* evidence, bool closed, bool elastic) {
  if (end && end->signal != 0) return ProcessState::kKilled;
  // A process of an elastic job leaves by itself: the ledger of the last epoch need not have heard of it.
  if (elastic && end && end->exit_code == 0) return ProcessState::kLeft;
  if (evidence && is_end(evidence->state)) return evidence->state;
  if (end) return end->exit_code == 0 ? ProcessState::kLeft : ProcessState::kExited;
  if (evidence) return evidence->state;
  return closed ? ProcessState::kLeft : ProcessState::kRunning;
}

}  // namespace

RowWriter::RowWriter(traces::TraceWriter& writer, const MergeOptions& options, const std::vector<ProcessTrace>& processes,
                     const Definitions& definitions, Joined& joined, Tracks& tracks, ArrayIds& array_ids,
                     std::vector<traces::ImportLogRow>& log, const ArrayIds* before)
    : writer_(writer),
      options_(options),
      processes_(processes),
      definitions_(definitions),
      joined_(joined),
      log_(log),
      tracks_(tracks),
      array_ids_(array_ids),
      before_(before) {
  array_ids_.resize(processes.size());
}

void RowWriter::write_all() {
  write_tracks();
  link_diagnoses();
  write_deeds();
  write_verdict();
  write_frame();
}

void RowWriter::write_deeds() {
  write_launches();
  write_collectives();
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    write_host_events(i);
    write_batch_events(i);
  }
  write_arrays();
  write_array_ends();
  write_launch_arrays();
  write_checksums();
}

void RowWriter::write_frame() {
  write_processes();
  write_epochs();
  write_devices();
  write_losses();
  write_meta();
}

void RowWriter::write_meta() {
  Ns first = kNoTime, last = kNoTime;
  std::set<std::string> clocks;
  const ProcessRecord* speaker = nullptr;
  int count = int(processes_.size());
  for (const auto& process : processes_) {
    if (process.first_ns != kNoTime) first = first == kNoTime ? process.first_ns : std::min(first, process.first_ns);
    last = std::max(last, process.last_ns);
    if (!process.info.clock_domain.empty()) clocks.insert(process.info.clock_domain);
    if (!speaker && process.info.pid != 0) speaker = &process.info;
    count = std::max(count, process.info.process_count);
  }
  std::string clock;
  for (const auto& name : clocks) clock += (clock.empty() ? name : "; " + name);
  if (clocks.size() > 1) log_.push_back({-1, options_.out, "error", "the processes ran on several hosts, whose clocks are not aligned"});
  writer_.meta("title", options_.title.empty() && speaker ? speaker->command_line : options_.title);
  writer_.meta("shardlab_version", speaker ? speaker->version : "");
  writer_.meta("process_count", std::to_string(count));
  writer_.meta("device_count", std::to_string(all_devices().size()));
  writer_.meta("command_line", options_.command_line.empty() && speaker ? speaker->command_line : options_.command_line);
  writer_.meta("clock_domain", clock);
  writer_.meta("first_ns", first == kNoTime ? "" : std::to_string(first));
  writer_.meta("last_ns", last == kNoTime ? "" : std::to_string(last));
  writer_.meta("truncated", "0");
  const bool ended =
      std::all_of(processes_.begin(), processes_.end(), [](const ProcessTrace& process) { return process.closed || process.gone; });
  writer_.meta("running", options_.running && (!ended || processes_.empty()) ? "1" : "0");
}

void RowWriter::write_processes() {
  Ns first_ns = kNoTime;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const ProcessTrace& trace = processes_[i];
    if (trace.incarnation == 0) first_ns = trace.first_ns;
    if (i + 1 < processes_.size() && processes_[i + 1].process == trace.process) continue;  // the last one says how it ended
    const ProcessEnd* end = end_of(options_, trace.process);
    const ProcessEvidence* evidence = evidence_of(options_, trace.process);
    traces::ProcessRow row{.process = trace.process, .pid = trace.info.pid, .host = trace.info.host};
    row.state = trace.gone ? ProcessState::kSilent : final_state(end, evidence, trace.closed, !trace.epochs.empty());
    if (end) {
      if (end->pid != 0) row.pid = end->pid;
      if (!end->host.empty()) row.host = end->host;
      row.exit_code = end->exit_code;
      row.signal = end->signal;
      row.error = end->last_words;
    }
    if (evidence) {
      if (!end) row.exit_code = evidence->exit_code, row.signal = evidence->signal;
      if (!evidence->error.empty()) row.error = evidence->error;
      row.place = evidence->where;
      row.statement = evidence->statement;
      row.doing = evidence->doing;
      row.issued = evidence->issued;
      row.matched = evidence->matched;
    }
    row.first_ns = first_ns == kNoTime ? trace.first_ns : first_ns;
    row.last_ns = trace.last_ns;
    row.closed = trace.closed;
    writer_.add(row);
  }
}

// Each set of processes that went on together, against the one before.
void RowWriter::write_epochs() {
  std::map<std::int64_t, EpochRecord> epochs;
  int count = 0;
  for (const ProcessTrace& trace : processes_) {
    count = std::max({count, trace.process + 1, int(trace.info.process_count)});
    for (const EpochRecord& record : trace.epochs) {
      EpochRecord& epoch = epochs.try_emplace(record.epoch, record).first->second;
      epoch.time_ns = std::min(epoch.time_ns, record.time_ns);
    }
  }
  if (epochs.empty()) return;
  EpochRecord& first = epochs[0];
  for (int p = 0; p < count; ++p) first.live.push_back(p);
  for (const ProcessTrace& trace : processes_)
    if (trace.incarnation == 0 && trace.first_ns != kNoTime)
      first.time_ns = first.time_ns == 0 ? trace.first_ns : std::min(first.time_ns, trace.first_ns);
  std::vector<int> before;
  for (const auto& [number, epoch] : epochs) {
    traces::EpochRow row{.epoch = number, .first_ns = epoch.time_ns, .live = {epoch.live.begin(), epoch.live.end()}};
    if (number > 0) {
      std::set_difference(before.begin(), before.end(), row.live.begin(), row.live.end(), std::back_inserter(row.gone));
      std::set_difference(row.live.begin(), row.live.end(), before.begin(), before.end(), std::back_inserter(row.came));
      // Who was started again before the others noticed never was missing.
      for (const ProcessTrace& trace : processes_) {
        const bool begins = trace.incarnation > 0 && !trace.epochs.empty() && trace.epochs.front().epoch == number;
        if (!begins || std::find(row.came.begin(), row.came.end(), trace.process) != row.came.end()) continue;
        row.gone.push_back(trace.process);
        row.came.push_back(trace.process);
      }
      std::sort(row.gone.begin(), row.gone.end());
      std::sort(row.came.begin(), row.came.end());
    }
    writer_.add(row);
    before = row.live;
  }
}

// As the processes told, the first that knows; where none does, by the programs that ran.
std::vector<DeviceRecord> RowWriter::all_devices() const {
  std::map<int, DeviceRecord> devices;
  for (const auto& process : processes_)
    for (const auto& device : process.devices) devices.try_emplace(device.ordinal, device);
  if (devices.empty())
    for (std::size_t p = 0; p < processes_.size(); ++p)
      for (const auto& program : processes_[p].programs)
        if (program.processes.size() == 1)
          for (const int ordinal : program.devices)
            devices.try_emplace(ordinal, DeviceRecord{ordinal, program.processes[0], "", fmt::format("device {}", ordinal)});
  std::vector<DeviceRecord> out;
  for (auto& [ordinal, device] : devices) out.push_back(device);
  return out;
}

void RowWriter::write_devices() {
  std::map<int, int> next_local;
  for (const auto& device : all_devices())
    writer_.add(traces::DeviceRow{device.ordinal, device.process, next_local[device.process]++, device.kind, device.name});
}

void RowWriter::write_tracks() {
  std::map<int, Id> batch_of;
  for (std::size_t p = 0; p < processes_.size(); ++p) {
    const int process = processes_[p].process;
    if (p >= tracks_.host.size() && processes_[p].incarnation > 0) {
      tracks_.host.push_back(tracks_.host.back());
      tracks_.batch.push_back(tracks_.batch.back());
    } else if (p >= tracks_.host.size()) {
      tracks_.host.push_back(
          writer_.add_track({.kind = TrackKind::kHost, .process = process, .name = fmt::format("process {} host", process)}));
      tracks_.batch.push_back(
          writer_.add_track({.kind = TrackKind::kBatch, .process = process, .name = fmt::format("process {} devices", process)}));
    }
    batch_of[process] = tracks_.batch[p];
  }
  for (const auto& device : all_devices())
    if (const auto batch = batch_of.find(device.process); batch != batch_of.end() && tracks_.devices.insert(device.ordinal).second)
      writer_.add_track({.kind = TrackKind::kDevice,
                         .process = device.process,
                         .device = device.ordinal,
                         .batch_track = batch->second,
                         .name = device.name});
}

// A participant names a launch by its process, seq and devices; the launch's first collective stands for it.
void RowWriter::link_diagnoses() {
  for (std::size_t d = 0; d < options_.diagnoses.size(); ++d) {
    auto& calls = participant_calls_.emplace_back();
    for (const auto& side : options_.diagnoses[d].participants) {
      std::size_t found = 0;
      for (std::size_t l = 0; l < joined_.launches.size() && side.seq >= 0 && found == 0; ++l) {
        const auto& launch = joined_.launches[l];
        if (launch.seq != side.seq || joined_.calls_of[l].empty()) continue;
        if (!side.devices.empty() && side.devices != launch.program->devices) continue;
        for (const auto& [index, trace] : launch.issuers)
          if (processes_[index].process == side.process) found = joined_.calls_of[l].front() + 1;
      }
      calls.push_back(found);
      if (found > 0) diagnosis_of_call_.try_emplace(found - 1, Id(d) + 1);
    }
  }
}

void RowWriter::write_launches() {
  for (std::size_t p = 0; p < processes_.size(); ++p)
    for (const auto& [number, launch] : processes_[p].launches)
      writer_.add(traces::LaunchRow{processes_[p].process, number, launch.seq, definitions_.program(p, launch.program).id,
                                    definitions_.site(p, launch.site), launch.issued_ns, launch.started_ns, launch.done_ns, launch.status,
                                    definitions_.frame(p, launch.stack)});
}

void RowWriter::write_collectives() {
  for (std::size_t i = 0; i < joined_.calls.size(); ++i) {
    LogicalCall& call = joined_.calls[i];
    const LogicalLaunch& launch = joined_.launches[call.launch];
    const auto& [first, trace] = launch.issuers.front();
    traces::CollectiveRow row{.seq = launch.seq,
                              .program = launch.program->id,
                              .call = call.call,
                              .launch = trace->number,
                              .what = launch.program->collectives[std::size_t(call.call)],
                              .state = launch.state,
                              .first_ns = call.first_ns,
                              .last_ns = call.last_ns};
    // An operation on its own is shared by all lines that make it: the launch's line is the one that was run.
    if (row.what.site == 0) row.what.site = definitions_.site(first, trace->site);
    if (const auto diagnosis = diagnosis_of_call_.find(i); diagnosis != diagnosis_of_call_.end()) row.diagnosis = diagnosis->second;
    write_member_rows(row, launch, call);
    call.id = writer_.add(row);
    write_wait_edges(launch, call);
  }
}

void RowWriter::write_member_rows(traces::CollectiveRow& row, const LogicalLaunch& launch, const LogicalCall& call) {
  for (const auto& [index, trace] : launch.issuers) {
    const CallTrace none;
    const CallTrace& member = std::size_t(call.call) < trace->calls.size() ? trace->calls[std::size_t(call.call)] : none;
    row.members.push_back({.process = processes_[index].process,
                           .launch = trace->number,
                           .site = definitions_.site(index, trace->site),
                           .issued_ns = trace->issued_ns,
                           .start_ns = member.start_ns,
                           .wait_ns = member.wait_ns,
                           .end_ns = member.end_ns,
                           .moved_bytes = member.moved_bytes,
                           .status = member.status});
  }
}

void RowWriter::write_wait_edges(const LogicalLaunch& launch, const LogicalCall& call) {
  for (const auto& [index, trace] : launch.issuers) {
    if (std::size_t(call.call) >= trace->calls.size()) continue;
    const CallTrace& member = trace->calls[std::size_t(call.call)];
    for (const int peer : std::set<int>(member.peers.begin(), member.peers.end()))
      writer_.add(traces::WaitEdgeRow{processes_[index].process, peer, member.wait_ns, member.end_ns, call.id});
  }
}

void RowWriter::write_verdict() {
  for (std::size_t d = 0; d < options_.diagnoses.size(); ++d) {
    std::vector<Id> collectives;
    for (const std::size_t call : participant_calls_[d]) collectives.push_back(call == 0 ? 0 : joined_.calls[call - 1].id);
    writer_.add(options_.diagnoses[d], collectives);
  }
  if (!options_.evidence.processes.empty()) writer_.add(options_.evidence);
}

void RowWriter::write_losses() {
  for (const auto& process : processes_)
    for (const auto& row : process.dropped) writer_.add(row);
  for (const auto& row : log_) writer_.add(row);
}

}  // namespace shardlab::recorder
