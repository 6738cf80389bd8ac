// Whoever records launches is told at their issue which arrays each takes, in the order of its program's operands, and which it makes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "runtime/exec/array_impl.h"
#include "runtime/exec/autodiff.h"
#include "runtime/exec/context.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/shard_map.h"

namespace shardlab {
namespace {

using ::testing::ElementsAre;

class Launches final : public comm::Observer {
 public:
  void on_launch_issued(const comm::Launch& launch) override {
    std::lock_guard lock(mutex_);
    launches_.push_back(launch);
  }
  void on_array(const comm::ArrayInfo& array) override {
    std::lock_guard lock(mutex_);
    made_[array.launch][array.result] = array.id;
  }
  // The last of that name.
  comm::Launch last(const std::string& name) const {
    std::lock_guard lock(mutex_);
    for (auto at = launches_.rbegin(); at != launches_.rend(); ++at)
      if (at->program->name == name) return *at;
    ADD_FAILURE() << "no launch of " << name;
    return {};
  }
  std::map<int, std::int64_t> made_by(const comm::Launch& launch) const {
    std::lock_guard lock(mutex_);
    const auto made = made_.find(launch.number);
    return made == made_.end() ? std::map<int, std::int64_t>() : made->second;
  }
  std::ptrdiff_t count_taking(std::int64_t array) const {
    std::lock_guard lock(mutex_);
    return std::count_if(launches_.begin(), launches_.end(), [array](const comm::Launch& launch) {
      return std::any_of(launch.takes.begin(), launch.takes.end(), [array](const comm::TakenArray& taken) { return taken.array == array; });
    });
  }

 private:
  mutable std::mutex mutex_;
  std::vector<comm::Launch> launches_;
  std::map<std::int64_t, std::map<int, std::int64_t>> made_;  // by launch, then place among its results
};

std::int64_t id_of(const Array& array) { return array.impl()->id; }
auto takes(std::int64_t array, bool donated = false) { return comm::TakenArray{array, donated}; }

class LaunchTakes : public ::testing::Test {
 protected:
  void SetUp() override { begin({launches_}); }
  void TearDown() override { Context::set_current(nullptr); }
  static void begin(std::vector<std::shared_ptr<comm::Observer>> observers) {
    ContextOptions options;
    options.devices_per_process = {4};
    options.observers = std::move(observers);
    Context::set_current(std::make_shared<Context>(options));
  }
  std::shared_ptr<Launches> launches_ = std::make_shared<Launches>();
};

TEST_F(LaunchTakes, OperandsByPositionAndResultsByTheirs) {
  Array x = ones({16}), y = zeros({16});
  auto both = jit([](const Array& a, const Array& b) { return std::tuple(a - b, a + b); }, {.name = "both"});
  auto [less, more] = both(y, x);
  const comm::Launch launch = launches_->last("both");
  EXPECT_THAT(launch.takes, ElementsAre(takes(id_of(y)), takes(id_of(x))));
  EXPECT_EQ(launches_->made_by(launch), (std::map<int, std::int64_t>{{0, id_of(less)}, {1, id_of(more)}}));
}

TEST_F(LaunchTakes, OneArrayTwiceIsTwoOperandsAndNotDonated) {
  Array x = ones({16});
  auto twice = jit([](const Array& a, const Array& b) { return a * b; }, {.name = "twice", .donate_argnums = {0}});
  Array y = twice(x, x);
  EXPECT_THAT(launches_->last("twice").takes, ElementsAre(takes(id_of(x)), takes(id_of(x)))) << "the other argument still needs it";
}

TEST_F(LaunchTakes, WhatIsDonatedIsMarkedAndWhatCannotBeIsNot) {
  Array x = ones({16}), y = ones({16}), narrow = ones({4});
  const std::int64_t given = id_of(x), kept = id_of(narrow);
  auto step =
      jit([](const Array& a, const Array& b, const Array& c) { return a + b * sum(c); }, {.name = "step", .donate_argnums = {0, 2}});
  Array z = step(x, y, narrow);
  EXPECT_THAT(launches_->last("step").takes, ElementsAre(takes(given, true), takes(id_of(y)), takes(kept)));
}

TEST_F(LaunchTakes, WhatNothingIsComputedFromIsNotTaken) {
  Array x = ones({16}), unused = ones({8});
  auto first = jit([](const Array& a, const Array&) { return a * 2.0; }, {.name = "first"});
  first(x, unused);
  EXPECT_THAT(launches_->last("first").takes, ElementsAre(takes(id_of(x))));
}

TEST_F(LaunchTakes, OfJitInsideJitTheOuterOneTakesAll) {
  Array x = ones({16}), y = ones({16});
  auto inner = jit([](const Array& a, const Array& b) { return a * b; }, {.name = "inner"});
  auto outer = jit([&](const Array& a, const Array& b) { return inner(b, a) + a; }, {.name = "outer"});
  Array z = outer(x, y);
  const comm::Launch launch = launches_->last("outer");
  EXPECT_THAT(launch.takes, ElementsAre(takes(id_of(x)), takes(id_of(y))));
  EXPECT_EQ(launches_->made_by(launch), (std::map<int, std::int64_t>{{0, id_of(z)}}));
}

TEST_F(LaunchTakes, PerDeviceCodeAndWhatAGradientCaptures) {
  const Mesh mesh({4}, {"a"}, {0, 1, 2, 3});
  Array x = device_put(ones({8}), Sharding(mesh, P("a")));
  Array y = shard_map([](const Array& part) { return part * 2.0; }, {.mesh = mesh, .in_specs = {P("a")}, .out_specs = {P("a")}})(x);
  // Each is taken by some launch: a move, or the code itself.
  Array weights = device_put(ones({8}), Sharding(mesh, P("a")));
  Array slope = grad([&](const Array& v) { return sum(v * weights); })(y);
  const auto taken_by = [&](const Array& array) { return launches_->count_taking(id_of(array)); };
  EXPECT_GT(taken_by(x), 0);
  EXPECT_GT(taken_by(y), 0);
  EXPECT_GT(taken_by(weights), 0) << "captured";
  EXPECT_EQ(taken_by(slope), 0);
}

// An array of before has an id, of which nobody was told.
TEST_F(LaunchTakes, AnArrayOfBeforeRecordingBegan) {
  begin({});
  Array x = ones({16});
  EXPECT_EQ(x.impl()->observer, nullptr);
  Context::current().add_observer(launches_);
  Array y = x + 1.0;
  EXPECT_THAT(launches_->last("add").takes, ElementsAre(takes(id_of(x))));
}

TEST_F(LaunchTakes, AreNotCollectedWhereNobodyRecords) {
  begin({});
  Array x = ones({16});
  EXPECT_EQ((x + 1.0).to_vector<float>()[0], 2);
}

// A network has hundreds of parameters.
TEST_F(LaunchTakes, ManyArrays) {
  std::vector<Array> arrays;
  std::vector<comm::TakenArray> expected;
  for (int i = 0; i < 700; ++i) {
    arrays.push_back(ones({2}));
    expected.push_back(takes(id_of(arrays.back())));
  }
  auto total = jit(
      [](const std::vector<Array>& all) {
        Array sum_of = all[0];
        for (std::size_t i = 1; i < all.size(); ++i) sum_of = sum_of + all[i];
        return sum_of;
      },
      {.name = "total"});
  EXPECT_EQ(total(arrays).to_vector<float>()[0], 700);
  EXPECT_EQ(launches_->last("total").takes, expected);
}

}  // namespace
}  // namespace shardlab
