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
#include <future>
#include <latch>
#include <thread>

#include "runtime/base/error.h"
#include "scenarios/launch/launcher.h"
#include "tests/control/programs.h"

namespace shardlab::control {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

class Environment : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name : {kCoordinatorVariable,
                             kTokenVariable,
                             kProcessIndexVariable,
                             kNumProcessesVariable,
                             kNumDevicesVariable,
                             kShmVariable,
                             kTraceDirVariable,
                             kTransportVariable,
                             kHostAddressVariable,
                             "JAX_NUM_CPU_DEVICES",
                             "JAX_COORDINATOR_ADDRESS",
                             "JAX_COORDINATOR_PORT",
                             "JAX_COORDINATOR_BIND_ADDRESS",
                             "JAX_LOCAL_DEVICE_IDS",
                             "OMPI_MCA_orte_hnp_uri",
                             "OMPI_COMM_WORLD_SIZE",
                             "OMPI_COMM_WORLD_RANK",
                             "OMPI_COMM_WORLD_LOCAL_RANK",
                             "OMPI_COMM_WORLD_LOCAL_SIZE",
                             "SLURM_JOB_ID",
                             "SLURM_STEP_ID",
                             "SLURM_STEP_NODELIST",
                             "SLURM_STEP_NUM_NODES",
                             "SLURM_NTASKS",
                             "SLURM_PROCID",
                             "SLURM_LOCALID",
                             "KUBERNETES_SERVICE_HOST"})
      unsetenv(name);
  }
  static void set(const char* name, const char* value) { setenv(name, value, 1); }
  static std::string error(const JobRequest& request = {}) {
    try {
      find_job(request);
      return "";
    } catch (const UserError& error) { return error.what(); }
  }
  static void set_open_mpi() {
    set("OMPI_MCA_orte_hnp_uri", "773652480.0;tcp://192.0.2.2,198.51.100.1:60751");
    set("OMPI_COMM_WORLD_SIZE", "4");
    set("OMPI_COMM_WORLD_RANK", "3");
    set("OMPI_COMM_WORLD_LOCAL_RANK", "1");
    set("OMPI_COMM_WORLD_LOCAL_SIZE", "2");
  }
  static void set_slurm(const char* nodes) {
    set("SLURM_JOB_ID", "1234567");
    set("SLURM_STEP_ID", "0");
    set("SLURM_STEP_NODELIST", nodes);
    set("SLURM_STEP_NUM_NODES", "16");
    set("SLURM_NTASKS", "32");
    set("SLURM_PROCID", "5");
    set("SLURM_LOCALID", "1");
  }
};

TEST_F(Environment, NothingIsNoJob) {
  EXPECT_FALSE(find_job());
  set(kNumDevicesVariable, "8");
  EXPECT_FALSE(find_job());
  EXPECT_EQ(devices_from_environment(), 8);
  unsetenv(kNumDevicesVariable);
  set("JAX_NUM_CPU_DEVICES", "3");
  EXPECT_EQ(devices_from_environment(), 3);
}

