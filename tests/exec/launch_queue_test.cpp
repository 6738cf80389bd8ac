// The order of launches, at random: each begins after those before it on its devices and those that make its operands have ended, the ones
// in order one by one; and whatever is ready gets a thread.
#include "runtime/exec/launch_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "runtime/exec/thread_pool.h"

namespace shardlab {
namespace {

struct Ran {
  std::vector<int> devices;
  std::vector<std::int64_t> operands;
  bool in_order = false;
  int begin = -1, end = -1;  // in the order of all begins and ends
};

class RandomLaunches : public ::testing::TestWithParam<int> {};

TEST_P(RandomLaunches, KeepTheirOrder) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  auto below = [&](int limit) { return int(random() % unsigned(limit)); };
  const int devices = 1 + below(6), launches = 300, runners = 1 + below(4), in_order = below(3) == 0 ? 0 : 1 + below(9);
  std::vector<Ran> ran(static_cast<std::size_t>(launches));
  std::vector<std::shared_ptr<LaunchState>> states;
  std::atomic<int> clock = 0, running_in_order = 0;
  {
    LaunchQueue queue(runners);
    for (std::int64_t i = 0; i < launches; ++i) {
      Ran& each = ran[std::size_t(i)];
      for (int device = 0; device < devices; ++device)
        if (below(devices) == 0) each.devices.push_back(device);
      for (int k = below(3); k > 0 && i > 0; --k)
        if (std::int64_t operand = i - 1 - below(int(std::min<std::int64_t>(i, 20))); !states[std::size_t(operand)]->finished())
          each.operands.push_back(operand);
      each.in_order = below(10) < in_order;
      states.push_back(std::make_shared<LaunchState>());
      QueuedLaunch launch{i, each.devices, each.operands, each.in_order, states.back(), {}};
      auto run = [&, i, state = states.back()] {
        Ran& self = ran[std::size_t(i)];
        self.begin = clock++;
        if (self.in_order) {
          EXPECT_EQ(++running_in_order, 1);
        }
        if (i % 7 == 0) std::this_thread::yield();
        if (self.in_order) --running_in_order;
        self.end = clock++;
        state->finish(nullptr);
      };
      if (!each.in_order && below(4) == 0 && queue.may_begin(launch)) {
        run();  // as the issuing thread does
        continue;
      }
      launch.run = run;
      queue.add(std::move(launch));
      if (below(40) == 0) queue.wait_until_empty();
    }
  }
  int last_in_order = -1;
  std::vector<int> last_end(static_cast<std::size_t>(devices), -1);
  for (std::size_t i = 0; i < ran.size(); ++i) {
    ASSERT_GE(ran[i].begin, 0) << i;
    for (int device : ran[i].devices) {
      EXPECT_GT(ran[i].begin, last_end[std::size_t(device)]) << "launch " << i << " on device " << device;
      last_end[std::size_t(device)] = ran[i].end;
    }
    for (std::int64_t operand : ran[i].operands) EXPECT_GT(ran[i].begin, ran[std::size_t(operand)].end) << "launch " << i;
    if (!ran[i].in_order) continue;
    EXPECT_GT(ran[i].begin, last_in_order) << "launch " << i;
    last_in_order = ran[i].end;
  }
}

INSTANTIATE_TEST_SUITE_P(, RandomLaunches, ::testing::Range(0, 8));

TEST(ThreadPool, LoopsOfSeveralThreadsAndWithinLoops) {
  ThreadPool pool(3);
  std::atomic<std::int64_t> sum = 0;
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 4; ++caller)
      callers.emplace_back([&] {
        for (int round = 0; round < 50; ++round)
          pool.parallel_for(20, [&](std::int64_t i) { pool.parallel_for(5, [&](std::int64_t j) { sum += i * j; }); });
      });
  }
  EXPECT_EQ(sum, 4 * 50 * 190 * 10);
}

}  // namespace
}  // namespace shardlab
