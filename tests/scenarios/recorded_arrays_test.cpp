// Which arrays launches took and gave, of whole programs: real processes and simulated ones leave the same, and nothing is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "tests/support/shell.h"
#include "traces/trace_reader.h"

namespace {

using shardlab::traces::TraceReader;

shardlab::support::Ran shell(const std::string& line) {
  return shardlab::support::shell("SHARDLAB=\"$BIN/shardlab\"; cd '" + testing::TempDir() + "'; " + line);
}

std::vector<std::string> answer(const std::string& path, const std::string& question) {
  shardlab::traces::Database database = TraceReader::open(path);
  shardlab::traces::Statement row(database, question);
  std::vector<std::string> lines;
  while (row.step()) {
    lines.emplace_back();
    for (int c = 0; c < row.column_count(); ++c) lines.back() += (c == 0 ? "" : " ") + std::string(row.text(c));
  }
  return lines;
}

TEST(RecordedArrays, OfSimulatedProcessesAreThoseOfRealOnes) {
  const char* root = std::getenv("SHARDLAB_SOURCE_DIR");
  std::vector<std::vector<std::string>> told;
  for (const std::string run : {"spawned", "simulated"}) {
    const std::string trace = testing::TempDir() + "recorded_arrays_" + run + ".db";
    const auto ran = shell("$SHARDLAB replay '" + std::string(root ? root : ".") + "/scenarios/corpus/toy.json' --run " + run +
                           " --trace '" + trace + "'");
    ASSERT_EQ(ran.code, 0) << ran.output;
    told.push_back(answer(trace, "SELECT process, role, program, position, name, statement FROM array_launches ORDER BY 1, 2, 3, 4, 5, 6"));
  }
  EXPECT_GT(told[0].size(), 16U);
  EXPECT_EQ(told[0], told[1]);
}

TEST(RecordedArrays, OfANetworkOnFourProcessesOfTwoDevices) {
  const std::string trace = testing::TempDir() + "recorded_arrays_network.db";
  const auto ran = shell("$SHARDLAB run -n 4 -d 2 --trace '" + trace + "' -- $BIN/network --steps 3 8 16 16 4");
  ASSERT_EQ(ran.code, 0) << ran.output;
  TraceReader reader(trace);
  ASSERT_TRUE(reader.has_launch_arrays());
  const auto rows = reader.launch_arrays();
  // Every array that a launch made is a result of one on each process that holds it.
  std::set<std::pair<shardlab::traces::Id, int>> given;
  for (const auto& row : rows)
    if (row.is_result) {
      EXPECT_TRUE(given.emplace(row.array, row.process).second) << "array " << row.array << " has two makers";
    }
  for (const auto& array : reader.arrays())
    for (const int process : array.processes)
      EXPECT_EQ(given.contains({array.id, process}), array.launch >= 0) << array.name << " on process " << process;
  // All take as many; what each computes alone lies on devices of its own.
  std::vector<std::set<std::pair<std::int64_t, int>>> taken(4);
  for (const auto& row : rows)
    if (!row.is_result) taken.at(std::size_t(row.process)).emplace(row.launch, row.position);
  EXPECT_FALSE(taken[0].empty());
  for (const auto& each : taken) EXPECT_EQ(each, taken[0]);
  EXPECT_EQ(
      answer(trace,
             "SELECT count(*) FROM launch_arrays t JOIN launches l USING (process, launch) JOIN launch_arrays g ON g.array = t.array AND "
             "g.process = t.process AND g.role = 1 WHERE t.role = 0 AND g.launch >= t.launch"),
      std::vector<std::string>{"0"})
      << "taken before it was made";
}

}  // namespace
