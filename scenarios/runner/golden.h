// Golden runs: a recorded trace names the scenario that it was recorded from and what came out; replaying it compares the two by meaning.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/document/load.h"
#include "traces/statement_places.h"

namespace shardlab::scenarios {

struct Golden {
  Loaded loaded;
  std::string report;  // as JSON
};

bool is_trace(std::string_view path);  // by its name

// Of the file that it was read from.
traces::StatementPlaces places_of(const Loaded& loaded);

// Beside what the processes recorded: the document, where it stands, and the report.
void keep_golden(const std::string& trace, const Loaded& loaded, const std::string& report);
// UserError where the trace was recorded from something else than a scenario.
Golden read_golden(const std::string& trace);

// Status, verdicts, shardings, collectives, bytes and values, one line for each that differs; times, texts and the order of what has none
// do not count. Floating-point values may differ by the last bits of their type.
std::vector<std::string> golden_differences(std::string_view recorded, std::string_view now);

// The report with another status and the key "golden": what differs.
std::string with_golden(std::string_view report, std::string_view status, const std::vector<std::string>& differences);

}  // namespace shardlab::scenarios
