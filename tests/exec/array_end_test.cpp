// Whoever records arrays is told once when each lets its memory go: the last handle dropped, the last launch done, or donated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <set>

#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"

namespace shardlab {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class Ends final : public comm::Observer {
 public:
  void on_array(const comm::ArrayInfo& array) override {
    std::lock_guard lock(mutex_);
    made_.insert(array.id);
  }
  void on_array_end(std::int64_t id, bool donated) override {
    std::lock_guard lock(mutex_);
    EXPECT_TRUE(made_.contains(id)) << "of array " << id << " nobody was told";
    EXPECT_TRUE(ended_.emplace(id, donated).second) << "array " << id << " ended twice";
  }
  void on_launch_issued(const comm::Launch& launch) override {
    std::lock_guard lock(mutex_);
    intermediate_bytes[launch.program->name] = launch.program->intermediate_bytes;
  }
  std::set<std::int64_t> made() const {
    std::lock_guard lock(mutex_);
    return made_;
  }
  std::map<std::int64_t, bool> ended() const {
    std::lock_guard lock(mutex_);
    return ended_;
  }
  std::map<std::string, std::int64_t> intermediate_bytes;

 private:
  mutable std::mutex mutex_;
  std::set<std::int64_t> made_;
  std::map<std::int64_t, bool> ended_;  // and whether it was donated
};

std::int64_t id_of(const Array& array) { return array.impl()->id; }

class ArrayEnd : public ::testing::Test {
 protected:
  void SetUp() override {
    ContextOptions options;
    options.devices_per_process = {4};
    options.observers = {ends_};
    Context::set_current(std::make_shared<Context>(options));
  }
  void TearDown() override { Context::set_current(nullptr); }
  std::shared_ptr<Ends> ends_ = std::make_shared<Ends>();
};

TEST_F(ArrayEnd, WithTheLastHandle) {
  Array kept = ones({4});
  {
    Array dropped = ones({8}), copy = dropped;
    dropped.named("a name more is no array more");
    dropped = {};
    EXPECT_TRUE(ends_->ended().empty()) << "a copy holds it";
  }
  EXPECT_EQ(ends_->made().size(), 2u);
  ASSERT_EQ(ends_->ended().size(), 1u);
  EXPECT_NE(ends_->ended().begin()->first, id_of(kept));
  EXPECT_FALSE(ends_->ended().begin()->second);
}

TEST_F(ArrayEnd, ADonatedArrayEndsWhenItIsGiven) {
  Array x = ones({16}), y = ones({16});
  auto step = jit([](const Array& a, const Array& b) { return add(a, b); }, {.donate_argnums = {0}});
  Array z = step(x, y);
  EXPECT_THAT(ends_->ended(), UnorderedElementsAre(Pair(id_of(x), true)));
  x = {};
  EXPECT_EQ(ends_->ended().size(), 1u) << "it ended before";
  EXPECT_EQ(z.to_vector<float>()[0], 2);
}

TEST_F(ArrayEnd, ALaunchHoldsItsOperands) {
  Array sum_of = sum(ones({1024}));
  sum_of.block_until_ready();
  ASSERT_EQ(ends_->ended().size(), 1u);
  EXPECT_NE(ends_->ended().begin()->first, id_of(sum_of));
}

TEST_F(ArrayEnd, IsToldAlsoWhenItsContextIsNoMore) {
  Array x = ones({4});
  const std::int64_t id = id_of(x);
  Context::set_current(nullptr);
  EXPECT_TRUE(ends_->ended().empty());
  x = {};
  EXPECT_THAT(ends_->ended(), UnorderedElementsAre(Pair(id, false)));
}

TEST_F(ArrayEnd, WhatALaunchHoldsBetweenItsStepsIsKnown) {
  Mesh mesh({4}, {"x"}, {0, 1, 2, 3});
  Array x = device_put(ones({64, 64}), Sharding(mesh, P("x")));
  // Two products in a row: the first is held while the second is made, and neither operands nor the result count.
  auto twice = jit([](const Array& a) { return matmul(matmul(a, a), a); }, {.name = "twice"});
  Array y = twice(x);
  y.block_until_ready();
  const std::int64_t part = 64 * 64 * 4 / 4, whole = 64 * 64 * 4;
  EXPECT_GE(ends_->intermediate_bytes.at("twice"), part);
  EXPECT_LE(ends_->intermediate_bytes.at("twice"), part + 2 * whole);
  EXPECT_EQ(ends_->intermediate_bytes.at("ones"), 0);
}

// Ids of arrays that outlive their context are not those of arrays of the next.
TEST(ArrayIds, GoOnFromContextToContext) {
  auto ends = std::make_shared<Ends>();
  ContextOptions options;
  options.observers = {ends};
  Context::set_current(std::make_shared<Context>(options));
  Array old = ones({2});
  options.first_array_id = Context::current().next_array_id();
  Context::set_current(std::make_shared<Context>(options));
  Array fresh = ones({2});
  const std::int64_t id = id_of(old);
  EXPECT_NE(id, id_of(fresh));
  old = {};
  EXPECT_THAT(ends->ended(), UnorderedElementsAre(Pair(id, false)));
  Context::set_current(nullptr);
}

}  // namespace
}  // namespace shardlab
