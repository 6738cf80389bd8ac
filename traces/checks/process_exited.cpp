#include <fmt/format.h>

#include <algorithm>

#include "traces/checks/definitions.h"
#include "traces/checks/wording.h"

namespace shardlab {
namespace {

std::vector<Diagnosis> run(const Evidence& evidence) {
  Positions positions(evidence);
  // Programs that never join and end well are none of ours.
  bool any_joined = std::any_of(evidence.processes.begin(), evidence.processes.end(), [](const ProcessEvidence& p) { return p.joined; });
  std::vector<int> exited;
  for (int p : positions.processes())
    if (positions.at(p).state == ProcessState::kExited && (any_joined || positions.at(p).exit_code != 0)) exited.push_back(p);
  erase_unneeded(positions, exited);
  if (exited.empty()) return {};
  std::vector<int> waiting = positions.waiting_for(exited);
  Diagnosis diagnosis{.processes = exited, .participants = sides(positions, exited, waiting)};
  const ProcessEvidence& first = positions.at(exited.front());
  std::string how = first.exit_code == kDisappeared ? std::string("disappeared: its connection closed before it left the job")
                    : first.exit_code != 0          ? fmt::format("exited with code {}", first.exit_code)
                    : first.joined                  ? std::string("exited without leaving the job")
                                                    : std::string("exited without joining the job");
  diagnosis.message = fmt::format("{} {}{}", processes_text(exited), how, last_seen_text(positions, exited.front(), "after"));
  if (!waiting.empty())
    diagnosis.message += fmt::format("; {} for {} in {}", subject(waiting, "wait"), exited.size() == 1 ? "it" : "them",
                                     call_at(evidence, *positions.head(waiting.front())));
  for (int p : exited) diagnosis.details.emplace_back(fmt::format("exit code of process {}", p), std::to_string(positions.at(p).exit_code));
  return {diagnosis};
}

}  // namespace

const CheckDef kProcessExited{
    .code = "process-exited",
    .severity = "error",
    .summary = "a process ended with a code other than 0, or without leaving the job",
    .explain =
        "A process ended by itself, but not in the normal way: with an exit code other than 0, or by a call such as exit() or _exit() "
        "that went past the end of the program, where a process leaves the job. What it had issued may never be matched, and those that "
        "need it can never go on. Look at what the process printed last.",
    .run = run,
};

}  // namespace shardlab
