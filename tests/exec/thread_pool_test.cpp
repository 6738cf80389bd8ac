// Loops over threads that sleep when there is nothing to do, and over threads that look for more first.
#include "runtime/exec/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace shardlab {
namespace {

class ThreadPools : public ::testing::TestWithParam<int> {
 protected:
  ThreadPool pool{4, std::chrono::microseconds(GetParam())};
};

TEST_P(ThreadPools, EveryItemRunsOnce) {
  for (int round = 0; round < 2000; ++round) {
    const std::int64_t count = round % 37;
    std::vector<std::atomic<int>> runs(std::size_t(count) + 1);
    pool.parallel_for(count, [&](std::int64_t i) { ++runs[std::size_t(i)]; });
    for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(runs[std::size_t(i)], 1) << "item " << i << " of " << count;
    if (round % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // until the workers sleep
  }
}

TEST_P(ThreadPools, LoopsWithinLoopsAndBesideThemEnd) {
  std::atomic<int> runs = 0;
  auto nested = [&] {
    for (int round = 0; round < 200; ++round)
      pool.parallel_for(8, [&](std::int64_t) { pool.parallel_for(4, [&](std::int64_t) { ++runs; }); });
  };
  std::jthread other(nested);
  nested();
  other.join();
  EXPECT_EQ(runs, 2 * 200 * 8 * 4);
}

TEST_P(ThreadPools, TheFirstErrorIsThrownAndTheNextLoopRuns) {
  EXPECT_THROW(pool.parallel_for(100,
                                 [](std::int64_t i) {
                                   if (i == 50) throw std::runtime_error("no");
                                 }),
               std::runtime_error);
  std::atomic<int> runs = 0;
  pool.parallel_for(100, [&](std::int64_t) { ++runs; });
  EXPECT_EQ(runs, 100);
}

INSTANTIATE_TEST_SUITE_P(Watch, ThreadPools, ::testing::Values(0, 50), [](const auto& each) { return std::to_string(each.param) + "us"; });

}  // namespace
}  // namespace shardlab