TEST_F(Environment, TheLaunchersVariablesComeFirst) {
  set(kCoordinatorVariable, "127.0.0.1:1234");
  set(kTokenVariable, "secret");
  set(kProcessIndexVariable, "2");
  set(kNumProcessesVariable, "4");
  set(kNumDevicesVariable, "3");
  set(kTransportVariable, "tcp");
  set_open_mpi();
  auto environment = find_job();
  ASSERT_TRUE(environment);
  EXPECT_EQ(environment->source, JobEnvironment::Source::kLauncher);
  EXPECT_EQ(environment->process_index, 2);
  EXPECT_EQ(environment->num_processes, 4);
  EXPECT_EQ(environment->num_cpu_devices, 3);
  EXPECT_EQ(environment->token, "secret");
  EXPECT_EQ(environment->transport, "tcp");
  EXPECT_EQ(environment->bind_host, "") << "the launcher runs the coordinator";
  // A program that says its place itself, as it does without a launcher, stays in the launcher's job; another place is another job.
  environment = find_job({.coordinator_address = "localhost:10000", .num_processes = 4, .process_id = 2});
  EXPECT_EQ(environment->source, JobEnvironment::Source::kLauncher);
  environment = find_job({.coordinator_address = "localhost:10000", .num_processes = 2, .process_id = 1});
  EXPECT_EQ(environment->source, JobEnvironment::Source::kExplicit);
  EXPECT_EQ(environment->coordinator, "localhost:10000");
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

// Whoever was started as one of several and cannot find the others is told so, and runs on its own, as in JAX.
TEST_F(Environment, AnIncompleteClusterIsTold) {
  auto told = [&](JobRequest request = {}) {
    testing::internal::CaptureStderr();
    try {
      find_job(request);
    } catch (const UserError&) {}
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(told(), "");
  set_slurm("node[001-015]");
  EXPECT_THAT(told(), testing::Not(HasSubstr("not set")));
  unsetenv("SLURM_LOCALID");
  EXPECT_THAT(told(), HasSubstr("this is task 5 of a Slurm step (SLURM_PROCID), but not set: SLURM_LOCALID. It runs on its own"));
  EXPECT_EQ(told({.coordinator_address = "localhost:9", .num_processes = 1, .process_id = 0}), "");
  unsetenv("SLURM_PROCID");
  EXPECT_EQ(told(), "") << "a shell within an allocation is no task";
  set("OMPI_COMM_WORLD_SIZE", "4");
  set("OMPI_COMM_WORLD_RANK", "3");
  EXPECT_THAT(told(), HasSubstr("this is process 3 of 4 of an mpirun"));
  set("OMPI_COMM_WORLD_SIZE", "1");
  EXPECT_EQ(told(), "");
}

TEST_F(Environment, OneTokenWhateverTheCoordinatorIsCalled) {
  std::string token = find_job({.coordinator_address = "localhost:8000", .num_processes = 2, .process_id = 1})->token;
  EXPECT_EQ(find_job({.coordinator_address = "127.0.0.1:8000", .num_processes = 3, .process_id = 1})->token, token);
  EXPECT_NE(find_job({.coordinator_address = "localhost:8001", .num_processes = 2, .process_id = 1})->token, token);
}

TEST_F(Environment, AddressesOfThisHostAreNumbers) {
  JobRequest request{.coordinator_address = "localhost:8000", .num_processes = 2, .process_id = 1};
  set(kHostAddressVariable, "192.0.2.7");
  EXPECT_EQ(own_address(*find_job(request)), "192.0.2.7");
  set(kHostAddressVariable, "node1");
  try {
    own_address(*find_job(request));
    FAIL();
  } catch (const UserError& error) { EXPECT_THAT(error.what(), HasSubstr("SHARDLAB_HOST_ADDRESS must be an address")); }
}

TEST_F(Environment, OpenMpisRule) {
  set_open_mpi();
  auto environment = find_job();
  ASSERT_TRUE(environment);
  EXPECT_EQ(environment->source, JobEnvironment::Source::kCluster);
  EXPECT_EQ(environment->process_index, 3);
  EXPECT_EQ(environment->num_processes, 4);
  EXPECT_EQ(environment->coordinator, fmt::format("192.0.2.2:{}", (773652480LL / 4096) % 4096 + 61440));
  EXPECT_EQ(environment->token.size(), 32u);
  std::string token = environment->token;
  set("OMPI_MCA_orte_hnp_uri", "773652481.0;tcp6://[2001:db8::7]:60751");
  environment = find_job();
  EXPECT_THAT(environment->coordinator, testing::StartsWith("[2001:db8::7]:"));
  EXPECT_NE(environment->token, token);
  set("OMPI_MCA_orte_hnp_uri", "773652481.0;tcp6://[2001:db8::7]:60751,tcp://192.0.2.2:60751");
  EXPECT_THAT(find_job()->coordinator, testing::StartsWith("[2001:db8::7]:")) << "the first of them, whichever it is";
  set("OMPI_COMM_WORLD_LOCAL_SIZE", "4");
  EXPECT_THAT(find_job()->coordinator, testing::StartsWith("127.0.0.1:")) << "one host: nobody outside has to reach it";
  EXPECT_EQ(find_job()->bind_host, "127.0.0.1");
  set("OMPI_MCA_orte_hnp_uri", "773652480.0;usock");
  EXPECT_THAT(error(), HasSubstr("Could not parse coordinator IP address from Open MPI environment."));
  set("OMPI_MCA_orte_hnp_uri", "nonsense;tcp://192.0.2.2:1");
  EXPECT_THAT(error(), HasSubstr("job's number cannot be read"));
}

TEST_F(Environment, SlurmsRule) {
  for (auto [nodes, first] : std::vector<std::pair<const char*, const char*>>{{"node[001-015],h2", "node001"},
                                                                              {"node[001,007-015]", "node001"},
                                                                              {"h2,node[001-003]", "h2"},
                                                                              {"single", "single"},
                                                                              {"gpu[3,7-9]x", "gpu3x"},
                                                                              {"rack2-n[10-12],rack3-n[1-2]", "rack2-n10"}}) {
    set_slurm(nodes);
    auto environment = find_job();
    ASSERT_TRUE(environment);
    EXPECT_EQ(environment->coordinator, fmt::format("{}:{}", first, 1234567 % 4096 + 61440)) << nodes;
    EXPECT_EQ(environment->num_processes, 32);
    EXPECT_EQ(environment->process_index, 5);
    EXPECT_EQ(environment->bind_host, "[::]") << "told otherwise: other hosts come";
  }
  set("SLURM_STEP_NUM_NODES", "1");
  EXPECT_THAT(find_job()->coordinator, testing::StartsWith("127.0.0.1:"));
  set("JAX_COORDINATOR_PORT", "777");
  EXPECT_EQ(find_job()->coordinator, "127.0.0.1:777");
  EXPECT_EQ(find_job()->ports, 1);
  unsetenv("SLURM_LOCALID");
  EXPECT_FALSE(find_job()) << "all five variables make a Slurm step";
}

TEST_F(Environment, WhatTheProgramSaysWins) {
  set_slurm("node1,node2");
  auto environment = find_job({.coordinator_address = "192.0.2.9:8000", .num_processes = 8});
  EXPECT_EQ(environment->coordinator, "192.0.2.9:8000");
  EXPECT_EQ(environment->num_processes, 8) << "said";
  EXPECT_EQ(environment->process_index, 5) << "found out";
}

TEST_F(Environment, ErrorsInJaxsOrder) {
  EXPECT_EQ(error({.num_processes = -1}), "coordinator_address should be defined.");
  EXPECT_EQ(error({.coordinator_address = "localhost:1"}), "Number of processes must be defined.");
  EXPECT_EQ(error({.coordinator_address = "localhost:1", .num_processes = -1}), "The process id of the current process must be defined.");
  EXPECT_EQ(error({.coordinator_address = "localhost:1", .num_processes = -1, .process_id = -2}),
            "process_id must be a nonnegative int. Got process_id=-2 of type int");
  EXPECT_EQ(error({.coordinator_address = "localhost:1", .num_processes = 0, .process_id = 2}),
            "num_processes must be a positive int. Got num_processes=0 of type int");
  EXPECT_EQ(error({.coordinator_address = "localhost:1", .num_processes = 2, .process_id = 2}),
            "process_id and num_processes must be nonnegative, with process_id < num_processes. Got process_id=2, num_processes=2");
  for (const char* address : {"localhost", ":80", "localhost:", "localhost:http", "localhost:70000", "::1:80", "[::1:80", "[]:80"})
    EXPECT_THAT(error({.coordinator_address = address, .num_processes = 2, .process_id = 1}),
                HasSubstr("coordinator_address must be of the form host:port"))
        << address;
  EXPECT_EQ(error({.coordinator_address = "[::1]:80", .num_processes = 2, .process_id = 1}), "");
  EXPECT_THAT(error({.coordinator_address = "localhost:0", .num_processes = 2, .process_id = 1}), HasSubstr("has the port 0"));
}

TEST_F(Environment, TheAddressAndWhereToListen) {
  JobRequest request{.num_processes = 2, .process_id = 0};
  set("JAX_COORDINATOR_ADDRESS", "192.0.2.7:8000");
  EXPECT_EQ(find_job(request)->coordinator, "192.0.2.7:8000");
  EXPECT_EQ(find_job(request)->bind_host, "[::]");
  set("JAX_COORDINATOR_BIND_ADDRESS", "192.0.2.8:8000");
  EXPECT_EQ(find_job(request)->bind_host, "192.0.2.8");
  request.coordinator_bind_address = "[::1]:8000";
  EXPECT_EQ(find_job(request)->bind_host, "[::1]");
  request.coordinator_bind_address = "[::1]:8001";
  EXPECT_THAT(error(request), HasSubstr("must have the same port"));
  EXPECT_EQ(find_job({.coordinator_address = "localhost:9", .num_processes = 1, .process_id = 0, .coordinator_bind_address = "0.0.0.0:9"})
                ->bind_host,
            "0.0.0.0");
}

// As in JAX a cluster is asked for what is missing alone: what else is wrong with it does not matter.
TEST_F(Environment, AClusterIsAskedForWhatIsMissing) {
  set_open_mpi();
  set("OMPI_MCA_orte_hnp_uri", "773652480.0;usock");
  EXPECT_EQ(find_job({.coordinator_address = "192.0.2.9:7"})->process_index, 3);
  unsetenv("OMPI_COMM_WORLD_SIZE");
  EXPECT_THAT(error({.coordinator_address = "192.0.2.9:7"}), HasSubstr("OMPI_COMM_WORLD_SIZE"));
  EXPECT_EQ(find_job({.coordinator_address = "192.0.2.9:7", .num_processes = 9})->process_index, 3);
  unsetenv("OMPI_COMM_WORLD_RANK");
  EXPECT_EQ(find_job({.coordinator_address = "192.0.2.9:7", .num_processes = 9, .process_id = 2})->process_index, 2);
}

TEST_F(Environment, DetectionByName) {
  set_slurm("node1");
  set_open_mpi();
  EXPECT_EQ(find_job()->process_index, 3) << "Open MPI is tried first";
  EXPECT_EQ(find_job({.cluster_detection_method = "slurm"})->process_index, 5);
  EXPECT_EQ(error({.cluster_detection_method = "k8s"}), "coordinator_address should be defined.") << "not present";
  EXPECT_EQ(error({.cluster_detection_method = "slrum"}), "coordinator_address should be defined.") << "unknown";
  EXPECT_FALSE(find_job({.cluster_detection_method = "deactivate"}));
}

TEST_F(Environment, LocalDeviceIdsSayHowMany) {
  JobRequest request{.coordinator_address = "localhost:1", .num_processes = 2, .process_id = 1};
  EXPECT_EQ(find_job(request)->num_cpu_devices, std::nullopt);
  set("JAX_LOCAL_DEVICE_IDS", "0,1,3");
  EXPECT_EQ(find_job(request)->num_cpu_devices, 3);
  set("JAX_LOCAL_DEVICE_IDS", "0,one");
  EXPECT_THAT(error(request), HasSubstr("JAX_LOCAL_DEVICE_IDS must be numbers with commas between them, as in 0,1; got '0,one'"));
  request.local_device_ids = {4, 5};
  EXPECT_EQ(find_job(request)->num_cpu_devices, 2);
  set(kNumDevicesVariable, "7");
  EXPECT_EQ(find_job(request)->num_cpu_devices, 7);
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
