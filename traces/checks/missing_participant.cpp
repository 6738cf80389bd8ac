#include <fmt/format.h>

#include <algorithm>
#include <iterator>
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
    diagnosis.message =
        fmt::format("{} {}{}, which {}; {} next", subject(two.others, "run"), call_at(evidence, *two.other->call), calls_more(length),
                    subject(guilty, "skip"), fmt::format("{} {}", subject(guilty, "run"), call_at(evidence, *two.guilty->call)));
  } else {
    diagnosis.message = fmt::format("{} {}{}, a call that {} not make: {} {}", subject(guilty, "run"), call_at(evidence, *two.guilty->call),
                                    calls_more(length), processes_text(two.others) + (two.others.size() == 1 ? " does" : " do"),
                                    subject(two.others, "run"), call_at(evidence, *two.other->call));
  }
  diagnosis.details.emplace_back("direction", skipped ? "skipped" : "extra");
  diagnosis.details.emplace_back("calls", std::to_string(length));
  return diagnosis;
}

// Processes at one call that needs others which ended normally without it.
struct Abandoned {
  const CallEvidence* call = nullptr;
  std::vector<int> have;
  std::vector<int> lack;   // all that are past it or end without it
  std::vector<int> ended;  // of those, the ones that have left
};

// Blocked at a read, with nothing open.
bool at_read(const Positions& positions, int process) {
  return positions.at(process).state == ProcessState::kReading && !positions.head(process);
}

// Does `process` make the call no more? It has left, is about to leave, or is stopped at the very read that one in the call has come to.
bool is_past(const Positions& positions, int process, const std::vector<int>& in_call) {
  const ProcessEvidence& evidence = positions.at(process);
  if (positions.head(process)) return false;
  if (evidence.state == ProcessState::kLeft) return true;
  if (!at_read(positions, process)) return false;
  if (evidence.doing == "exit" || evidence.doing == "leave") return true;
  return !evidence.where.empty() && std::any_of(in_call.begin(), in_call.end(), [&](int p) {
    const ProcessEvidence& other = positions.at(p);
    return other.state == ProcessState::kReading && other.where == evidence.where && other.statement == evidence.statement;
  });
}

std::vector<Abandoned> abandoned_calls(const Positions& positions) {
  std::map<CallKey, Abandoned> by_call;
  for (int p : positions.processes()) {
    const CallEvidence* head = positions.head(p);
    if (!head) continue;
    Abandoned& call = by_call[key_of(*head)];
    if (!call.call) call.call = head;
    call.have.push_back(p);
  }
  std::vector<Abandoned> calls;
  for (auto& [key, call] : by_call) {
    for (int q : positions.processes()) {
      if (!positions.includes(*call.call, q) || !is_past(positions, q, call.have)) continue;
      call.lack.push_back(q);
      if (positions.at(q).state == ProcessState::kLeft) call.ended.push_back(q);
    }
    if (!call.ended.empty()) calls.push_back(std::move(call));
  }
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
  diagnosis.message = fmt::format("{} {}, but {} ended normally without it", subject(call.have, "run"), call_at(evidence, *call.call),
                                  processes_text(call.ended));
  std::vector<int> ending;
  std::set_difference(call.lack.begin(), call.lack.end(), call.ended.begin(), call.ended.end(), std::back_inserter(ending));
  if (!ending.empty()) diagnosis.message += fmt::format(", and {} {} past it", processes_text(ending), ending.size() == 1 ? "is" : "are");
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
    .explain =
        "A launch runs only when every process that owns one of its devices issues it. Here some processes make a call that others do not "
        "make: those in the call wait for the ones that never come. The usual cause is a call under `if (process_index() == 0)`, or a loop "
        "that runs once more on some processes; moving an array or printing a value that lives on several processes is such a call too. "
        "Let all owners make the call, and keep only what is local under the condition.",
    .run = run,
};

}  // namespace shardlab
