// Every code of the catalogue has a scenario that fires and a twin that stays quiet: scenarios/diagnoses/CODE.json and CODE.quiet.json,
// and CODE.WHAT.json for what else it finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/runner/run.h"
#include "traces/checks/check_def.h"

namespace shardlab::scenarios {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kQuiet = ".quiet.json";

fs::path folder() { return fs::path(SHARDLAB_DIAGNOSES); }

// File names without their ending, of those that fire.
std::vector<std::string> firing() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder())) {
    std::string name = entry.path().filename().string();
    if (!name.ends_with(kQuiet)) names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string code_of(const std::string& name) { return name.substr(0, name.find('.')); }

Loaded load(const std::string& name) {
  std::vector<Loaded> loaded = load_path(folder() / (name + ".json"));
  EXPECT_EQ(loaded.size(), 1u);
  EXPECT_EQ(loaded[0].error, "") << name;
  return loaded[0];
}

std::string told(const Report& report) {
  std::string text = text_of(summary_of(report));
  for (const Diagnosis& each : report.diagnoses) text += fmt::format("\n  {}: {}", each.code, each.message);
  return text;
}

std::ptrdiff_t told_of(const Report& report, std::string_view code) {
  return std::count_if(report.diagnoses.begin(), report.diagnoses.end(), [&](const Diagnosis& each) { return each.code == code; });
}

TEST(Diagnoses, EveryCodeHasBoth) {
  for (auto checks : {all_checks(), all_remarks()})
    for (const CheckDef* check : checks)
      for (std::string_view ending : {std::string_view(".json"), kQuiet})
        EXPECT_TRUE(fs::exists(folder() / fmt::format("{}{}", check->code, ending))) << check->code << ending;
}

TEST(Diagnoses, EachFiresOnceAndIsThatCode) {
  std::set<std::string> codes;
  for (auto checks : {all_checks(), all_remarks()})
    for (const CheckDef* check : checks) codes.insert(std::string(check->code));
  for (const std::string& name : firing()) {
    EXPECT_TRUE(codes.contains(code_of(name))) << name << " fires no code of the catalogue";
    Loaded loaded = load(name);
    const auto* wanted = loaded.document->find_check<DiagnosisCheck>();
    ASSERT_TRUE(wanted && wanted->code) << name;
    EXPECT_EQ(*wanted->code, code_of(name)) << name;
    Report report = run_scenario(loaded);
    EXPECT_EQ(report.status, Status::kPassed) << told(report);
    EXPECT_EQ(told_of(report, code_of(name)), 1) << name << told(report);
  }
}

TEST(Diagnoses, EachTwinStaysQuiet) {
  for (const std::string& name : firing()) {
    Loaded fires = load(name), quiet = load(name + ".quiet");
    // It is a twin: the same cluster, meshes and functions, and as many statements, but for one that mends it.
    EXPECT_EQ(fires.document->cluster.processes, quiet.document->cluster.processes) << name;
    EXPECT_EQ(nlohmann::json::parse(fires.text)["meshes"], nlohmann::json::parse(quiet.text)["meshes"]) << name;
    EXPECT_LE(std::max(fires.document->program.size(), quiet.document->program.size()) -
                  std::min(fires.document->program.size(), quiet.document->program.size()),
              3u)
        << name;
    Report report = run_scenario(quiet);
    EXPECT_EQ(report.status, Status::kPassed) << told(report);
    EXPECT_EQ(told_of(report, code_of(name)), 0) << name << told(report);
  }
}

// The predicate's line and both values.
TEST(Diagnoses, ALoopInsideJitIsTracedToItsPredicate) {
  for (const char* name : {"input-divergence.while_loop", "input-divergence.while_loop_last"}) {
    Report report = run_scenario(load(name));
    ASSERT_EQ(report.diagnoses.size(), 1u) << told(report);
    const Diagnosis& diagnosis = report.diagnoses[0];
    EXPECT_THAT(diagnosis.message, testing::HasSubstr("the predicate of while"));
    EXPECT_THAT(diagnosis.message, testing::HasSubstr("was false (of 3)"));
    EXPECT_THAT(diagnosis.message, testing::HasSubstr("after 2 rounds on process 2"));
    EXPECT_THAT(diagnosis.fields, testing::ElementsAre("predicate"));
  }
  Report report = run_scenario(load("input-divergence.cond"));
  ASSERT_EQ(report.diagnoses.size(), 1u) << told(report);
  EXPECT_THAT(report.diagnoses[0].message, testing::HasSubstr("chose branch 1 on process 2 and chose branch 0 on processes 0, 1 and 3"));
}

}  // namespace
}  // namespace shardlab::scenarios
