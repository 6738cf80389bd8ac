// From the observer's calls to the merged trace: what was recorded is there.
#include "traces/recorder/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/base/sha256.h"
#include "tests/traces/recorded_job.h"
#include "traces/recorder/part.h"
#include "traces/recorder/recorder.h"
#include "traces/trace_reader.h"
#include "traces/values.h"

namespace shardlab::recorder {
namespace {

using comm::CallStatus;
using ::testing::ElementsAre;
using traces::MatchState;
using traces::MemberStatus;
using traces::TraceReader;
namespace fs = std::filesystem;

class MergeTest : public RecordedJob {};

// Of a process with two devices: what one of them computes by itself is not the other's.
TEST_F(MergeTest, WhatALaunchComputesIsItsDevicesOwn) {
  auto program = std::make_shared<comm::ProgramInfo>();
  program->name = "stage";
  program->text = "program stage on 1";
  program->devices = {1};
  program->processes = {0};
  auto observer = recorder(0);
  const comm::Launch launch{.number = 0, .seq = 0, .program = program, .where = line(3), .issued_ns = 1000};
  observer->on_launch_issued(launch);
  observer->on_launch_started(launch, 1010);
  observer->on_compute(launch, "sin", line(3), 1020, 1050);
  observer->on_launch_done(launch, 1060, CallStatus::kOk);
  EXPECT_EQ(observer->close(), "");
  merge_parts(options_);
  TraceReader reader(options_.out);
  std::vector<std::int64_t> events(kLocal), busy(kLocal);
  for (const auto& track : reader.tracks())
    if (track.kind == traces::TrackKind::kDevice && track.process == 0) {
      events.at(std::size_t(track.device)) = track.event_count;
      busy.at(std::size_t(track.device)) = track.busy_ns;
    }
  EXPECT_THAT(events, ElementsAre(0, 1));
  EXPECT_THAT(busy, ElementsAre(0, 30));
}

TEST_F(MergeTest, OneRowPerLogicalCollectiveOneMemberPerProcess) {
  const auto program = make_program("matmul", 12);
  for (int p = 0; p < kProcesses; ++p) {
    auto observer = recorder(p);
    for (int n = 0; n < 3; ++n) launch(*observer, n, program, 1000 * (n + 1) + p, 31);
    observer->on_array(make_array(7));
    observer->on_array(make_array(8));
    comm::ArrayInfo again = make_array(8);  // told of again: named anew
    again.name = "renamed";
    observer->on_array(again);
    observer->on_host_read("print", line(40), 9000, 9500);
    EXPECT_EQ(observer->close(), "");
  }
  const MergeResult result = merge_parts(options_);
  EXPECT_THAT(result.problems, ElementsAre());
  EXPECT_EQ(result.collectives, 6);
  EXPECT_EQ(result.unmatched, 0);

  TraceReader reader(options_.out);
  const auto rows = reader.collectives();
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[0].what.kind, "all-reduce");
  EXPECT_EQ(rows[0].what.groups, "[[0,2,4],[1,3,5]]");
  EXPECT_EQ(rows[0].what.axes, R"(["a"])");
  EXPECT_EQ(rows[0].what.wire_bytes, 128);
  EXPECT_EQ(reader.site(rows[0].what.site).text(), "toy.cpp:12");
  EXPECT_EQ(rows[0].members.size(), 3u);
  EXPECT_EQ(rows[0].first_ns, 1040);
  EXPECT_EQ(rows[0].last_ns, 1092);
  EXPECT_EQ(reader.site(rows[0].members[1].site).text(), "toy.cpp:31");
  // An op whose place the program does not tell has the launch's.
  EXPECT_EQ(reader.site(rows[1].what.site).text(), "toy.cpp:31");
  EXPECT_EQ(devices_of(rows[1].what), (std::vector<int>{0, 1, 2, 3}));

