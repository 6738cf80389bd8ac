// Ctrl-C, and being asked to end, where no command of ours supervises: one process tells where all are, and all end.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtime/shardlab/interrupt.h"
#include "scenarios/launch/launcher.h"
#include "tests/control/watched.h"
#include "tests/support/shell.h"
#include "traces/checks/wording.h"

namespace shardlab {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing_::by_hand;
using testing_::Watched;

void expect_all_told(const std::string& text, int processes) {
  for (int p = 0; p < processes; ++p)
    EXPECT_THAT(text, ContainsRegex("  process " + std::to_string(p) + ": (running|waiting).* at coordination_process.cpp:[0-9]+"));
}

int times(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// The others get its reason, whoever runs the coordinator.
TEST(Interrupt, InOneOfSeveralTerminals) {
  for (int victim : {2, 0}) {
    auto processes = by_hand({"sum", fmt::format("@{} sleep:60000", victim), "sum"});
    for (auto& process : processes) ASSERT_TRUE(process->says("sum 3", 3)) << process->output();
    processes[std::size_t(victim)]->signal(SIGINT);
    std::string told = processes[std::size_t(victim)]->output();
    EXPECT_THAT(told, HasSubstr("shardlab: ended by SIGINT; the processes were here:"));
    expect_all_told(told, 3);
    EXPECT_EQ(processes[std::size_t(victim)]->code(), 128 + SIGINT);
    for (int p = 0; p < 3; ++p) {
      if (p == victim) continue;
      std::string heard = processes[std::size_t(p)]->output();
      EXPECT_THAT(heard, HasSubstr(fmt::format("process {} was killed by signal 2 (SIGINT)", victim)));
      EXPECT_THAT(heard, Not(HasSubstr("the processes were here")));
      EXPECT_EQ(processes[std::size_t(p)]->code(), 2);
    }
  }
}

// A scheduler asks all processes of a host to end: one tells, none blames another one.
TEST(Interrupt, OfAllAtOnceOneTells) {
  auto processes = by_hand({"sleep:60000"});
  for (auto& process : processes) ASSERT_TRUE(process->says("sum 3", 2)) << process->output();
  for (auto& process : processes) process->signal(SIGTERM);
  std::string all;
  for (auto& process : processes) {
    all += process->output();
    EXPECT_EQ(process->code(), 128 + SIGTERM);
  }
  EXPECT_EQ(times(all, "the processes were here"), 1) << all;
  expect_all_told(all, 3);
  EXPECT_THAT(all, ContainsRegex("shardlab: process [0-2] ended by SIGTERM at coordination_process.cpp:[0-9]+; process [0-2] tells where "
                                 "all were"));
  EXPECT_EQ(times(all, "tells where all were"), 2) << all;
}

// It goes no further once its end is told of: the others could end without a word of it.
TEST(Interrupt, GoesNoFurther) {
  auto processes = by_hand({"@1 interrupt", "sum", "sum", "sum"});
  EXPECT_EQ(times(processes[1]->output(), "sum 3"), 2);
  EXPECT_THAT(processes[1]->output(), HasSubstr("shardlab: ended by SIGTERM; the processes were here:"));
  for (int p : {0, 2}) {
    EXPECT_THAT(processes[std::size_t(p)]->output(), HasSubstr("process 1 was killed by signal 15 (SIGTERM)"));
    EXPECT_EQ(processes[std::size_t(p)]->code(), 2);
  }
}

TEST(Interrupt, WhenTheOthersHaveLeft) {
  auto processes = by_hand({"@2 sleep:60000"});
  for (int p : {0, 1}) {
    EXPECT_EQ(times(processes[std::size_t(p)]->output(), "sum 3"), 2);
    EXPECT_EQ(processes[std::size_t(p)]->code(), 0);
  }
  processes[2]->signal(SIGTERM);
  EXPECT_THAT(processes[2]->output(),
              AllOf(HasSubstr("shardlab: ended by SIGTERM; the processes were here:"), HasSubstr("  process 0: left"),
                    HasSubstr("  process 1: left"), ContainsRegex("  process 2: (running|waiting).* at coordination_process.cpp:[0-9]+")));
  EXPECT_EQ(processes[2]->code(), 128 + SIGTERM);
}

// In what is left of a program when all its work is done, its signals are those of any program; it says so before.
TEST(Interrupt, OfOnesThatHaveLeft) {
  auto processes = by_hand({}, "late");
  for (int p = 0; p < 3; ++p) {
    EXPECT_THAT(
        processes[std::size_t(p)]->output(),
        HasSubstr(fmt::format("sum 3\nsum 3\nshardlab: ended by SIGTERM; the processes were here:\n  process {}: its program is over, "
                              "and it has left the job; of the others it knows no more\n",
                              p)));
    EXPECT_EQ(processes[std::size_t(p)]->signal(), SIGTERM);
  }
}

TEST(Interrupt, WhileItJoins) {
  const std::string address = testing_::free_address();
  auto started = [&](int process) {
    return std::make_unique<Watched>(
        std::vector<std::string>{SHARDLAB_COORDINATION_PROCESS, fmt::format("at={},{},3", address, process), "sum"},
        std::vector<std::string>());
  };
  auto first = started(0), looking = started(1);
  ASSERT_TRUE(looking->says("process 1 waits for 1 of 3 processes: 2")) << looking->output();
  looking->signal(SIGINT);
  EXPECT_THAT(looking->output(), ContainsRegex("ended by SIGINT; the processes were here:\n  process 0: .*\n  process 1: .*\n"
                                               "  process 2: joining\n"));
  EXPECT_EQ(looking->code(), 128 + SIGINT);
  EXPECT_THAT(first->output(), HasSubstr("process 1 was killed by signal 2 (SIGINT)"));
}

TEST(Interrupt, WhileItLooksForItsJob) {
  Watched looking({SHARDLAB_COORDINATION_PROCESS, "at=" + testing_::free_address() + ",1,3", "sum"}, {});
  ASSERT_TRUE(looking.says("process 1 waits for the coordinator")) << looking.output();
  looking.signal(SIGTERM);
  EXPECT_THAT(looking.output(),
              ContainsRegex("ended by SIGTERM; the processes were here:\n  process 1: looks for the coordinator of its job, "
                            "at localhost:[0-9]+ at coordination_process.cpp:[0-9]+\n"));
  EXPECT_EQ(looking.code(), 128 + SIGTERM);
}

TEST(Interrupt, OfAProcessOnItsOwn) {
  Watched alone({SHARDLAB_COORDINATION_PROCESS, "sum", "sleep:60000"}, {});
  ASSERT_TRUE(alone.says("sum 1"));
  alone.signal(SIGINT);
  EXPECT_THAT(alone.output(),
              ContainsRegex("ended by SIGINT; the processes were here:\n  process 0: running at coordination_process.cpp:"));
  EXPECT_EQ(alone.code(), 128 + SIGINT);
}

TEST(Interrupt, AHandlerOfTheProgramStays) {
  auto processes = by_hand({"signal", "sum"}, "handler");
  for (auto& process : processes) ASSERT_TRUE(process->says("sum 3", 2)) << process->output();
  for (auto& process : processes) process->signal(SIGINT);
  for (auto& process : processes) {
    EXPECT_THAT(process->output(), AllOf(HasSubstr("handled\nsum 3"), Not(HasSubstr("were here"))));
    EXPECT_EQ(process->code(), 0);
  }
}

TEST(Interrupt, AVariableTurnsItOff) {
  Watched alone({SHARDLAB_COORDINATION_PROCESS, "sum", "sleep:60000"}, {"SHARDLAB_TELL_AT_SIGNALS=0"});
  ASSERT_TRUE(alone.says("sum 1"));
  alone.signal(SIGINT);
  EXPECT_THAT(alone.output(), Not(HasSubstr("were here")));
  EXPECT_EQ(alone.signal(), SIGINT);
}

class InterruptOverMpi : public testing::Test {
 protected:
  void SetUp() override {
    if (support::shell("mpirun --version").code != 0) GTEST_SKIP() << "mpirun is not installed";
  }
  static std::string command() { return std::string(std::getenv("SHARDLAB_BIN_DIR")) + "/shardlab"; }
  static std::vector<std::string> steps() { return {SHARDLAB_COORDINATION_PROCESS, "sum", "@1 sleep:60000", "sum"}; }
  static std::vector<std::string> with_steps(std::vector<std::string> words) {
    for (const std::string& word : steps()) words.push_back(word);
    return words;
  }
};

TEST_F(InterruptOverMpi, Mpirun) {
  Watched job(with_steps({"mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3"}), {});
  ASSERT_TRUE(job.says("sum 3", 3)) << job.output();
  job.signal(SIGINT);
  std::string told = job.output();
  EXPECT_EQ(times(told, "the processes were here"), 1) << told;
  expect_all_told(told, 3);
}

TEST_F(InterruptOverMpi, TheCommandOnHosts) {
  Watched job(with_steps({command(), "run", "--hosts", "localhost:2", "-d", "1", "--"}), {});
  if (!job.says("sum 2", 2)) GTEST_SKIP() << job.output();
  job.signal(SIGINT);
  std::string told = job.output();
  EXPECT_EQ(times(told, "the processes were here"), 1) << told;
  EXPECT_EQ(times(told, "  process 1: running; last in sum"), 1) << told;
  EXPECT_EQ(job.code(), 128 + SIGINT);
}

TEST_F(InterruptOverMpi, TheLimitOfTheCommand) {
  Watched job(with_steps({command(), "run", "--hosts", "localhost:2", "-d", "1", "--limit", "8", "--"}), {});
  if (!job.says("sum 2", 2)) GTEST_SKIP() << job.output();
  std::string told = job.output();
  EXPECT_EQ(times(told, "the processes were here"), 1) << told;
  EXPECT_EQ(times(told, "  process 0: waiting"), 1) << told;
  EXPECT_THAT(told, HasSubstr("shardlab: ended at the limit, inconclusive"));
  EXPECT_EQ(job.code(), 5);
}

[[noreturn]] void wait_for_ever() {
  while (true) ::pause();
}

// Whatever the first one waits for.
TEST(InterruptDeathTest, ASecondOneEndsAtOnce) {
  EXPECT_EXIT(
      {
        watch_interrupts([](int) { wait_for_ever(); });
        std::raise(SIGINT);
        std::raise(SIGINT);
        wait_for_ever();
      },
      testing::ExitedWithCode(128 + SIGINT), "");
}

TEST(InterruptDeathTest, AForkedChildEndsByItsOwnSignal) {
  EXPECT_EXIT(
      {
        watch_interrupts([](int) { _exit(1); });
        pid_t child = ::fork();
        if (child == 0) {
          std::raise(SIGTERM);
          _exit(2);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        _exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM ? 0 : 3);
      },
      testing::ExitedWithCode(0), "");
}

TEST(InterruptDeathTest, AtTheVeryEndItEndsAtOnce) {
  EXPECT_EXIT(
      {
        watch_interrupts([](int) { wait_for_ever(); });
        settle_interrupts("  process 7: its program is over\n");
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "shardlab: ended by SIGINT; the processes were here:\n  process 7: its program is over");
}

TEST(InterruptDeathTest, NothingIsSettledWhereNothingIsWatched) {
  EXPECT_EXIT(
      {
        settle_interrupts("  process 7: its program is over\n");
        std::raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), testing::Not(HasSubstr("process 7")));
}

// While the end is told, the program's own end waits for it.
TEST(InterruptDeathTest, TheProgramDoesNotEndBeforeItIsTold) {
  EXPECT_EXIT(
      {
        watch_interrupts([](int) {
          ::usleep(50'000);
          _exit(7);
        });
        std::raise(SIGINT);
        yield_to_interrupt();
        _exit(1);
      },
      testing::ExitedWithCode(7), "");
}

// Who crashes says where, and the signal ends it all the same.
TEST(Crash, TellsTheFunctionsThatLedToIt) {
  for (const auto& [verb, signal, function] :
       {std::tuple("crash", SIGSEGV, "look_up, step, main"), std::tuple("abort", SIGABRT, "step, main")}) {
    LaunchOptions options{.argv = {SHARDLAB_COORDINATION_PROCESS, "sum", std::string("@1 ") + verb, "sum"},
                          .processes = 3,
                          .devices = 1,
                          .limit = std::chrono::seconds(60)};
    LaunchResult result = launch(options);
    EXPECT_EQ(result.processes[1].signal, signal);
    EXPECT_THAT(result.processes[1].err, HasSubstr(fmt::format("shardlab: process 1 is ended by {}\n  called in ", signal_name(signal))));
    EXPECT_THAT(result.processes[1].err, HasSubstr(function));
    ASSERT_EQ(result.diagnoses.size(), 1U);
    EXPECT_EQ(result.diagnoses[0].code, "process-killed");
    options.environment = {{"SHARDLAB_TELL_AT_SIGNALS", "0"}};
    result = launch(options);
    EXPECT_EQ(result.processes[1].signal, signal);
    EXPECT_EQ(result.processes[1].err, "");
  }
}

// The line that it began last is known; where it went from there it says itself, when the verdict has come. Nobody ends it meanwhile.
TEST(Stuck, TellsTheFunctionsThatItIsIn) {
  auto processes = by_hand({"@2 hang", "sum"});
  EXPECT_TRUE(processes[2]->says("shardlab: process 2 is in ")) << processes[2]->said();
  EXPECT_TRUE(processes[2]->says("main\n")) << processes[2]->said();
  EXPECT_THAT(processes[2]->said(), ContainsRegex(" is in .*wait_for_ever.*main"));
  processes[2]->signal(SIGKILL);
  for (const int other : {0, 1})
    EXPECT_THAT(processes[std::size_t(other)]->output(),
                AllOf(HasSubstr("process-stuck: process 2 is alive but does not go on"), Not(HasSubstr(" is in wait"))));
}

}  // namespace
}  // namespace shardlab
