// Launches of one process on devices of their own run beside each other; those that share a device, or need another's result, do not.
// What a kernel waits for here is another launch, never a time: kLimit alone ends what would hang.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/context.h"
#include "runtime/exec/device_mesh.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/graph/builder.h"
#include "runtime/ops/registry.h"
#include "tests/support/eight_devices.h"
#include "tests/support/thread_job.h"

namespace shardlab {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::seconds kLimit{60};
constexpr std::int64_t kSide = 256;  // of what is handed over

// Where kernels meet and are held.
class Place {
 public:
  void reset() {
    std::lock_guard lock(mutex_);
    arrived_ = 0;
    open_ = false;
  }
  void arrive() {
    std::lock_guard lock(mutex_);
    ++arrived_;
    changed_.notify_all();
  }
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait_for(int arrived) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kLimit, [&] { return arrived_ >= arrived; })) throw std::runtime_error("nobody came");
  }
  void wait_until_open() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kLimit, [&] { return open_; })) throw std::runtime_error("nobody opened");
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  bool open_ = false;
};

Place& meeting() {
  static Place place;
  return place;
}
Place& gate() {
  static Place place;
  return place;
}

void copy(const KernelArgs& args) { std::copy_n(args.operands[0].data, args.operands[0].type.bytes(), args.results[0].data); }

// An op of a user's own: `kernel` on each device by itself.
OpDef op_of(const char* name, void (*kernel)(const KernelArgs&)) {
  OpDef made = *find_op("sort");  // its shapes and factors
  made.name = name;
  made.expand = [](GraphBuilder& b, const OpDef& self, std::span<const Arg> args, const Attrs&) {
    return b.emit(self, {std::get<ValueId>(args[0])}, Attrs{{"axis", std::int64_t(1)}});
  };
  made.kernel = kernel;
  made.uses_position = true;  // its rows are not computed apart: the tests count what runs
  return made;
}

Array run(const OpDef& op, const Array& x, std::source_location where = std::source_location::current()) {
  return apply(op, {Operand(x, where)}, {}, Where::from(where)).at(0);
}

// Ends when two have begun.
Array meet(const Array& x) {
  static const OpDef op = op_of("meet", [](const KernelArgs& args) {
    meeting().arrive();
    meeting().wait_for(2);
    copy(args);
  });
  return run(op, x);
}

// Says that it has begun, and reads its operand once the gate is open.
Array held(const Array& x) {
  static const OpDef op = op_of("held", [](const KernelArgs& args) {
    gate().arrive();
    gate().wait_until_open();
    copy(args);
  });
  return run(op, x);
}

Array refused(const Array& x, std::source_location where = std::source_location::current()) {
  static const OpDef op = op_of("refused", [](const KernelArgs&) { throw std::runtime_error("not this one"); });
  return run(op, x, where);
}

Array on(int device, float first = 0) {
  return device_put(arange(kSide * kSide, float32).reshape({kSide, kSide}) + first, devices()[std::size_t(device)]);
}

float first_of(const Array& x) { return x.to_vector<float>()[0]; }

std::string text_of_error(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) { return error.what(); }
  return "no error";
}

class Beside : public OnEightDevices {
 protected:
  void SetUp() override {
    OnEightDevices::SetUp();
    meeting().reset();
    gate().reset();
  }
};

TEST_F(Beside, LaunchesOnDisjointDevicesMeet) {
  Array x = on(2, 1), y = on(5, 2);
  Array a = meet(x), b = meet(y);
  EXPECT_EQ(first_of(a), 1);
  EXPECT_EQ(first_of(b), 2);
}

TEST_F(Beside, SoDoLaunchesOnHalvesOfTheDevices) {
  std::vector<Device> all = devices();
  std::vector<Array> inputs, results;
  for (int half = 0; half < 2; ++half) {
    Mesh mesh = make_mesh({4}, {"d"}, std::vector<Device>(all.begin() + 4 * half, all.begin() + 4 * (half + 1)));
    inputs.push_back(device_put(wave({kSide, kSide}), NamedSharding(mesh, P())));
  }
  // Replicas share a computation, so each half arrives once.
  auto f = jit([](const Array& x) { return meet(x) + 1; });
  for (const Array& x : inputs) results.push_back(f(x));
  expect_same(results[0], wave({kSide, kSide}) + 1, "the first half");
  expect_same(results[1], wave({kSide, kSide}) + 1, "the second half");
}

