// Traces of jobs that no command supervises: started by hand, or by mpirun; merged by the coordinator, whoever is killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>

#include "tests/control/kubernetes_server.h"
#include "tests/support/ports.h"
#include "tests/support/shell.h"
#include "traces/database.h"

namespace shardlab {
namespace {

namespace fs = std::filesystem;
using support::Ran;
using support::shell;
using testing::HasSubstr;

class JobTrace : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/job-trace-" + std::to_string(getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string trace() const { return folder_ + "/T.db"; }
  // Three processes, each with its own shell, started by hand at one address; the shell's code is the worst.
  Ran by_hand(const std::string& variables, const std::string& steps) const {
    std::string address = "localhost:" + std::to_string(support::unused_port());
    return shell("export SHARDLAB_NUM_CPU_DEVICES=2 " + variables + "; code=0; pids=; for i in 0 1 2; do timeout 60 " +
                 SHARDLAB_COORDINATION_PROCESS + " at=" + address + ",$i,3 " + steps +
                 " & pids=\"$pids $!\"; done; for p in $pids; do wait $p || code=1; done; exit $code");
  }
  std::int64_t number(const std::string& sql) const { return traces::Database(trace(), traces::OpenMode::kRead).integer(sql); }
  std::set<std::string> left_over() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.insert(entry.path().filename().string());
    return names;
  }
  // It is there some time after the last process where none that ended in order waited for it.
  bool await_trace() const {
    for (int i = 0; i < 1000 && left_over() != std::set<std::string>{"T.db"}; ++i) usleep(20'000);
    return fs::exists(trace());
  }
  void expect_whole(int processes) const {
    EXPECT_EQ(left_over(), (std::set<std::string>{"T.db"}));
    EXPECT_EQ(number("SELECT count(*) FROM processes WHERE closed = 1"), processes);
    EXPECT_EQ(number("SELECT count(*) FROM devices"), 2 * processes);
    EXPECT_EQ(number("SELECT count(*) FROM collectives WHERE state = 0 AND seq >= 0"), number("SELECT count(*) FROM collectives"));
    EXPECT_GE(number("SELECT count(*) FROM collectives"), 3);
    EXPECT_EQ(number("SELECT count(*) FROM diagnoses WHERE severity = 'error'"), 0);
    EXPECT_EQ(number("SELECT value FROM meta WHERE key = 'running'"), 0);
  }

  std::string folder_;
};

// When the processes have ended the trace is there.
TEST_F(JobTrace, ByHand) {
  Ran ran = by_hand("SHARDLAB_TRACE=" + trace(), "sum sum sum");
  ASSERT_EQ(ran.code, 0) << ran.output;
  ASSERT_TRUE(fs::exists(trace())) << ran.output;
  expect_whole(3);
}

TEST_F(JobTrace, PartsThatTheUserNamedStay) {
  Ran ran = by_hand("SHARDLAB_TRACE=" + trace() + " SHARDLAB_TRACE_DIR=" + folder_ + "/parts", "sum sum sum");
  ASSERT_EQ(ran.code, 0) << ran.output;
  EXPECT_TRUE(fs::exists(folder_ + "/parts/part-2.db"));
  fs::remove_all(folder_ + "/parts");
  expect_whole(3);
}

// The verdict is in it, and what the killed process recorded to its last call; process 0, too, may be the one.
TEST_F(JobTrace, ItSurvivesAKill) {
  for (int victim : {2, 0}) {
    fs::remove(trace());
    Ran ran = by_hand("SHARDLAB_TRACE=" + trace(), "sum sum '@" + std::to_string(victim) + " kill' sum");
    EXPECT_EQ(ran.code, 1);
    ASSERT_TRUE(await_trace()) << ran.output;
    EXPECT_EQ(number("SELECT count(*) FROM processes WHERE closed = 1"), 2);
    // The two sums, each with the array that it is of.
    EXPECT_GE(number("SELECT count(*) FROM launches WHERE process = " + std::to_string(victim)), 4);
    // Process 1 as many, and the sum that it waits in, unless it is told of the end before it comes to that.
    EXPECT_GE(number("SELECT count(*) FROM launches WHERE process = 1"),
              number("SELECT count(*) FROM launches WHERE process = " + std::to_string(victim)));
    EXPECT_EQ(number("SELECT count(*) FROM diagnoses WHERE severity = 'error' AND code = 'process-exited'"), 1);
    EXPECT_EQ(number("SELECT count(*) FROM import_log WHERE severity = 'error'"), 0);
  }
}

// Nobody of ours sets anything: the cluster's variables are all there is. Three tasks of one node.
TEST_F(JobTrace, FoundThroughSlurm) {
  std::string job = std::to_string(4096 + getpid() % 4096);
  Ran ran = shell("export SHARDLAB_NUM_CPU_DEVICES=2 SHARDLAB_TRACE=" + trace() + " SLURM_JOB_ID=" + job +
                  " SLURM_STEP_ID=0 SLURM_STEP_NODELIST=localhost SLURM_STEP_NUM_NODES=1 SLURM_NTASKS=3; code=0; pids=; for i in 0 1 2; do "
                  "SLURM_PROCID=$i SLURM_LOCALID=$i timeout 60 " +
                  SHARDLAB_COORDINATION_PROCESS +
                  " sum sum sum & pids=\"$pids $!\"; done; for p in $pids; do wait $p || code=1; done; exit $code");
  ASSERT_EQ(ran.code, 0) << ran.output;
  expect_whole(3);
}

// Each pod asks the API server how many there are; the name of the first one cannot be resolved here and is given.
TEST_F(JobTrace, FoundThroughKubernetes) {
  testing_::KubernetesServer server;
  for (int p = 0; p < 3; ++p)
    server.put("/api/v1/namespaces/training/pods/pod-" + std::to_string(p),
               R"({"kind": "Pod", "metadata": {"name": "p", "ownerReferences": [{"kind": "Job", "name": "train"}]}, "spec": {}})");
  server.put("/apis/batch/v1/namespaces/training/jobs/train",
             R"({"kind": "Job", "metadata": {"name": "train", "uid": "u-1"}, "spec": {"parallelism": 3, "completionMode": "Indexed"}})");
  Ran ran =
      shell("export SHARDLAB_NUM_CPU_DEVICES=2 SHARDLAB_TRACE=" + trace() +
            " JAX_COORDINATOR_ADDRESS=localhost:" + std::to_string(support::unused_port()) +
            " KUBERNETES_SERVICE_HOST=127.0.0.1 KUBERNETES_SERVICE_PORT=" + std::to_string(server.port()) +
            " SHARDLAB_KUBERNETES_SERVICE_ACCOUNT=" + server.service_account().string() +
            "; code=0; pids=; for i in 0 1 2; do HOSTNAME=pod-$i JOB_COMPLETION_INDEX=$i timeout 60 " + SHARDLAB_COORDINATION_PROCESS +
            " sum sum sum & pids=\"$pids $!\"; done; for p in $pids; do wait $p || code=1; done; exit $code");
  ASSERT_EQ(ran.code, 0) << ran.output;
  EXPECT_GE(server.requests().size(), 6u);
  expect_whole(3);
}

class JobTraceOverMpi : public JobTrace {
 protected:
  void SetUp() override {
    if (shell("mpirun --version").code != 0) GTEST_SKIP() << "mpirun is not installed";
    JobTrace::SetUp();
  }
};

TEST_F(JobTraceOverMpi, Mpirun) {
  Ran ran = shell("SHARDLAB_NUM_CPU_DEVICES=2 SHARDLAB_TRACE=" + trace() + " timeout 60 mpirun --allow-run-as-root --oversubscribe -n 4 " +
                  SHARDLAB_COORDINATION_PROCESS + " sum sum sum");
  ASSERT_EQ(ran.code, 0) << ran.output;
  expect_whole(4);
}

TEST_F(JobTraceOverMpi, TheCommandOnHosts) {
  Ran ran = shell("timeout 60 $BIN/shardlab run --hosts localhost:3 -d 2 --trace " + trace() + " -- " + SHARDLAB_COORDINATION_PROCESS +
                  " sum sum sum");
  if (ran.output.find("not enough slots") != std::string::npos) GTEST_SKIP() << ran.output;
  ASSERT_EQ(ran.code, 0) << ran.output;
  expect_whole(3);
}

}  // namespace
}  // namespace shardlab
