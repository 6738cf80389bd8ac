// The fault sweep: each process, each of its calls, each fault, one simulated run; every cell classified.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scenarios/document/document.h"
#include "scenarios/runner/report.h"

namespace shardlab::scenarios {

// Fills report.sweep, and report.status: inconclusive where a cell has no class.
void run_sweep(Report& report, const Document& document);

}  // namespace shardlab::scenarios
