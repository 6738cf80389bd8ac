// Evidence and diagnoses as JSON: how verdicts travel, and how the final evidence is stored in a trace.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "traces/checks/evidence.h"

namespace shardlab {

std::string to_json(const Evidence&);
std::string to_json(const std::vector<Diagnosis>&);
// Throw IoError on text that is not what to_json() gives.
Evidence evidence_from_json(std::string_view text);
std::vector<Diagnosis> diagnoses_from_json(std::string_view text);

}  // namespace shardlab
