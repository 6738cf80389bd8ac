#include <fmt/format.h>

#include "traces/checks/definitions.h"
#include "traces/checks/positions.h"
#include "traces/checks/wording.h"

namespace shardlab {
namespace {

// Those that are blocked: in a call, or at a read of what one will give.
std::vector<int> blocked(const Positions& positions) {
  std::vector<int> waiting;
  for (int p : positions.processes())
    if (ProcessState state = positions.at(p).state; state == ProcessState::kWaiting || state == ProcessState::kReading)
      waiting.push_back(p);
  return waiting;
}

// Those that wait for a process that does not go on. Who is stopped may have issued all that is known of it, and more: the others then wait
// for its data.
std::vector<int> waiting_for_silent(const Positions& positions, int p) {
  ProcessState state = positions.at(p).state;
  if (state == ProcessState::kSilent && !positions.head(p)) return positions.waiting_for({p});
  if (state != ProcessState::kStopped) return {};
  std::vector<int> waiting = positions.waiting_for({p});
  return waiting.empty() ? blocked(positions) : waiting;
}

std::string call_of(const Evidence& evidence, const Positions& positions, int p) {
  if (const CallEvidence* head = positions.head(p)) return call_at(evidence, *head);
  const ProcessEvidence& process = positions.at(p);
  return process.calls.empty() ? process.doing + where_text(process.where) : call_at(evidence, process.calls.back());
}

std::vector<Diagnosis> run(const Evidence& evidence) {
  Positions positions(evidence);
  std::vector<Diagnosis> found;
  for (int p : positions.processes()) {
    const ProcessEvidence& process = positions.at(p);
    std::vector<int> waiting = waiting_for_silent(positions, p);
    bool is_lost = process.state == ProcessState::kStopped && process.exit_code == kDisappeared;
    if (waiting.empty() && !is_lost) continue;
    Diagnosis diagnosis{.processes = {p}, .participants = sides(positions, {p}, waiting)};
    std::string_view how =
        process.state == ProcessState::kStopped ? "has fallen silent, stopped or cut off" : "is alive but does not go on";
    diagnosis.message = fmt::format("process {} {}{}", p, how, where_text(process.at));
    if (!waiting.empty())
      diagnosis.message += fmt::format("; {} for it in {}", subject(waiting, "wait"), call_of(evidence, positions, waiting.front()));
    if (!process.steps.empty())
      diagnosis.details.emplace_back("last step", fmt::format("{}{}", process.steps.back().what, where_text(process.steps.back().where)));
    found.push_back(std::move(diagnosis));
  }
  return found;
}

}  // namespace

const CheckDef kProcessStuck{
    .code = "process-stuck",
    .severity = "error",
    .summary = "alive, in no call, computing nothing, no progress for the limit; where it is",
    .explain =
        "A process that the others wait for is alive, but it is in no call of this library that computes, and has said nothing for longer "
        "than the limit (limits.stuck_ms, 10 s). It may wait for something outside (a file, a lock, a network), run an endless loop, or be "
        "stopped by a debugger. Where not even its heartbeat is heard it is stopped by a signal, or cut off from the network. This is the "
        "one verdict that rests on time: raise the limit where a process computes that long by itself.",
    .run = run,
};

}  // namespace shardlab
