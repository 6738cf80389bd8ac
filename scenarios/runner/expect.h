// Holds a report against a document's expectations, and gives the verdict.
#pragma once

#include <vector>

#include "scenarios/document/document.h"
#include "scenarios/runner/report.h"

namespace shardlab::scenarios {

// Fills `report.expectations` and `report.status`, from the report so far and how each process ended. `trace`: the merged trace's path,
// or empty where none was recorded.
void judge_expectations(Report& report, const Document& document, const std::vector<ProcessOutcome>& outcomes, const std::string& trace);

// Whether the report has an error's diagnosis that no expectation wants.
bool has_unexpected_diagnosis(const Report& report, const Document& document);

}  // namespace shardlab::scenarios
