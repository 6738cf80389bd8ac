// Traces of processes that died and of parts that are damaged or missing: what is there is read, what was lost is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/traces/recorded_job.h"
#include "traces/recorder/merge.h"
#include "traces/recorder/recorder.h"
#include "traces/trace_reader.h"

namespace shardlab::recorder {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using traces::MatchState;
using traces::MemberStatus;
using traces::TraceReader;
namespace fs = std::filesystem;

class MergeLossesTest : public RecordedJob {};

TEST_F(MergeLossesTest, AKillAfterCallNLeavesCallN) {
  const auto program = make_program("matmul");
  merge_after_kill([&](auto say) {
    auto observer = recorder(1);
    for (int n = 0; n < 57; ++n) launch(*observer, n, program, 1000 * (n + 1), 31);
    launch(*observer, 57, program, 70'000, 33, 0);
    say(true);
  });
  TraceReader reader(options_.out);
  const auto rows = reader.collectives();
  ASSERT_EQ(rows.size(), 116u);
  const auto& last = rows[114];
  EXPECT_EQ(last.launch, 57);
  EXPECT_EQ(last.call, 0);
  EXPECT_EQ(last.members[0].status, MemberStatus::kOpen);
  EXPECT_EQ(reader.site(last.members[0].site).line, 33);
  EXPECT_EQ(rows[115].members[0].status, MemberStatus::kIssued);
  EXPECT_EQ(rows[112].members[0].status, MemberStatus::kOk);
  const auto processes = reader.processes();
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].state, ProcessState::kKilled);
  EXPECT_EQ(processes[0].signal, 9);
  EXPECT_FALSE(processes[0].closed);
}

TEST_F(MergeLossesTest, AFullRingIsARow) {
  {
    auto observer = std::make_unique<Recorder>(
        RecorderOptions{.directory = folder_.string(), .process = 0, .ring_bytes = kRingBytesMin, .drain_ms = 3'600'000});
    const auto program = make_program("matmul");
    for (int n = 0; n < 200; ++n) launch(*observer, n, program, 1000 * (n + 1), 31);
    EXPECT_GT(observer->dropped_records(), 0u);
  }
  options_.ends.resize(1);
  const auto result = merge_parts(options_);
  EXPECT_GT(result.records, 10);
  TraceReader reader(options_.out);
  ASSERT_EQ(reader.dropped().size(), 1u);
  EXPECT_THAT(reader.dropped()[0].reason, HasSubstr("the ring was full"));
  EXPECT_THAT(reader.notices().at(0), HasSubstr("Process 0"));
}

TEST_F(MergeLossesTest, MissingAndDamagedPartsAreTold) {
  const auto program = make_program("matmul");
  for (int p = 0; p < 2; ++p) launch(*recorder(p), 0, program, 1000, 31);
  fs::remove(folder_ / "ring-1.ring");
  fs::resize_file(folder_ / "part-1.db", 5000);
  const auto result = merge_parts(options_);
  ASSERT_EQ(result.problems.size(), 2u) << ::testing::PrintToString(result.problems);
  EXPECT_THAT(result.problems[0], HasSubstr("process 1"));
  EXPECT_THAT(result.problems[1], HasSubstr("process 2 left no records"));
  TraceReader reader(options_.out);
  EXPECT_EQ(reader.processes().size(), 3u);
  EXPECT_EQ(reader.import_log().size(), 2u);
  EXPECT_EQ(reader.notices().size(), 2u);
  ASSERT_EQ(reader.collectives().size(), 2u);
  EXPECT_EQ(reader.collectives()[0].state, MatchState::kPartial);
}

TEST_F(MergeLossesTest, ARingWithoutAPartIsEnough) {
  const auto program = make_program("matmul");
  {
    auto observer = recorder(0);
    launch(*observer, 0, program, 1000, 31);
    // The process dies before its writer ever ran: only the ring is there.
    fs::copy_file(observer->ring_file(), folder_ / "kept");
  }
  for (const char* name : {"part-0.db", "ring-0.ring"}) fs::remove(folder_ / name);
  fs::rename(folder_ / "kept", folder_ / "ring-0.ring");
  options_.ends.resize(1);
  const auto result = merge_parts(options_);
  EXPECT_THAT(result.problems, ElementsAre());
  EXPECT_EQ(result.collectives, 2);
}

TEST_F(MergeLossesTest, NothingAtAllIsATraceToo) {
  options_.ends.clear();
  const auto result = merge_parts(options_);
  EXPECT_EQ(result.processes, 0);
  TraceReader reader(options_.out);
  EXPECT_EQ(reader.collectives().size(), 0u);
}

TEST_F(MergeLossesTest, WritesAgainOverAnOldTrace) {
  std::ofstream(options_.out) << "old";
  merge_parts(options_);
  EXPECT_EQ(TraceReader(options_.out).meta("title"), "test");
  options_.out = "/nonexistent/folder/out.db";
  EXPECT_THROW(merge_parts(options_), IoError);
}

// Its process died, and who started it died too: what it left is drained, and the trace says that it is gone.
TEST_F(MergeLossesTest, OfARunningJobTellsWhoIsGone) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto made = recorder(0);
    launch(*made, 0, make_program("add"), 1000, 5);
    ::_exit(0);  // without closing its record
  }
  ::waitpid(child, nullptr, 0);
  options_.ends.clear();
  options_.running = true;
  const MergeResult result = merge_parts(options_);
  ASSERT_FALSE(result.problems.empty());
  TraceReader reader(options_.out);
  EXPECT_EQ(reader.meta("running"), "0");
  EXPECT_EQ(reader.processes().at(0).state, ProcessState::kSilent);
  EXPECT_EQ(reader.collectives().size(), 2u);
  ASSERT_FALSE(reader.notices().empty());
  EXPECT_THAT(reader.notices()[0], HasSubstr("is gone"));
}

}  // namespace
}  // namespace shardlab::recorder