// Those that wait for others hold no thread: however many they are, the one that is waited for gets one.
TEST_F(Beside, WhatWaitsHoldsNoThread) {
  std::vector<Array> ends;
  Array first = on(0), last = on(7);
  Array x = meet(first);
  for (int device = 0; device < 7; ++device) {
    Array behind = device == 0 ? x : device_put(x, devices()[std::size_t(device)]);
    for (int i = 0; i < LaunchQueue::kAheadMax - 10; ++i) behind = behind + 1;
    ends.push_back(behind);
  }
  Array y = meet(last);
  EXPECT_EQ(first_of(y), 0);
  for (const Array& end : ends) EXPECT_EQ(first_of(end), float(LaunchQueue::kAheadMax - 10));
}

// Nor do they hold the issuing thread, nor what is small and ready.
TEST_F(Beside, SmallLaunchesOnFreeDevicesPassBy) {
  Array x = on(3);
  Array slow = held(x);
  gate().wait_for(1);
  Array small = device_put(arange(4, float32), devices()[6]) + 1;
  EXPECT_EQ(first_of(small), 1);
  EXPECT_FALSE(slow.impl()->launch->finished());
  gate().open();
  EXPECT_EQ(first_of(slow), 0);
}

TEST_F(Beside, LaunchesOnOneDeviceStayInOrder) {
  static std::atomic<int> running, most;
  running = most = 0;
  static const OpDef alone = op_of("alone", [](const KernelArgs& args) {
    most = std::max(most.load(), ++running);
    copy(args);
    --running;
  });
  std::vector<Array> inputs, results;
  for (int i = 0; i < 20; ++i) inputs.push_back(on(4, float(i)));
  for (const Array& x : inputs) results.push_back(run(alone, x));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(first_of(results[std::size_t(i)]), float(i));
  EXPECT_EQ(most, 1);
}

// How far ahead of its devices a process issues has a bound: what is issued holds its operands.
TEST_F(Beside, IssuingWaitsForADeviceThatIsFarBehind) {
  Array x = on(1);
  Array y = held(x);
  gate().wait_for(1);
  std::atomic<bool> opened = false;
  std::jthread opener([&] {
    opened = true;
    gate().open();
  });
  for (int i = 0; i < LaunchQueue::kAheadMax; ++i) y = y + 1;
  EXPECT_TRUE(opened);
  EXPECT_EQ(first_of(y), float(LaunchQueue::kAheadMax));
}

// A reader that has not read yet keeps what a later launch was given to use up.
TEST_F(Beside, DonationWaitsForEarlierReaders) {
  Array x = on(0, 5);
  Array reader = held(x);
  auto use_up = jit([](const Array& a) { return a + 1; }, {.donate_argnums = {0}});
  Array y = use_up(x);
  EXPECT_THAT(text_of_error([&] { x.fetch(); }), HasSubstr("Array has been deleted"));
  gate().open();
  EXPECT_EQ(first_of(reader), 5);
  EXPECT_EQ(first_of(y), 6);
}

// Also where the reader computes on other devices than those that the argument lies on.
TEST_F(Beside, DonationWaitsForReadersOnOtherDevices) {
  std::vector<Device> all = devices();
  Mesh mesh = make_mesh({4}, {"d"}, std::vector<Device>(all.begin() + 4, all.end()));
  Array x = arange(kSide * kSide, float32).reshape({kSide, kSide});
  ASSERT_FALSE(x.committed());
  x.block_until_ready();
  auto on_others = jit([](const Array& a) { return held(a); }, {.out_shardings = {NamedSharding(mesh, P("d"))}});
  Array busy = on_others(x * 0);  // on the others, and what comes next waits for it
  gate().wait_for(1);
  Array reader = on_others(x);
  Array y = jit([](const Array& a) { return a + 1; }, {.donate_argnums = {0}})(x);
  gate().open();
  EXPECT_EQ(reader.to_vector<float>()[7], 7);
  EXPECT_EQ(first_of(y), 1);
}

TEST_F(Beside, ErrorsSurfaceAtTheirFirstUse) {
  Array x = on(2), y = on(3);
  Array fine = held(y);
  Array z = refused(x);
  unsigned issued = __LINE__ - 1;
  Array w = device_put(z + 1, devices()[5]) * 2;
  unsigned used = __LINE__ + 1;
  std::string error = text_of_error([&] { w.fetch(); });
  EXPECT_THAT(error, HasSubstr(fmt::format("not this one [refused at beside_test.cpp:{}; first used by fetch at beside_test.cpp:{}", issued,
                                           used)));
  gate().open();
  EXPECT_EQ(first_of(fine), 0);
}

