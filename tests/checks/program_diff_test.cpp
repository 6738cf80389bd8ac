// How two programs differ: by node, attribute, type and sharding, and beyond the first difference.
#include "traces/checks/program_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardlab {
namespace {

using testing::ElementsAre;

// A program in the form that the runtime prints.
std::string program(const std::string& nodes, const std::string& devices = "[0,1]",
                    const std::string& steps = "  s0 = parameter 0 : %0 float32[8] P('a',)\n") {
  return "devices " + devices + "\nf(%0: float32[8]) {\n" + nodes + "  return %9\n}\non Mesh('a': 2) {\n" + steps + "  return s0\n}\n";
}

std::vector<std::string> told(const std::string& a, const std::string& b) {
  std::vector<std::string> texts;
  for (const ProgramDifference& each : program_differences(a, b)) texts.push_back(text_of(each, "A", "B"));
  return texts;
}

const char* const kNodes = "  %1 = sin(%0) : float32[8]\n  %2 = reduce_sum(%1) {axes = [0]} : float32[]\n  %3 = mul(%2, %2) : float32[]\n";

TEST(ProgramDiff, EqualProgramsDifferInNothing) { EXPECT_THAT(told(program(kNodes), program(kNodes)), ElementsAre()); }

TEST(ProgramDiff, NamesTheOp) {
  EXPECT_THAT(
      told(program(kNodes),
           program("  %1 = cos(%0) : float32[8]\n  %2 = reduce_sum(%1) {axes = [0]} : float32[]\n  %3 = mul(%2, %2) : float32[]\n")),
      ElementsAre("op of %1 is sin on A and cos on B"));
}

TEST(ProgramDiff, NamesAttributesAndGoesOnAfterTheFirst) {
  EXPECT_THAT(
      told(program("  %1 = take(%0) {axis = 0, mode = [1, 2]} : float32[8]\n  %2 = sin(%1) : float32[8]\n  %3 = exp(%2) : float32[8]\n"),
           program("  %1 = take(%0) {axis = 1, mode = [1, 3]} : float32[8]\n  %2 = sin(%1) : float32[8]\n  %3 = log(%2) : float32[8]\n")),
      ElementsAre("attribute axis of %1 = take is 0 on A and 1 on B", "attribute mode of %1 = take is [1, 2] on A and [1, 3] on B",
                  "op of %3 is exp on A and log on B"));
}

// All later values have other numbers, and are the same all the same.
TEST(ProgramDiff, OneMoreNodeIsOneDifference) {
  EXPECT_THAT(told(program(kNodes),
                   program("  %1 = sin(%0) : float32[8]\n  %2 = exp(%1) : float32[8]\n  %3 = reduce_sum(%2) {axes = [0]} : float32[]\n"
                           "  %4 = mul(%3, %3) : float32[]\n")),
              ElementsAre("B alone has %2 = exp(%1) : float32[8]"));
}

TEST(ProgramDiff, ShardingsAreComparedWhereTheNodesAreEqual) {
  EXPECT_THAT(told(program(kNodes), program(kNodes, "[0,1]", "  s0 = parameter 0 : %0 float32[8] P(None,)\n")),
              ElementsAre("sharding of parameter 0 is P('a',) on A and P(None,) on B"));
}

TEST(ProgramDiff, DevicesInAnotherOrder) {
  EXPECT_THAT(told(program(kNodes), program(kNodes, "[1,0]")), ElementsAre("the order of devices is [0,1] on A and [1,0] on B"));
}

TEST(ProgramDiff, WhoSendsToWhomIsToldInPairs) {
  EXPECT_THAT(told(program("  %1 = ppermute(%0) {axes = [\"a\"], perm = [0, 1, 1, 0]} : float32[8]\n"),
                   program("  %1 = ppermute(%0) {axes = [\"a\"], perm = [1, 0]} : float32[8]\n")),
              ElementsAre("attribute perm of %1 = ppermute is 0->1, 1->0 on A and 1->0 on B"));
}

TEST(ProgramDiff, TypesAndEnds) {
  EXPECT_THAT(told(program("  %1 = sin(%0) : float32[8]\n"), program("  %1 = sin(%0) : float64[8]\n")),
              ElementsAre("type of %1 = sin is float32[8] on A and float64[8] on B"));
  EXPECT_THAT(told("", "barrier x"), ElementsAre("the program is absent on A and barrier x on B"));
  EXPECT_THAT(told("barrier x int32[2] from P('p',) to P()", "barrier y int32[2] from P('p',) to P()"),
              ElementsAre("the program is barrier x on A and barrier y on B"));
  std::string many_a, many_b;
  for (int i = 0; i < 50; ++i) {
    many_a += "  %" + std::to_string(i + 1) + " = sin(%0) : float32[8]\n";
    many_b += "  %" + std::to_string(i + 1) + " = cos(%0) : float32[8]\n";
  }
  EXPECT_EQ(told(program(many_a), program(many_b)).size(), 8u);
}

}  // namespace
}  // namespace shardlab
