#include <fmt/format.h>

#include "traces/checks/definitions.h"
#include "traces/checks/wording.h"

namespace shardlab {
namespace {

std::vector<Diagnosis> run(const Evidence& evidence) {
  Positions positions(evidence);
  std::vector<int> killed;
  for (int p : positions.processes())
    if (positions.at(p).state == ProcessState::kKilled) killed.push_back(p);
  erase_unneeded(positions, killed);
  if (killed.empty()) return {};
  std::vector<int> waiting = positions.waiting_for(killed);
  Diagnosis diagnosis{.processes = killed, .participants = sides(positions, killed, waiting)};
  const ProcessEvidence& first = positions.at(killed.front());
  std::string name = signal_name(first.signal);
  std::string signal = name.empty() ? fmt::format("signal {}", first.signal) : fmt::format("signal {} ({})", first.signal, name);
  diagnosis.message = fmt::format("{} {} killed by {}{}", processes_text(killed), killed.size() == 1 ? "was" : "were", signal,
                                  last_seen_text(positions, killed.front(), "in or after"));
  if (!waiting.empty())
    diagnosis.message += fmt::format("; {} for {} in {}", subject(waiting, "wait"), killed.size() == 1 ? "it" : "them",
                                     call_at(evidence, *positions.head(waiting.front())));
  for (int p : killed) diagnosis.details.emplace_back(fmt::format("signal of process {}", p), std::to_string(positions.at(p).signal));
  return {diagnosis};
}

}  // namespace

const CheckDef kProcessKilled{
    .code = "process-killed",
    .severity = "error",
    .summary = "a process was ended by a signal",
    .explain =
        "A process of the job was ended by a signal: somebody killed it, it crashed (SIGSEGV, SIGABRT), or the system ran out of "
        "memory (SIGKILL). All processes take part in every collective that spans them, so those that wait for this one can never go "
        "on, and all were ended with this reason. Look at the last call of the process that was killed and at its own output.",
    .run = run,
};

}  // namespace shardlab
