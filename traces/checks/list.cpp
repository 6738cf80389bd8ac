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

std::vector<Diagnosis> judge(const Evidence& evidence) {
  for (const CheckDef* check : all_checks()) {
    std::vector<Diagnosis> found = check->run(evidence);
    if (found.empty()) continue;
    for (Diagnosis& diagnosis : found) {
      diagnosis.code = check->code;
      diagnosis.severity = check->severity;
      diagnosis.explain = check->explain;
      diagnosis.evidence_ns = evidence.complete_ns;
      diagnosis.detected_ns = evidence.now_ns;
    }
    return found;
  }
  return {};
}

std::string diagnoses_markdown() {
  std::string text =
      "# Diagnoses\n\n"
      "Made from the definitions in `traces/checks`. One diagnosis per cause; where several fit, the first of this list is given.\n"
      "A process that is merely slow is never diagnosed: every verdict rests on calls that were issued or on processes that ended.\n\n"
      "| code | severity | when |\n|---|---|---|\n";
  for (const CheckDef* check : all_checks()) text += fmt::format("| `{}` | {} | {} |\n", check->code, check->severity, check->summary);
  for (const CheckDef* check : all_checks()) text += fmt::format("\n## {}\n\n{}\n", check->code, check->explain);
  return text;
}

}  // namespace shardlab
