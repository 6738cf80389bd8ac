// What the surroundings say of a job.
#include "runtime/control/environment.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/base/error.h"

namespace shardlab::control {
namespace {

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

}  // namespace
}  // namespace shardlab::control
