// The corpus of mutants: one process departs from the others, and the verdict names the class, the process and the line that
// make_mutants.py worked out beforehand; twins stay quiet. Bugs that hide behind schedules are found and replay.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "scenarios/runner/run.h"
#include "scenarios/runner/shrink.h"
#include "scenarios/runner/simulate.h"

namespace shardlab::scenarios {
namespace {

std::string mutants_file(const std::string& name) { return std::string(SHARDLAB_MUTANTS) + "/" + name; }

double now_ms() { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string told(const Report& report) {
  std::string text = text_of(summary_of(report));
  for (const Diagnosis& each : report.diagnoses)
    text += fmt::format("\n  {} of {}: {}", each.code, fmt::join(each.processes, ","), each.message);
  return text;
}

std::ptrdiff_t errors_in(const Report& report) {
  return std::count_if(report.diagnoses.begin(), report.diagnoses.end(), [](const Diagnosis& each) { return each.severity == "error"; });
}

TEST(Mutants, EachIsNamedByClassProcessAndLine) {
  std::vector<Loaded> mutants = load_path(mutants_file("mutants.jsonl"));
  ASSERT_GE(mutants.size(), 300u);
  for (const Loaded& mutant : mutants) {
    Report report = run_scenario(mutant);
    EXPECT_EQ(report.status, Status::kPassed) << told(report);
    // At most one diagnosis for one cause.
    EXPECT_LE(errors_in(report), 1) << told(report);
  }
}

std::string fields_wanted(const Loaded& loaded) {
  const std::string& text = loaded.document->description;
  return text.starts_with("fields: ") ? text.substr(8) : "";
}

void expect_right(const Loaded& departure, const Report& report) {
  EXPECT_EQ(report.status, Status::kPassed) << told(report);
  std::ptrdiff_t causes = std::count_if(departure.document->expect.begin(), departure.document->expect.end(), [](const Expectation& each) {
    const auto* check = std::get_if<DiagnosisCheck>(&each.check);
    return check && check->code;
  });
  EXPECT_LE(errors_in(report), causes) << told(report);
  std::string wanted = fields_wanted(departure);
  for (std::size_t at = 0; at < wanted.size() && !report.diagnoses.empty();) {
    std::size_t end = std::min(wanted.find(' ', at), wanted.size());
    EXPECT_THAT(report.diagnoses[0].fields, testing::Contains(wanted.substr(at, end - at))) << told(report);
    at = end + 1;
  }
}

// The same from another generator, of other programs: minorities of several processes, consequences, messages, two causes at once.
TEST(Departures, AreNamedByClassProcessesAndLine) {
  std::vector<Loaded> departures = load_path(mutants_file("departures.jsonl"));
  ASSERT_GE(departures.size(), 300u);
  for (const Loaded& departure : departures) {
    ASSERT_TRUE(departure.document) << departure.error;
    expect_right(departure, run_scenario(departure));
  }
}

TEST(Departures, RealProcessesGetTheSameVerdicts) {
  constexpr std::size_t kEvery = 29;
  std::vector<Loaded> departures = load_path(mutants_file("departures.jsonl"), {.cluster = {.run = "spawned"}});
  for (std::size_t i = 7; i < departures.size(); i += kEvery)
    expect_right(departures[i], run_scenario(departures[i], {.program = std::string(std::getenv("SHARDLAB_BIN_DIR")) + "/shardlab"}));
}

// In real processes they end as they do simulated; the soak runs all of them.
TEST(Mutants, RealProcessesGetTheSameVerdicts) {
  constexpr std::size_t kEvery = 23;  // a prime: a sample over all classes, sizes and places
  std::vector<Loaded> mutants = load_path(mutants_file("mutants.jsonl"), {.cluster = {.run = "spawned"}});
  for (std::size_t i = 0; i < mutants.size(); i += kEvery) {
    Report report = run_scenario(mutants[i], {.program = std::string(std::getenv("SHARDLAB_BIN_DIR")) + "/shardlab"});
    EXPECT_EQ(report.status, Status::kPassed) << told(report);
    EXPECT_LE(errors_in(report), 1) << told(report);
  }
}

TEST(Mutants, TheVerdictOfASimulatedRunTakesMilliseconds) {
  std::vector<double> times;
  for (const Loaded& mutant : load_path(mutants_file("mutants.jsonl"))) {
    if (!mutant.document || mutant.document->find_check<DiagnosisCheck>()->code.value_or("input-divergence") == "input-divergence")
      continue;
    PlannedCluster planned = plan_cluster(*mutant.document);
    double begin = now_ms();
    simulate::Simulation run(planned.plans, simulation_options(*mutant.document));
    std::unique_ptr<simulate::Schedule> schedule = simulate::fifo_schedule();
    run.run(*schedule);
    times.push_back(now_ms() - begin);
    ASSERT_FALSE(run.diagnoses().empty()) << mutant.name;
  }
  std::sort(times.begin(), times.end());
  ASSERT_GT(times.size(), 200u);
  RecordProperty("p50_ms", std::to_string(times[times.size() / 2]));
  RecordProperty("p99_ms", std::to_string(times[times.size() * 99 / 100]));
  EXPECT_LT(times[times.size() / 2], 10.0);
}

TEST(ScheduleBugs, AreFoundAndTheirTwinsAreNot) {
  std::vector<Loaded> bugs = load_path(mutants_file("schedule_bugs.jsonl"));
  int planted = 0;
  for (const Loaded& bug : bugs) {
    Report report = run_scenario(bug);
    EXPECT_EQ(report.status, Status::kPassed) << told(report);
    planted += bug.document && bug.document->find_check<DiagnosisCheck>()->code.has_value();
  }
  EXPECT_GE(planted, 20);
}

TEST(ScheduleBugs, AFoundScheduleReplaysEveryTime) {
  Loaded bug = load_path(mutants_file("schedule_bugs.jsonl")).front();
  Report report = run_scenario(bug);
  ASSERT_EQ(report.diagnoses.size(), 1u);
  std::string choices;
  for (const auto& [name, value] : report.diagnoses[0].details)
    if (name == "schedule") choices = value;
  ASSERT_FALSE(choices.empty());
  nlohmann::json document = nlohmann::json::parse(bug.text);
  document["schedules"] = {{"policy", "replay"}, {"choices", nlohmann::json::array()}};
  for (std::size_t at = 0; at < choices.size();) {
    std::size_t end = std::min(choices.find(' ', at), choices.size());
    document["schedules"]["choices"].push_back(choices.substr(at, end - at));
    at = end + 1;
  }
  Loaded again = load_text(document.dump(), "replay").front();
  ASSERT_TRUE(again.error.empty()) << again.error;
  for (int i = 0; i < 100; ++i) ASSERT_EQ(run_scenario(again).status, Status::kPassed);
}

TEST(Shrink, LeavesThePlantedMinimumAndReplaysIt) {
  for (const Loaded& bug : load_path(mutants_file("schedule_bugs.jsonl"))) {
    if (!bug.document->find_check<DiagnosisCheck>()->code) continue;
    std::optional<Shrunk> shrunk = shrink(bug);
    ASSERT_TRUE(shrunk) << bug.name;
    EXPECT_EQ(shrunk->code, "deadlock");
    Loaded again = load_text(shrunk->text, "shrunk").front();
    ASSERT_TRUE(again.error.empty()) << again.error;
    // The ring needs all its processes; what was put before it is gone.
    EXPECT_EQ(again.document->cluster.processes, bug.document->cluster.processes);
    for (const Statement& each : again.document->program)
      for (const std::string& name : each.let) EXPECT_FALSE(name.starts_with("before")) << shrunk->text;
    for (int i = 0; i < 100; ++i) ASSERT_EQ(run_scenario(again).status, Status::kPassed) << shrunk->text;
  }
}

// Each process × each call × each fault has its class.
TEST(Sweep, EveryCellIsClassified) {
  Loaded loaded = load_text(R"({"shardlab": 1, "name": "sweep", "cluster": {"processes": 4, "devices": 2},
    "meshes": {"m": {"shape": [4, 2], "axes": ["i", "j"]}},
    "program": [
      {"let": "x", "op": "arange", "args": [32], "dtype": "float32"}, {"let": "x", "op": "reshape", "args": ["x"], "shape": [4, 8]},
      {"let": "x", "op": "device_put", "args": ["x"], "sharding": ["i", "j"]}, {"let": "y", "op": "sin", "args": ["x"]},
      {"let": "y", "op": "sum", "args": ["y"]}, {"let": "g", "op": "process_allgather", "args": ["x"]}],
    "sweep": {"at": "every-collective", "do": ["raise", {"exit": 3}, "kill", "hang", {"stop_ms": 0}, {"stop_ms": 50}, {"delay_ms": 50}]}})",
                            "sweep.json")
                      .front();
  ASSERT_TRUE(loaded.error.empty()) << loaded.error;
  Report report = run_scenario(loaded);
  EXPECT_EQ(report.status, Status::kPassed) << told(report);
  EXPECT_EQ(report.sweep.size() % (4u * 7u), 0u);
  EXPECT_GE(report.sweep.size(), 4u * 7u * 3u);
  for (const SweepCell& cell : report.sweep)
    EXPECT_TRUE(cell.as_expected) << cell.process << " " << cell.call << " " << cell.fault << ": " << cell.outcome;
}

// Without data.
TEST(Structure, ManyProcessesAndOneThatDeparts) {
  double begin = now_ms();
  Loaded loaded = load_text(R"({"shardlab": 1, "name": "many", "cluster": {"processes": 64, "devices": 16, "execute": "structure"},
    "meshes": {"m": {"shape": [64, 16], "axes": ["data", "model"]}},
    "functions": {"step": {"params": ["x", "w", "v"], "body": [
      {"let": "h", "op": "matmul", "args": ["x", "w"]}, {"let": "h", "op": "relu", "args": ["h"]},
      {"let": "y", "op": "matmul", "args": ["h", "v"]}, {"let": "l", "op": "sum", "args": ["y"]}], "results": ["l"]}},
    "program": [
      {"let": "x", "op": "zeros", "shape": [8192, 512], "sharding": ["data", null]},
      {"let": "w", "op": "zeros", "shape": [512, 1024], "sharding": [null, "model"]},
      {"let": "v", "op": "zeros", "shape": [1024, 512], "sharding": ["model", null]},
      {"let": "w", "op": "device_put", "args": ["w"], "sharding": [null, null], "on": {"processes": [47]}},
      {"let": "l", "op": "jit", "fn": "step", "args": ["x", "w", "v"]}],
    "expect": [{"diagnosis": "missing-participant", "processes": [47], "statement": 3}]})",
                            "many.json")
                      .front();
  ASSERT_TRUE(loaded.error.empty()) << loaded.error;
  Report report = run_scenario(loaded);
  EXPECT_EQ(report.status, Status::kPassed) << told(report);
  RecordProperty("ms", std::to_string(now_ms() - begin));
}

}  // namespace
}  // namespace shardlab::scenarios
