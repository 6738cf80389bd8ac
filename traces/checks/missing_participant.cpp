#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "traces/checks/definitions.h"
#include "traces/checks/mismatch.h"
#include "traces/checks/wording.h"

namespace shardlab {
namespace {

std::string calls_more(int length) { return length > 1 ? fmt::format(" and {} more", length - 1) : std::string(); }

Diagnosis of_disagreement(const Positions& positions, const Disagreement& disagreement) {
  const Evidence& evidence = positions.evidence();
  Diagnosis diagnosis = diagnosis_of(positions, disagreement);
  diagnosis.fields.clear();
  TwoSides two = two_sides(disagreement);
  int length = two.guilty->alignment.length;
  bool skipped = two.guilty->alignment.relation == Relation::kSkipped;
  const std::vector<int>& guilty = disagreement.tie ? two.guilty->processes : two.guilty->guilty;
  if (skipped) {
    diagnosis.message = fmt::format("{} {}{}, which {}; {} next", subject(two.others, "run"), call_at(evidence, *two.other->call),
                                    calls_more(length), subject(guilty, "skip"), fmt::format("{} {}", subject(guilty, "run"), call_at(evidence, *two.guilty->call)));
  } else {
    diagnosis.message = fmt::format("{} {}{}, a call that {} not make: {} {}", subject(guilty, "run"),
                                    call_at(evidence, *two.guilty->call), calls_more(length),
                                    processes_text(two.others) + (two.others.size() == 1 ? " does" : " do"),
                                    subject(two.others, "run"), call_at(evidence, *two.other->call));
  }
  diagnosis.details.emplace_back("direction", skipped ? "skipped" : "extra");
  diagnosis.details.emplace_back("calls", std::to_string(length));
  return diagnosis;
}

// Processes at one call that needs others which ended normally without it.
struct Abandoned {
  const CallEvidence* call = nullptr;
  std::vector<int> have, lack;
};

std::vector<Abandoned> abandoned_calls(const Positions& positions) {
  std::map<CallKey, Abandoned> by_call;
  for (int p : positions.processes()) {
    const CallEvidence* head = positions.head(p);
    if (!head) continue;
    std::vector<int> lack;
    for (int q : positions.processes())
      if (q != p && positions.includes(*head, q) && positions.at(q).state == ProcessState::kLeft && !positions.head(q)) lack.push_back(q);
    if (lack.empty()) continue;
    Abandoned& call = by_call[key_of(*head)];
    if (!call.call) call.call = head;
    call.have.push_back(p);
    call.lack = lack;
  }
  std::vector<Abandoned> calls;
  for (auto& [key, call] : by_call) calls.push_back(std::move(call));
  std::sort(calls.begin(), calls.end(), [](const Abandoned& a, const Abandoned& b) { return a.have.front() < b.have.front(); });
  return calls;
}

Diagnosis of_abandoned(const Positions& positions, const Abandoned& call) {
  const Evidence& evidence = positions.evidence();
  bool extra = call.have.size() < call.lack.size();
  const std::vector<int>& guilty = extra ? call.have : call.lack;
  Diagnosis diagnosis{.processes = guilty};
  std::vector<int> others;
  for (int p : positions.participants(*call.call))
    if (std::find(positions.processes().begin(), positions.processes().end(), p) != positions.processes().end()) others.push_back(p);
  diagnosis.participants = sides(positions, guilty, others);
  std::string without = call.lack.size() == 1 ? "ended normally without it" : "ended normally without it";
  diagnosis.message = fmt::format("{} {}, but {} {}", subject(call.have, "run"), call_at(evidence, *call.call), processes_text(call.lack), without);
  diagnosis.details.emplace_back("direction", extra ? "extra" : "skipped");
  diagnosis.details.emplace_back("ended", "normally");
  diagnosis.details.emplace_back("look_ahead", std::to_string(evidence.look_ahead_calls));
  return diagnosis;
}

std::vector<Diagnosis> run(const Evidence& evidence) {
  Positions positions(evidence);
  std::vector<Diagnosis> found;
  std::vector<int> involved;
  for (const Disagreement& disagreement : disagreements_of(positions, {Relation::kSkipped, Relation::kExtra})) {
    found.push_back(of_disagreement(positions, disagreement));
    for (const Side& side : disagreement.sides) involved.insert(involved.end(), side.processes.begin(), side.processes.end());
  }
  for (const Abandoned& call : abandoned_calls(positions)) {
    bool known = std::any_of(call.have.begin(), call.have.end(),
                             [&](int p) { return std::find(involved.begin(), involved.end(), p) != involved.end(); });
    if (!known) found.push_back(of_abandoned(positions, call));
  }
  return found;
}

}  // namespace

const CheckDef kMissingParticipant{
    .code = "missing-participant",
    .severity = "error",
    .summary = "these lack a call that the others make (`skipped`), or make one more (`extra`); or they ended normally without it",
    .explain = "A launch runs only when every process that owns one of its devices issues it. Here some processes make a call that others do not "
               "make: those in the call wait for the ones that never come. The usual cause is a call under `if (process_index() == 0)`, or a loop "
               "that runs once more on some processes; moving an array or printing a value that lives on several processes is such a call too. "
               "Let all owners make the call, and keep only what is local under the condition.",
    .run = run,
};

}  // namespace shardlab
