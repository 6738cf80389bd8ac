// Diagnoses as the report prints them (docs/scenarios.md); how they travel and are stored is checks/evidence_json.h.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/checks/evidence.h"

namespace shardlab::traces {

// code, severity, message, explain, processes, tie (only where true), fields and details (an object; only where any),
// participants ("where", "statement", "sharding" … only where known), detected_after_ms.
nlohmann::ordered_json diagnosis_to_report(const Diagnosis& diagnosis);

// [["direction","skipped"],…] and back, for the column diagnoses.details. The latter throws IoError on other text.
std::string details_to_json(const std::vector<std::pair<std::string, std::string>>& details);
std::vector<std::pair<std::string, std::string>> details_from_json(std::string_view json);

}  // namespace shardlab::traces
