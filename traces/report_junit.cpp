// JUnit: a testcase for each diagnosis, failed where it is an error; and for each process that ended badly without one.
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>

#include "traces/checks/wording.h"
#include "traces/report_data.h"
#include "traces/svg.h"

namespace shardlab::traces {
namespace {

struct Testcase {
  std::string name, place;
  std::string_view element;  // "failure" or "system-out"; empty: nothing is said
  std::string message, text;
};

std::vector<Testcase> testcases_of(const ReportData& data) {
  std::vector<Testcase> cases;
  for (const Diagnosis& diagnosis : data.diagnoses) {
    std::string place = diagnosis.participants.empty() ? "" : diagnosis.participants.front().where;
    cases.push_back({diagnosis.code, std::move(place), diagnosis.severity == "error" ? "failure" : "system-out", diagnosis.message,
                     fmt::format("{}\n\n{}", text_of(diagnosis), diagnosis.explain)});
  }
  for (const Deviation& deviation : data.deviations) {
    const SiteRow& site = data.site_of(deviation);
    cases.push_back(
        {std::string(Deviation::kCode), site.known() ? site.text() : "", "system-out", deviation.message, "warning: " + deviation.message});
  }
  const bool is_told = std::any_of(cases.begin(), cases.end(), [](const Testcase& each) { return each.element == "failure"; });
  if (is_told) return cases;
  if (data.diagnosed)
    cases.push_back({"end", "", "failure", data.verdict, data.verdict});
  else
    cases.push_back({"verdict", "", "", "", ""});
  return cases;
}

}  // namespace

void write_report_junit(const ReportData& data, std::ostream& out) {
  const std::vector<Testcase> cases = testcases_of(data);
  const auto failures = std::count_if(cases.begin(), cases.end(), [](const Testcase& each) { return each.element == "failure"; });
  fmt::print(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\">\n",
             escaped(data.title), cases.size(), failures);
  for (const Testcase& each : cases) {
    fmt::print(out, "    <testcase name=\"{}\" classname=\"{}\" time=\"{:.3f}\"", escaped(each.name),
               escaped(each.place.empty() ? data.title : each.place), double(data.duration_ns) / 1e9);
    if (each.element == "failure")
      fmt::print(out, "><failure type=\"{}\" message=\"{}\">{}</failure></testcase>\n", escaped(each.name), escaped(each.message),
                 escaped(each.text));
    else if (!each.element.empty())
      fmt::print(out, "><{0}>{1}</{0}></testcase>\n", each.element, escaped(each.text));
    else
      fmt::print(out, "/>\n");
  }
  fmt::print(out, "  </testsuite>\n</testsuites>\n");
}

}  // namespace shardlab::traces