  const auto programs = reader.programs();
  ASSERT_EQ(programs.size(), 1u);
  EXPECT_EQ(programs[0].fingerprint, program->fingerprint);
  EXPECT_EQ(programs[0].values.at(0).sharding, "P('a', 'b')");
  EXPECT_EQ(programs[0].collectives.at(1).pairs, "[[0,1],[2,3]]");
  const auto arrays = reader.arrays();
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays[0].name, make_array(7).name);
  EXPECT_EQ(arrays[1].name, "renamed");
  EXPECT_THAT(arrays[0].processes, ElementsAre(0, 1, 2));
  const auto layouts = reader.layouts();
  ASSERT_EQ(layouts.size(), 1u);
  EXPECT_EQ(layouts[0].shards[3].replica, 1);
  EXPECT_EQ(layouts[0].shards[3].ranges[0], (std::pair<std::int64_t, std::int64_t>{2, 4}));
  EXPECT_EQ(reader.meshes().at(0).text, "mesh(a=3, b=2)");
  EXPECT_EQ(reader.host_reads().size(), 3u);
  EXPECT_EQ(reader.wait_edges().size(), 6u * 3 * 2);
  for (const auto& process : reader.processes()) EXPECT_TRUE(process.closed && process.state == ProcessState::kLeft);
  // Device 4 is in the all-reduce and not in the permute; each launch computed once.
  for (const auto& track : reader.tracks())
    if (track.device == 4) { EXPECT_EQ(track.event_count, 6); }
  EXPECT_THAT(reader.notices(), ElementsAre());
  EXPECT_FALSE(reader.check_whole());
}

TEST_F(MergeTest, ChecksumsOfTheProcessesAddUpToTheArray) {
  const auto program = make_program("matmul", 12);
  for (int p = 0; p < kProcesses; ++p) {
    auto observer = recorder(p);
    launch(*observer, 0, program, 1000 + p, 31);
    observer->on_array(make_array(7));
    observer->on_array(make_array(8));
    Checksum part{
        .hash = ~std::uint64_t(0) - std::uint64_t(p), .numbers = 8, .nans = p, .min = -double(p), .max = double(p), .sum = 1, .squares = 4};
    part.sketches = {1, 2, 3, 4};
    observer->on_checksums(7, {{2 * p, part}});
    // Of array 8 the two devices of process 1 do not agree, and process 2 tells nothing.
    if (p == 0) observer->on_checksums(8, {{0, part}});
    if (p == 1) observer->on_checksums(8, {{2, part}, {3, {.hash = 5}}});
    observer->close();
  }
  EXPECT_THAT(merge_parts(options_).problems, ElementsAre());
  TraceReader reader(options_.out);
  const auto rows = reader.checksums();
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[0].process, 0);
  std::vector<traces::ArrayValues> values = traces::array_values(reader);
  ASSERT_EQ(values.size(), 1u) << "of the other array a part is missing";
  const Checksum& whole = values[0].values.checksum;
  EXPECT_EQ(whole.hash, std::uint64_t(0) - 6) << "the sum wraps";
  EXPECT_EQ(whole.numbers, 24);
  EXPECT_EQ(whole.nans, 3);
  EXPECT_EQ(whole.min, -2);
  EXPECT_EQ(whole.max, 2);
  EXPECT_EQ(whole.squares, 12);
  EXPECT_EQ(whole.sketches[3], 12);
  EXPECT_TRUE(values[0].values.odd_replicas.empty());
  traces::LayoutParts parts;
  const auto layouts = reader.layouts();
  for (const traces::ShardRow& shard : layouts[0].shards) parts.add(shard.device, shard.ranges);
  const traces::WholeChecksum torn = parts.whole(std::span(rows).subspan(3));
  EXPECT_FALSE(torn.known);
  EXPECT_THAT(torn.odd_replicas, ElementsAre(3));
}

// Stacks lie in the record as offsets in files, and in the trace by name, from main down, each call once.
TEST_F(MergeTest, FramesAreATree) {
  const auto program = make_program("matmul", 12);
  StackSampler sampler;
  const RecordedStack* stack = sampler.here({});
  ASSERT_NE(stack, nullptr);
  for (int p = 0; p < 2; ++p) {
    auto observer = recorder(p);
    for (int n = 0; n < 3; ++n)
      observer->on_launch_issued(
          {.number = n, .seq = n, .program = program, .where = line(31), .issued_ns = 1000, .stack = n < 2 ? stack : nullptr});
    observer->close();
  }
  merge_parts(options_);
  TraceReader reader(options_.out);
  const auto launches = reader.launches();
  ASSERT_EQ(launches.size(), 6u);
  const auto frames = reader.frames();
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames[0].function, "main");
  EXPECT_EQ(frames[0].parent, 0);
  for (std::size_t f = 0; f < frames.size(); ++f) {
    EXPECT_EQ(frames[f].id, traces::Id(f) + 1);
    EXPECT_LE(frames[f].parent, traces::Id(f));
  }
  EXPECT_EQ(launches[0].frame, frames.back().id) << "the innermost";
  for (const std::size_t same : {1u, 3u, 4u}) EXPECT_EQ(launches[same].frame, launches[0].frame);
  EXPECT_EQ(launches[2].frame, 0);
}

