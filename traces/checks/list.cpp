#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "traces/checks/definitions.h"
#include "traces/checks/positions.h"
#include "traces/checks/wording.h"

namespace shardlab {

std::span<const CheckDef* const> all_checks() {
  static constexpr std::array<const CheckDef*, 10> kChecks{
      &kProcessKilled,      &kProcessRaised, &kProcessExited,   &kOrderMismatch, &kProgramMismatch,
      &kMissingParticipant, &kDeadlock,      &kInputDivergence, &kProcessStuck,  &kPotentialDeadlock,
  };
  return kChecks;
}

std::span<const CheckDef* const> all_remarks() {
  static constexpr std::array<const CheckDef*, 2> kRemarks{&kStraggler, &kUnawaited};
  return kRemarks;
}

namespace {

const CallEvidence* call_of(const ProcessEvidence& process, const Participant& side) {
  for (const CallEvidence& call : process.calls)
    if (call.seq == side.seq && call.op == side.op && call.where == side.where) return &call;
  return nullptr;
}

// In which functions of the program each side issued its launch; where in that it communicates: along which axes of the mesh, and the lines
// from there out to the launch's.
void add_places(const Evidence& evidence, Diagnosis& diagnosis) {
  constexpr std::size_t kSidesTold = 4;
  std::map<int, const ProcessEvidence*> processes;
  for (const ProcessEvidence& process : evidence.processes) processes[process.process] = &process;
  for (Participant& side : diagnosis.participants) {
    auto process = processes.find(side.process);
    if (process == processes.end() || process->second->callers.empty()) continue;
    if (const CallEvidence* call = call_of(*process->second, side))
      for (const StepEvidence& step : process->second->callers)
        if (step.after == call->launch) side.callers = step.what;
  }
  const SideTable table = side_table(diagnosis);
  for (std::size_t i = 0; i < std::min(table.sides.size(), kSidesTold); ++i) {
    const Participant& side = *table.sides[i].side;
    auto process = processes.find(side.process);
    const CallEvidence* call = process == processes.end() ? nullptr : call_of(*process->second, side);
    if (!call) continue;
    const std::string who = processes_text(table.sides[i].processes);
    const ProgramEvidence* program = evidence.program(*call);
    std::string chain = fmt::format("{}{}", call->op, where_text(call->where));
    bool is_inside = false;
    if (program && !program->collectives.empty()) {
      const ProgramEvidence::Collective& first = program->collectives.front();
      if (!first.axes.empty()) diagnosis.details.emplace_back("mesh axes on " + who, first.axes);
      is_inside = first.op != call->op && !first.op.empty() && !where_text(first.where).empty();
      if (is_inside) chain = fmt::format("{} of {}{}, in {}", first.kind, first.op, where_text(first.where), chain);
    }
    if (!side.callers.empty()) chain += fmt::format(", called in {}", side.callers);
    if (is_inside || !side.callers.empty()) diagnosis.details.emplace_back("call chain on " + who, std::move(chain));
  }
}

std::vector<Diagnosis> found_by(const CheckDef& check, const Evidence& evidence) {
  std::vector<Diagnosis> found = check.run(evidence);
  for (Diagnosis& diagnosis : found) {
    diagnosis.code = check.code;
    diagnosis.severity = check.severity;
    diagnosis.explain = check.explain;
    diagnosis.evidence_ns = evidence.complete_ns;
    diagnosis.detected_ns = evidence.now_ns;
    if (diagnosis.severity == "error") add_places(evidence, diagnosis);
  }
  return found;
}

// Those whose place the diagnosis explains: the guilty, and who contradicts them; where none does, who waits for them.
std::vector<int> explained_by(const Positions& positions, const Diagnosis& diagnosis) {
  std::vector<int> explained = diagnosis.processes;
  for (int p : positions.processes())
    if (std::any_of(diagnosis.processes.begin(), diagnosis.processes.end(), [&](int guilty) { return positions.contradict(p, guilty); }))
      explained.push_back(p);
  if (explained.size() > diagnosis.processes.size()) return explained;
  for (int p : positions.waiting_for(diagnosis.processes)) explained.push_back(p);
  return explained;
}

}  // namespace

std::vector<Diagnosis> judge(const Evidence& evidence) {
  // Of several classes that fit the same processes the first is the cause. What other processes prove among themselves is a cause of its
  // own.
  Positions positions(evidence);
  std::vector<Diagnosis> verdict;
  std::set<int> explained;
  for (const CheckDef* check : all_checks()) {
    if (check->severity != "error" && !verdict.empty()) continue;
    std::vector<Diagnosis> found = found_by(*check, evidence);
    std::erase_if(found, [&](const Diagnosis& each) {
      return std::any_of(each.processes.begin(), each.processes.end(), [&](int p) { return explained.contains(p); });
    });
    for (Diagnosis& each : found) {
      for (int p : explained_by(positions, each)) explained.insert(p);
      verdict.push_back(std::move(each));
    }
  }
  return verdict;
}

std::vector<Diagnosis> judge_between(const Evidence& evidence, std::span<const int> processes) {
  Evidence between = evidence;
  std::erase_if(between.processes, [&](const ProcessEvidence& each) {
    return std::find(processes.begin(), processes.end(), each.process) == processes.end();
  });
  auto take_common_head = [&] {
    std::vector<CallEvidence*> heads;
    for (ProcessEvidence& process : between.processes) {
      auto open =
          std::find_if(process.calls.begin(), process.calls.end(), [](const CallEvidence& call) { return !call.matched && !call.sent; });
      if (open == process.calls.end()) return false;
      if (!heads.empty() && key_of(*heads.front()) != key_of(*open)) return false;
      heads.push_back(&*open);
    }
    for (CallEvidence* head : heads) head->matched = true;
    return !heads.empty();
  };
  while (take_common_head())
    for (ProcessEvidence& process : between.processes) ++process.matched;
  return judge(between);
}

std::vector<Diagnosis> remarks(const Evidence& evidence) {
  std::vector<Diagnosis> all;
  if (!judge(evidence).empty()) return all;
  for (const CheckDef* check : all_remarks())
    for (Diagnosis& each : found_by(*check, evidence)) all.push_back(std::move(each));
  return all;
}

std::string diagnoses_markdown() {
  std::string text =
      "# Diagnoses\n\n"
      "Made from the definitions in `traces/checks`. One diagnosis per cause; where several fit, the first of this list is given.\n"
      "A process that is merely slow is never accused: every verdict rests on calls that were issued or on processes that ended. What is\n"
      "worth knowing of a run that ended well is told beside, as a warning or for information, and ends nothing.\n\n"
      "| code | severity | when |\n|---|---|---|\n";
  for (auto checks : {all_checks(), all_remarks()})
    for (const CheckDef* check : checks) text += fmt::format("| `{}` | {} | {} |\n", check->code, check->severity, check->summary);
  for (auto checks : {all_checks(), all_remarks()})
    for (const CheckDef* check : checks) text += fmt::format("\n## {}\n\n{}\n", check->code, check->explain);
  return text;
}

}  // namespace shardlab