TEST_F(Beside, ErrorsThatNobodyUsesSurfaceAtTheEnd) {
  Array z = refused(on(2));
  EXPECT_THAT(text_of_error([&] { Context::current().leave(); }), HasSubstr("nobody has used its results"));
}

// The end of a context waits for what runs on its threads.
TEST_F(Beside, DestructionWaits) {
  static std::atomic<int> ended;
  ended = 0;
  static const OpDef counted = op_of("counted", [](const KernelArgs& args) {
    copy(args);
    ++ended;
  });
  for (int device = 0; device < 8; ++device) {
    Array x = on(device);
    run(counted, run(counted, x));
  }
  Context::set_current(nullptr);
  EXPECT_EQ(ended, 16);
}

// Large and small launches on all kinds of parts of the devices, moves between them and donations, at random: what is read is what one
// after the other would give.
TEST_F(Beside, RandomProgramsGiveWhatTheyWouldInOrder) {
  struct Value {
    Array array;
    double first;  // the others follow by ones
  };
  const std::vector<Device> all = devices();
  std::vector<Sharding> places;
  for (int begin : {0, 2, 4, 6})
    places.push_back(NamedSharding(make_mesh({2}, {"d"}, {all.begin() + begin, all.begin() + begin + 2}), P("d")));
  for (int begin : {0, 4}) places.push_back(NamedSharding(make_mesh({4}, {"d"}, {all.begin() + begin, all.begin() + begin + 4}), P()));
  places.push_back(NamedSharding(make_mesh({8}, {"d"}), P("d")));
  places.push_back(Sharding::on_device(0));
  places.push_back(Sharding::on_device(5));
  auto more = jit([](const Array& x) { return x + 1; });
  auto use_up = jit([](const Array& x) { return x + 2; }, {.donate_argnums = {0}});
  for (unsigned seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937 random(seed);
    auto below = [&](std::size_t limit) { return std::size_t(random() % limit); };
    auto expect_right = [](const Value& value) {
      std::vector<float> got = value.array.to_vector<float>();
      EXPECT_EQ(got.front(), float(value.first));
      EXPECT_EQ(got.back(), float(value.first + double(got.size()) - 1));
    };
    std::vector<Value> values;
    for (int step = 0; step < 250; ++step) {
      if (values.size() < 3 || below(10) == 0) {
        const std::int64_t count = below(2) == 0 ? 16 : 2 * kSide * kSide;
        Array x = arange(count, float32);
        values.push_back({below(4) == 0 ? x : device_put(x, places[below(places.size())]), 0});
        continue;
      }
      const std::size_t chosen = below(values.size());
      Value& value = values[chosen];
      switch (below(6)) {
        case 0:
        case 1:
          values.push_back({more(value.array), value.first + 1});
          break;
        case 2:
          value = {use_up(value.array), value.first + 2};
          break;
        case 3:
          if (Array moved = device_put(value.array, places[below(places.size())]); moved.impl() != value.array.impl())
            values.push_back({std::move(moved), value.first});
          break;
        case 4:
          if (below(4) == 0) expect_right(value);
          break;
        default:
          values.erase(values.begin() + std::ptrdiff_t(chosen));
      }
    }
    for (const Value& value : values) expect_right(value);
  }
}

// One that waits for another process leaves other devices of this one to their launches, and goes before later ones on its own.
TEST(BesideProcesses, LocalLaunchesPassByOneThatWaits) {
  meeting().reset();
  testing::on_job({2, 2}, [] {
    Mesh firsts = make_mesh({2}, {"d"}, {devices()[0], devices()[2]});
    Array x = device_put(wave({kSide, kSide}), NamedSharding(firsts, P("d")));
    auto total = jit([](const Array& a) { return sum(a, {}); });
    Array mine = on(2 * process_index() + 1);
    if (process_index() == 1) meeting().wait_for(1);
    Array both = total(x);
    if (process_index() == 0) {
      // Process 1 does not issue its part before this one has ended.
      Array own = mine * 3;
      EXPECT_EQ(own.to_vector<float>()[5], 15);
      meeting().arrive();
    }
    Array after = both * 2;
    EXPECT_NEAR(after.item<float>(), 2 * both.item<float>(), 1e-3);
  });
}

}  // namespace
}  // namespace shardlab
