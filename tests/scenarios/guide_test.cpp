// The programs of the multi-controller guide: with 1, 2 and 4 processes by the command, by hand with a coordinator's address, and under
// mpirun; over each transport.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/ports.h"
#include "tests/support/shell.h"

namespace {

using testing::HasSubstr;

using shardlab::support::Ran;
using shardlab::support::shell;

// What the command says where it cannot start processes by mpirun, or was built without MPI: it refuses.
std::string why_not_over_mpi() {
  static const Ran ran = shell("$BIN/shardlab run --transport mpi -n 1 -- true");
  return ran.code == 3 ? ran.output : "";
}

enum class By { kCommand, kCommandOverTcp, kCommandOverMpi, kHand, kMpirun };

struct Way {
  By by;
  int processes;
};

class Guide : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (GetParam().by == By::kMpirun && shell("mpirun --version").code != 0) GTEST_SKIP() << "mpirun is not installed";
    if (std::string why = why_not_over_mpi(); GetParam().by == By::kCommandOverMpi && !why.empty()) GTEST_SKIP() << why;
  }

  // The program with 8 devices over all processes; the output of all of them.
  std::string run(const std::string& program) {
    auto [by, n] = GetParam();
    std::string count = std::to_string(n), devices = std::to_string(8 / n);
    std::string line;
    switch (by) {
      case By::kCommand:
      case By::kCommandOverTcp:
        line = "$BIN/shardlab run --limit 60 -n " + count + " -d " + devices + (by == By::kCommandOverTcp ? " --transport tcp" : "") +
               " -- $BIN/" + program;
        break;
      case By::kCommandOverMpi:
        line = "timeout 60 $BIN/shardlab run --transport mpi -n " + count + " -d " + devices + " -- $BIN/" + program;
        break;
      case By::kHand: {
        std::string port = std::to_string(shardlab::support::unused_port());  // for the coordinator that process 0 starts
        line = "export SHARDLAB_NUM_CPU_DEVICES=" + devices + "; code=0; pids=; for i in $(seq 0 " + std::to_string(n - 1) + "); do $BIN/" +
               program + " localhost:" + port + " $i " + count +
               " & pids=\"$pids $!\"; done; for p in $pids; do wait $p || code=1; done; exit $code";
        break;
      }
      case By::kMpirun:
        line = "SHARDLAB_NUM_CPU_DEVICES=" + devices + " timeout 60 mpirun --allow-run-as-root --oversubscribe -n " + count + " $BIN/" +
               program;
        break;
    }
    Ran ran = shell(line);
    EXPECT_EQ(ran.code, 0) << line << "\n" << ran.output;
    return ran.output;
  }

  static int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  }
};

TEST_P(Guide, Toy) {
  std::string output = run("guide_toy");
  int n = GetParam().processes;
  for (int p = 0; p < n; ++p) EXPECT_THAT(output, HasSubstr("process=" + std::to_string(p) + " got result: -0.12398731708526611\n"));
  for (const char* line : {"device TFRT_CPU_0 has local data [[0 1 2 3]]\n", "device TFRT_CPU_1 has local data [[4 5 6 7]]\n",
                           "device TFRT_CPU_2 has local data [[ 8  9 10 11]]\n", "device TFRT_CPU_7 has local data [[28 29 30 31]]\n"})
    EXPECT_EQ(count(output, line), 1) << output;
}

TEST_P(Guide, Devices) {
  std::string output = run("guide_devices");
  EXPECT_EQ(count(output,
                  "global devices = [CpuDevice(id=0), CpuDevice(id=1), CpuDevice(id=2), CpuDevice(id=3), CpuDevice(id=4), "
                  "CpuDevice(id=5), CpuDevice(id=6), CpuDevice(id=7)]\n"),
            GetParam().processes);
  EXPECT_EQ(count(output, "process id = "), GetParam().processes);
  if (GetParam().processes == 4) { EXPECT_THAT(output, HasSubstr("local devices = [CpuDevice(id=2), CpuDevice(id=3)]\n")); }
}

TEST_P(Guide, Matmul) {
  std::string output = run("guide_matmul");
  EXPECT_THAT(output, HasSubstr("│        CPU 0,1        │"));
  EXPECT_THAT(output, HasSubstr("NamedSharding(mesh=Mesh('a': 4, 'b': 2), spec=PartitionSpec('a',), memory_kind=device)\n"));
  EXPECT_THAT(output, HasSubstr("[[2048. 2048. 2048. ... 2048. 2048. 2048.]\n"));
  EXPECT_EQ(
      count(output, "RuntimeError: Fetching value for `jax.Array` that spans non-addressable (non process local) devices is not possible."),
      GetParam().processes > 1 ? GetParam().processes : 0);
}

