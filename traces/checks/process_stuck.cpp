#include <fmt/format.h>

#include "traces/checks/definitions.h"
#include "traces/checks/positions.h"
#include "traces/checks/wording.h"

namespace shardlab {
namespace {

std::vector<Diagnosis> run(const Evidence& evidence) {
  Positions positions(evidence);
  std::vector<Diagnosis> found;
  for (int p : positions.processes()) {
    const ProcessEvidence& process = positions.at(p);
    if (process.state != ProcessState::kSilent || positions.head(p)) continue;
    std::vector<int> waiting = positions.waiting_for({p});
    if (waiting.empty()) continue;
    Diagnosis diagnosis{.processes = {p}, .participants = sides(positions, {p}, waiting)};
    std::string place = where_text(process.at);
    diagnosis.message = fmt::format("process {} is alive but does not go on{}; {} for it in {}", p, place, subject(waiting, "wait"),
                                    call_at(evidence, *positions.head(waiting.front())));
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
    .summary = "alive, in no call, no progress for the limit; where it is",
    .explain =
        "A process that the others wait for is alive, but it is in no call of this library and has said nothing for longer than the limit "
        "(limits.stuck_ms, 10 s). It may wait for something outside (a file, a lock, a network), run an endless loop, or be stopped by a "
        "debugger. This is the one verdict that rests on time: raise the limit where a process computes that long by itself.",
    .run = run,
};

}  // namespace shardlab
