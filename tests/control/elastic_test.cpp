// Elastic jobs: survivors go on with who lives, who was started again takes part, and nobody hangs, wherever a process is killed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "runtime/control/coordinator.h"
#include "runtime/control/live_client.h"
#include "scenarios/launch/launcher.h"
#include "traces/database.h"
#include "traces/epochs.h"
#include "traces/recorder/merge.h"
#include "traces/report.h"
#include "traces/trace_reader.h"

namespace shardlab {
namespace {

using control::Coordinator;
using control::LiveClient;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

control::ClientOptions client_of(const Coordinator& coordinator, int process, int n) {
  return {.address = coordinator.address(),
          .token = coordinator.token(),
          .process_index = process,
          .num_processes = n,
          .join_timeout_ms = 30'000,
          .server_name = "127.0.0.1"};
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) { return error.what(); }
  return "";
}

TEST(Elastic, AnotherNumberOfProcessesIsToldToAllBeforeTheJobBegins) {
  Coordinator coordinator({.num_processes = 2, .elastic = true});
  control::ClientOptions options = client_of(coordinator, 0, 2);
  LiveClient first(options);
  options.incarnation = first.incarnation();
  auto joins = std::async(std::launch::async, [&] { return error_of([&] { connect(options); }); });
  EXPECT_THAT(error_of([&] { LiveClient other(client_of(coordinator, 1, 3)); }), HasSubstr("was started as one of 3 (num_processes)"));
  EXPECT_THAT(joins.get(), testing::ContainsRegex("the job does not begin: process 1 .* was started as one of 3"));
}

TEST(Elastic, AnOlderIncarnationIsRefused) {
  Coordinator coordinator({.num_processes = 2, .elastic = true});
  LiveClient first(client_of(coordinator, 0, 2));
  LiveClient old(client_of(coordinator, 1, 2));
  EXPECT_FALSE(first.again() || old.again());
  coordinator.report_death(1, 0, 9, comm::now_ns());
  control::Gathered alone = first.gather(false, false);
  EXPECT_THAT(alone.live, ElementsAre(0));
  EXPECT_EQ(alone.epoch, 1);
  LiveClient next(client_of(coordinator, 1, 2));
  EXPECT_TRUE(next.again());
  EXPECT_EQ(next.members().size(), 2u);
  EXPECT_THAT(error_of([&] { old.gather(false, false); }), HasSubstr("was taken for dead, or goes on as another incarnation"));
  auto joined = std::async(std::launch::async, [&] { return next.gather(false, false); });
  EXPECT_THAT(first.gather(false, true).live, ElementsAre(0, 1));
  EXPECT_EQ(joined.get().epoch, 2);
  // In the epoch itself: by its number, and by who speaks.
  control::ClientOptions late = client_of(coordinator, 1, 2);
  late.incarnation = next.incarnation();
  late.epoch = 1;
  EXPECT_THAT(error_of([&] { connect(late); }), HasSubstr("epoch 1 of the job is over, and this is epoch 2"));
  late.incarnation = old.incarnation();
  late.epoch = 2;
  EXPECT_THAT(error_of([&] { connect(late); }), HasSubstr("goes on as another incarnation"));
}

TEST(Elastic, AJobThatIsNotElasticSaysSo) {
  Coordinator coordinator({.num_processes = 1});
  EXPECT_THAT(error_of([&] { LiveClient live(client_of(coordinator, 0, 1)); }), HasSubstr("the job is not elastic"));
}

LaunchOptions program(std::vector<std::string> arguments, int restarts, const std::string& transport = "") {
  LaunchOptions options{.argv = {SHARDLAB_ELASTIC},
                        .processes = 4,
                        .devices = 2,
                        .transport = transport,
                        .limit = milliseconds(90'000),
                        .elastic = true,
                        .restarts = restarts};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  return options;
}

std::string outputs(const LaunchResult& result) {
  std::string text = result.whereabouts;
  for (const ProcessEnd& end : result.processes) text += fmt::format("[{}] {}\n{}{}\n", end.process, end.text(), end.out, end.err);
  return text;
}

// Every sum that anybody printed is that of its step and devices, and the process's steps go on by one.
void check_steps(const LaunchResult& result) {
  static const std::regex kLine("process (\\d+) step (\\d+) devices (\\d+) total (\\S+)");
  for (const ProcessEnd& end : result.processes)
    for (std::string_view line : split(end.out, '\n')) {
      std::string text(line);
      std::smatch match;
      if (!std::regex_match(text, match, kLine)) continue;
      double n = 4 * std::stod(match[3]);
      EXPECT_DOUBLE_EQ(std::stod(match[4]), (std::stod(match[2]) + 1) * n * (n - 1) / 2) << text;
    }
}

TEST(Elastic, NobodyDies) {
  LaunchResult result = launch(program({"4"}, 0));
  EXPECT_TRUE(result.ok()) << outputs(result);
  for (const ProcessEnd& end : result.processes) EXPECT_THAT(end.out, HasSubstr("step 3 devices 8 total"));
  check_steps(result);
}

// All epochs are in the trace, joined within themselves, and who left and who came is told.
TEST(Elastic, EveryEpochIsRecorded) {
  std::string folder = testing::TempDir() + "/elastic-" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  LaunchOptions options = program({"40", "5", "2"}, 1);
  options.trace_dir = folder;
  LaunchResult result = launch(options);
  ASSERT_FALSE(result.timed_out) << outputs(result);
  recorder::MergeOptions merge{.directory = folder, .out = folder + "/T.db"};
  for (const ProcessEnd& end : result.processes) merge.ends.push_back({end.process, end.pid, "", end.exit_code, end.signal, end.err});
  merge.evidence = result.evidence;
  recorder::MergeResult merged = recorder::merge_parts(merge);
  EXPECT_THAT(merged.problems, testing::IsEmpty());
  EXPECT_EQ(merged.processes, 4);

  traces::TraceReader reader(merge.out);
  std::vector<traces::EpochRow> epochs = traces::read_epochs(merge.out);
  ASSERT_GE(epochs.size(), 2u) << outputs(result);
  EXPECT_THAT(epochs[0].live, ElementsAre(0, 1, 2, 3));
  std::multiset<int> gone, back;
  for (std::size_t e = 0; e < epochs.size(); ++e) {
    gone.insert(epochs[e].gone.begin(), epochs[e].gone.end());
    back.insert(epochs[e].came.begin(), epochs[e].came.end());
    if (e > 0) { EXPECT_GT(epochs[e].first_ns, epochs[e - 1].first_ns); }
  }
  EXPECT_THAT(gone, ElementsAre(2)) << outputs(result);
  EXPECT_THAT(back, ElementsAre(2)) << outputs(result);
  EXPECT_THAT(epochs.back().live, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(reader.processes().size(), 4u);
  EXPECT_EQ(reader.processes()[2].pid, result.processes[2].pid);
  for (const traces::ProcessRow& process : reader.processes()) EXPECT_EQ(process.state, ProcessState::kLeft) << process.process;
  // What went over four processes after the last of them had come went over the new one, too.
  traces::Database database(merge.out, traces::OpenMode::kRead);
  auto number = [&](const std::string& sql) { return database.integer(sql); };
  const std::string last = "first_ns > " + std::to_string(epochs.back().first_ns);
  EXPECT_GE(number("SELECT count(*) FROM collectives WHERE " + last), 2);
  EXPECT_EQ(number("SELECT count(*) FROM collectives WHERE state != 0 AND " + last), 0);
  EXPECT_EQ(number("SELECT count(*) FROM members m JOIN collectives c ON c.id = m.collective WHERE m.process = 2 AND c." + last),
            number("SELECT count(*) FROM members m JOIN collectives c ON c.id = m.collective WHERE m.process = 0 AND c." + last));
  // Launches keep numbers of their own.
  EXPECT_EQ(number("SELECT count(*) FROM launches"), number("SELECT count(DISTINCT process * 1000000 + launch) FROM launches"));
  std::ostringstream report;
  traces::write_report(reader, "text", report);
  EXPECT_THAT(report.str(), testing::ContainsRegex("Epochs\n  epoch 0 after [^:]*: processes 0, 1, 2 and 3\n  epoch [0-9]+ after "));
  EXPECT_THAT(report.str(), testing::AnyOf(HasSubstr("; process 2 is gone"), HasSubstr("; process 2 was started again")));
  std::filesystem::remove_all(folder);
}

class Transports : public testing::TestWithParam<const char*> {};

TEST_P(Transports, ThreeGoOnWithoutTheOneThatWasKilled) {
  LaunchResult result = launch(program({"6", "5", "2"}, 0, GetParam()));
  EXPECT_FALSE(result.timed_out) << outputs(result);
  EXPECT_EQ(result.processes[2].signal, 9);
  for (int p : {0, 1, 3}) {
    const ProcessEnd& end = result.processes[std::size_t(p)];
    EXPECT_EQ(end.exit_code, 0) << outputs(result);
    EXPECT_THAT(end.out, AllOf(HasSubstr("failed: Devices failed: {"), HasSubstr("step 5 devices 6 total")));
  }
  check_steps(result);
}

TEST_P(Transports, WhoIsStartedAgainTakesPart) {
  LaunchResult result = launch(program({"40", "5", "2"}, 1, GetParam()));
  EXPECT_TRUE(result.ok()) << outputs(result);
  EXPECT_EQ(result.processes[2].restarts, 1);
  for (const ProcessEnd& end : result.processes) EXPECT_THAT(end.out, HasSubstr("step 39 devices 8 total")) << outputs(result);
  check_steps(result);
}

INSTANTIATE_TEST_SUITE_P(, Transports, testing::Values("shm", "tcp"));

// Who was started again dies where the others connect to it: they begin anew without it, and once more when it comes back.
TEST(Elastic, WhatCouldNotBeginBeginsAnew) {
  LaunchOptions options = program({}, 2);
  options.argv = {
      "/bin/sh", "-c",
      fmt::format("[ \"$SHARDLAB_RESTARTS\" = 1 ] && exec {} absent; exec {} 60 5 2", SHARDLAB_CONTROL_PROCESS, SHARDLAB_ELASTIC)};
  LaunchResult result = launch(options);
  EXPECT_TRUE(result.ok()) << outputs(result);
  EXPECT_EQ(result.processes[2].restarts, 2);
  for (const ProcessEnd& end : result.processes) EXPECT_THAT(end.out, HasSubstr("step 59 devices 8 total")) << outputs(result);
  check_steps(result);
}

TEST(Elastic, WhoUsesDeadDevicesIsToldOfTheirProcess) {
  LaunchResult result = launch(program({"6", "5", "2", "all"}, 0));
  EXPECT_FALSE(result.timed_out) << outputs(result);
  for (int p : {0, 1, 3})
    EXPECT_THAT(result.processes[std::size_t(p)].out, HasSubstr("used them all: Devices failed: {")) << outputs(result);
  EXPECT_THAT(result.processes[0].out, HasSubstr("process 2 was killed by signal 9 (SIGKILL)"));
}

// Kills at random places of all processes, several at once; how many were started again.
int survive(int seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  LaunchResult result = launch(program({"15", std::to_string(seed)}, 2, seed % 3 ? "shm" : "tcp"));
  EXPECT_TRUE(result.ok()) << outputs(result);
  int restarts = 0;
  for (const ProcessEnd& end : result.processes) {
    EXPECT_THAT(end.out, HasSubstr("step 14 devices")) << outputs(result);
    EXPECT_NE(kill(end.pid, 0), 0);
    restarts += end.restarts;
  }
  check_steps(result);
  return restarts;
}

TEST(Elastic, KillsAnywhereNeverHang) {
  int restarts = 0;
  for (int seed = 1; seed <= 8; ++seed) restarts += survive(seed);
  EXPECT_GE(restarts, 16);  // each process of a job dies at most once, and in a short job some do not
}

// As long as SHARDLAB_FUZZ_SECONDS says, from seed SHARDLAB_FUZZ_SEED on: the long run of benchmarks/soak.
TEST(Elastic, KillsHoldForAsLongAsAsked) {
  const char* seconds = std::getenv("SHARDLAB_FUZZ_SECONDS");
  if (seconds == nullptr) GTEST_SKIP() << "SHARDLAB_FUZZ_SECONDS is not set";
  const char* first = std::getenv("SHARDLAB_FUZZ_SEED");
  int begin = first == nullptr ? 1 : std::atoi(first), seed = begin, restarts = 0;
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(seconds));
  for (; std::chrono::steady_clock::now() < end && !HasFailure(); ++seed) restarts += survive(seed);
  std::printf("%d jobs, from seed %d on (%d processes were started again)\n", seed - begin, begin, restarts);
}

}  // namespace
}  // namespace shardlab
