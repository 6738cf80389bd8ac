#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "traces/checks/definitions.h"
#include "traces/checks/wording.h"

namespace shardlab {
namespace {

// They wait for data, and all that they issued is matched.
std::vector<int> blocked_on_data(const Positions& positions) {
  std::vector<int> blocked;
  for (int p : positions.processes()) {
    ProcessState state = positions.at(p).state;
    if ((state == ProcessState::kWaiting || state == ProcessState::kReading) && !positions.head(p)) blocked.push_back(p);
  }
  return blocked;
}

// Those to blame: who raised and is needed; once nobody goes on any more, who raised although the others did not, or raised otherwise.
std::vector<int> guilty_of(const Positions& positions, const std::vector<int>& raised, bool& tie) {
  if (positions.all_raised_alike()) return {};
  std::vector<int> needed;
  for (int p : raised)
    if (!positions.waiting_for({p}).empty()) needed.push_back(p);
  if (!needed.empty()) return needed;
  std::vector<int> blocked = blocked_on_data(positions);
  bool over = std::all_of(positions.processes().begin(), positions.processes().end(),
                          [&](int p) { return positions.ended(p) || std::binary_search(blocked.begin(), blocked.end(), p); });
  if (!over) return {};
  if (raised.size() < positions.processes().size()) return raised;
  std::map<std::string, std::vector<int>> by_text;
  for (int p : raised) by_text[positions.at(p).error].push_back(p);
  auto most =
      std::max_element(by_text.begin(), by_text.end(), [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  tie = std::count_if(by_text.begin(), by_text.end(), [&](const auto& e) { return e.second.size() == most->second.size(); }) > 1;
  std::vector<int> guilty;
  for (int p : raised)
    if (tie || positions.at(p).error != most->first) guilty.push_back(p);
  return guilty;
}

std::vector<Diagnosis> run(const Evidence& evidence) {
  Positions positions(evidence);
  std::vector<int> raised;
  for (int p : positions.processes())
    if (positions.at(p).state == ProcessState::kRaised) raised.push_back(p);
  if (raised.empty()) return {};
  bool tie = false;
  std::vector<int> guilty = guilty_of(positions, raised, tie);
  if (guilty.empty()) return {};
  std::vector<int> waiting = positions.waiting_for(guilty), blocked = waiting.empty() ? blocked_on_data(positions) : std::vector<int>();
  Diagnosis diagnosis{.processes = guilty, .tie = tie, .participants = sides(positions, guilty, waiting.empty() ? blocked : waiting)};
  const ProcessEvidence& first = positions.at(guilty.front());
  diagnosis.message = fmt::format("{} raised \"{}\"{}", processes_text(guilty), first.error, where_text(first.where));
  if (!waiting.empty())
    diagnosis.message += fmt::format("; {} for {} in {}", subject(waiting, "wait"), guilty.size() == 1 ? "it" : "them",
                                     call_at(evidence, *positions.head(waiting.front())));
  if (!blocked.empty()) {
    const ProcessEvidence& one = positions.at(blocked.front());
    diagnosis.message += fmt::format("; {} for data in {}{}", subject(blocked, "wait"), one.doing, where_text(one.where));
  }
  for (int p : guilty) diagnosis.details.emplace_back(fmt::format("error of process {}", p), positions.at(p).error);
  return {diagnosis};
}

}  // namespace

const CheckDef kProcessRaised{
    .code = "process-raised",
    .severity = "error",
    .summary = "a process ended in an error that the others did not meet; its text is given",
    .explain =
        "One process met an error (an exception, a failed check) that the others did not, and left the program. The others went on to "
        "a call that needs it, and would wait for ever. The error itself is the cause: mend that, or let all processes meet it alike, "
        "for example by agreeing on the condition before acting on it. Under the error that the process printed stand the calls of the "
        "program that led to it, with their lines where it was compiled with debugging information (-g). If every process raises the same "
        "error there is no such diagnosis, only the error.",
    .run = run,
};

}  // namespace shardlab
