// Random programs on eight devices of the stand-in for a GPU, sharded against whole, each four times: by calls, as a graph, as the same
// graph, and as a launch that is repeated without its steps. Nothing here has run on a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "runtime/exec/context.h"
#include "tests/fuzz/check.h"
#include "tests/virtualdev/cuda/recording_gpu.h"
#include "virtualdev/cuda/cuda_backend.h"

namespace shardlab {
namespace {

class RandomProgramsOfTheStandIn : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ::setenv("SHARDLAB_FUZZ_REPEATS", "4", 1); }
  // What the program's graphs did, or the rules that it broke.
  cuda::GraphedGpu::Counts check(unsigned seed) {
    SCOPED_TRACE(seed);
    auto gpu = std::make_shared<testing::RecordingGpu>(1);
    gpu->reuse_memory();
    std::shared_ptr<cuda::CudaBackend> backend;
    ContextOptions options;
    options.devices_per_process = {8};
    options.make_backend = [&](const std::vector<int>& ordinals) {
      return backend =
                 std::make_shared<cuda::CudaBackend>(gpu, std::make_shared<testing::RecordingCompiler>(),
                                                     cuda::CudaOptions{.ordinals = ordinals, .devices_per_gpu = 8, .kernel_folder = ""});
    };
    Context::set_current(std::make_shared<Context>(std::move(options)));
    EXPECT_EQ(fuzz::check_program(seed).failure, "");
    const cuda::GraphedGpu::Counts counts = backend->graph_counts();
    EXPECT_EQ(counts.refused, "");
    backend.reset();
    Context::set_current(nullptr);
    EXPECT_THAT(gpu->faults(), ::testing::IsEmpty());
    return counts;
  }
};

TEST_F(RandomProgramsOfTheStandIn, AreTheSame) {
  int graphs = 0, repeated = 0;
  for (unsigned seed = 0; seed < 5; ++seed) {
    const auto counts = check(seed);
    graphs += counts.by_graph;
    repeated += counts.repeated;
  }
  EXPECT_GT(graphs, 0);
  EXPECT_GT(repeated, 0);
}

TEST_F(RandomProgramsOfTheStandIn, OneBySeed) {
  const char* seed = std::getenv("SHARDLAB_FUZZ_PROGRAM");
  if (seed == nullptr) GTEST_SKIP() << "SHARDLAB_FUZZ_PROGRAM is not set";
  check(unsigned(std::atoll(seed)));
}

// The long run: as fuzz_programs_test's.
TEST_F(RandomProgramsOfTheStandIn, HoldForAsLongAsAsked) {
  const char *seconds = std::getenv("SHARDLAB_FUZZ_SECONDS"), *first = std::getenv("SHARDLAB_FUZZ_SEED");
  if (seconds == nullptr) GTEST_SKIP() << "SHARDLAB_FUZZ_SECONDS is not set";
  const unsigned begin = first == nullptr ? 0 : unsigned(std::atoll(first)) * 1'000'000u;
  unsigned seed = begin;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoll(seconds));
  int graphs = 0, repeated = 0;
  while (std::chrono::steady_clock::now() < end && !HasFailure()) {
    const auto counts = check(seed++);
    graphs += counts.by_graph;
    repeated += counts.repeated;
  }
  std::printf("%u programs, from seed %u on; %d graphs launched, %d of them without their steps\n", seed - begin, begin, graphs, repeated);
}

}  // namespace
}  // namespace shardlab
