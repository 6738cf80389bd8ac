// Barriers over some processes and named values, as programs of real processes use them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "scenarios/launch/launcher.h"
#include "tests/support/shell.h"

namespace shardlab {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

LaunchResult run(int processes, std::vector<std::string> steps, bool elastic = false) {
  LaunchOptions options{
      .argv = {SHARDLAB_COORDINATION_PROCESS}, .processes = processes, .devices = 2, .limit = milliseconds(60'000), .elastic = elastic};
  options.argv.insert(options.argv.end(), steps.begin(), steps.end());
  return launch(options);
}

std::string outputs(const LaunchResult& result) {
  std::string text = result.whereabouts;
  for (const ProcessEnd& end : result.processes) text += fmt::format("[{}] {}\n{}{}\n", end.process, end.text(), end.out, end.err);
  return text;
}

class Counts : public testing::TestWithParam<int> {};

TEST_P(Counts, BarriersOverAllAndOverSomeAndNamedValues) {
  int n = GetParam();
  std::string odd, last = std::to_string(n - 1);
  for (int p = 1; p < n; p += 2) odd += fmt::format("{}{}", odd.empty() ? "" : ",", p);
  std::vector<std::string> steps{"barrier:all:30000", "@" + last + " set:k:v", "get:k:30000", "sum"};
  if (!odd.empty()) steps.push_back("@" + odd + " barrier:odd:30000:" + odd);
  steps.insert(steps.end(), {"barrier:all:30000", "sum"});
  LaunchResult result = run(n, steps);
  EXPECT_TRUE(result.ok()) << outputs(result);
  for (const ProcessEnd& end : result.processes)
    EXPECT_EQ(end.out, fmt::format("passed all\ngot v\nsum {0}\n{1}passed all\nsum {0}\n", 2 * n, end.process % 2 ? "passed odd\n" : ""));
}

INSTANTIATE_TEST_SUITE_P(, Counts, testing::Values(1, 2, 3, 4, 7));

// Nothing is made up for a thread that did not join the job.
TEST(Coordination, AnotherThreadIsToldOfTheJobAndComputesNothing) {
  LaunchResult result = run(2, {"thread", "sum"});
  EXPECT_TRUE(result.ok()) << outputs(result);
  for (const ProcessEnd& end : result.processes)
    EXPECT_THAT(end.out,
                AllOf(StartsWith(fmt::format("process {} of 2, 4 devices\nrefused: this thread computes with arrays, and another one "
                                             "joined the job, in distributed::initialize at coordination_process.cpp:",
                                             end.process)),
                      HasSubstr("\nsum 4\n")));
}

// A launch fails in one process alone, which catches the error and goes on: the others wait for data that never come, or for it to come to
// the launch, where the error was quicker than the news that it had.
TEST(Coordination, AsyncErrorsOfOneProcessReachTheOthersWithTheirLines) {
  LaunchResult result = run(2, {"sum", "diverge", "sum"});
  const std::string text = outputs(result);
  ASSERT_EQ(result.diagnoses.size(), 1U) << text;
  EXPECT_EQ(result.diagnoses[0].code, "process-raised") << text;
  EXPECT_THAT(result.diagnoses[0].processes, ElementsAre(1));
  EXPECT_THAT(result.diagnoses[0].message,
              AllOf(HasSubstr("process 1 raised \"psum at coordination_process.cpp:"), HasSubstr("stands where devices go different ways"),
                    HasSubstr("[shard_map at coordination_process.cpp:"), ContainsRegex("process 0 waits for (data|it) in sum")));
  EXPECT_THAT(result.processes[1].out, AllOf(HasSubstr("failed: psum at coordination_process.cpp:"), HasSubstr("first used by fetch at")));
  EXPECT_THAT(result.processes[0].err, HasSubstr("process-raised")) << text;
  EXPECT_LT(result.duration_ms(), 20'000);
}

// What a callback throws on the one process that calls it ends the others, who wait for its result in a launch that all have matched, long
// before the limit on silence.
TEST(Coordination, AFailingCallbackReachesTheOthers) {
  LaunchResult result = run(3, {"sum", "callback"});
  const std::string text = outputs(result);
  ASSERT_EQ(result.diagnoses.size(), 1U) << text;
  const Diagnosis& diagnosis = result.diagnoses[0];
  EXPECT_EQ(diagnosis.code, "process-raised") << text;
  EXPECT_THAT(diagnosis.processes, ElementsAre(0)) << text;
  EXPECT_THAT(diagnosis.message, AllOf(HasSubstr("no such row [pure_callback at coordination_process.cpp:"),
                                       HasSubstr("processes 1 and 2 wait for data in jit")));
  EXPECT_LT(diagnosis.detected_ns - diagnosis.evidence_ns, 8'000'000'000) << text;
}

// Each of them fails in the launch, and catches that. Who wants data of another waits for nobody who has failed.
TEST(Coordination, AsyncErrorsOfAllProcessesAreTheirOwn) {
  LaunchResult result = run(3, {"sum", "diverge:all", "sum", "diverge:all"});
  const std::string text = outputs(result);
  for (const ProcessEnd& end : result.processes) {
    EXPECT_THAT(end.out, StartsWith("sum 6\n")) << text;
    EXPECT_THAT(end.out, ContainsRegex("failed: psum at .* first used by fetch at ")) << text;
    EXPECT_EQ(split(end.out, '\n').size(), 5U) << text;  // each of the four steps ends its line
  }
  EXPECT_LT(result.duration_ms(), 20'000);
}

// A program whose work failed does not end as if it had not; one that has caught the error does.
TEST(Coordination, AnErrorThatNobodyUsesEndsTheProcessAtItsExit) {
  LaunchResult result = run(2, {"sum", "@1 fail"});
  const std::string text = outputs(result);
  ASSERT_EQ(result.diagnoses.size(), 1U) << text;
  EXPECT_EQ(result.diagnoses[0].code, "process-raised") << text;
  EXPECT_THAT(result.diagnoses[0].message, ContainsRegex("process 1 raised \".* at coordination_process.cpp:[0-9]+"));
  EXPECT_EQ(result.processes[1].out, "sum 4\n") << text;
  EXPECT_THAT(result.processes[1].err, ContainsRegex("error: .*coordination_process.cpp:[0-9]+")) << text;
  EXPECT_EQ(result.processes[1].exit_code, 1) << text;
}

TEST(Coordination, TheJobEndsBeforeWhatWasRegisteredForTheEndMeanwhile) {
  for (int n : {1, 2}) {
    LaunchResult result = run(n, {"library"});
    EXPECT_TRUE(result.ok()) << outputs(result);
    EXPECT_EQ(result.processes[0].out, "the library is there\n");
  }
}

TEST(Coordination, AnErrorThatIsCaughtIsOver) {
  LaunchResult result = run(1, {"fail:caught", "sum"});
  EXPECT_TRUE(result.ok()) << outputs(result);
  EXPECT_THAT(result.processes[0].out, ContainsRegex("failed: .*\nsum 2\n"));
}

TEST(Coordination, WhoIsMissingAtTheEndOfTheTimeIsNamedWithItsPlace) {
  LaunchResult result =
      run(3, {"sum", "@0,1 barrier:late:300", "@2 get:go:30000", "@2 barrier:late:30000", "@1 set:go:on", "barrier:late:30000"});
  EXPECT_TRUE(result.ok()) << outputs(result);
  for (const ProcessEnd& end : result.processes) {
    EXPECT_THAT(
        end.out,
        AllOf(HasSubstr("failed: DEADLINE_EXCEEDED: Barrier timed out. Id: late. # of processes that reached the barrier: 2/3: 0 at "
                        "coordination_process.cpp:"),
              HasSubstr("Missing: 2 ("), HasSubstr("last in sum(P('all',)) at coordination_process.cpp:"),
              HasSubstr("wait_at_barrier at coordination_process.cpp:")));
    EXPECT_THAT(end.out, HasSubstr("\npassed late\n"));
  }
}

TEST(Coordination, ListsThatDoNotFitAreToldToAll) {
  LaunchResult result = run(3, {"@0 barrier:a:20000:0,1", "@1 barrier:a:20000:0,1,2", "@2 barrier:a:20000:0,1", "@2 barrier:a:20000:0,1,2",
                                "@2 barrier:a:20000:2,9", "set:k:v", "barrier:b:20000"});
  EXPECT_TRUE(result.ok()) << outputs(result);
  EXPECT_THAT(result.processes[2].out,
              AllOf(HasSubstr("A non-participating process (2) called the barrier: a"), HasSubstr("Unexpected process (9)")));
  for (int p : {0, 1})
    EXPECT_THAT(result.processes[std::size_t(p)].out,
                HasSubstr("Conflicting processes specified by different processes for the same barrier: a"));
  int exists = 0;
  for (const ProcessEnd& end : result.processes) {
    EXPECT_THAT(end.out, HasSubstr("passed b"));
    exists += end.out.find("failed: ALREADY_EXISTS: key k already exists") != std::string::npos;
  }
  EXPECT_EQ(exists, 2) << outputs(result);
}

// Who waits at a barrier hears how the other ended, by the verdict where there is one.
TEST(Coordination, ADeathEndsTheWaiting) {
  for (const char* end : {"@1 kill", "@1 exit:3", "@1 raise:no more data"}) {
    LaunchResult result = run(3, {"sum", end, "barrier:a:50000", "sum"});
    EXPECT_FALSE(result.timed_out) << outputs(result);
    ASSERT_EQ(result.diagnoses.size(), 1u) << outputs(result);
    EXPECT_THAT(result.diagnoses[0].processes, ElementsAre(1)) << outputs(result);
    EXPECT_LT(result.duration_ms(), 20'000);
    for (int p : {0, 2}) EXPECT_THAT(result.processes[std::size_t(p)].out, Not(HasSubstr("passed"))) << outputs(result);
  }
}

TEST(Coordination, OneThatHasLeftIsNotWaitedFor) {
  LaunchResult result = run(2, {"@0 barrier:a:50000"});
  EXPECT_TRUE(result.ok()) << outputs(result);
  EXPECT_THAT(result.processes[0].out,
              HasSubstr("failed: ABORTED: Barrier failed: process 1 left the job and comes no more. Barrier Id: a"));
  EXPECT_LT(result.duration_ms(), 20'000);
}

// A mismatch among others reaches one that waits for neither of them in a launch.
TEST(Coordination, AVerdictEndsTheWaiting) {
  LaunchResult result = run(3, {"sum", "@2 barrier:a:50000:0,2", "@0 sum:0,1", "@1 max:0,1"});
  ASSERT_EQ(result.diagnoses.size(), 1u) << outputs(result);
  EXPECT_EQ(result.diagnoses[0].code, "program-mismatch");
  EXPECT_THAT(result.diagnoses[0].message, ContainsRegex("process 0 runs sum.* where process 1 runs max"));
  // In which functions of the program each side issued it.
  for (const Participant& side : result.diagnoses[0].participants) EXPECT_EQ(side.callers, "step, main") << outputs(result);
  EXPECT_THAT(result.processes[0].err, ContainsRegex("all: .*, called in step, main")) << outputs(result);
  EXPECT_LT(result.duration_ms(), 40'000);
}

// Who waits at a barrier, or for a key, for one that waits for it in a launch, at another barrier, or for a key: at once, as a circle.
TEST(Coordination, ACircleThroughABarrierOrAKeyIsADeadlock) {
  struct Case {
    const char* name;
    std::vector<std::string> steps;
    std::vector<int> processes;
    std::vector<std::string> texts;
  };
  const std::string at = " at coordination_process.cpp:";
  const std::vector<Case> cases{
      {"a barrier before a launch",
       {"sum", "@1 barrier:a:50000:0,1", "sum", "@0 barrier:a:50000:0,1"},
       {0, 1},
       {"process 0 waits for process 1 in ", "process 1 waits for process 0 at barrier 'a'" + at}},
      {"two barriers",
       {"@0 barrier:a:50000:0,1", "@1 barrier:b:50000:0,1", "@0 barrier:b:50000:0,1", "@1 barrier:a:50000:0,1", "sum"},
       {0, 1},
       {"process 0 waits for process 1 at barrier 'a'" + at, "process 1 waits for process 0 at barrier 'b'" + at}},
      {"three barriers in a round",
       {"@0 barrier:a:50000:0,1", "@1 barrier:b:50000:1,2", "@2 barrier:c:50000:0,2", "@0 barrier:c:50000:0,2", "@1 barrier:a:50000:0,1",
        "@2 barrier:b:50000:1,2"},
       {0, 1, 2},
       {"process 0 waits for process 1 at barrier 'a'", "process 2 waits for process 0 at barrier 'c'"}},
      {"a key that is set after a launch",
       {"sum", "@1 get:k:50000", "sum", "@0 set:k:v"},
       {0, 1},
       {"process 1 waits for process 0 to set key 'k', asked for" + at}},
      {"a key behind a barrier",
       {"@0,2 barrier:a:50000:0,1,2", "@1 get:k:50000", "@1 barrier:a:50000:0,1,2", "@2 set:k:v"},
       {0, 1},
       {"process 0 waits for process 1 at barrier 'a'", "process 1 waits for process 0 to set key 'k'"}},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    LaunchResult result = run(3, each.steps);
    ASSERT_EQ(result.diagnoses.size(), 1u) << outputs(result);
    EXPECT_EQ(result.diagnoses[0].code, "deadlock") << outputs(result);
    EXPECT_EQ(result.diagnoses[0].processes, each.processes) << outputs(result);
    for (const std::string& text : each.texts) EXPECT_THAT(result.diagnoses[0].message, HasSubstr(text));
    // Each side stands where it waits, not in its last launch.
    for (const Participant& side : result.diagnoses[0].participants)
      EXPECT_THAT(result.diagnoses[0].message, ContainsRegex(side.op + ".* at " + side.where)) << outputs(result);
    EXPECT_LT(result.duration_ms(), 20'000);
  }
}

// Whoever still runs may come, and set a key; a wait that ends by itself soon ends by itself.
TEST(Coordination, WhoComesLateIsNoDeadlock) {
  const std::vector<std::vector<std::string>> cases{
      {"sum", "@0 sleep:300", "barrier:a:50000", "sum"},
      {"sum", "@1 get:k:50000", "@0 sleep:300", "@0 set:k:v", "sum"},
      {"@1 barrier:a:50000:0,1", "@2 get:k:50000", "@0 sleep:300", "@0 barrier:a:50000:0,1", "@1 sleep:200", "@1 set:k:v", "sum"},
      {"sum", "@1 get:k:300", "sum"},
      {"sum", "@1 barrier:a:300:0,1", "sum"},
      {"@0 get:k:50000", "@1 get:l:50000", "@2 sleep:200", "@2 set:k:v", "@2 set:l:v", "barrier:a:50000", "barrier:a:50000", "sum"},
  };
  for (const auto& steps : cases) {
    LaunchResult result = run(3, steps);
    EXPECT_TRUE(result.ok()) << outputs(result);
    EXPECT_TRUE(result.diagnoses.empty()) << outputs(result);
    for (const ProcessEnd& end : result.processes) EXPECT_THAT(end.out, HasSubstr("sum 6")) << outputs(result);
  }
}

TEST(Coordination, AProcessOnItsOwnHasThemToo) {
  support::Ran ran = support::shell(
      fmt::format("{} barrier:a:100 set:k:v get:k:1 set:k:w get:none:1 barrier:a:100:0 barrier:a:100:0,1", SHARDLAB_COORDINATION_PROCESS));
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.output, HasSubstr("passed a\ngot v\nfailed: ALREADY_EXISTS: key k already exists"));
  EXPECT_THAT(ran.output, HasSubstr("failed: nobody set the key 'none', and there is no other process that could"));
  EXPECT_THAT(ran.output, HasSubstr("failed: INVALID_ARGUMENT: Unexpected process (1) that is not in the job of 1 processes"));
}

}  // namespace
}  // namespace shardlab
