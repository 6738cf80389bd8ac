// The trace of a simulated run: what happened in virtual time, recorded as real processes record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/document/document.h"
#include "scenarios/simulate/schedule.h"
#include "traces/checks/evidence.h"

namespace shardlab::scenarios {

struct SimulatedTrace {
  std::string out;                          // replaced where it exists
  std::string title, command_line;          // as of merge_parts()
  std::vector<simulate::ThreadId> choices;  // the schedule that is told of
  std::vector<Diagnosis> diagnoses;
};

// Every process records where all devices' parts lie: its processes times its devices.
inline constexpr std::int64_t kTraceSizeMax = 256 * 1024;

// Runs the document's processes once more under the schedule, in virtual time and without data, and writes what they did. Returns what is
// missing, whole sentences. UserError where the cluster is too large; IoError where the file cannot be written.
std::vector<std::string> write_simulated_trace(const Document& document, const SimulatedTrace& wanted);

}  // namespace shardlab::scenarios
