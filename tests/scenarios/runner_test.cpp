// Single-process scenarios in this process: values, reports, expectations, JUnit.
#include <nlohmann/json.hpp>

#include "scenarios/runner/golden.h"
#include "scenarios/runner/plan.h"
#include "scenarios/runner/run.h"

namespace shardlab::scenarios {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Report run(const std::string& text) {
  std::vector<Loaded> loaded = load_text(text, "test.json");
  EXPECT_EQ(loaded.size(), 1U);
  return run_scenario(loaded.at(0));
}

std::string toy(const std::string& expect) {
  return R"({"shardlab": 1, "name": "toy", "cluster": {"devices": 8}, "meshes": {"m": {"shape": [4, 2], "axes": ["i", "j"]}},
    "program": [
      {"let": "x", "op": "arange", "args": [32]},
      {"let": "x", "op": "reshape", "args": ["x"], "shape": [4, 8]},
      {"let": "x", "op": "device_put", "args": ["x"], "sharding": ["i", "j"]},
      {"let": "y", "op": "sin", "args": ["x"]},
      {"let": "y", "op": "sum", "args": ["y"]}],
    "expect": [)" +
         expect + "]}";
}

TEST(Run, TheToyProgramGivesItsReport) {
  Report report = run(toy(""));
  EXPECT_EQ(report.status, Status::kPassed) << report.message;
  json written = json::parse(to_json(report));
  EXPECT_EQ(written["name"], "toy");
  EXPECT_EQ(written["status"], "passed");
  EXPECT_EQ(written["arrays"]["y"]["shape"], json::array());
  EXPECT_EQ(written["arrays"]["y"]["dtype"], "float32");
  EXPECT_NEAR(written["arrays"]["y"]["values"][0].get<double>(), -0.1239873, 1e-6);
  EXPECT_EQ(written["arrays"]["y"]["spec"], json::array());
  EXPECT_EQ(written["arrays"]["y"]["shards"][7], json::parse("[7, []]"));
  EXPECT_EQ(written["arrays"]["x"]["spec"], json::parse(R"(["i", "j"])"));
  EXPECT_EQ(written["arrays"]["x"]["shards"][3], json::parse("[3, [[1, 2], [4, 8]]]"));
  EXPECT_EQ(written["arrays"]["x"]["values"][31], 31);
  ASSERT_EQ(written["collectives"].size(), 1U);
  json collective = written["collectives"][0];
  EXPECT_EQ(collective["kind"], "all-reduce");
  EXPECT_EQ(collective["groups"], json::parse("[[0, 1, 2, 3, 4, 5, 6, 7]]"));
  EXPECT_EQ(collective["bytes"], 4);
  EXPECT_EQ(collective["wire_bytes"], 56);
  EXPECT_EQ(collective["statement"], 4);
  EXPECT_EQ(collective["op"], "sum");
  EXPECT_EQ(collective["axes"], json::parse(R"(["i", "j"])"));
  EXPECT_EQ(written["wire_bytes"], 56);
  ASSERT_EQ(written["transfers"].size(), 1U);
  EXPECT_EQ(written["transfers"][0]["statement"], 2);
  EXPECT_EQ(written["transfers"][0]["array"], "x");
  EXPECT_EQ(written["diagnoses"], json::array());
}

struct Expected {
  std::string check, wrong;  // what is wrong, or "" where it passes
};

class Expectations : public testing::TestWithParam<Expected> {};

TEST_P(Expectations, PassAndFail) {
  Report report = run(toy(GetParam().check));
  ASSERT_EQ(report.expectations.size(), 1U) << report.message;
  bool passes = GetParam().wrong.empty();
  EXPECT_EQ(report.expectations[0].passed, passes) << report.expectations[0].message;
  EXPECT_THAT(report.expectations[0].message, HasSubstr(GetParam().wrong));
  EXPECT_EQ(report.status, passes ? Status::kPassed : Status::kFailed);
}

const Expected kExpected[] = {
    {R"({"array": "y", "shape": [], "dtype": "float32"})", ""},
    {R"({"array": "y", "shape": [1]})", "the shape is (), wanted (1,)"},
    {R"({"array": "y", "dtype": "int32"})", "the dtype is float32, wanted int32"},
    {R"({"array": "y", "values": [-0.1239873], "rtol": 1e-5})", ""},
    {R"({"array": "y", "values": [-0.124], "rtol": 1e-5})", "value 0 is -0.12398"},
    {R"({"array": "y", "values": [-0.124], "atol": 0.001})", ""},
    {R"({"array": "y", "values": [1, 2]})", "1 values, wanted 2"},
    {R"({"array": "y", "values": ["nan"]})", "wanted nan"},
    {R"({"array": "x", "sum": 496, "abs_sum": 496, "samples": [[0, 0], [31, 31]]})", ""},
    {R"({"array": "x", "sum": 495})", "the sum is 496.0, wanted 495.0"},
    {R"({"array": "x", "samples": [[32, 0]]})", "beyond the 32 values"},
    {R"({"array": "x", "sharding": ["i", "j"]})", ""},
    {R"({"array": "x", "sharding": ["i"]})", "device 0 holds [0:1, 0:4], wanted [0:1, 0:8]"},
    {R"({"array": "y", "sharding": []})", ""},
    {R"({"array": "x", "sharding": ["i", "j"], "addressable_on": [0]})", ""},
    {R"({"array": "x", "shards": [[0, [[0, 1], [0, 4]]]]})", "8 devices hold a part, wanted 1"},
    {R"({"collectives": "all-reduce", "count": 1, "groups": [[0, 1, 2, 3, 4, 5, 6, 7]]})", ""},
    {R"({"collectives": "all-reduce", "count": 2})", "1 all-reduce, wanted 2"},
    {R"({"collectives": "*", "at_most": 0})", "1 collectives, wanted at most 0"},
    {R"({"collectives": "all-gather", "at_most": 0})", ""},
    {R"({"collectives": "all-reduce", "groups": [[0, 1]]})", "0 all-reduce of these groups, wanted one"},
    {R"({"wire_bytes": {"at_most": 56}})", ""},
    {R"({"wire_bytes": {"at_most": 55}})", "56 bytes, wanted at most 55"},
    {R"({"diagnosis": null})", ""},
    {R"({"diagnosis": "deadlock"})", "no diagnosis was made"},
    {R"({"error": "boom"})", "ended without an error"},
};

INSTANTIATE_TEST_SUITE_P(Report, Expectations, testing::ValuesIn(kExpected));

TEST(Run, EndsInTheProgramsErrorWhichMayBeExpected) {
  std::string body = R"("cluster": {"devices": 4}, "meshes": {"m": {"shape": [4], "axes": ["a"]}, "n": {"shape": [2], "axes": ["a"]}},
    "program": [{"let": "x", "op": "ones", "shape": [4], "sharding": {"mesh": "m", "spec": ["a"]}},
                {"let": "y", "op": "ones", "shape": [4], "sharding": {"mesh": "n", "spec": ["a"]}},
                {"let": "z", "op": "add", "args": ["x", "y"]}])";
  Report report = run("{\"shardlab\": 1, " + body + "}");
  EXPECT_EQ(report.status, Status::kError);
  EXPECT_THAT(report.message, HasSubstr("incompatible devices"));
  EXPECT_THAT(report.message, HasSubstr("/program/2"));
  report = run("{\"shardlab\": 1, \"expect\": [{\"error\": \"incompatible devices\"}], " + body + "}");
  EXPECT_EQ(report.status, Status::kPassed);
  report = run("{\"shardlab\": 1, \"expect\": [{\"error\": \"no such text\"}], " + body + "}");
  EXPECT_EQ(report.status, Status::kFailed);
}

