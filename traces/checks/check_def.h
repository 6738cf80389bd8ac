// The definition of a check: a rule over evidence with its name and documentation.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/checks/evidence.h"

namespace shardlab {

struct CheckDef {
  std::string_view code;
  std::string_view severity;
  std::string_view summary;  // one line
  std::string_view explain;  // for a newcomer: what it means, why it hangs or lies, what to do
  std::vector<Diagnosis> (*run)(const Evidence&);
};

// All checks, in order of precedence: the first that fits gives the verdict.
std::span<const CheckDef* const> all_checks();

// The verdict on the evidence: the diagnoses of the first check that finds any, and those of later ones on other processes.
std::vector<Diagnosis> judge(const Evidence&);

// The same among these processes alone, after the calls that all of them have issued alike and in which others are still missing: why one
// received a message of another call from the other. Others know nothing of it yet.
std::vector<Diagnosis> judge_between(const Evidence&, std::span<const int> processes);

// Checks of runs that ended well: what is worth knowing, and no reason to stop. All that find something.
std::span<const CheckDef* const> all_remarks();
// Nothing where there is a verdict: a run that was cut short proves nothing of this kind.
std::vector<Diagnosis> remarks(const Evidence&);

// docs/diagnoses.md, made from the definitions.
std::string diagnoses_markdown();

}  // namespace shardlab
