// Bodies are planned once for each set of forms, whoever asks.
#include "runtime/spmd/body_plans.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "tests/spmd/graphs.h"

namespace shardlab::spmd {
namespace {

using namespace shardlab::testing;

SharedBodies some_bodies() { return std::make_shared<const std::vector<BodyPropagation>>(); }

TEST(BodyPlans, MadeOnceForEachKey) {
  BodyPlans plans;
  const SharedBodies bodies = some_bodies(), others = some_bodies();
  const Mesh mesh = mesh_of({4, 2});
  const std::vector<Spec> rows{spec_of(mesh, "a-")}, columns{spec_of(mesh, "-a")};
  int made = 0;
  auto make = [&] { return ++made, std::make_shared<const PartitionedProgram>(); };
  const BodyPlans::Plan first = plans.planned({bodies, 0, rows, rows}, make);
  EXPECT_EQ(plans.planned({bodies, 0, rows, rows}, make), first);
  EXPECT_EQ(made, 1);
  for (const BodyPlans::Key& other : {BodyPlans::Key{others, 0, rows, rows}, BodyPlans::Key{bodies, 1, rows, rows},
                                      BodyPlans::Key{bodies, 0, columns, rows}, BodyPlans::Key{bodies, 0, rows, columns}})
    EXPECT_NE(plans.planned(other, make), first);
  EXPECT_EQ(made, 5);
}

TEST(BodyPlans, TwoThreadsShareOneThatIsBeingMade) {
  BodyPlans plans;
  const BodyPlans::Key key{some_bodies(), 0, {}, {}};
  std::atomic<int> made = 0;
  std::latch both(2);
  auto ask = [&] {
    both.arrive_and_wait();
    plans.planned(key, [&] { return ++made, std::make_shared<const PartitionedProgram>(); });
  };
  { std::jthread one(ask), other(ask); }
  EXPECT_EQ(made, 1);
}

TEST(BodyPlans, AFailureIsToldToAllWhoAsk) {
  BodyPlans plans;
  auto fail = []() -> BodyPlans::Plan { throw UserError("no way"); };
  const BodyPlans::Key key{some_bodies(), 0, {}, {}};
  EXPECT_THROW(plans.planned(key, fail), UserError);
  EXPECT_THROW(plans.planned(key, fail), UserError);
}

// x (carried) times w (of the loop's constants), cut so that something moves in each iteration.
TEST(BodyPlans, PlanningAgainPlansNoBodyAgain) {
  const Mesh mesh = mesh_of({4, 2});
  Build body;
  const ValueId w = body.param({8, 8}), x = body.param({8, 8});
  const Graph step = body.finish({body.op("matmul", {x, w})});
  Build build;
  const ValueId weights = build.param({8, 8}), start = build.param({8, 8});
  const ValueId last = build.op("scan", {weights, start},
                                Attrs{{"bodies", Bodies{std::make_shared<const Graph>(step)}},
                                      {"length", std::int64_t(3)},
                                      {"num_consts", std::int64_t(1)},
                                      {"num_carry", std::int64_t(1)}});
  const Graph graph = build.finish({last});
  const PropagationInput input = input_of(graph, mesh, {"a-", "-a"});
  const Propagation propagated = propagate(input);
  BodyPlans plans;
  auto body_of = [&](BodyPlans* shared) -> BodyPlans::Plan {
    const PartitionedProgram program = partition(input, propagated, {.body_plans = shared});
    for (const Step& each : program.steps)
      if (const auto* region = std::get_if<RegionStep>(&each)) return region->bodies.at(0);
    return nullptr;
  };
  const BodyPlans::Plan first = body_of(&plans);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(body_of(&plans), first);
  EXPECT_NE(body_of(nullptr), first);
}

}  // namespace
}  // namespace shardlab::spmd