TEST(Run, ErrorsFoundBeforehandMayBeExpectedToo) {
  Report report = run(R"({"shardlab": 1, "cluster": {"devices": 4}, "meshes": {"m": {"shape": [4], "axes": ["a"]}},
    "program": [{"let": "x", "op": "ones", "shape": [6]}, {"let": "x", "op": "device_put", "args": ["x"], "sharding": ["a"]}],
    "expect": [{"error": "should be divisible by 4"}]})");
  EXPECT_EQ(report.status, Status::kPassed) << report.message;
}

TEST(Run, LoopsFunctionsConstantsAndReads) {
  Report report = run(R"({"shardlab": 1, "cluster": {"devices": 4}, "meshes": {"m": {"shape": [4], "axes": ["a"]}},
    "functions": {"twice": {"params": ["x"], "body": [{"let": "y", "op": "mul", "args": ["x", 2]}], "results": ["y"]},
                  "both": {"params": ["x"], "body": [{"let": "a", "op": "call", "fn": "twice", "args": ["x"]},
                                                      {"let": "b", "op": "with_sharding_constraint", "args": ["a"], "spec": ["a"]},
                                                      {"let": "s", "op": "sum", "args": ["b"]}], "results": ["b", "s"]}},
    "program": [
      {"let": "c", "op": "constant", "value": [1, 2, 3, 4], "sharding": ["a"]},
      {"repeat": 3, "body": [{"let": "c", "op": "call", "fn": "twice", "args": ["c"]}]},
      {"let": ["d", "s"], "op": "jit", "fn": "both", "args": ["c"], "out_shardings": [null, []]},
      {"let": "h", "op": "fetch", "args": ["d"]},
      {"let": "g", "op": "process_allgather", "args": ["d"]},
      {"let": "e", "op": "add", "args": ["c", [0.5, 0.5, 0.5, 0.5]], "not_on": {"processes": [0]}},
      {"let": "b", "op": "constant", "value": [true, false]}],
    "expect": [{"array": "c", "values": [8, 16, 24, 32]}, {"array": "d", "values": [16, 32, 48, 64], "sharding": ["a"]},
               {"array": "s", "values": [160]}, {"array": "h", "values": [16, 32, 48, 64], "shards": [[0, [[0, 4]]]]},
               {"array": "g", "shape": [1, 4]}, {"array": "b", "values": [1, 0], "dtype": "bool"}]})");
  EXPECT_EQ(report.status, Status::kPassed) << text_of(summary_of(report));
  EXPECT_EQ(report.array("e"), nullptr);
  EXPECT_EQ(json::parse(to_json(report))["arrays"]["b"]["values"], json::parse("[true, false]"));
}

