// The 1F1B pipeline of two and four stages, in a process each and in one: it checks its gradients itself; here its trace must show a
// pipeline. Each stage does its work in the order 1F1B, the stages' work overlaps in logical time as far as the schedule allows, and in
// measured time where each has a process. (That it does in one process, too, is beside_test's to show, without a clock.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/shell.h"
#include "traces/trace_reader.h"

namespace shardlab::traces {
namespace {

constexpr int kMicrobatches = 12;

using support::Ran;
using support::shell;

// A launch in which its stage has devices.
struct Step {
  std::int64_t launch = 0;
  std::string name;
  std::vector<int> stages;
  std::int64_t begin_ns = 0, end_ns = 0;
  char letter() const {
    if (name == "forward" || name == "loss_forward") return 'F';
    return name == "backward" || name == "loss_backward" ? 'B' : ' ';
  }
};

constexpr int kDevices = 2;  // of a stage

// How many stages, and whether they are in one process.
class Pipeline : public testing::TestWithParam<std::pair<int, bool>> {
 protected:
  // By stage, in the order of execution.
  std::vector<std::vector<Step>> run() {
    const auto [stages, in_one] = GetParam();
    std::string trace = testing::TempDir() + "/pipeline-" + std::to_string(getpid()) + ".db";
    const std::string job = in_one ? "-n 1 -d " + std::to_string(stages * kDevices) : "-n " + std::to_string(stages) + " -d 2";
    Ran ran = shell("$BIN/shardlab run --limit 120 " + job + " --trace " + trace + " -- $BIN/pipeline_1f1b" +
                    (in_one ? " " + std::to_string(stages) : ""));
    EXPECT_EQ(ran.code, 0) << ran.output;
    for (int s = 0; s < stages; ++s)
      EXPECT_THAT(ran.output, testing::HasSubstr("stage " + std::to_string(s) + " of " + std::to_string(stages) + " kept "));
    std::vector<std::vector<Step>> steps(static_cast<std::size_t>(stages));
    if (ran.code != 0) return steps;
    TraceReader reader(trace);
    std::map<Id, ProgramRow> programs;
    for (ProgramRow& program : reader.programs()) programs[program.id] = std::move(program);
    for (const LaunchRow& launch : reader.launches()) {
      const ProgramRow& program = programs.at(launch.program);
      std::set<int> of;
      for (int device : program.devices) of.insert(device / kDevices);
      for (int stage : of)
        if (in_one || stage == launch.process)
          steps[std::size_t(stage)].push_back({launch.launch, program.name, {of.begin(), of.end()}, launch.started_ns, launch.done_ns});
    }
    for (auto& each : steps) {
      std::sort(each.begin(), each.end(), [](const Step& a, const Step& b) { return a.launch < b.launch; });
      auto end = std::find_if(each.begin(), each.end(), [](const Step& step) { return step.name == "without_stages"; });
      each.erase(end, each.end());
    }
    std::remove(trace.c_str());
    return steps;
  }
};

std::string letters(const std::vector<Step>& steps) {
  std::string text;
  for (const Step& step : steps)
    if (step.letter() != ' ') text += step.letter();
  return text;
}

// Forwards to fill the stages behind, one backward for each forward, the backwards that are left.
std::string one_forward_one_backward(int stage, int stages) {
  int ahead = stages - 1 - stage;
  std::string text(std::size_t(ahead), 'F');
  for (int m = 0; m < kMicrobatches - ahead; ++m) text += "FB";
  return text + std::string(std::size_t(ahead), 'B');
}

// How many ticks it takes where a forward or backward takes one and everything else none: what spans stages waits for all of them.
// Every process issues the same launches, so a number means the same one everywhere.
int logical_ticks(const std::vector<std::vector<Step>>& steps) {
  std::map<std::int64_t, const Step*> by_launch;
  for (const auto& each : steps)
    for (const Step& step : each) by_launch[step.launch] = &step;
  std::vector<int> clock(steps.size(), 0);
  for (const auto& [launch, step] : by_launch) {
    int latest = 0;
    for (int stage : step->stages) latest = std::max(latest, clock[std::size_t(stage)]);
    for (int stage : step->stages) clock[std::size_t(stage)] = latest + (step->letter() != ' ');
  }
  return *std::max_element(clock.begin(), clock.end());
}

// Pairs of work of different stages that ran at the same time.
int overlaps(const std::vector<std::vector<Step>>& steps) {
  int count = 0;
  for (std::size_t s = 0; s < steps.size(); ++s)
    for (std::size_t t = 0; t < s; ++t)
      for (const Step& a : steps[s])
        for (const Step& b : steps[t]) count += a.letter() != ' ' && b.letter() != ' ' && a.begin_ns < b.end_ns && b.begin_ns < a.end_ns;
  return count;
}

TEST_P(Pipeline, IsOneForwardOneBackwardAndOverlaps) {
  const auto [stages, in_one] = GetParam();
  std::vector<std::vector<Step>> steps = run();
  if (HasFailure()) return;
  for (int s = 0; s < stages; ++s) EXPECT_EQ(letters(steps[std::size_t(s)]), one_forward_one_backward(s, stages)) << "stage " << s;
  int one_after_the_other = 2 * kMicrobatches * stages;
  EXPECT_EQ(logical_ticks(steps), 2 * (kMicrobatches + stages - 1)) << "of " << one_after_the_other << " one after the other";
  if (!in_one) {
    EXPECT_GT(overlaps(steps), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(, Pipeline, testing::Values(std::pair(2, false), std::pair(4, false), std::pair(2, true), std::pair(4, true)));

// The guide's twelve microbatches of 512 x 512 through four stages: each stage does them in order, none before the stage before it, and the
// first takes the next one up before the last has ended with the one before.
TEST(GuidePipeline, MicrobatchesOverlap) {
  constexpr int kStages = 4;
  std::string trace = testing::TempDir() + "/guide-pipeline-" + std::to_string(getpid()) + ".db";
  Ran ran = shell("$BIN/shardlab run --limit 120 -n 4 -d 1 --trace " + trace + " -- $BIN/guide_pipeline");
  ASSERT_EQ(ran.code, 0) << ran.output;
  TraceReader reader(trace);
  std::map<Id, ProgramRow> programs;
  for (ProgramRow& program : reader.programs()) programs[program.id] = std::move(program);
  std::vector<std::vector<LaunchRow>> stages(kStages);
  for (const LaunchRow& launch : reader.launches())
    if (const ProgramRow& program = programs.at(launch.program);
        program.name == "jit" && program.processes == std::vector<int>{launch.process})
      stages[std::size_t(launch.process)].push_back(launch);
  std::remove(trace.c_str());
  for (auto& stage : stages) {
    std::sort(stage.begin(), stage.end(), [](const LaunchRow& a, const LaunchRow& b) { return a.launch < b.launch; });
    ASSERT_EQ(stage.size(), std::size_t(kMicrobatches));
  }
  int overlap = 0;
  for (std::size_t m = 0; m < std::size_t(kMicrobatches); ++m) {
    for (std::size_t s = 1; s < kStages; ++s) EXPECT_GE(stages[s][m].started_ns, stages[s - 1][m].done_ns) << "microbatch " << m;
    overlap += m > 0 && stages[0][m].started_ns < stages[kStages - 1][m - 1].done_ns;
  }
  EXPECT_GE(overlap, kMicrobatches / 2);
}

}  // namespace
}  // namespace shardlab::traces
