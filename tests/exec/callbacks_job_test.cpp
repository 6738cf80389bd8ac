// Functions of the user's on the host, where processes share devices and where a run is recorded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "runtime/comm/observer.h"
#include "runtime/exec/array_ops.h"
#include "runtime/exec/callbacks.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/multihost.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/shard_map.h"
#include "tests/support/thread_job.h"

namespace shardlab {
namespace {

using testing::on_job;

// Who called, by all processes.
class Calls {
 public:
  void add(int process) {
    std::lock_guard lock(mutex_);
    ++counts_[std::size_t(process)];
  }
  std::vector<int> take() {
    std::lock_guard lock(mutex_);
    return std::exchange(counts_, std::vector<int>(3));
  }

 private:
  std::mutex mutex_;
  std::vector<int> counts_ = std::vector<int>(3);
};

TEST(CallbacksOfAJob, TheFirstDevicesProcessCallsAndAllHaveTheResult) {
  Calls calls;
  const std::vector<float> wanted{1, 3, 5, 7, 9, 11};
  on_job({2, 1, 3}, [&] {
    Mesh mesh({3, 2}, {"x", "y"}, {2, 0, 4, 1, 3, 5});
    Array a = device_put(arange(6.0).reshape({3, 2}), NamedSharding(mesh, P("x", "y")));
    auto twice = [&calls, self = process_index()](const HostArrays& args) {
      calls.add(self);
      std::vector<float> values = args[0].to_vector<float>();
      for (float& x : values) x *= 2;
      return HostArray(values, args[0].shape());
    };
    auto f = jit([&](const Array& x) { return pure_callback(twice, x.type(), {x}) + 1; });
    EXPECT_EQ(f(a).to_vector<float>(), wanted);
    Array eager = pure_callback(twice, a.type(), {a}) + 1;
    EXPECT_EQ(eager.to_vector<float>(), wanted);
    // Each process may call by itself besides.
    if (process_index() == 2) debug::callback([&](const HostArrays&) { calls.add(2); }, {1.0});
    EXPECT_EQ(f(a).to_vector<float>(), wanted);
    io_callback([&, self = process_index()](const HostArrays&) { return calls.add(self), HostArrays(); }, std::vector<TensorType>{}, {a});
    effects_barrier();
  });
  EXPECT_EQ(calls.take(), (std::vector<int>{0, 4, 1})) << "device 2 is process 1's";
  on_job({2, 1, 3}, [&] {
    Mesh mesh({6}, {"x"}, {0, 1, 2, 3, 4, 5});
    auto g = jit(shard_map(
        [&, self = process_index()](const Array& x) {
          debug::callback([&calls, self](const HostArrays&) { calls.add(self); }, {x});
          return x;
        },
        {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P("x")}}));
    g(device_put(arange(6), NamedSharding(mesh, P("x"))));
    effects_barrier();
  });
  EXPECT_EQ(calls.take(), (std::vector<int>{2, 1, 3})) << "each device calls where it is";
}

class Steps final : public comm::Observer {
 public:
  void on_compute(const comm::Launch&, std::string_view op, Where where, comm::Ns begin, comm::Ns end) override {
    if (op.ends_with("_callback")) seen.push_back(std::string(op) + " at " + where.text());
    EXPECT_LE(begin, end);
  }
  std::vector<std::string> seen;
};

TEST(CallbacksOfAJob, StepsAreRecordedWithTheirLine) {
  auto steps = std::make_shared<Steps>();
  ContextOptions options;
  options.devices_per_process = {2};
  options.observers = {steps};
  Context::set_current(std::make_shared<Context>(options));
  Array x = device_put(arange(4), NamedSharding(Mesh({2}, {"i"}, {0, 1}), P("i")));
  jit([](const Array& y) {
    debug::callback([](const HostArrays&) {}, {y});
    return y;
  })(x)
      .block_until_ready();
  Context::set_current(nullptr);
  ASSERT_EQ(steps->seen.size(), 1U);
  EXPECT_THAT(steps->seen[0], ::testing::StartsWith("debug_callback at callbacks_job_test.cpp:"));
}

}  // namespace
}  // namespace shardlab