TEST_F(MergeTest, SaysSinceWhenAndUntilWhenAnArrayIsHeld) {
  const auto program = make_program("matmul", 12);
  for (int p = 0; p < kProcesses; ++p) {
    auto observer = recorder(p);
    // Made before its launch began; process 2's launch failed, and process 1's array is held to the end.
    launch(*observer, 0, program, 1000 + p, 31, p == 2 ? 1 : 2);
    observer->on_array(make_array(7));
    if (p == 2) observer->on_launch_done({.number = 0, .program = program}, 2000, CallStatus::kFailed);
    if (p != 1) observer->on_array_end(7, p == 0);
    observer->on_array_end(99, false);  // of which nothing is known
    observer->close();
    if (p == 1) observer->on_array_end(7, false);  // it has left the job: it held the array as long as anybody looked
  }
  EXPECT_THAT(merge_parts(options_).problems, ElementsAre());
  TraceReader reader(options_.out);
  EXPECT_TRUE(reader.has_array_ends());
  ASSERT_EQ(reader.arrays().size(), 1u);
  const auto held = reader.array_holders();
  ASSERT_EQ(held.size(), 3u);
  for (int p = 0; p < kProcesses; ++p) EXPECT_EQ(held[std::size_t(p)].process, p);
  EXPECT_EQ(held[0].begin_ns, 1010) << "when the launch began";
  EXPECT_EQ(held[1].begin_ns, 1011);
  EXPECT_EQ(held[2].begin_ns, traces::kNoTime) << "a launch that failed has no results";
  const auto ends = reader.array_ends();
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[0].process, 0);
  EXPECT_TRUE(ends[0].donated);
  EXPECT_GT(ends[0].end_ns, 0);
  EXPECT_EQ(ends[1].process, 2);
  EXPECT_FALSE(ends[1].donated);

  // Two rows of four columns of float32 on each of the six devices; the failed process's two hold nothing.
  traces::Database database = TraceReader::open(options_.out);
  EXPECT_EQ(database.integer("SELECT count(*) FROM array_memory WHERE bytes = 2 * 4 * 4"), 4);
  EXPECT_EQ(database.integer("SELECT count(*) FROM array_memory WHERE end_ns IS NULL"), 2) << "process 1's";
}

// An op outside jit is one cached program for all lines that call it.
TEST_F(MergeTest, ACachedOpLiesWhereItWasCalled) {
  const auto program = make_program("matmul", 12);
  {
    auto observer = recorder(0);
    for (int n = 0; n < 3; ++n) {
      comm::Launch launch{.number = n, .seq = n, .program = program, .where = line(12 + n), .issued_ns = 10 * n};
      observer->on_launch_issued(launch);
      observer->on_compute(launch, "matmul", line(12), 10 * n, 10 * n + 1);
      observer->on_call_started(launch, 0, 10 * n + 1);
    }
  }
  options_.ends.resize(1);
  merge_parts(options_);
  TraceReader reader(options_.out);
  std::vector<int> lines;
  for (const auto& row : reader.collectives())
    if (row.call == 0) lines.push_back(reader.site(row.what.site).line);
  EXPECT_THAT(lines, ElementsAre(12, 13, 14));
  lines.clear();
  reader.for_each_event(2, [&](const traces::EventRow& event) { return lines.push_back(reader.site(event.site).line), true; });
  EXPECT_THAT(lines, ElementsAre(12, 12, 13, 13, 14, 14));
}