TEST_P(Guide, Subset) {
  std::string output = run("guide_subset");
  int n = GetParam().processes, holders = n == 1 ? 1 : n / 2;
  EXPECT_EQ(count(output, "device TFRT_CPU_4 has local data [[ 0  1  2  3  4  5  6  7]\n"), 1) << output;
  EXPECT_EQ(count(output, " got result: 0.096585"), holders) << output;
  EXPECT_EQ(count(output, " got result: Array(shape=(), dtype=float32)\n"), n - holders) << output;
}

TEST_P(Guide, Pipeline) {
  std::string output = run("guide_pipeline");
  EXPECT_EQ(count(output, "has seen 12 microbatches\n"), GetParam().processes);
}

TEST_P(Guide, FromJax) { EXPECT_EQ(count(run("from_jax"), "as in docs/from-jax.md\n"), 1); }

TEST_P(Guide, Data) { EXPECT_EQ(count(run("guide_data"), "made all its arrays\n"), GetParam().processes); }

// What the document prints on the machines that it ran on: each process's lines, without the launcher's marks.
std::string printed_by(int process, const std::string& variables, const std::string& options, const std::string& program) {
  Ran ran = shell(variables + " $BIN/shardlab run --limit 60 " + options + " -- $BIN/" + program);
  EXPECT_EQ(ran.code, 0) << ran.output;
  const std::string mark = fmt::format("[{}] ", process);
  std::istringstream lines(ran.output);
  std::string text;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(mark) && line.find("RuntimeError") == line.npos) text += line.substr(mark.size()) + '\n';
  return text;
}

std::string golden(const std::string& name) {
  std::ifstream file(std::string(std::getenv("SHARDLAB_SOURCE_DIR")) + "/tests/scenarios/goldens/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

constexpr const char* kV5e = "SHARDLAB_DEVICE_PROFILE=v5e-4x4";

TEST(Document, ToyOnTheCpusOfFourProcesses) {
  for (int p : {0, 3})
    EXPECT_EQ(printed_by(p, "SHARDLAB_DEVICE_PROFILE=cpu-tfrt", "-n 4 -d 2", "guide_toy"),
              golden("guide_toy_" + std::to_string(p) + ".txt"));
}

TEST(Document, DevicesOfGpusAndOfAPod) {
  EXPECT_EQ(printed_by(1, "SHARDLAB_DEVICE_PROFILE=gpu-8", "-n 4 -d 2", "guide_devices"), golden("guide_devices_gpu_1.txt"));
  EXPECT_EQ(printed_by(0, kV5e, "-n 4 -d 4", "guide_devices"), golden("guide_devices_v5e_0.txt"));
}

TEST(Document, PicturesOfAPod) {
  std::string matmul = printed_by(0, kV5e, "-n 4 -d 4", "guide_matmul");
  EXPECT_EQ(matmul.substr(0, matmul.find("[[2048.")), golden("guide_matmul_v5e_0.txt"));
  // The sum is that of XLA on CPUs; the document's TPUs have another sine, 0.09658563.
  EXPECT_EQ(printed_by(0, kV5e, "-n 4 -d 4", "guide_subset"), golden("guide_subset_v5e_0.txt"));
  EXPECT_EQ(printed_by(3, kV5e, "-n 4 -d 4", "guide_subset"), golden("guide_subset_v5e_3.txt"));
}

std::string way_name(const testing::TestParamInfo<Way>& info) {
  static constexpr const char* kNames[] = {"Command", "CommandOverTcp", "CommandOverMpi", "Hand", "Mpirun"};
  return kNames[int(info.param.by)] + std::to_string(info.param.processes);
}
INSTANTIATE_TEST_SUITE_P(, Guide,
                         testing::Values(Way{By::kCommand, 1}, Way{By::kCommand, 2}, Way{By::kCommand, 4}, Way{By::kCommandOverTcp, 4},
                                         Way{By::kCommandOverMpi, 4}, Way{By::kHand, 2}, Way{By::kHand, 4}, Way{By::kMpirun, 2},
                                         Way{By::kMpirun, 4}),
                         way_name);

// More processes than cores sleep while they wait.
TEST(Crowd, SixteenProcessesRunTheToy) {
  Ran ran = shell("$BIN/shardlab run --limit 60 -n 16 -d 1 -- $BIN/toy");
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("[0] -0.12398732"));
}

TEST(OnHosts, ByMpirun) {
  if (shell("mpirun --version").code != 0) GTEST_SKIP() << "mpirun is not installed";
  Ran ran = shell("timeout 60 $BIN/shardlab run --hosts localhost:4 -d 2 -- $BIN/toy");
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("-0.12398732"));
  for (const char* bad : {"localhost", "localhost:0", "a:2,,b:1", "a:b"}) {
    ran = shell(std::string("$BIN/shardlab run --hosts ") + bad + " -- true");
    EXPECT_EQ(ran.code, 3) << bad;
    EXPECT_THAT(ran.output, HasSubstr("as in a:2,b:2")) << bad;
  }
  EXPECT_EQ(shell("$BIN/shardlab run --hosts localhost:2 --limit 60 -- true").code, 0);
  EXPECT_EQ(shell("$BIN/shardlab run --hosts localhost:2 -n 2 -- true").code, 3);
  EXPECT_EQ(shell("$BIN/shardlab run --transport mpi -n 2 --limit 1 -- sleep 60").code, 5);
}

