#include "scenarios/runner/expect.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/base/text.h"
#include "traces/database.h"

namespace shardlab::scenarios {
namespace {

using Shards = std::vector<std::pair<int, Box>>;

// Everything that a check looks at.
struct RunEvidence {
  const Report& report;
  const Document& document;
  const std::vector<ProcessOutcome>& outcomes;
  const std::string& trace;
};

std::string box_text(const Box& box) {
  std::vector<std::string> intervals;
  for (const Interval& each : box) intervals.push_back(fmt::format("{}:{}", each.start, each.stop));
  return fmt::format("[{}]", fmt::join(intervals, ", "));
}

// ---- arrays. Each returns what is wrong, or "".

std::string compare_shards(const Shards& got, Shards wanted) {
  std::sort(wanted.begin(), wanted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (got.size() != wanted.size()) return fmt::format("{} devices hold a part, wanted {}", got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i].first != wanted[i].first) return fmt::format("device {} holds a part, wanted device {}", got[i].first, wanted[i].first);
    if (got[i].second != wanted[i].second)
      return fmt::format("device {} holds {}, wanted {}", got[i].first, box_text(got[i].second), box_text(wanted[i].second));
  }
  return "";
}

std::string compare_sharding(const ArrayReport& array, const Sharding& sharding) {
  Shards wanted;
  try {
    sharding.check_divisible(array.type, "the expected sharding");
    std::vector<Box> boxes = sharding.boxes(array.type.shape);
    for (std::size_t i = 0; i < boxes.size(); ++i) wanted.emplace_back(sharding.mesh().devices()[i], boxes[i]);
  } catch (const UserError& error) { return error.what(); }
  return compare_shards(array.shards, std::move(wanted));
}

bool near(double got, double wanted, const ArrayCheck& check) {
  if (std::isnan(got) || std::isnan(wanted)) return std::isnan(got) && std::isnan(wanted);
  if (std::isinf(got) || std::isinf(wanted)) return got == wanted;
  return std::abs(got - wanted) <= check.atol + check.rtol * std::abs(wanted);
}

std::string compare_values(const ArrayReport& array, const ArrayCheck& check) {
  if (check.values) {
    if (std::int64_t(check.values->size()) != array.flat_size())
      return fmt::format("{} values, wanted {}", array.flat_size(), check.values->size());
    for (std::int64_t i = 0; i < array.flat_size(); ++i)
      if (!near(array.flat(i), (*check.values)[std::size_t(i)], check))
        return fmt::format("value {} is {}, wanted {}", i, shortest(array.flat(i)), shortest((*check.values)[std::size_t(i)]));
  }
  if (check.samples)
    for (const auto& [index, value] : *check.samples) {
      if (index >= array.flat_size()) return fmt::format("sample {} lies beyond the {} values", index, array.flat_size());
      if (!near(array.flat(index), value, check))
        return fmt::format("value {} is {}, wanted {}", index, shortest(array.flat(index)), shortest(value));
    }
  if (check.sum && !near(array.sum(), *check.sum, check))
    return fmt::format("the sum is {}, wanted {}", shortest(array.sum()), shortest(*check.sum));
  if (check.abs_sum && !near(array.abs_sum(), *check.abs_sum, check))
    return fmt::format("the sum of absolute values is {}, wanted {}", shortest(array.abs_sum()), shortest(*check.abs_sum));
  return "";
}

std::string compare_addressable(const ArrayReport& array, const std::vector<int>& wanted, const Document& document) {
  std::set<int> processes;
  for (const auto& [ordinal, box] : array.shards) processes.insert(ordinal / document.cluster.devices);
  std::vector<int> got(processes.begin(), processes.end());
  return got == wanted ? "" : fmt::format("processes {} hold shards, wanted {}", got, wanted);
}

std::string check_one(const ArrayCheck& check, const RunEvidence& evidence) {
  const ArrayReport* array = evidence.report.array(check.array);
  if (array == nullptr) return fmt::format("'{}' is not bound at the end", check.array);
  if (check.shape && *check.shape != array->type.shape)
    return fmt::format("the shape is {}, wanted {}", shardlab::text_of(array->type.shape), shardlab::text_of(*check.shape));
  if (check.dtype && *check.dtype != name_of(array->type.dtype))
    return fmt::format("the dtype is {}, wanted {}", name_of(array->type.dtype), *check.dtype);
  std::string wrong;
  if (check.sharding) wrong = compare_sharding(*array, *check.sharding);
  if (wrong.empty() && check.shards) wrong = compare_shards(array->shards, *check.shards);
  if (wrong.empty() && check.addressable_on) wrong = compare_addressable(*array, *check.addressable_on, evidence.document);
  bool reads_values = check.values || check.samples || check.sum || check.abs_sum;
  if (wrong.empty() && reads_values) wrong = array->whole ? compare_values(*array, check) : "a part of the value is missing";
  return wrong;
}

// ---- communication

std::vector<std::vector<int>> sorted(std::vector<std::vector<int>> groups) {
  std::sort(groups.begin(), groups.end());
  return groups;
}

std::string check_one(const CollectivesCheck& check, const RunEvidence& evidence) {
  std::int64_t count = 0;
  for (const CollectiveReport& each : evidence.report.collectives) {
    if (check.kind != "*" && each.seen.kind != check.kind) continue;
    if (check.groups && sorted(each.seen.groups) != sorted(*check.groups)) continue;
    ++count;
  }
  std::string what = fmt::format("{} {}{}", count, check.kind == "*" ? "collectives" : check.kind, check.groups ? " of these groups" : "");
  if (check.count && count != *check.count) return fmt::format("{}, wanted {}", what, *check.count);
  if (check.at_most && count > *check.at_most) return fmt::format("{}, wanted at most {}", what, *check.at_most);
  if (check.groups && !check.count && !check.at_most && count == 0) return fmt::format("{}, wanted one", what);
  return "";
}

std::string check_one(const WireBytesCheck& check, const RunEvidence& evidence) {
  if (evidence.report.wire_bytes <= check.at_most) return "";
  return fmt::format("{} bytes, wanted at most {}", evidence.report.wire_bytes, check.at_most);
}

// ---- verdicts

std::string matches(const DiagnosisCheck& check, const Diagnosis& diagnosis) {
  // What only another schedule shows is a potential deadlock too, by whatever name.
  auto under_schedule = [&] {
    return std::any_of(diagnosis.details.begin(), diagnosis.details.end(), [](const auto& each) { return each.first == "schedule"; });
  };
  if (*check.code == "potential-deadlock" && diagnosis.code != *check.code && under_schedule()) return "";
  if (diagnosis.code != *check.code) return fmt::format("the diagnosis is {}", diagnosis.code);
  std::vector<int> processes = diagnosis.processes;
  std::sort(processes.begin(), processes.end());
  if (check.processes && *check.processes != processes) return fmt::format("it names processes {}, wanted {}", processes, *check.processes);
  if (!check.statement) return "";
  for (const Participant& each : diagnosis.participants)
    if (each.statement == *check.statement) return "";
  return fmt::format("none of its participants is at statement {}", *check.statement);
}

std::string check_one(const DiagnosisCheck& check, const RunEvidence& evidence) {
  std::string wrong = "no diagnosis was made";
  for (const Diagnosis& each : evidence.report.diagnoses) {
    if (!check.code) {
      if (each.severity == "error") return fmt::format("{}: {}", each.code, each.message);
      continue;
    }
    wrong = matches(check, each);
    if (wrong.empty()) return "";
  }
  return check.code ? wrong : "";
}

// Errors of a verdict are not the program's own.
std::string check_one(const ErrorCheck& check, const RunEvidence& evidence) {
  std::size_t found = 0;
  for (const ProcessOutcome& outcome : evidence.outcomes) {
    if (!outcome.error || !outcome.diagnosis.empty()) continue;
    if (outcome.error->find(check.substring) == std::string::npos)
      return fmt::format("process {} ended in another error: {}", outcome.process, *outcome.error);
    ++found;
  }
  return found > 0 ? "" : "the program ended without an error of its own";
}

// ---- traces

using Rows = std::vector<std::vector<std::string>>;

Rows query(const std::string& file, const std::string& sql) {
  traces::Database database(file, traces::OpenMode::kRead);
  traces::Statement statement(database, sql);
  Rows rows;
  while (statement.step()) {
    rows.emplace_back();
    for (int i = 0; i < statement.column_count(); ++i)
      rows.back().push_back(statement.is_null(i) ? "null" : std::string(statement.text(i)));
  }
  return rows;
}

std::string check_one(const TraceCheck& check, const RunEvidence& evidence) {
  if (evidence.trace.empty()) return "no trace was recorded";
  try {
    Rows rows = query(evidence.trace, check.sql);
    return rows == check.rows ? "" : fmt::format("the rows are {}, wanted {}", rows, check.rows);
  } catch (const IoError& error) { return error.what(); }
}

// ---- the verdict

// What was expected is not held against the scenario: a diagnosis that a check names, and those of an expected error.
bool is_expected(const Diagnosis& diagnosis, const Document& document) {
  for (const Expectation& each : document.expect) {
    if (const auto* check = std::get_if<DiagnosisCheck>(&each.check))
      if (check->code && matches(*check, diagnosis).empty()) return true;
    if (std::holds_alternative<ErrorCheck>(each.check) && diagnosis.code == "process-raised") return true;
  }
  return false;
}

// An error that neither a verdict nor an expectation accounts for.
const ProcessOutcome* unexplained_error(const Report& report, const Document& document, const std::vector<ProcessOutcome>& outcomes) {
  if (document.find_check<ErrorCheck>() != nullptr) return nullptr;
  bool explained =
      std::any_of(report.diagnoses.begin(), report.diagnoses.end(), [](const Diagnosis& each) { return each.severity == "error"; });
  for (const ProcessOutcome& outcome : outcomes)
    if (outcome.error && (outcome.internal || !explained)) return &outcome;
  return nullptr;
}

}  // namespace

