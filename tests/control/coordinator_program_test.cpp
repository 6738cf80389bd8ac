// The coordinator as a program of its own, and whole jobs under mpirun where it is installed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <future>
#include <latch>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/control/environment.h"
#include "scenarios/launch/launcher.h"
#include "tests/control/programs.h"

namespace shardlab::control {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

// The coordinator as a process of its own; its address is read from a pipe.
struct CoordinatorProcess {
  pid_t pid = -1;
  std::string address;

  explicit CoordinatorProcess(int num_processes) {
    int ends[2];
    if (pipe(ends) != 0) throw IoError("no pipe");
    std::string count = std::to_string(num_processes), ready = fmt::format("SHARDLAB_READY_FD={}", ends[1]), token = "SHARDLAB_JOB_TOKEN=t";
    char* argv[] = {const_cast<char*>(SHARDLAB_COORDINATOR_PROGRAM),
                    count.data(),
                    const_cast<char*>("127.0.0.1"),
                    const_cast<char*>("0"),
                    const_cast<char*>("1"),
                    const_cast<char*>("20000"),
                    const_cast<char*>("20000"),
                    nullptr};
    char* environment[] = {ready.data(), token.data(), nullptr};
    pid = fork();
    if (pid == 0) {
      execve(argv[0], argv, environment);
      _exit(127);
    }
    close(ends[1]);
    char byte;
    while (read(ends[0], &byte, 1) == 1 && byte != '\n') address += byte;
    close(ends[0]);
  }
  int wait() const {
    int status = 0;
    waitpid(pid, &status, 0);
    return status;
  }
};

TEST(CoordinatorProgram, WhenItIsKilledEveryGateEndsWithinASecond) {
  CoordinatorProcess coordinator(2);
  ASSERT_FALSE(coordinator.address.empty());
  std::latch ready(2);
  std::atomic<comm::Ns> killed_ns = 0;
  double after_ms[2] = {-1, -1};
  std::vector<std::jthread> threads;
  for (int p = 0; p < 2; ++p)
    threads.emplace_back([&, p] {
      auto client =
          connect({.address = coordinator.address, .token = "t", .process_index = p, .num_processes = 2, .join_timeout_ms = 20'000});
      if (p == 0) client->issued(testing_::Issuer().launch(testing_::make_program("A", {0, 1}), 30));
      ready.count_down();
      try {
        if (p == 0) client->await_agreement(0, "print", {});
        while (p == 1) client->issued(testing_::Issuer().launch(testing_::make_program("B", {1, 2}), 30));
      } catch (const TransportError& error) {
        EXPECT_THAT(error.what(), HasSubstr("the coordinator at 127.0.0.1"));
        after_ms[p] = double(comm::now_ns() - killed_ns) / 1e6;
      }
    });
  ready.wait();
  killed_ns = comm::now_ns();
  kill(coordinator.pid, SIGKILL);
  threads.clear();
  coordinator.wait();
  for (double ms : after_ms) {
    EXPECT_GE(ms, 0);
    EXPECT_LT(ms, 1000);
  }
}

TEST(CoordinatorProgram, EndsWhenAllHaveGone) {
  CoordinatorProcess coordinator(2);
  std::vector<std::jthread> threads;
  for (int p = 0; p < 2; ++p)
    threads.emplace_back([&, p] {
      connect({.address = coordinator.address, .token = "t", .process_index = p, .num_processes = 2, .join_timeout_ms = 20'000})->leave();
    });
  threads.clear();
  EXPECT_EQ(coordinator.wait(), 0);
}

// Its port is free again long before the time to join is over.
TEST(CoordinatorProgram, EndsWhenThoseWhoHadComeHaveGoneThoughOthersNeverCame) {
  CoordinatorProcess coordinator(2);
  comm::Ns begin_ns = comm::now_ns();
  EXPECT_THROW(connect({.address = coordinator.address, .token = "t", .process_index = 0, .num_processes = 2, .join_timeout_ms = 100}),
               TransportError);
  EXPECT_EQ(coordinator.wait(), 0);
  EXPECT_LT(comm::now_ns() - begin_ns, comm::Ns(15) * 1'000'000'000);
}

// Whoever has joined is told too, and who comes when they have gone; nobody waits for the time to join.
TEST(CoordinatorProgram, AnotherNumberOfProcessesIsToldToAll) {
  CoordinatorProcess coordinator(3);
  auto error_of = [&](int process, int processes) {
    try {
      connect(
          {.address = coordinator.address, .token = "t", .process_index = process, .num_processes = processes, .join_timeout_ms = 120'000});
    } catch (const TransportError& error) { return std::string(error.what()); }
    return std::string("no error");
  };
  comm::Ns begin_ns = comm::now_ns();
  const std::string why = fmt::format(
      "process 1 \\(pid {} on .*\\) was started as one of 2 \\(num_processes\\), and the job was started with 3(, as process 0 .* was)?: "
      "start "
      "all processes with the same number",
      getpid());
  std::string first;
  {
    std::jthread joins([&] { first = error_of(0, 3); });
    EXPECT_THAT(error_of(1, 2), ContainsRegex("refuses process 1: " + why));
  }
  EXPECT_THAT(first, ContainsRegex("the job does not begin: " + why));
  EXPECT_THAT(error_of(2, 3), ContainsRegex("the job does not begin: " + why));
  EXPECT_LT(comm::now_ns() - begin_ns, comm::Ns(60) * 1'000'000'000);
  EXPECT_EQ(coordinator.wait(), 0);
}

// So is one number for two processes: who came second, who came first with it, and who was waiting or comes later.
TEST(CoordinatorProgram, OneNumberForTwoProcessesIsToldToAll) {
  CoordinatorProcess coordinator(3);
  auto error_of = [&](int process) {
    try {
      connect({.address = coordinator.address, .token = "t", .process_index = process, .num_processes = 3, .join_timeout_ms = 120'000});
    } catch (const TransportError& error) { return std::string(error.what()); }
    return std::string("no error");
  };
  comm::Ns begin_ns = comm::now_ns();
  std::string waiting, one, other;
  {
    std::jthread waits([&] { waiting = error_of(0); });
    std::jthread joins([&] { one = error_of(1); });
    other = error_of(1);
  }
  const std::string why =
      fmt::format("the job does not begin: two processes have the number 1 \\(process_id\\), pid {0} on .* and pid {0} on .*", getpid());
  EXPECT_THAT(waiting, ContainsRegex(why));
  const bool is_second = other.find("has joined before") != std::string::npos;
  EXPECT_THAT(is_second ? one : other, ContainsRegex(why));
  EXPECT_THAT(is_second ? other : one, ContainsRegex("refuses process 1: process 1 has joined before"));
  EXPECT_THAT(error_of(2), ContainsRegex(why));
  EXPECT_LT(comm::now_ns() - begin_ns, comm::Ns(60) * 1'000'000'000);
  EXPECT_EQ(coordinator.wait(), 0);
}

// It lives and its host answers: the limit is all that ends the waiting.
TEST(CoordinatorProgram, WhenItIsStoppedTheLimitEndsItsProcesses) {
  CoordinatorProcess coordinator(1);
  std::promise<std::string> stopped;
  auto client = connect({.address = coordinator.address,
                         .token = "t",
                         .process_index = 0,
                         .num_processes = 1,
                         .join_timeout_ms = 20'000,
                         .heartbeat_timeout_ms = 2000,
                         .on_stop = [&](const std::string& why) { stopped.set_value(why); }});
  kill(coordinator.pid, SIGSTOP);
  std::future<std::string> why = stopped.get_future();
  ASSERT_EQ(why.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  EXPECT_THAT(why.get(), HasSubstr("the coordinator at " + coordinator.address + " is gone"));
  kill(coordinator.pid, SIGKILL);
  coordinator.wait();
}

LaunchResult mpirun(int n, std::vector<std::string> steps) {
  LaunchOptions options{.argv = {"mpirun", "--allow-run-as-root", "--oversubscribe", "-n", std::to_string(n), "env", "-u",
                                 kCoordinatorVariable, SHARDLAB_CONTROL_PROCESS},
                        .limit = std::chrono::seconds(60)};
  options.argv.insert(options.argv.end(), steps.begin(), steps.end());
  return launch(options);
}

bool have_mpirun() { return std::system("mpirun --version > /dev/null 2>&1") == 0; }

TEST(OpenMpi, AJobFindsItsCoordinator) {
  if (!have_mpirun()) GTEST_SKIP() << "mpirun is not installed";
  LaunchResult result = mpirun(4, {"times:20:data:A", "read", "print:done"});
  EXPECT_EQ(result.processes[0].exit_code, 0) << result.processes[0].err;
  EXPECT_EQ(result.processes[0].out, "done\ndone\ndone\ndone\n");
}

TEST(OpenMpi, AMismatchIsToldToEachRank) {
  if (!have_mpirun()) GTEST_SKIP() << "mpirun is not installed";
  LaunchResult result = mpirun(3, {"data:A", "@0,2 data:B", "@1 data:X", "data:C", "read"});
  EXPECT_NE(result.processes[0].exit_code, 0);
  EXPECT_THAT(result.processes[0].err, HasSubstr("program-mismatch: process 1 runs X(P('a')) at toy.cpp:3 where processes 0 and 2 run B"));
}

}  // namespace
}  // namespace shardlab::control
