// A job of three processes with two devices each, recorded by hand into a folder of its own: for tests of what is made of it.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include "runtime/base/sha256.h"
#include "traces/recorder/merge.h"
#include "traces/recorder/recorder.h"

namespace shardlab::recorder {

inline constexpr int kProcesses = 3, kLocal = 2;

inline Where line(int number) { return {"/home/user/toy.cpp", "int main()", std::uint32_t(number), -1}; }

inline std::shared_ptr<const comm::ProgramInfo> make_program(const std::string& name, int op_line = 0) {
  auto program = std::make_shared<comm::ProgramInfo>();
  program->name = name;
  program->text = "program " + name;
  program->fingerprint = sha256_prefix(program->text);
  program->mesh = "mesh(a=3, b=2)";
  for (int d = 0; d < kProcesses * kLocal; ++d) program->devices.push_back(d);
  for (int p = 0; p < kProcesses; ++p) program->processes.push_back(p);
  program->operands.push_back({"x", "float32", {6, 4}, "P('a', 'b')"});
  comm::CollectiveInfo sum{.kind = "all-reduce",
                           .groups = {{0, 2, 4}, {1, 3, 5}},
                           .axes = {"a"},
                           .dtype = "float32",
                           .shape = {4},
                           .reduction = "sum",
                           .bytes = 16,
                           .wire_bytes = 128,
                           .op = name,
                           .cause = "sum over k",
                           .sharding_before = "partial",
                           .sharding_after = "P()"};
  if (op_line > 0) sum.where = line(op_line);
  comm::CollectiveInfo permute{.kind = "collective-permute",
                               .pairs = {{0, 1}, {2, 3}},
                               .dtype = "float32",
                               .shape = {4},
                               .bytes = 16,
                               .wire_bytes = 32,
                               .op = "roll"};
  program->collectives = {sum, permute};
  return program;
}

inline comm::ArrayInfo make_array(std::int64_t id) {
  comm::ArrayInfo array{.id = id,
                        .launch = 0,
                        .name = "x",
                        .dtype = "float32",
                        .shape = {6, 4},
                        .spec = "P('a')",
                        .mesh_shape = {3, 2},
                        .mesh_axes = {"a", "b"},
                        .spec_axes = {{"a"}, {}},
                        .where = line(3)};
  for (int d = 0; d < kProcesses * kLocal; ++d) {
    array.devices.push_back(d);
    array.shards.push_back({{d / 2 * 2, d / 2 * 2 + 2}, {0, 4}});
  }
  return array;
}

class RecordedJob : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("shardlab_merge_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    options_ = {.directory = folder_.string(), .out = (folder_ / "merged.db").string(), .title = "test"};
    for (int p = 0; p < kProcesses; ++p) options_.ends.push_back({.process = p, .pid = 100 + p, .host = "node0"});
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Recorder> recorder(int process, std::size_t ring_bytes = 1 << 20, int incarnation = 0) const {
    auto made = std::make_unique<Recorder>(RecorderOptions{.directory = folder_.string(),
                                                           .process = process,
                                                           .process_count = kProcesses,
                                                           .incarnation = incarnation,
                                                           .ring_bytes = ring_bytes,
                                                           .command_line = "toy"});
    std::vector<DeviceRecord> devices;
    for (int d = 0; d < kProcesses * kLocal; ++d) devices.push_back({d, d / kLocal, "cpu", "CPU " + std::to_string(d)});
    made->describe_devices(devices);
    return made;
  }
  // One launch with its calls; times are relative to `begin`.
  static comm::Launch launch(comm::Observer& observer, int number, std::shared_ptr<const comm::ProgramInfo> program, Ns begin, int at_line,
                             int calls_done = 2, std::vector<comm::TakenArray> takes = {}) {
    comm::Launch launch{.number = number,
                        .seq = number,
                        .program = std::move(program),
                        .where = line(at_line),
                        .issued_ns = begin,
                        .takes = std::move(takes)};
    observer.on_program(launch.program);
    observer.on_launch_issued(launch);
    observer.on_launch_started(launch, begin + 10);
    observer.on_compute(launch, "sin", line(at_line), begin + 20, begin + 30);
    for (int call = 0; call < std::min(calls_done + 1, 2); ++call) {
      observer.on_call_started(launch, call, begin + 40 + call * 100);
      observer.on_call_waiting(launch, call, begin + 50 + call * 100, {0, 1});
      if (call < calls_done) observer.on_call_done(launch, call, begin + 90 + call * 100, comm::CallStatus::kOk, 16);
    }
    if (calls_done == 2) observer.on_launch_done(launch, begin + 300, comm::CallStatus::kOk);
    return launch;
  }
  // Merges what is left of process 1, which records and is killed once it says that it has, and whether all went well: record(say).
  template <typename Record>
  void merge_after_kill(const Record& record) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      record([&](bool is_well) {
        if (::write(ends[1], is_well ? "x" : "-", 1) != 1) _exit(1);
        for (;;) pause();
      });
      _exit(1);
    }
    char said = 0;
    ASSERT_EQ(::read(ends[0], &said, 1), 1);
    EXPECT_EQ(said, 'x');
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    close(ends[0]);
    close(ends[1]);
    options_.ends = {{.process = 1, .pid = child, .signal = 9}};
    merge_parts(options_);
  }
  std::filesystem::path folder_;
  MergeOptions options_;
};

}  // namespace shardlab::recorder
