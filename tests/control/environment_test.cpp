// What the surroundings say of a job, and whole jobs under mpirun where it is installed.
#include "runtime/control/environment.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <latch>
#include <thread>

#include "runtime/base/error.h"
#include "scenarios/launch/launcher.h"
#include "tests/control/programs.h"

namespace shardlab::control {
namespace {

using testing::HasSubstr;

class Environment : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name :
         {kCoordinatorVariable, kTokenVariable, kProcessIndexVariable, kNumProcessesVariable, kNumDevicesVariable, kShmVariable,
          kTraceDirVariable, "OMPI_MCA_orte_hnp_uri", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"})
      unsetenv(name);
  }
  static void set(const char* name, const char* value) { setenv(name, value, 1); }
  static std::string error() {
    try {
      detect_environment();
      return "";
    } catch (const UserError& error) { return error.what(); }
  }
};

TEST_F(Environment, NothingIsNoJob) {
  EXPECT_FALSE(detect_environment());
  set(kNumDevicesVariable, "8");
  EXPECT_FALSE(detect_environment());
  EXPECT_EQ(devices_from_environment(), 8);
}

TEST_F(Environment, TheLaunchersVariablesComeFirst) {
  set(kCoordinatorVariable, "127.0.0.1:1234");
  set(kTokenVariable, "secret");
  set(kProcessIndexVariable, "2");
  set(kNumProcessesVariable, "4");
  set(kNumDevicesVariable, "3");
  set("OMPI_MCA_orte_hnp_uri", "773652480.0;tcp://192.0.2.2:60751");
  set("OMPI_COMM_WORLD_SIZE", "9");
  auto environment = detect_environment();
  ASSERT_TRUE(environment);
  EXPECT_EQ(environment->source, JobEnvironment::Source::kLauncher);
  EXPECT_EQ(environment->process_index, 2);
  EXPECT_EQ(environment->num_processes, 4);
  EXPECT_EQ(environment->num_cpu_devices, 3);
  EXPECT_EQ(environment->token, "secret");
}

TEST_F(Environment, BadValuesNameTheirVariable) {
  set(kCoordinatorVariable, "127.0.0.1:1234");
  set(kProcessIndexVariable, "two");
  EXPECT_THAT(error(), HasSubstr("SHARDLAB_PROCESS_INDEX must be a whole number of at least 0; got 'two'"));
  set(kProcessIndexVariable, "4");
  set(kNumProcessesVariable, "4");
  EXPECT_THAT(error(), HasSubstr("SHARDLAB_PROCESS_INDEX is 4, but the job has 4 processes"));
  set(kNumDevicesVariable, "0");
  EXPECT_THAT(error(), HasSubstr("SHARDLAB_NUM_CPU_DEVICES"));
}

TEST_F(Environment, OpenMpisRule) {
  set("OMPI_MCA_orte_hnp_uri", "773652480.0;tcp://192.0.2.2:60751");
  set("OMPI_COMM_WORLD_SIZE", "4");
  set("OMPI_COMM_WORLD_RANK", "3");
  set("OMPI_COMM_WORLD_LOCAL_RANK", "1");
  auto environment = detect_environment();
  ASSERT_TRUE(environment);
  EXPECT_EQ(environment->source, JobEnvironment::Source::kOpenMpi);
  EXPECT_EQ(environment->process_index, 3);
  EXPECT_EQ(environment->local_index, 1);
  EXPECT_EQ(open_mpi_port(environment->open_mpi_uri), (773652480LL / 4096) % 4096 + 61440);
  EXPECT_EQ(environment->token.size(), 32u);
  EXPECT_NE(open_mpi_token("1.0;a"), open_mpi_token("2.0;a"));
  EXPECT_THROW(open_mpi_port("nonsense"), UserError);
}

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
                    const_cast<char*>("0"),
                    const_cast<char*>("1"),
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