TEST(Run, LargeArraysGiveSamples) {
  json written = json::parse(to_json(run(R"({"shardlab": 1, "program": [{"let": "x", "op": "arange", "args": [1000]}]})")));
  json x = written["arrays"]["x"];
  EXPECT_FALSE(x.contains("values"));
  EXPECT_FALSE(x.contains("spec")) << "on a single device";
  EXPECT_EQ(x["sum"], 499500.0);
  ASSERT_EQ(x["samples"].size(), 17U);
  EXPECT_EQ(x["samples"][1], json::parse("[62, 62.0]"));
  EXPECT_EQ(x["samples"][16], json::parse("[999, 999.0]"));
}

TEST(Run, ValuesThatAreNotFiniteAreStrings) {
  json written = json::parse(to_json(run(
      R"({"shardlab": 1, "program": [{"let": "x", "op": "constant", "value": ["nan", "inf", "-inf", 0.1]}],
          "expect": [{"array": "x", "values": ["nan", "inf", "-inf", 0.1]}]})")));
  EXPECT_EQ(written["arrays"]["x"]["values"], json::parse(R"(["nan", "inf", "-inf", 0.10000000149011612])"));
  EXPECT_EQ(written["status"], "passed") << written.dump();
}

TEST(Run, ScenariosDoNotLeakIntoEachOther) {
  for (int devices : {1, 2, 3, 7, 8}) {
    Report report = run(fmt::format(R"({{"shardlab": 1, "cluster": {{"devices": {0}}}, "meshes": {{"m": {{"shape": [{0}], "axes": ["a"]}}}},
      "program": [{{"let": "x", "op": "ones", "shape": [{0}, 2], "sharding": ["a"]}}, {{"let": "s", "op": "sum", "args": ["x"]}}],
      "expect": [{{"array": "s", "values": [{1}]}}]}})",
                                    devices, 2 * devices));
    EXPECT_EQ(report.status, Status::kPassed) << text_of(summary_of(report));
  }
}

