// The verdict as it reaches every process: the diagnoses, and the text that every gate throws.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "traces/checks/evidence.h"

namespace shardlab::control {

struct Verdict {
  std::vector<Diagnosis> diagnoses;
  std::string code, text;  // of the first: what DiagnosisError carries
};
using VerdictRef = std::shared_ptr<const Verdict>;

VerdictRef make_verdict(std::vector<Diagnosis> diagnoses);

}  // namespace shardlab::control
