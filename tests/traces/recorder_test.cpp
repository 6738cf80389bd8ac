// The recorder under load: its cost, several threads, a disk that fails, evidence through a trace.
#include "traces/recorder/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "traces/checks/evidence_json.h"
#include "traces/database.h"
#include "traces/recorder/merge.h"
#include "traces/trace_reader.h"
#include "traces/trace_writer.h"

namespace shardlab::recorder {
namespace {

namespace fs = std::filesystem;

class RecorderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("shardlab_recorder_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  MergeOptions merge_options() const { return {.directory = folder_.string(), .out = (folder_ / "merged.db").string()}; }
  fs::path folder_;
};

std::shared_ptr<const comm::ProgramInfo> one_sum() {
  auto program = std::make_shared<comm::ProgramInfo>();
  program->name = "sum";
  program->text = "program sum";
  program->fingerprint = 42;
  program->devices = {0, 1};
  program->processes = {0};
  program->collectives = {
      {.kind = "all-reduce", .groups = {{0, 1}}, .axes = {"i"}, .dtype = "float32", .bytes = 4, .wire_bytes = 8, .op = "sum"}};
  return program;
}

TEST_F(RecorderTest, PrintsWhatALaunchCosts) {
  Recorder recorder({.directory = folder_.string(), .ring_bytes = std::size_t(64) << 20});
  const auto program = one_sum();
  constexpr int kLaunches = 50'000;
  const Where here{"a.cpp", "f", 7, -1};
  const auto start = std::chrono::steady_clock::now();
  for (int n = 0; n < kLaunches; ++n) {
    const comm::Launch launch{.number = n, .seq = n, .program = program, .where = here, .issued_ns = n * 100};
    recorder.on_launch_issued(launch);
    recorder.on_launch_started(launch, n * 100 + 1);
    recorder.on_compute(launch, "sin", here, n * 100 + 2, n * 100 + 3);
    recorder.on_call_started(launch, 0, n * 100 + 4);
    recorder.on_call_done(launch, 0, n * 100 + 5, comm::CallStatus::kOk, 4);
    recorder.on_launch_done(launch, n * 100 + 6, comm::CallStatus::kOk);
  }
  const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / (6 * kLaunches);
  std::printf("%.0f ns an event\n", ns);
  EXPECT_EQ(recorder.close(), "");
  EXPECT_EQ(recorder.dropped_records(), 0u);
  const auto merge_start = std::chrono::steady_clock::now();
  const auto result = merge_parts(merge_options());
  std::printf("%.0f ms to merge %lld records\n",
              std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - merge_start).count(),
              static_cast<long long>(result.records));
  EXPECT_EQ(result.collectives, kLaunches);
  EXPECT_EQ(result.unmatched, 0);
}

TEST_F(RecorderTest, SeveralThreadsTellTheSameDefinitionsOnce) {
  constexpr int kThreads = 4, kEach = 500;
  const auto program = one_sum();
  {
    Recorder recorder({.directory = folder_.string()});
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          const comm::Launch launch{.number = t * kEach + i,
                                    .seq = t * kEach + i,
                                    .program = program,
                                    .where = {"a.cpp", "f", std::uint32_t(1 + i % 10), -1},
                                    .issued_ns = i};
          recorder.on_launch_issued(launch);
          recorder.on_compute(launch, i % 2 ? "sin" : "cos", launch.where, i, i + 1);
          recorder.on_array({.id = t * kEach + i,
                             .launch = launch.number,
                             .name = "x",
                             .dtype = "float32",
                             .shape = {4},
                             .spec = "P('i')",
                             .mesh_shape = {2},
                             .mesh_axes = {"i"},
                             .spec_axes = {{"i"}},
                             .devices = {0, 1},
                             .shards = {{{0, 2}}, {{2, 4}}},
                             .where = launch.where});
        }
      });
  }
  merge_parts(merge_options());
  traces::TraceReader reader((folder_ / "merged.db").string());
  EXPECT_EQ(reader.launches().size(), std::size_t(kThreads * kEach));
  EXPECT_EQ(reader.arrays().size(), std::size_t(kThreads * kEach));
  EXPECT_EQ(reader.layouts().size(), 1u);
  EXPECT_EQ(reader.programs().size(), 1u);
  EXPECT_EQ(reader.sites().size(), 11u);
  EXPECT_TRUE(reader.notices().empty());
}

TEST_F(RecorderTest, WhatThePartCannotTakeStaysInTheRing) {
  Recorder recorder({.directory = folder_.string(), .drain_ms = 3'600'000});
  {
    // As on a full disk, no write succeeds any more.
    traces::Database other(recorder.part_file(), traces::OpenMode::kUpdate);
    other.execute("DROP TABLE records");
  }
  recorder.on_host_read("print", {"a.cpp", "f", 7, -1}, 1, 2);
  EXPECT_THAT(recorder.close(), ::testing::HasSubstr("part-0.db"));
  const RingFile ring = RingFile::open(recorder.ring_file());
  EXPECT_GT(ring.head(), ring.tail());
}

TEST_F(RecorderTest, MakingOneInAMissingFolderSaysWhich) { EXPECT_THROW(Recorder({.directory = "/nonexistent/folder"}), IoError); }

TEST_F(RecorderTest, EvidenceAndDiagnosesGoThroughTheTraceUnchanged) {
  Evidence evidence{.now_ns = 77, .look_ahead_calls = 3};
  evidence.processes.push_back({.process = 1,
                                .state = ProcessState::kWaiting,
                                .error = "a 'quoted' \"text\"\n",
                                .where = "toy.cpp:3",
                                .doing = "print",
                                .issued = 9});
  evidence.processes[0].calls.push_back(
      {.launch = 5, .seq = 4, .fingerprint = 0xfedcba9876543210ULL, .group = UINT64_MAX, .op = "matmul", .issued_ns = 12, .matched = true});
  evidence.programs.push_back({.fingerprint = 0xfedcba9876543210ULL, .name = "matmul", .text = "…", .devices = {0, 1}});
  evidence.programs[0].collectives.push_back({.kind = "all-reduce", .bytes = 16});
  Diagnosis diagnosis{.code = "deadlock", .severity = "error", .message = "m", .explain = "e", .processes = {0, 1}, .tie = true};
  diagnosis.participants.push_back({.process = 1,
                                    .seq = 4,
                                    .kind = "all-reduce",
                                    .op = "matmul",
                                    .where = "toy.cpp:3",
                                    .statement = 2,
                                    .sharding = "P()",
                                    .state = "waiting",
                                    .shape = "[2]",
                                    .dtype = "float32",
                                    .mesh = "mesh(a=2)",
                                    .devices = {0, 1}});
  diagnosis.fields = {"op", "shape"};
  diagnosis.details = {{"cycle", "0 -> 1 -> 0"}, {"direction", "skipped"}};
  diagnosis.evidence_ns = 5;
  diagnosis.detected_ns = 9;
  const std::string path = (folder_ / "t.db").string();
  traces::TraceWriter writer(path);
  writer.add(evidence);
  writer.add(diagnosis);
  writer.finish();
  traces::TraceReader reader(path);
  ASSERT_TRUE(reader.evidence());
  EXPECT_EQ(to_json(*reader.evidence()), to_json(evidence));
  EXPECT_EQ(to_json(reader.diagnoses()), to_json(std::vector{diagnosis}));
}

}  // namespace
}  // namespace shardlab::recorder
