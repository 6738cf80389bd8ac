// Two recorded runs held against each other by their values: other processes and devices are rounding at most, another step size is another
// array.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/shell.h"
#include "traces/trace_reader.h"
#include "traces/values.h"

namespace {

using testing::HasSubstr;
using testing::Not;

shardlab::support::Ran shell(const std::string& line) {
  return shardlab::support::shell("SHARDLAB=\"$BIN/shardlab\"; cd '" + testing::TempDir() + "'; " + line);
}

std::string trace_of(const std::string& name) { return testing::TempDir() + "compare_runs_" + name + ".db"; }

void record(const std::string& name, const std::string& cluster, const std::string& more = "") {
  const auto ran =
      shell("$SHARDLAB run " + cluster + " --checksums --trace '" + trace_of(name) + "' -- $BIN/network --steps 2 " + more + " 8 16 16 4");
  ASSERT_EQ(ran.code, 0) << ran.output;
}

shardlab::support::Ran diff(const std::string& left, const std::string& right) {
  return shell("$SHARDLAB diff --values '" + trace_of(left) + "' '" + trace_of(right) + "'");
}

TEST(CompareRuns, OtherProcessesAndDevicesAreRoundingAtMost) {
  record("4x2", "-n 4 -d 2");
  record("1x8", "-n 1 -d 8");
  auto ran = diff("4x2", "1x8");
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr(" 0 differ, 0 in one run only"));
  EXPECT_THAT(ran.output, Not(HasSubstr(" 0 equal bit for bit")));

  // Every array of a launch is there, of all processes together; those of the host, too.
  shardlab::traces::TraceReader reader(trace_of("4x2"));
  std::size_t of_launches = 0;
  for (const auto& array : reader.arrays()) of_launches += array.process == 0 && array.launch >= 0;
  const auto values = shardlab::traces::array_values(reader);
  std::size_t known = 0;
  for (const auto& each : values) {
    EXPECT_TRUE(each.values.odd_replicas.empty()) << title_of(each);
    known += each.process == 0;
  }
  EXPECT_GE(known, of_launches);
  EXPECT_GT(of_launches, 20U);

  // The functions above the launches, by name from the program's file.
  const auto frames = reader.frames();
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames[0].function, "main");
  for (const auto& launch : reader.launches()) EXPECT_GT(launch.frame, 0) << launch.launch;

  record("steps", "-n 4 -d 2", "--step-size 2e-3");
  ran = diff("4x2", "steps");
  EXPECT_EQ(ran.code, 1) << ran.output;
  EXPECT_THAT(ran.output, testing::StartsWith("the first array whose values differ: float32["));
  EXPECT_THAT(ran.output, HasSubstr(" at network.cpp:"));
  EXPECT_THAT(ran.output, HasSubstr(" of the norm apart"));
}

TEST(CompareRuns, SayWhatIsMissing) {
  auto ran = shell("$SHARDLAB run --checksums -- $BIN/toy");
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.output, HasSubstr("--checksums go into a trace; say where with --trace T.db or --parts DIR"));
  ran = shell("$SHARDLAB run -d 8 --trace '" + trace_of("plain") + "' -- $BIN/toy && $SHARDLAB diff --values '" + trace_of("plain") +
              "' '" + trace_of("plain") + "'");
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.output, HasSubstr("has no checksums of values; record it with `shardlab run --checksums`"));
}

}  // namespace
