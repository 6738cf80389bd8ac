// Outlines: every step uses what is there, every operand has its say.
#include "runtime/spmd/outlines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "runtime/base/error.h"
#include "runtime/ops/registry.h"

namespace shardlab::spmd {
namespace {

using Kind = OutlineStep::Kind;
using ::testing::ElementsAre;

TEST(Outlines, AreReadStepByStep) {
  const Outline outline = read_outline("0,1 ~ -3,2 3=0,4", 2);
  const std::vector<OutlineStep>& steps = outline.steps;
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(steps[0].kind, Kind::kMeet);
  EXPECT_EQ(steps[0].made, 2);
  EXPECT_THAT(steps[0].from, ElementsAre(0, 1));
  EXPECT_EQ(steps[1].kind, Kind::kCarried);
  EXPECT_EQ(steps[1].made, 3);
  EXPECT_EQ(steps[2].kind, Kind::kMeetLater);
  EXPECT_EQ(steps[2].made, 4);
  EXPECT_THAT(steps[2].from, ElementsAre(3, 2));
  EXPECT_EQ(steps[3].kind, Kind::kLoopEnd);
  EXPECT_EQ(steps[3].made, 3);
  EXPECT_THAT(steps[3].from, ElementsAre(0, 4));
  EXPECT_EQ(outline.result, 3);
  EXPECT_EQ(read_outline("0,1 ~ ~ 3=0,4 4=1,3 >3", 2).result, 3);
}

TEST(Outlines, UseWhatIsThere) {
  EXPECT_THROW(read_outline("0,1 >3", 2), InternalError);
  EXPECT_THROW(read_outline("0,2 1,0", 2), InternalError);
  EXPECT_THROW(read_outline("0,x", 2), InternalError);
  EXPECT_THROW(read_outline("0,1  2", 2), InternalError);
}

TEST(Outlines, AreOfTheirOps) {
  int outlines = 0;
  for (const OpDef* op : all_ops()) {
    if (outline_of(op->name).empty()) continue;
    SCOPED_TRACE(op->name);
    ++outlines;
    EXPECT_TRUE(op->is_primitive() && op->elementwise);
    std::set<int> used, made;
    for (const OutlineStep& step : read_outline(outline_of(op->name), op->operands_min).steps) {
      used.insert(step.from.begin(), step.from.end());
      made.insert(step.made);
    }
    for (int operand = 0; operand < op->operands_min; ++operand) EXPECT_TRUE(used.contains(operand)) << operand;
    EXPECT_GE(*made.begin(), op->operands_min);
  }
  EXPECT_GT(outlines, 20);
  EXPECT_EQ(outline_of("pow"), "");
  for (std::string_view of_integers : {"pow", "remainder"})
    EXPECT_FALSE(read_outline(outline_of(of_integers, true), 2).steps.empty() || outline_of(of_integers, true) == outline_of(of_integers));
  EXPECT_EQ(outline_of("gcd", true), outline_of("gcd"));
  EXPECT_EQ(outline_of("add", true), "");
  EXPECT_EQ(outline_of("add"), "");
  EXPECT_EQ(outline_of("no such op"), "");
}

}  // namespace
}  // namespace shardlab::spmd
