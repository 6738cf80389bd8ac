// What goes wrong on purpose and ends no run: who is late, what is dropped, what is damaged; each with a twin that stays quiet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "scenarios/runner/run.h"

namespace shardlab::scenarios {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::json;

Json corpus(const std::string& name) {
  std::ifstream file(std::string(std::getenv("SHARDLAB_SOURCE_DIR")) + "/scenarios/corpus/" + name + ".json");
  return Json::parse(file);
}

Report run(const Json& document) {
  std::vector<Loaded> loaded = load_text(document.dump(), "test");
  EXPECT_EQ(loaded.size(), 1u);
  EXPECT_EQ(loaded[0].error, "");
  return run_scenario(loaded[0]);
}

const Diagnosis& only(const Report& report) {
  static const Diagnosis none;
  EXPECT_EQ(report.diagnoses.size(), 1u) << text_of(summary_of(report));
  return report.diagnoses.empty() ? none : report.diagnoses.front();
}

// The same program without its fault has nothing to tell.
void expect_quiet_twin(Json document) {
  document.erase("faults");
  document.erase("expect");
  Report report = run(document);
  EXPECT_EQ(report.status, Status::kPassed) << report.message;
  EXPECT_TRUE(report.diagnoses.empty()) << report.diagnoses.front().message;
}

TEST(Straggler, IsNamedWithWhoWaitedAndHowLong) {
  Report report = run(corpus("straggler"));
  EXPECT_EQ(report.status, Status::kPassed);
  EXPECT_THAT(only(report).message, HasSubstr("processes 0, 1 and 3 waited 0.300 s for process 2 in all, 0.300 s of it in sum"));
  expect_quiet_twin(corpus("straggler"));
}

TEST(Straggler, WhoAreAllLateAreNone) {
  Json document = corpus("straggler");
  document["faults"][0].erase("processes");
  document.erase("expect");
  EXPECT_TRUE(run(document).diagnoses.empty());
}

TEST(SlowLink, IsToldApartFromAProcessThatComesLate) {
  Report report = run(corpus("slow_link"));
  EXPECT_THAT(only(report).fields, ElementsAre("link"));
  EXPECT_THAT(only(report).message, HasSubstr("processes 0 and 2 waited up to"));
  EXPECT_THAT(only(report).message, HasSubstr("data of process 1, which had come to the calls in time: its link is slow"));
  expect_quiet_twin(corpus("slow_link"));
}

TEST(Unawaited, NamesTheStatement) {
  Report report = run(corpus("unawaited"));
  EXPECT_THAT(only(report).message, HasSubstr("the result of sum at statement 2 (/program/2) is dropped before anybody used it"));
  Json document = corpus("unawaited");
  document["program"][3]["let"] = "z";  // both are there at the end
  expect_quiet_twin(document);
  document = corpus("unawaited");
  document["program"].insert(document["program"].begin() + 3, Json{{"op", "fetch"}, {"args", {"y"}}});
  expect_quiet_twin(document);
}

TEST(Corrupt, AReplicaTellsAnotherValue) {
  Report report = run(corpus("replicas_drift"));
  EXPECT_EQ(report.status, Status::kPassed);
  EXPECT_THAT(only(report).message, HasSubstr("the replicas of x drift: element 6 is"));
  EXPECT_THAT(only(report).message, HasSubstr("on process 2 (device 5) and 6.0 on process"));
  expect_quiet_twin(corpus("replicas_drift"));
}

// What was computed from the damaged copy drifts too: it is one cause.
TEST(Corrupt, IsToldOnceForAllThatFollowsFromIt) {
  Json document = corpus("replicas_drift");
  document["program"].push_back(Json{{"let", "z"}, {"op", "add"}, {"args", {"y", 1.0}}});
  document.erase("expect");
  Report report = run(document);
  std::string what;
  for (const auto& [name, value] : only(report).details)
    if (name == "what") what = value;
  EXPECT_EQ(what, "replicas of x, y, z");
}

TEST(Corrupt, WithoutAReplicaIsSaidToBeUndetectable) {
  Report report = run(corpus("corrupted_without_replica"));
  EXPECT_EQ(report.status, Status::kPassed);
  EXPECT_TRUE(report.diagnoses.empty());
  EXPECT_THAT(report.notes, Contains(HasSubstr("undetectable: the corrupted shard of x on device 3 has no replica")));
}

TEST(Corrupt, ANameThatIsNeverBoundNeverStrikes) {
  Json document = corpus("corrupted_without_replica");
  document["faults"][0]["do"]["corrupt"] = "nothing";
  document.erase("expect");
  Report report = run(document);
  EXPECT_EQ(report.status, Status::kInconclusive);
  EXPECT_THAT(report.notes, Contains(HasSubstr("the fault at /faults/0 never struck: nothing is not bound there")));
}

TEST(Sweep, EveryFaultOfTheFormatHasItsClass) {
  Json document = corpus("replicas_drift");
  document.erase("faults");
  document.erase("expect");
  document["program"].push_back(Json{{"let", "s"}, {"op", "sum"}, {"args", {"y"}}});
  document["program"].push_back(Json{{"op", "fetch"}, {"args", {"s"}}});
  document["sweep"] = {{"at", "every-collective"},
                       {"do",
                        {"raise", Json{{"exit", 3}}, "kill", "hang", Json{{"stop_ms", 0}}, Json{{"stop_ms", 50}}, Json{{"delay_ms", 50}},
                         "disconnect", Json{{"slow_link", 100}}, Json{{"clock", {{"offset_ms", 1000}}}}, Json{{"trace_disk", "full"}},
                         Json{{"corrupt", "x"}}, Json{{"corrupt", "s"}}}}};
  Report report = run(document);
  EXPECT_EQ(report.status, Status::kPassed) << report.message;
  EXPECT_EQ(report.sweep.size() % (4u * 13u), 0u);
  std::map<std::string, int> counts;
  for (const SweepCell& cell : report.sweep) {
    EXPECT_TRUE(cell.as_expected) << cell.process << " " << cell.call << " " << cell.fault << ": " << cell.outcome;
    ++counts[cell.outcome];
  }
  for (const char* outcome : {"drift", "nothing to corrupt", "process-exited", "endured"}) EXPECT_GT(counts[outcome], 0) << outcome;
}

TEST(Faults, WhatTheyNeedIsChecked) {
  Json document = corpus("replicas_drift");
  auto error_of = [](const Json& wrong) { return load_text(wrong.dump(), "test").at(0).error; };
  document["faults"][0]["do"] = {{"corrupt", "x"}, {"device", 99}};
  EXPECT_THAT(error_of(document), HasSubstr("there is no device 99: the cluster has 8"));
  document["faults"][0]["do"] = {{"corrupt", "x"}, {"device", 0}};
  EXPECT_THAT(error_of(document), HasSubstr("device 0 is process 0's, and the fault is not for that process"));
  document["faults"][0]["do"] = {{"slow_link", 0.5}};
  EXPECT_THAT(error_of(document), HasSubstr("a factor from 1 to 1,000,000"));
  document["faults"][0]["do"] = {{"trace_disk", "slow"}};
  EXPECT_THAT(error_of(document), HasSubstr("\"full\""));
  document["faults"][0]["do"] = {{"kill", 1}};
  EXPECT_THAT(error_of(document), HasSubstr("'kill' takes no value"));
}

}  // namespace
}  // namespace shardlab::scenarios
