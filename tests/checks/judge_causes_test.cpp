// Several faults in one run: independent causes are all told, one cause is told once, and circles are not taken for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/checks/diagnoses.h"
#include "tests/checks/evidence_builder.h"
#include "traces/checks/check_def.h"

namespace shardlab {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_::detail;
using testing_::EvidenceBuilder;
using testing_::only;
using testing_::participants;

TEST(Judge, TwoGroupsTwoDiagnoses) {
  EvidenceBuilder b(4);
  b.program("A", {0, 1}).program("B", {0, 1}).program("C", {2, 3}).program("D", {2, 3});
  b.calls({0}, "A").calls({1}, "B").calls({2}, "C").calls({3}, "D");
  std::vector<Diagnosis> found = judge(b.evidence());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[0].processes, ElementsAre(0, 1));
  EXPECT_THAT(found[1].processes, ElementsAre(2, 3));
}

// Two that stand at one call for reasons of their own, each having skipped one of its half: two causes.
TEST(Judge, TwoCausesThatMeetAtOneCallAreTold) {
  for (int half : {2, 3, 4}) {
    const int all = 2 * half, first = 0, second = all - 1;
    EvidenceBuilder b(all);
    std::vector<int> left, right;
    for (int p = 0; p < half; ++p) {
      left.push_back(p);
      right.push_back(half + p);
    }
    b.program("L", left).program("R", right).program("E").program("F");
    for (int p = 0; p < all; ++p) b.calls({p}, p == first || p == second ? "EF" : p < half ? "LEF" : "REF");
    std::vector<Diagnosis> found = judge(b.evidence());
    ASSERT_EQ(found.size(), 2u) << half;
    EXPECT_THAT(found[0].processes, ElementsAre(first));
    EXPECT_THAT(found[1].processes, ElementsAre(second));
    for (const Diagnosis& d : found) EXPECT_EQ(detail(d, "direction"), "skipped");
    EXPECT_THAT(found[0].message, HasSubstr("L at toy.cpp:30"));
    EXPECT_THAT(found[1].message, HasSubstr("R at toy.cpp:31"));
  }
}

// The same heads, by one cause: some make a call of all once more.
TEST(Judge, OneCauseThatDividesTwoHalvesIsToldOnce) {
  struct Case {
    std::vector<int> left, right, guilty;  // who makes it, of either half
    std::string direction;
  };
  for (const Case& c :
       {Case{{0, 1}, {5}, {2, 3, 4}, "skipped"}, Case{{1}, {4}, {1, 4}, "extra"}, Case{{0}, {3, 4}, {1, 2, 5}, "skipped"}}) {
    EvidenceBuilder b(6);
    b.program("L", {0, 1, 2}).program("R", {3, 4, 5}).program("E").program("F");
    auto makes = [&](int p) { return std::count(c.left.begin(), c.left.end(), p) + std::count(c.right.begin(), c.right.end(), p) > 0; };
    for (int p = 0; p < 6; ++p) b.calls({p}, std::string(makes(p) ? "E" : "") + (p < 3 ? "LF" : "RF"));
    Diagnosis d = only(b.evidence());
    EXPECT_EQ(d.code, "missing-participant");
    EXPECT_EQ(d.processes, c.guilty);
    EXPECT_EQ(detail(d, "direction"), c.direction);
    EXPECT_THAT(d.message, HasSubstr("E at toy.cpp:32"));
  }
}

TEST(Judge, CircleOverThreeGroups) {
  EvidenceBuilder b(3);
  b.program("A", {0, 1}).program("B", {1, 2}).program("C", {0, 2}).calls({0}, "AC").calls({1}, "BA").calls({2}, "CB");
  Diagnosis d = only(b.evidence());
  EXPECT_EQ(d.code, "deadlock");
  EXPECT_THAT(d.processes, ElementsAre(0, 1, 2));
  EXPECT_TRUE(d.tie);
  EXPECT_EQ(detail(d, "cycle"), "0 -> 1 -> 2 -> 0");
  EXPECT_THAT(d.message, HasSubstr("process 0 waits for process 1 in A at toy.cpp:30"));
}

TEST(Judge, NoCircleWhileOneHasNotCome) {
  EvidenceBuilder b(3);
  b.program("A", {0, 1}).program("B", {1, 2}).program("C", {0, 2}).calls({0}, "A").calls({1}, "B");
  EXPECT_TRUE(judge(b.evidence()).empty());
}

// What other processes prove among themselves is a cause of its own, of another class too.
TEST(Judge, IndependentCausesAreAllTold) {
  EvidenceBuilder b(6);
  b.program("A", {0, 1, 2}).program("X", {0, 1, 2}).program("B", {3, 4, 5}).program("C", {3, 4, 5});
  b.calls({0, 1}, "A").calls({2}, "X").calls({3, 4}, "BC").calls({5}, "CB");
  std::vector<Diagnosis> found = judge(b.evidence());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].code, "order-mismatch");
  EXPECT_THAT(found[0].processes, ElementsAre(5));
  EXPECT_EQ(found[1].code, "program-mismatch");
  EXPECT_THAT(found[1].processes, ElementsAre(2));
}

// 1 makes A twice, so that 0 contradicts it alone, and 2 and 3 contradict it too: 0 has done nothing wrong.
TEST(Judge, WhoContradictsTheGuiltyAloneIsInnocent) {
  EvidenceBuilder b(4);
  b.program("A").program("B").program("L", {0, 1});
  for (int p : {0, 1, 2, 3}) b.call(p, "A", true);
  b.calls({0}, "LB").calls({1}, "ALB").calls({2, 3}, "B");
  Diagnosis d = only(b.evidence());
  EXPECT_EQ(d.code, "missing-participant");
  EXPECT_THAT(d.processes, ElementsAre(1));
  EXPECT_EQ(detail(d, "direction"), "extra");
}

}  // namespace
}  // namespace shardlab
