#include <fmt/format.h>

#include <map>
#include <tuple>

#include "traces/checks/definitions.h"
#include "traces/checks/positions.h"
#include "traces/checks/wording.h"

namespace shardlab {
namespace {

struct Dropped {
  std::vector<int> processes;
  const StepEvidence* step = nullptr;
};

std::vector<Diagnosis> run(const Evidence& evidence) {
  std::map<std::tuple<std::int32_t, std::string, std::string>, Dropped> places;
  for (const ProcessEvidence& process : evidence.processes)
    for (const StepEvidence& step : process.unused) {
      Dropped& dropped = places[{step.statement, step.where, step.what}];
      dropped.processes.push_back(process.process);
      if (!dropped.step) dropped.step = &step;
    }
  std::vector<Diagnosis> found;
  for (const auto& [place, dropped] : places) {
    const StepEvidence& step = *dropped.step;
    Diagnosis diagnosis{.processes = dropped.processes};
    for (int p : dropped.processes)
      diagnosis.participants.push_back({.process = p, .op = step.what, .where = step.where, .statement = step.statement, .state = "left"});
    std::string times = step.value == "1" ? "" : fmt::format(", {} times", step.value);
    diagnosis.message =
        fmt::format("the result of {}{} is dropped before anybody used it{}, on {}", step.what, where_text(step.where), times,
                    dropped.processes.size() == evidence.processes.size() ? "all processes" : processes_text(dropped.processes));
    diagnosis.details.emplace_back("count", step.value);
    found.push_back(std::move(diagnosis));
  }
  return found;
}

}  // namespace

const CheckDef kUnawaited{
    .code = "unawaited",
    .severity = "warning",
    .summary = "a result or request never looked at",
    .explain =
        "The processes computed this, communicated for it where it spans them, and dropped it: no result of that launch was read, given to "
        "another computation or waited for. Either the statement can go, or a value is overwritten too early, or an error that it would "
        "have shown is missed. To run something for its effect alone, wait for it with block_until_ready().",
    .run = run,
};

}  // namespace shardlab
