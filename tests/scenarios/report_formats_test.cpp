// The formats of reports that other tools read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/scenarios/command_line.h"

namespace {

using namespace shardlab::command_tests;
using nlohmann::json;
using shardlab::support::Ran;
using testing::HasSubstr;

// What SARIF 2.1.0 (OASIS, section 3) requires of the objects that a report has: what is there, of which kind, and how it refers.
class Sarif {
 public:
  explicit Sarif(const json& log) {
    EXPECT_EQ(log.at("version"), "2.1.0");
    EXPECT_THAT(log.at("$schema").get<std::string>(), HasSubstr("sarif-2.1.0"));
    for (const json& run : log.at("runs")) check_run(run);
  }
  int results = 0, lines = 0;

 private:
  static void check_message(const json& message) { EXPECT_FALSE(message.at("text").get<std::string>().empty()) << message; }

  void check_run(const json& run) {
    const json& driver = run.at("tool").at("driver");
    EXPECT_FALSE(driver.at("name").get<std::string>().empty());
    std::set<std::string> ids;
    for (const json& rule : driver.at("rules")) {
      EXPECT_TRUE(ids.insert(rule.at("id")).second) << "rules are unique";
      check_message(rule.at("shortDescription"));
      check_message(rule.at("fullDescription"));
    }
    for (const json& invocation : run.at("invocations")) {
      EXPECT_TRUE(invocation.at("executionSuccessful").is_boolean());
      for (const json& each : invocation.value("toolExecutionNotifications", json::array())) check_message(each.at("message"));
    }
    for (const json& result : run.at("results")) check_result(result, driver.at("rules"));
  }

  void check_result(const json& result, const json& rules) {
    ++results;
    check_message(result.at("message"));
    EXPECT_THAT(result.at("level").get<std::string>(), testing::AnyOf("none", "note", "warning", "error"));
    EXPECT_EQ(rules.at(result.at("ruleIndex").get<std::size_t>()).at("id"), result.at("ruleId"));
    EXPECT_GE(result.at("locations").size(), 1u);
    std::set<int> ids;
    for (const char* list : {"locations", "relatedLocations"})
      for (const json& location : result.value(list, json::array())) {
        check_location(location);
        if (location.contains("id")) { EXPECT_TRUE(ids.insert(location.at("id").get<int>()).second) << "ids are unique within a result"; }
      }
    EXPECT_TRUE(result.value("properties", json::object()).is_object());
  }

  void check_location(const json& location) {
    check_message(location.at("message"));
    EXPECT_GE(location.value("id", 0), 0);
    EXPECT_TRUE(location.contains("physicalLocation") || location.contains("logicalLocations")) << location;
    for (const json& logical : location.value("logicalLocations", json::array()))
      EXPECT_TRUE(logical.contains("name") || logical.contains("fullyQualifiedName")) << logical;
    if (!location.contains("physicalLocation")) return;
    const json& physical = location.at("physicalLocation");
    std::string uri = physical.at("artifactLocation").at("uri");
    EXPECT_THAT(uri, testing::MatchesRegex("[-A-Za-z0-9._~/:%]+")) << "RFC 3986";
    if (!physical.contains("region")) return;
    EXPECT_GE(physical.at("region").at("startLine").get<int>(), 1);
    ++lines;
  }
};

// Every format of a real verdict; XML and JSON are what they say.
TEST(Report, EveryFormatOfAVerdict) {
  std::string line = "$SHARDLAB replay --trace verdict.db --junit verdict.xml " + corpus("deadlock_operands_swapped.json");
  EXPECT_EQ(shell(line).code, 0);
  Ran text = shell("CLICOLOR_FORCE=1 $SHARDLAB report verdict.db");
  EXPECT_THAT(text.output, testing::StartsWith("\x1b[31mprogram-mismatch: process 3 runs matmul(P('b', None), P('a', 'b'))"));
  EXPECT_THAT(shell("$SHARDLAB report verdict.db").output, testing::StartsWith("program-mismatch: process 3"));
  Ran html = shell("$SHARDLAB report verdict.db --format html");
  EXPECT_THAT(html.output, HasSubstr("class='node' "));
  EXPECT_THAT(html.output, HasSubstr("<h3>Operand 0</h3>"));
  EXPECT_THAT(html.output, HasSubstr("class='sharding'"));
  EXPECT_EQ(json::parse(shell("$SHARDLAB report verdict.db --format json").output).at("status"), "diagnosed");
  EXPECT_EQ(Sarif(json::parse(shell("$SHARDLAB report verdict.db --format sarif").output)).results, 1);
  Ran junit = shell("python3 -c \"import xml.dom.minidom, sys; print(xml.dom.minidom.parse('verdict.xml').documentElement.tagName)\"");
  EXPECT_THAT(junit.output, HasSubstr("testsuite"));
}

// Review tools mark the lines of a C++ program; remarks are results too.
TEST(Report, SarifNamesTheLinesOfAProgram) {
  EXPECT_EQ(shell("$SHARDLAB run -n 4 -d 4 --limit 60 --trace lines.db -- $BIN/deadlock_swapped").code, 2);
  Sarif verdict(json::parse(shell("$SHARDLAB report lines.db --format sarif").output));
  EXPECT_EQ(verdict.results, 1);
  EXPECT_GE(verdict.lines, 2);
  EXPECT_EQ(shell("$SHARDLAB replay --run spawned --trace remark.db " + corpus("unawaited.json")).code, 0);
  // Of a scenario they are the file's.
  EXPECT_EQ(shell("$SHARDLAB replay --trace swapped.db " + corpus("deadlock_operands_swapped.json")).code, 0);
  const json swapped = json::parse(shell("$SHARDLAB report swapped.db --format sarif").output);
  EXPECT_EQ(Sarif(swapped).lines, 4);
  const json place = swapped.at("/runs/0/results/0/locations/0/physicalLocation"_json_pointer);
  EXPECT_THAT(place.at("/artifactLocation/uri"_json_pointer).get<std::string>(), testing::EndsWith("deadlock_operands_swapped.json"));
  EXPECT_EQ(place.at("/region/startLine"_json_pointer), 13);
  EXPECT_THAT(shell("$SHARDLAB report swapped.db").output, HasSubstr("at statement 5 (/program/5, line 13) where"));
  // What one statement asks for again and again is one row.
  std::set<json> rows;
  const json report = json::parse(shell("$SHARDLAB report swapped.db --format json").output);
  for (const json& slow : report.at("/collectives/slowest"_json_pointer)) {
    EXPECT_TRUE(rows.insert(json::array({slow.at("kind"), slow.at("op"), slow.at("where"), slow.at("bytes")})).second) << slow;
    EXPECT_GE(slow.at("times"), 1);
  }
  EXPECT_EQ(Sarif(json::parse(shell("$SHARDLAB report remark.db --format sarif").output)).results, 1);
}

}  // namespace