bool has_unexpected_diagnosis(const Report& report, const Document& document) {
  return std::any_of(report.diagnoses.begin(), report.diagnoses.end(),
                     [&](const Diagnosis& each) { return each.severity == "error" && !is_expected(each, document); });
}

void judge_expectations(Report& report, const Document& document, const std::vector<ProcessOutcome>& outcomes, const std::string& trace) {
  RunEvidence evidence{report, document, outcomes, trace};
  bool all_passed = true;
  for (const Expectation& each : document.expect) {
    std::string wrong = std::visit([&](const auto& check) { return check_one(check, evidence); }, each.check);
    all_passed &= wrong.empty();
    report.expectations.push_back({each.text, wrong.empty(), std::move(wrong)});
  }
  if (report.status != Status::kPassed) return;  // the limit was reached, and the like
  const ProcessOutcome* failed = unexplained_error(report, document, outcomes);
  if (failed != nullptr) {
    report.status = failed->internal ? Status::kOurFault : Status::kError;
    report.pointer = failed->pointer;
    bool says_where = failed->error->find(failed->where) != std::string::npos;
    report.message = says_where ? *failed->error : fmt::format("{} [{}]", *failed->error, failed->where);
  } else if (has_unexpected_diagnosis(report, document)) {
    report.status = Status::kDiagnosed;
  } else if (!all_passed) {
    report.status = Status::kFailed;
  }
}

}  // namespace shardlab::scenarios
