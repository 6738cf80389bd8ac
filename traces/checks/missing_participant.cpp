#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "traces/checks/abandoned.h"
#include "traces/checks/definitions.h"
#include "traces/checks/messages.h"
#include "traces/checks/mismatch.h"
#include "traces/checks/missing_place.h"
#include "traces/checks/wording.h"

namespace shardlab {
namespace {

std::string calls_more(int length) { return length > 1 ? fmt::format(" and {} more", length - 1) : std::string(); }

// Those who make the call and those who do not are told at the place where it is missing.
void tell_place(const Positions& positions, const std::vector<int>& have, const std::vector<int>& lack, int length, Diagnosis& diagnosis) {
  auto contains = [](const std::vector<int>& processes, int p) {
    return std::find(processes.begin(), processes.end(), p) != processes.end();
  };
  for (Participant& side : diagnosis.participants) {
    if (side.kind == "local") continue;
    const CallEvidence* call = nullptr;
    if (contains(have, side.process))
      call = missing_place(positions, side.process, lack.front(), length).missing;
    else if (contains(lack, side.process))
      call = missing_place(positions, have.front(), side.process, length).next;
    if (call) side = participant(positions, side.process, call);
  }
}

Diagnosis of_disagreement(const Positions& positions, const Disagreement& disagreement) {
  const Evidence& evidence = positions.evidence();
  Diagnosis diagnosis = diagnosis_of(positions, disagreement);
  diagnosis.fields.clear();
  TwoSides two = two_sides(disagreement);
  int length = two.guilty->alignment.length;
  bool skipped = two.guilty->alignment.relation == Relation::kSkipped;
  const std::vector<int>& guilty = disagreement.tie ? two.guilty->processes : two.guilty->guilty;
  const std::vector<int>&have = skipped ? two.others : guilty, &lack = skipped ? guilty : two.others;
  const MissingPlace place = missing_place(positions, have.front(), lack.front(), length);
  const CallEvidence& missing = place.missing ? *place.missing : *(skipped ? two.other : two.guilty)->call;
  const CallEvidence& next = place.next ? *place.next : *(skipped ? two.guilty : two.other)->call;
  if (skipped) {
    diagnosis.message = fmt::format("{} {}{}, which {}; {} next", subject(have, "run"), call_at(evidence, missing), calls_more(length),
                                    subject(lack, "skip"), fmt::format("{} {}", subject(lack, "run"), call_at(evidence, next)));
  } else {
    diagnosis.message =
        fmt::format("{} {}{}, {} that {} not make: {} {}", subject(have, "run"), call_at(evidence, missing), calls_more(length),
                    length > 1 ? "calls" : "a call", processes_text(lack) + (lack.size() == 1 ? " does" : " do"), subject(lack, "run"),
                    call_at(evidence, next));
  }
  tell_place(positions, have, lack, length, diagnosis);
  diagnosis.details.emplace_back("direction", skipped ? "skipped" : "extra");
  diagnosis.details.emplace_back("calls", std::to_string(length));
  return diagnosis;
}

Diagnosis of_abandoned(const Positions& positions, const Abandoned& call) {
  Diagnosis diagnosis = diagnosis_of(positions, call);
  const MissingPlace place = missing_place(positions, call.have.front(), call.lack.front(), 1);
  diagnosis.message = fmt::format("{} {}, but {} ended normally without it", subject(call.have, "run"),
                                  call_at(positions.evidence(), place.missing ? *place.missing : *call.call), processes_text(call.ended));
  tell_place(positions, call.have, call.lack, 1, diagnosis);
  std::vector<int> ending;
  std::set_difference(call.lack.begin(), call.lack.end(), call.ended.begin(), call.ended.end(), std::back_inserter(ending));
  if (!ending.empty()) diagnosis.message += fmt::format(", and {} {} past it", processes_text(ending), ending.size() == 1 ? "is" : "are");
  diagnosis.details.emplace_back("direction", call.is_extra() ? "extra" : "skipped");
  diagnosis.details.emplace_back("ended", "normally");
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
    if (positions.all_raised_alike()) break;
    bool known = std::any_of(call.have.begin(), call.have.end(),
                             [&](int p) { return std::find(involved.begin(), involved.end(), p) != involved.end(); });
    if (!known && !call.step) found.push_back(of_abandoned(positions, call));
  }
  for (const MessageFault& fault : message_faults(positions))
    if (fault.kind == MessageFault::Kind::kNoSend || fault.kind == MessageFault::Kind::kNoReceive)
      found.push_back(diagnosis_of(positions, fault));
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
