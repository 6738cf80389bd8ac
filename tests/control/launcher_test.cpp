// Whole jobs of real processes: how they end, what is said of it and how fast, and that nothing is left behind.
#include "scenarios/launch/launcher.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include "runtime/base/error.h"
#include "tests/support/quickest.h"

namespace shardlab {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

LaunchOptions steps(int processes, std::vector<std::string> arguments) {
  LaunchOptions options{.argv = {SHARDLAB_CONTROL_PROCESS}, .processes = processes, .devices = 2, .limit = milliseconds(30'000)};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  return options;
}

std::string errors_of(const LaunchResult& result) {
  std::string text;
  for (const ProcessEnd& end : result.processes) text += fmt::format("[{}] {}: {}\n", end.process, end.text(), end.err);
  return text;
}

bool alive(pid_t pid) { return kill(pid, 0) == 0; }

class Jobs : public testing::TestWithParam<int> {};

TEST_P(Jobs, RunAndLeave) {
  LaunchResult result = launch(steps(GetParam(), {"times:50:data:A", "read", "call:B", "read", "print:done"}));
  EXPECT_TRUE(result.ok()) << errors_of(result);
  ASSERT_EQ(int(result.processes.size()), GetParam());
  for (const ProcessEnd& end : result.processes) {
    EXPECT_EQ(end.out, "done\n");
    EXPECT_FALSE(alive(end.pid));
  }
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.evidence.processes.size(), result.processes.size());
}

// Of one run. How long it took to find the death, and until the last one had ended, as shares of what they may take.
double end_by_a_kill(int n, int victim) {
  LaunchOptions options = steps(n, {"times:3:data:A", fmt::format("@{} die:B", victim), "times:100:data:B", "read"});
  options.stuck = options.look_ahead = std::chrono::hours(1);  // no limit of time has a part in it
  LaunchResult result = launch(options);
  EXPECT_EQ(result.diagnoses.size(), 1u) << errors_of(result);
  if (result.diagnoses.empty()) return 0;
  const Diagnosis& d = result.diagnoses[0];
  EXPECT_EQ(d.code, "process-killed");
  EXPECT_THAT(d.processes, ElementsAre(victim));
  double share = d.detected_after_ms() / 100;
  for (const ProcessEnd& end : result.processes) {
    if (end.process == victim) {
      EXPECT_EQ(end.signal, SIGKILL);
      continue;
    }
    EXPECT_EQ(end.exit_code, 1) << errors_of(result);
    EXPECT_FALSE(end.ended_by_us);
    EXPECT_THAT(end.err, HasSubstr(fmt::format("process {} was killed by signal 9 (SIGKILL)", victim)));
    share = std::max(share, double(end.ended_ns - d.evidence_ns) / 1e6 / 1000);
  }
  return share;
}

// The death is found at once, everybody ends within a second with its reason.
TEST_P(Jobs, AnyProcessKilledInTheMiddleOfAnExchange) {
  int n = GetParam();
  if (n == 1) GTEST_SKIP() << "nobody to tell";
  for (int victim = 0; victim < n; ++victim) EXPECT_LT(support::quickest(1, 5, [&] { return end_by_a_kill(n, victim); }), 1);
}

INSTANTIATE_TEST_SUITE_P(, Jobs, testing::Values(1, 2, 3, 4, 7));

TEST(Launcher, AMismatchInTheData) {
  for (int i = 0; i < 10; ++i) {
    LaunchOptions options = steps(4, {"data:A", "@0,1,3 data:B", "@2 data:X", "data:C", "read"});
    options.stuck = options.look_ahead = std::chrono::hours(1);  // no limit of time has a part in it
    LaunchResult result = launch(options);
    ASSERT_EQ(result.diagnoses.size(), 1u) << errors_of(result);
    const Diagnosis& d = result.diagnoses[0];
    EXPECT_EQ(d.code, "program-mismatch") << d.message;
    EXPECT_THAT(d.processes, ElementsAre(2)) << d.message;
    RecordProperty(fmt::format("detected_after_ms_{}", i), fmt::format("{:.2f}", d.detected_after_ms()));
    if (std::getenv("SHARDLAB_TEST_TALK"))
      fmt::print("detected after {:.2f} ms, run {:.1f} ms\n", d.detected_after_ms(), result.duration_ms());
    EXPECT_THAT(d.message, HasSubstr("process 2 runs X(P('a')) at toy.cpp:3 where processes 0, 1 and 3 run B(P('a')) at toy.cpp:2"));
    for (const ProcessEnd& end : result.processes) EXPECT_THAT(end.err, HasSubstr("program-mismatch: process 2 runs X"));
  }
}

TEST(Launcher, AnExtraCallOfOneProcess) {
  LaunchResult result = launch(steps(4, {"data:A", "@0 data:X", "data:B", "read"}));
  ASSERT_EQ(result.diagnoses.size(), 1u) << errors_of(result);
  EXPECT_EQ(result.diagnoses[0].code, "missing-participant");
  EXPECT_THAT(result.diagnoses[0].processes, ElementsAre(0));
}

TEST(Launcher, AnExtraCallAtTheEnd) {
  for (int i = 0; i < 10; ++i) {
    LaunchResult result = launch(steps(4, {"data:A", "@0 data:X", "read"}));
    ASSERT_EQ(result.diagnoses.size(), 1u) << errors_of(result);
    EXPECT_EQ(result.diagnoses[0].code, "missing-participant");
    EXPECT_THAT(result.diagnoses[0].processes, ElementsAre(0)) << result.diagnoses[0].message;
  }
}

TEST(Launcher, AnotherOrder) {
  LaunchResult result = launch(steps(3, {"@1 data:B", "data:A", "@0,2 data:B", "read"}));
  ASSERT_EQ(result.diagnoses.size(), 1u) << errors_of(result);
  EXPECT_EQ(result.diagnoses[0].code, "order-mismatch");
  EXPECT_THAT(result.diagnoses[0].processes, ElementsAre(1));
}

TEST(Launcher, OneRaises) {
  LaunchResult result = launch(steps(3, {"data:A", "@1 raise:index 9 is out of range", "data:B", "read"}));
  ASSERT_EQ(result.diagnoses.size(), 1u) << errors_of(result);
  EXPECT_EQ(result.diagnoses[0].code, "process-raised");
  EXPECT_THAT(result.diagnoses[0].processes, ElementsAre(1));
  EXPECT_THAT(result.processes[0].err, HasSubstr("process 1 raised \"index 9 is out of range\" at steps.cpp:2"));
}

TEST(Launcher, AllRaiseTheSame) {
  LaunchResult result = launch(steps(3, {"data:A", "read", "raise:shapes do not fit"}));
  EXPECT_TRUE(result.diagnoses.empty()) << result.diagnoses[0].message;
  EXPECT_EQ(result.common_error, "shapes do not fit");
  EXPECT_FALSE(result.ok());
}

TEST(Launcher, OneExitsWithACodeOrWithoutLeaving) {
  LaunchResult result = launch(steps(2, {"data:A", "read", "@1 exit:3", "data:B", "read"}));
  ASSERT_EQ(result.diagnoses.size(), 1u) << errors_of(result);
  EXPECT_EQ(result.diagnoses[0].code, "process-exited");
  EXPECT_EQ(result.processes[1].exit_code, 3);
  result = launch(steps(2, {"data:A", "read", "@1 exit:0", "data:B", "read"}));
  ASSERT_EQ(result.diagnoses.size(), 1u) << errors_of(result);
  EXPECT_THAT(result.diagnoses[0].message, HasSubstr("process 1 exited without leaving the job"));
}

TEST(Launcher, SlowProcessesAreNotDiagnosed) {
  LaunchResult result = launch(steps(3, {"data:A", "@1 compute:300", "data:B", "read", "@2 compute:200", "data:C"}));
  EXPECT_TRUE(result.ok()) << errors_of(result);
}

TEST(Launcher, AfterTheVerdictWhoDoesNotEndIsEnded) {
  LaunchResult result = launch(steps(2, {"@0 hang", "kill"}));
  ASSERT_EQ(result.diagnoses.size(), 1u);
  EXPECT_THAT(result.diagnoses[0].processes, ElementsAre(1));
  EXPECT_EQ(result.processes[0].signal, SIGKILL);
  EXPECT_TRUE(result.processes[0].ended_by_us);
  EXPECT_LT(result.duration_ms(), 5000);
}

// However slow the machine: a limit that was too short for the processes to come where they stay is tried again, twice as long.
TEST(Launcher, TheLimitEndsTheRunAndSaysWhereEverybodyWas) {
  LaunchOptions options = steps(2, {"data:A", "@0 data:B", "read", "hang"});
  LaunchResult result;
  auto all_there = [&] {
    return result.whereabouts.find("process 0: waiting") != std::string::npos &&
           result.whereabouts.find("process 1: running; last in A") != std::string::npos;
  };
  for (options.limit = milliseconds(700); options.limit < std::chrono::minutes(1) && !all_there(); options.limit *= 2) {
    result = launch(options);
    EXPECT_TRUE(result.timed_out);
    EXPECT_TRUE(result.diagnoses.empty());
    EXPECT_GE(result.duration_ms(), double(options.limit.count()));
    // Ended there and then, by nothing else.
    for (const ProcessEnd& end : result.processes) {
      EXPECT_EQ(end.signal, SIGKILL) << errors_of(result);
      EXPECT_TRUE(end.ended_by_us);
      EXPECT_FALSE(alive(end.pid));
    }
  }
  EXPECT_THAT(result.whereabouts, HasSubstr("process 0: waiting"));
  EXPECT_THAT(result.whereabouts, HasSubstr("B(P('a')) at toy.cpp:2 waits for the others"));
  EXPECT_THAT(result.whereabouts, HasSubstr("process 1: running; last in A(P('a')) at toy.cpp:1"));
}

TEST(Launcher, ProgramsThatAreNotOurs) {
  LaunchResult result = launch({.argv = {"sh", "-c", "echo $SHARDLAB_PROCESS_INDEX; echo no newline >&2"}, .processes = 2});
  EXPECT_TRUE(result.ok()) << errors_of(result);
  EXPECT_EQ(result.processes[1].out, "1\n");
  EXPECT_EQ(result.processes[1].err, "no newline\n");
  result = launch({.argv = {"sh", "-c", "exit 7"}});
  EXPECT_EQ(result.processes[0].exit_code, 7);
  EXPECT_FALSE(result.ok());
}

TEST(Launcher, AProgramThatIsNotThere) {
  try {
    launch({.argv = {"/no/such/program"}, .processes = 2});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'/no/such/program' cannot be started: No such file or directory"));
  }
}

TEST(Launcher, GrandchildrenEndWithTheJob) {
  LaunchResult result = launch({.argv = {"sh", "-c", "sleep 1000 & echo $!"}, .processes = 1});
  pid_t grandchild = std::atoi(result.processes[0].out.c_str());
  ASSERT_GT(grandchild, 1);
  // It is gone or a zombie that its new parent has yet to reap.
  for (int i = 0; i < 1000 && alive(grandchild); ++i) {
    std::ifstream file(fmt::format("/proc/{}/stat", grandchild));
    std::string text((std::istreambuf_iterator<char>(file)), {});
    std::size_t end = text.rfind(')');
    if (end == std::string::npos || text[end + 2] == 'Z') break;
    std::this_thread::yield();
  }
  EXPECT_LT(result.duration_ms(), 3000);
}

TEST(Launcher, LargeOutputIsCaptured) {
  LaunchResult result = launch({.argv = {"sh", "-c", "head -c 3000000 /dev/zero; head -c 200000 /dev/zero >&2"}, .processes = 2});
  for (const ProcessEnd& end : result.processes) {
    EXPECT_EQ(end.out.size(), 3000000u);
    EXPECT_EQ(end.err.size(), 200000u);
  }
}

TEST(Launcher, ASignalToUsSaysWhereEverybodyIsAndEndsAll) {
  pid_t launcher = fork();  // a process of its own: it is to be interrupted
  if (launcher == 0) {
    LaunchOptions options = steps(2, {"data:A", "@0 kill", "hang"});
    options.argv = {"sh", "-c", "kill -INT $PPID; exec sleep 1000"};
    options.handle_signals = true;
    LaunchResult result = launch(options);
    bool good = result.interrupted_by == SIGINT && !result.whereabouts.empty() && result.diagnoses.empty() && result.duration_ms() < 5000;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(launcher, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Launcher, EndsByManySeedsNeverHang) {
  // The same death at the same statement, many times: the verdict never differs and never fails to come.
  for (int i = 0; i < 25; ++i) {
    LaunchResult result = launch(steps(3, {"times:5:data:A", fmt::format("@{} kill", i % 3), "times:5:data:B", "read"}));
    ASSERT_EQ(result.diagnoses.size(), 1u) << errors_of(result);
    EXPECT_EQ(result.diagnoses[0].code, "process-killed") << result.diagnoses[0].message;
    EXPECT_THAT(result.diagnoses[0].processes, ElementsAre(i % 3));
  }
}

}  // namespace
}  // namespace shardlab
