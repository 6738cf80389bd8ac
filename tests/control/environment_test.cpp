// What the surroundings say of a job, and whole jobs under mpirun where it is installed.
#include "runtime/control/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/base/error.h"
#include "scenarios/launch/launcher.h"

namespace shardlab::control {
namespace {

using testing::HasSubstr;

class Environment : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name : {kCoordinatorVariable, kTokenVariable, kProcessIndexVariable, kNumProcessesVariable, kNumDevicesVariable, kShmVariable,
                             kTraceDirVariable, "OMPI_MCA_orte_hnp_uri", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"})
      unsetenv(name);
  }
  static void set(const char* name, const char* value) { setenv(name, value, 1); }
  static std::string error() {
    try {
      detect_environment();
      return "";
    } catch (const UserError& error) {
      return error.what();
    }
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

LaunchResult mpirun(int n, std::vector<std::string> steps) {
  LaunchOptions options{.argv = {"mpirun", "--allow-run-as-root", "--oversubscribe", "-n", std::to_string(n), "env", "-u", kCoordinatorVariable,
                                 SHARDLAB_CONTROL_PROCESS},
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