TEST_F(MergeTest, ADifferentOrderStaysApart) {
  const auto one = make_program("matmul"), two = make_program("sum");
  for (int p = 0; p < kProcesses; ++p) {
    auto observer = recorder(p);
    launch(*observer, 0, one, 1000, 20);
    launch(*observer, 1, p == 2 ? two : one, 2000, p == 2 ? 36 : 31, 0);
    if (p != 2) launch(*observer, 2, two, 3000, 32, 0);
  }
  Diagnosis diagnosis{.code = "order-mismatch", .severity = "error", .message = "both", .processes = {2}};
  diagnosis.participants = {{.process = 2, .seq = 1, .where = "toy.cpp:36", .devices = one->devices},
                            {.process = 0, .seq = 1, .where = "toy.cpp:31"}};
  options_.diagnoses = {diagnosis};
  options_.evidence.processes.push_back({.process = 2, .state = ProcessState::kRaised, .error = "DiagnosisError"});
  merge_parts(options_);
  TraceReader reader(options_.out);
  const auto rows = reader.collectives();
  ASSERT_EQ(rows.size(), 8u);
  EXPECT_EQ(rows[0].state, MatchState::kMatched);
  EXPECT_EQ(rows[2].state, MatchState::kMismatched);
  const auto sides = reader.participant_collectives();
  ASSERT_EQ(sides.size(), 1u);
  const auto& guilty = rows.at(std::size_t(sides[0][0] - 1));
  EXPECT_EQ(guilty.what.op, "sum");
  EXPECT_EQ(guilty.diagnosis, 1);
  EXPECT_EQ(guilty.members.size(), 1u);
  EXPECT_EQ(guilty.members[0].status, MemberStatus::kOpen);
  EXPECT_EQ(guilty.last_ns, traces::kNoTime);
  EXPECT_EQ(rows.at(std::size_t(sides[0][1] - 1)).members.size(), 2u);
  // Two processes issued a launch that the third never did.
  EXPECT_EQ(rows.back().state, MatchState::kPartial);
  EXPECT_EQ(reader.processes().at(2).state, ProcessState::kRaised);
  ASSERT_TRUE(reader.evidence());
  EXPECT_EQ(reader.evidence()->processes[0].error, "DiagnosisError");
  EXPECT_EQ(reader.diagnoses().at(0).participants.size(), 2u);
}

TEST(Record, EveryCutIsAnError) {
  ArrayRecord array{.id = 4, .launch = 5, .name = 1};
  LayoutRecord layout{.id = 1,
                      .shape = {3, 4},
                      .spec = "P()",
                      .mesh_axes = {"a"},
                      .spec_axes = {{"a", "b"}, {}},
                      .devices = {1, 2},
                      .shards = {{{0, 3}, {0, 4}}}};
  Encoder encoder;
  encoder(layout);
  const auto bytes = encoder.bytes();
  const auto back = decode<LayoutRecord>(bytes);
  EXPECT_EQ(back.shards, layout.shards);
  EXPECT_EQ(back.spec_axes, layout.spec_axes);
  for (std::size_t length = 0; length < bytes.size(); ++length) EXPECT_THROW(decode<LayoutRecord>(bytes.first(length)), IoError) << length;
  Encoder small;
  small(array);
  EXPECT_EQ(decode<ArrayRecord>(small.bytes()).launch, 5);
}

// While processes run their rings are theirs: what they wrote to their parts is read, and the trace says that it is not the end.
TEST_F(MergeTest, OfARunningJobReadsWhatIsThereAndSaysThatItGoesOn) {
  options_.ends.clear();
  options_.running = true;
  const auto program = make_program("add");
  auto first = recorder(0), second = recorder(1);
  launch(*first, 0, program, 1000, 5);
  launch(*second, 0, program, 1100, 5, 1);
  // The recorders' own threads drain the rings, in their time.
  MergeResult result;
  for (int i = 0; i < 500 && result.records < 20; ++i) {
    result = merge_parts(options_);
    if (result.records < 20) ::usleep(10'000);
  }
  EXPECT_TRUE(result.problems.empty()) << result.problems[0];
  {
    TraceReader reader(options_.out);
    EXPECT_EQ(reader.meta("running"), "1");
    ASSERT_EQ(reader.processes().size(), 2u);
    for (const auto& process : reader.processes()) EXPECT_EQ(process.state, ProcessState::kRunning);
    EXPECT_EQ(reader.collectives().size(), 2u);
    EXPECT_TRUE(reader.notices().empty()) << reader.notices()[0];
  }
  // Nothing was taken from them: they go on, and at the end all of it is there.
  launch(*first, 1, program, 2000, 6);
  first.reset();
  merge_parts(options_);
  EXPECT_EQ(TraceReader(options_.out).meta("running"), "1") << "one of them still runs";
  second.reset();
  merge_parts(options_);
  TraceReader ended(options_.out);
  EXPECT_EQ(ended.meta("running"), "0");
  EXPECT_EQ(ended.collectives().size(), 4u);
}

TEST_F(MergeTest, APartsFolderIsNewOrEmpty) {
  const std::string fresh = (folder_ / "deep" / "parts").string();
  make_parts_folder(fresh);
  make_parts_folder(fresh);
  std::ofstream(fresh + "/part-0.db") << "x";
  EXPECT_THROW(make_parts_folder(fresh), IoError);
}

}  // namespace
}  // namespace shardlab::recorder