// A dead peer is known by the control plane; mpirun leaves the others a second to say so.
TEST(OverMpi, ADeadPeerEndsInAVerdict) {
  if (std::string why = why_not_over_mpi(); !why.empty()) GTEST_SKIP() << why;
  std::string log = testing::TempDir() + "/mpi-dead-" + std::to_string(getpid());
  Ran ran = shell(
      "timeout 100 $BIN/shardlab run --transport mpi -n 3 -d 2 -- sh -c 'echo rank $OMPI_COMM_WORLD_RANK is $$ here; "
      "exec $0 1000000' $BIN/train_step > " +
      log + " 2>&1 & all=$!; for i in $(seq 300); do grep -q 'step 20 ' " + log +
      " && break; sleep 0.1; done; kill -9 $(sed -n 's/.*rank 1 is \\([0-9]*\\) here.*/\\1/p' " + log + "); wait $all");
  std::string output = shell("grep -v ' step ' " + log + "; rm " + log).output;
  EXPECT_NE(ran.code, 0) << output;
  EXPECT_NE(ran.code, 124) << output;
  EXPECT_THAT(output, HasSubstr("process 1 disappeared")) << ran.output;
}

TEST(OverMpi, NeedsMpirun) {
  const std::string address = "localhost:" + std::to_string(shardlab::support::unused_port());
  Ran ran = shell("SHARDLAB_TRANSPORT=mpi $BIN/guide_toy " + address + " 0 2 & one=$!; SHARDLAB_TRANSPORT=mpi $BIN/guide_toy " + address +
                  " 1 2; wait $one");
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.output, testing::AnyOf(HasSubstr("the transport mpi joins the processes that one mpirun started"),
                                         HasSubstr("this build has no MPI")));
}

TEST(Verdict, IsPrintedOnce) {
  Ran ran = shell("$BIN/shardlab run --limit 60 -n 4 -d 2 -- $BIN/deadlock_swapped");
  EXPECT_EQ(ran.code, 2) << ran.output;
  std::size_t first = ran.output.find("program-mismatch:");
  ASSERT_NE(first, std::string::npos) << ran.output;
  EXPECT_EQ(ran.output.find("program-mismatch:", first + 1), std::string::npos) << ran.output;
}

// Who plans a first call longer than the others is no straggler; who works as long is.
TEST(Straggler, IsNobodyForPlanningAFirstCall) {
  const std::string trace = testing::TempDir() + "/first-call-" + std::to_string(getpid()) + ".db";
  auto told = [&](const std::string& how) {
    Ran ran = shell("$BIN/shardlab run --limit 60 -n 4 -d 1 --trace " + trace + " -- " + SHARDLAB_FIRST_CALL + how);
    EXPECT_EQ(ran.code, 0) << ran.output;
    return shell("$BIN/shardlab report " + trace).output;
  };
  EXPECT_THAT(told(""), testing::Not(HasSubstr("straggler")));
  EXPECT_THAT(told(" work"), testing::AllOf(HasSubstr("straggler"), HasSubstr("processes 1, 2 and 3 waited"), HasSubstr("for process 0")));
  std::remove(trace.c_str());
}

// What a process went by that did otherwise is told with what another one saw.
TEST(Verdict, TellsTheValueThatDecided) {
  Ran ran = shell(std::string("$BIN/shardlab run --limit 60 -n 4 -d 1 -- ") + SHARDLAB_FIRST_CALL + " decide");
  EXPECT_EQ(ran.code, 2) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("missing-participant: process 3 runs max(P('d',)) at first_call.cpp:27"));
  EXPECT_THAT(ran.output, HasSubstr("may have decided: fetched value = 6.0 on process 3, 0.0 on process 0 at first_call.cpp:27"));
}

TEST(Leaving, LaunchesThatOutliveMain) {
  const std::string program = SHARDLAB_LEAVES_EARLY;
  Ran alone = shell("SHARDLAB_NUM_CPU_DEVICES=8 " + program), together = shell("$BIN/shardlab run --limit 60 -n 4 -d 2 -- " + program);
  ASSERT_EQ(alone.code, 0) << alone.output;
  ASSERT_EQ(together.code, 0) << together.output;
  EXPECT_THAT(alone.output, HasSubstr("total "));
  EXPECT_THAT(together.output, HasSubstr(alone.output));
}

}  // namespace
