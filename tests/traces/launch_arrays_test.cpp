// Which arrays launches took and gave: from the recorders of several processes, also of killed ones, into one trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "tests/traces/recorded_job.h"
#include "traces/recorder/part.h"
#include "traces/trace_reader.h"

namespace shardlab::recorder {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using traces::TraceReader;

// process, launch, is result, position, the array's name, donated.
using Use = std::tuple<int, std::int64_t, bool, int, std::string, bool>;

std::vector<Use> uses_in(const std::string& path) {
  TraceReader reader(path);
  EXPECT_FALSE(reader.check_whole());
  std::map<traces::Id, std::string> names;
  for (const auto& array : reader.arrays()) names[array.id] = array.name;
  std::vector<Use> uses;
  for (const auto& row : reader.launch_arrays())
    uses.emplace_back(row.process, row.launch, row.is_result, row.position, names.at(row.array), row.donated);
  return uses;
}

comm::ArrayInfo named_array(std::int64_t id, std::string name, std::int64_t launch, int result) {
  comm::ArrayInfo array = make_array(id);
  array.name = std::move(name);
  array.launch = launch;
  array.result = result;
  return array;
}

using LaunchArraysTest = RecordedJob;

// Each process counts its arrays for itself; the third takes them the other way round.
TEST_F(LaunchArraysTest, OfAllProcessesAreThoseOfTheTrace) {
  const auto program = make_program("matmul", 12);
  for (int p = 0; p < kProcesses; ++p) {
    auto observer = recorder(p);
    const std::int64_t x = 10 * p, y = x + 1;
    launch(*observer, 0, program, 1000 + p, 31);
    observer->on_array(named_array(x, "x", 0, 0));
    observer->on_array(named_array(y, "y", 0, 1));
    std::vector<comm::TakenArray> takes{{x}, {x}, {999}, {y, true}, {-1}};
    if (p == 2) takes = {{y}, {x}};
    launch(*observer, 1, program, 2000 + p, 32, 2, takes);
    observer->on_array_end(y, p != 2);
  }
  EXPECT_THAT(merge_parts(options_).problems, IsEmpty());
  std::vector<Use> expected;
  for (int p = 0; p < kProcesses; ++p) {
    expected.insert(expected.end(), {{p, 0, true, 0, "x", false}, {p, 0, true, 1, "y", false}});
    if (p == 2)
      expected.insert(expected.end(), {{p, 1, false, 0, "y", false}, {p, 1, false, 1, "x", false}});
    else  // what nobody told of has its place, and no row
      expected.insert(expected.end(), {{p, 1, false, 0, "x", false}, {p, 1, false, 1, "x", false}, {p, 1, false, 3, "y", true}});
  }
  EXPECT_EQ(uses_in(options_.out), expected);
  traces::Database database = TraceReader::open(options_.out);
  EXPECT_EQ(
      database.integer("SELECT count(*) FROM array_launches WHERE name = 'x' AND role = 'operand' AND program = 'matmul' AND line = 32"),
      5);
}

// Longer than any record may be in that ring.
TEST_F(LaunchArraysTest, ManyComeInPartsAndSurviveAKill) {
  constexpr int kTaken = 480;
  merge_after_kill([&](auto say) {
    Recorder observer(
        {.directory = folder_.string(), .process = 1, .process_count = kProcesses, .ring_bytes = 1 << 13, .drain_ms = 3'600'000});
    observer.on_array(named_array(7, "x", -1, -1));
    std::vector<comm::TakenArray> takes(kTaken, {7});
    takes[200].donated = true;
    observer.on_launch_issued({.number = 0, .program = make_program("step"), .where = line(31), .issued_ns = 1000, .takes = takes});
    say(observer.dropped_records() == 0);
  });
  const auto uses = uses_in(options_.out);
  ASSERT_EQ(uses.size(), std::size_t(kTaken));
  for (int i = 0; i < kTaken; ++i) EXPECT_EQ(uses[std::size_t(i)], Use(1, 0, false, i, "x", i == 200));
}

// Launches are numbered anew in each set of processes; arrays are not.
TEST_F(LaunchArraysTest, GoOnFromEpochToEpoch) {
  auto alone = std::make_shared<comm::ProgramInfo>(*make_program("alone"));
  alone->devices = {0, 1};
  alone->processes = {0};
  {
    auto observer = recorder(0);
    launch(*observer, 0, alone, 1000, 31);
    observer->on_array(named_array(0, "x", 0, 0));
    observer->begin_epoch(1, {0});
    launch(*observer, 0, alone, 2000, 32, 2, {{0}});
    observer->on_array(named_array(1, "y", 0, 0));
    launch(*observer, 1, alone, 3000, 33, 0, {{1}, {0, true}});  // never ends
  }
  merge_parts(options_);
  EXPECT_THAT(uses_in(options_.out),
              ElementsAre(Use(0, 0, true, 0, "x", false), Use(0, 1, false, 0, "x", false), Use(0, 1, true, 0, "y", false),
                          Use(0, 2, false, 0, "y", false), Use(0, 2, false, 1, "x", true)));
}

// Written before these fields were.
TEST(LaunchRecord, AnOlderOneTellsNothingOfArrays) {
  LaunchIssuedRecord record{.launch = 5, .seq = 4, .program = 3, .site = 2, .time_ns = 1, .stack = {6}, .takes = {{{7, true}, {8}}}};
  Encoder encoder;
  encoder(record);
  const auto bytes = encoder.bytes();
  const auto back = decode<LaunchIssuedRecord>(bytes);
  ASSERT_EQ(back.takes.value.size(), 2U);
  EXPECT_EQ(back.takes.value[0].array, 7);
  EXPECT_TRUE(back.takes.value[0].donated);
  const std::size_t older = bytes.size() - 4 - 2 * 9;
  EXPECT_TRUE(decode<LaunchIssuedRecord>(bytes.first(older)).takes.value.empty());
  EXPECT_EQ(decode<LaunchIssuedRecord>(bytes.first(older)).stack.value, 6U);
  for (std::size_t length = older + 1; length < bytes.size(); ++length)
    EXPECT_THROW(decode<LaunchIssuedRecord>(bytes.first(length)), IoError) << length;
}

}  // namespace
}  // namespace shardlab::recorder
