// The result of one scenario, and how it is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/document/document.h"
#include "scenarios/runner/outcome.h"
#include "traces/checks/evidence.h"

namespace shardlab::scenarios {

enum class Status : std::uint8_t { kPassed, kFailed, kDiagnosed, kError, kInconclusive, kSkipped, kOurFault };
std::string_view name_of(Status status);  // "passed", …; our own fault is an "error"
int exit_code_of(Status status);          // 0 1 2 3 5 77 4
// The status that counts when there are several: by exit code in the order 4 3 2 1 5 77 0; skipped only where all are.
Status worst_of(const std::vector<Status>& statuses);

// An array of the program's end, gathered from all processes.
struct ArrayReport {
  std::string name;
  TensorType type;
  std::optional<std::vector<std::vector<std::string>>> spec;
  std::vector<std::pair<int, Box>> shards;
  std::vector<int> bound_on;  // empty: on all processes
  BufferRef whole;            // nothing: a part is missing, since its process did not get to tell
  std::int64_t flat_size() const { return type.elements() * (is_complex(type.dtype) ? 2 : 1); }
  // Element of the row-major value; a complex one as re, im.
  double flat(std::int64_t index) const;
  double sum() const;
  double abs_sum() const;
};

struct CollectiveReport {
  std::int64_t seq = 0;  // rank among those with the same groups
  SeenCollective seen;
};

struct ExpectationReport {
  std::string check;  // as JSON
  bool passed = false;
  std::string message;
};

// One run of a sweep.
struct SweepCell {
  int process = 0;
  std::int64_t call = 0;     // of the process, from 0
  std::string fault;         // its "do"
  std::string outcome;       // a diagnosis's code, "endured", "never struck", "not classified"
  bool as_expected = false;  // it is what such a fault must lead to, and names the process
};

struct Report {
  std::string name, source;
  Status status = Status::kPassed;
  double duration_ms = 0;
  std::string message, pointer;  // of an error
  std::vector<ArrayReport> arrays;
  std::vector<CollectiveReport> collectives, transfers;
  std::int64_t wire_bytes = 0, moved_bytes = 0;
  std::vector<Diagnosis> diagnoses;
  std::vector<ExpectationReport> expectations;
  std::vector<SweepCell> sweep;
  std::vector<std::string> notes;  // "a fault never fired", …
  std::string trace;               // the file kept, or empty
  bool interrupted = false;        // by a signal to the command
  const ArrayReport* array(std::string_view array_name) const;
};

// The report as one JSON object, on one line.
std::string to_json(const Report& report);

// What people are told of a report: for the terminal and JUnit.
struct Summary {
  std::string name, source;
  Status status = Status::kPassed;
  double duration_ms = 0;
  std::vector<std::string> lines;  // what is wrong
  bool interrupted = false;
};
Summary summary_of(const Report& report);
std::string to_junit(const std::vector<Summary>& summaries);
std::string text_of(const Summary& summary);
// A report as the file holds it: one as it is, several as a list.
std::string joined_json(const std::vector<std::string>& reports);

// Gathers what the processes tell: arrays whole from their parts, and each collective once.
void gather(Report& report, const Document& document, const std::vector<ProcessOutcome>& outcomes);

}  // namespace shardlab::scenarios
