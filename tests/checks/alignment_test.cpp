// How one sequence of calls turns into another.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "traces/checks/disagreement.h"

namespace shardlab {
namespace {

std::vector<CallKey> calls(std::string_view letters) {
  std::vector<CallKey> keys;
  for (char letter : letters) keys.push_back({std::uint64_t(letter), 1});
  return keys;
}

struct Case {
  std::string tail, reference;
  Relation relation;
  int length;
};

class Align : public testing::TestWithParam<Case> {};

TEST_P(Align, Classifies) {
  const Case& c = GetParam();
  Alignment alignment = align(calls(c.tail), calls(c.reference));
  EXPECT_EQ(alignment.relation, c.relation) << c.tail << " against " << c.reference;
  EXPECT_EQ(alignment.length, c.length) << c.tail << " against " << c.reference;
}

INSTANTIATE_TEST_SUITE_P(
    , Align,
    testing::Values(Case{"BA", "AB", Relation::kOrder, 2}, Case{"BAC", "ABC", Relation::kOrder, 2}, Case{"CAB", "ABC", Relation::kOrder, 3},
                    Case{"BACD", "ABC", Relation::kOrder, 2},   // the reference was cut short
                    Case{"BABA", "ABAB", Relation::kOrder, 4},  // a loop in the other order
                    Case{"X", "A", Relation::kProgram, 1}, Case{"XBC", "ABC", Relation::kProgram, 1},
                    Case{"XYC", "ABC", Relation::kProgram, 1}, Case{"BBAB", "ABAB", Relation::kProgram, 1},  // in a loop
                    Case{"XB", "ABC", Relation::kProgram, 1}, Case{"BC", "ABC", Relation::kSkipped, 1},
                    Case{"C", "ABC", Relation::kSkipped, 2}, Case{"BCD", "ABC", Relation::kSkipped, 1},  // the reference was cut short
                    Case{"BABA", "ABABA", Relation::kSkipped, 1},                                        // a loop without its first call
                    Case{"XABC", "ABC", Relation::kExtra, 1}, Case{"XYAB", "ABC", Relation::kExtra, 2},
                    Case{"AAB", "BAB", Relation::kProgram, 1}, Case{"BABAB", "ABAB", Relation::kExtra, 1},
                    Case{"XAAA", "AAA", Relation::kExtra, 1}));

}  // namespace
}  // namespace shardlab
