#include <fmt/format.h>

#include <array>

#include "traces/checks/definitions.h"

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

std::vector<Diagnosis> found_by(const CheckDef& check, const Evidence& evidence) {
  std::vector<Diagnosis> found = check.run(evidence);
  for (Diagnosis& diagnosis : found) {
    diagnosis.code = check.code;
    diagnosis.severity = check.severity;
    diagnosis.explain = check.explain;
    diagnosis.evidence_ns = evidence.complete_ns;
    diagnosis.detected_ns = evidence.now_ns;
  }
  return found;
}

}  // namespace

std::vector<Diagnosis> judge(const Evidence& evidence) {
  for (const CheckDef* check : all_checks())
    if (std::vector<Diagnosis> found = found_by(*check, evidence); !found.empty()) return found;
  return {};
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