TEST(Statuses, TheWorstCounts) {
  using enum Status;
  EXPECT_EQ(worst_of({kPassed, kPassed}), kPassed);
  EXPECT_EQ(worst_of({kSkipped, kSkipped}), kSkipped);
  EXPECT_EQ(worst_of({kSkipped, kPassed}), kPassed);
  EXPECT_EQ(worst_of({kPassed, kInconclusive, kFailed}), kFailed);
  EXPECT_EQ(worst_of({kFailed, kDiagnosed}), kDiagnosed);
  EXPECT_EQ(worst_of({kDiagnosed, kError}), kError);
  EXPECT_EQ(worst_of({kError, kOurFault}), kOurFault);
  EXPECT_EQ(exit_code_of(kPassed), 0);
  EXPECT_EQ(exit_code_of(kInconclusive), 5);
  EXPECT_EQ(exit_code_of(kSkipped), 77);
}

TEST(JUnit, HasOneTestcaseAScenario) {
  Report passed = run(toy("")), failed = run(toy(R"({"array": "y", "dtype": "int32"})"));
  failed.name = "a < b & \"c\"";
  std::string xml = to_junit({summary_of(passed), summary_of(failed)});
  EXPECT_THAT(xml, HasSubstr(R"(tests="2" failures="1" errors="0" skipped="0")"));
  EXPECT_THAT(xml, HasSubstr(R"(name="a &lt; b &amp; &quot;c&quot;")"));
  EXPECT_THAT(xml, HasSubstr(R"(<failure type="failed" message="expected)"));
}

TEST(Plan, SaysShardingsAndCollectivesWithoutRunning) {
  std::vector<Loaded> loaded = load_text(toy(""), "test");
  PlannedBefore before;
  PlannedProgram planned = plan(*loaded.at(0).document, 0, before);
  EXPECT_FALSE(planned.error) << *planned.error;
  EXPECT_EQ(planned.wire_bytes, 56);
  ASSERT_EQ(planned.statements.size(), 5U);
  ASSERT_EQ(planned.statements[4].collectives.size(), 1U);
  EXPECT_EQ(planned.statements[4].collectives[0].kind, "all-reduce");
  EXPECT_EQ(planned.statements[2].results.at(0).sharding, "P('i', 'j')");
  EXPECT_EQ(planned.statements[2].results.at(0).bytes_per_device, 16);
}

// A verdict comes wherever each process is by then: which names are bound says nothing, what both have does.
TEST(Golden, AVerdictComparesTheArraysThatBothHave) {
  auto report = [](const char* names, const char* severity, int value = 1) {
    std::string text;
    for (const char* name = names; *name != 0; ++name)
      text += fmt::format(R"({}"{}": {{"shape": [], "dtype": "int32", "shards": [[0, []]], "values": [{}]}})", name == names ? "" : ",",
                          *name, value);
    return fmt::format(R"({{"status": "passed", "arrays": {{{}}}, "collectives": [], "transfers": [], "wire_bytes": 0, "diagnoses": [)"
                       R"({{"code": "input-divergence", "severity": "{}", "processes": [1]}}]}})",
                       text, severity);
  };
  EXPECT_TRUE(golden_differences(report("xy", "error"), report("x", "error")).empty());
  EXPECT_TRUE(golden_differences(report("x", "error"), report("xy", "error")).empty());
  EXPECT_EQ(golden_differences(report("xy", "error"), report("x", "error", 2)).size(), 1u) << "values of what both have";
  EXPECT_EQ(golden_differences(report("xy", "info"), report("x", "info")), std::vector<std::string>{"array y: is not there now"});
  EXPECT_EQ(golden_differences(report("xy", "error"), report("x", "info")).size(), 2u) << "the verdict, and how far it came";
}

}  // namespace
}  // namespace shardlab::scenarios
