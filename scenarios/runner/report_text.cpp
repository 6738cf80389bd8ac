// Reports as JUnit and for the terminal; statuses and their order.
#include <fmt/ranges.h>

#include <algorithm>

#include "scenarios/runner/report.h"
#include "traces/svg.h"

namespace shardlab::scenarios {
namespace {

using traces::escaped;

struct StatusInfo {
  Status status;
  std::string_view name;
  int exit_code;
};

// From worst to best.
constexpr StatusInfo kStatuses[] = {
    {Status::kOurFault, "error", 4},
    {Status::kError, "error", 3},
    {Status::kDiagnosed, "diagnosed", 2},
    {Status::kFailed, "failed", 1},
    {Status::kInconclusive, "inconclusive", 5},
    {Status::kSkipped, "skipped", 77},
    {Status::kPassed, "passed", 0},
};

const StatusInfo& info_of(Status status) {
  return *std::find_if(std::begin(kStatuses), std::end(kStatuses), [&](const StatusInfo& each) { return each.status == status; });
}

std::string testcase(const Summary& summary) {
  std::string result = fmt::format("    <testcase name=\"{}\" classname=\"{}\" time=\"{:.3f}\"", escaped(summary.name),
                                   escaped(summary.source.empty() ? "scenario" : summary.source), summary.duration_ms / 1000);
  if (summary.status == Status::kPassed) return result + "/>\n";
  std::string first = summary.lines.empty() ? "" : escaped(summary.lines[0]);
  if (summary.status == Status::kSkipped) return result + fmt::format("><skipped message=\"{}\"/></testcase>\n", first);
  bool is_failure = summary.status == Status::kFailed || summary.status == Status::kDiagnosed;
  return result + fmt::format("><{0} type=\"{1}\" message=\"{2}\">{3}</{0}></testcase>\n", is_failure ? "failure" : "error",
                              name_of(summary.status), first, escaped(fmt::format("{}", fmt::join(summary.lines, "\n"))));
}

}  // namespace

std::string_view name_of(Status status) { return info_of(status).name; }
int exit_code_of(Status status) { return info_of(status).exit_code; }

Status worst_of(const std::vector<Status>& statuses) {
  auto is_skipped = [](Status each) { return each == Status::kSkipped; };
  bool all_skipped = !statuses.empty() && std::all_of(statuses.begin(), statuses.end(), is_skipped);
  for (const StatusInfo& info : kStatuses)
    if (info.status != Status::kSkipped || all_skipped)
      if (std::find(statuses.begin(), statuses.end(), info.status) != statuses.end()) return info.status;
  return Status::kPassed;
}

Summary summary_of(const Report& report) {
  Summary summary{report.name, report.source, report.status, report.duration_ms, {}, report.interrupted};
  if (!report.message.empty()) summary.lines.push_back(report.message);
  for (const Diagnosis& each : report.diagnoses)
    if (report.message.find(each.message) == std::string::npos) summary.lines.push_back(fmt::format("{}: {}", each.code, each.message));
  for (const ExpectationReport& each : report.expectations)
    if (!each.passed) summary.lines.push_back(fmt::format("expected {}: {}", each.check, each.message));
  summary.lines.insert(summary.lines.end(), report.notes.begin(), report.notes.end());
  return summary;
}

std::string joined_json(const std::vector<std::string>& reports) {
  if (reports.size() == 1) return reports[0] + "\n";
  return fmt::format("[\n{}\n]\n", fmt::join(reports, ",\n"));
}

std::string to_junit(const std::vector<Summary>& summaries) {
  std::size_t failures = 0, errors = 0, skipped = 0;
  double duration_ms = 0;
  std::string cases;
  for (const Summary& each : summaries) {
    failures += each.status == Status::kFailed || each.status == Status::kDiagnosed;
    errors += each.status == Status::kError || each.status == Status::kInconclusive || each.status == Status::kOurFault;
    skipped += each.status == Status::kSkipped;
    duration_ms += each.duration_ms;
    cases += testcase(each);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"shardlab replay\" tests=\"{}\" failures=\"{}\" "
      "errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\">\n{}  </testsuite>\n</testsuites>\n",
      summaries.size(), failures, errors, skipped, duration_ms / 1000, cases);
}

std::string text_of(const Summary& summary) {
  std::string result = fmt::format("{:12} {} ({:.0f} ms)", name_of(summary.status), summary.name, summary.duration_ms);
  if (summary.status != Status::kPassed && !summary.source.empty() && summary.source != summary.name) result += " in " + summary.source;
  for (const std::string& line : summary.lines) {
    result += "\n    ";
    for (char c : line) result += c == '\n' ? std::string("\n    ") : std::string(1, c);
  }
  return result;
}

}  // namespace shardlab::scenarios
