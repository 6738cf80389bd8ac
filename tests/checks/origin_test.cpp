// Where two processes first went apart: what leads to the disagreement is named, and what each does by itself is not blamed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/checks/diagnoses.h"
#include "tests/checks/evidence_builder.h"

namespace shardlab {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_::detail;
using testing_::EvidenceBuilder;
using testing_::only;

constexpr const char* kNone = "(none)";

// The lines that are said to differ first, those of the guilty process first.
std::vector<std::string> first_lines(const Diagnosis& diagnosis) {
  std::vector<std::string> lines;
  for (const Participant& side : diagnosis.participants)
    if (side.state == "differs here first") lines.push_back(side.where);
  return lines;
}

EvidenceBuilder three() {
  EvidenceBuilder b(3);
  b.program("A").program("B", {}, {"float32[8] P('a',)"}).program("C").program("D", {}, {"float32[9] P('a',)"});
  b.at("D").name = "B";
  return b;
}

void matched(EvidenceBuilder& b, const std::string& name) {
  for (int p : {0, 1, 2}) b.call(p, name, true);
}

TEST(Origin, ABranchIsNamedByItsFirstStep) {
  EvidenceBuilder b = three();
  b.own({0, 1, 2}, "p");
  matched(b, "A");
  b.own({0, 2}, "xu").own({1}, "xv").calls({0, 2}, "BC").calls({1}, "C");
  const Diagnosis d = only(b.evidence());
  EXPECT_EQ(d.code, "missing-participant");
  EXPECT_THAT(first_lines(d), ElementsAre("own.cpp:22", "own.cpp:21"));
  EXPECT_EQ(detail(d, "first difference"), "process 1 runs v at own.cpp:22, process 0 runs u at own.cpp:21");
  EXPECT_EQ(detail(d, "own work"), kNone);
}

TEST(Origin, BatchesOfOnesOwnBeforeCallsThatWereAgreedOnAreNotBlamed) {
  EvidenceBuilder b = three();
  b.own({0, 2}, "u").own({1}, "v");
  matched(b, "A");
  matched(b, "C");
  b.own({0, 1, 2}, "x").calls({0, 2}, "BC").calls({1}, "C");
  const Diagnosis d = only(b.evidence());
  EXPECT_THAT(first_lines(d), IsEmpty());
  EXPECT_EQ(detail(d, "first difference"), kNone);
  EXPECT_THAT(detail(d, "own work"), AllOf(HasSubstr("process 1 runs v at own.cpp:22, process 0 runs u at own.cpp:21"),
                                           HasSubstr("both agreed on calls after it, so it is no cause unless")));
}

TEST(Origin, ABatchInEachRoundIsNoDifferenceOfTheLastOne) {
  EvidenceBuilder b = three();
  for (int round = 0; round < 3; ++round) {
    b.own({0, 2}, "ut").own({1}, "vt");
    matched(b, "A");
  }
  b.own({0, 2}, "utx").own({1}, "vty").calls({0, 2}, "BC").calls({1}, "C");
  EXPECT_THAT(first_lines(only(b.evidence())), ElementsAre("own.cpp:25", "own.cpp:24"));
}

TEST(Origin, WorkBeforeTheCallAfterWhichAllGoOnAlikeIsNotBlamed) {
  EvidenceBuilder b = three();
  matched(b, "A");
  b.own({0, 2}, "ux").own({1}, "vx").calls({0, 2}, "BC").calls({1}, "C");
  const Diagnosis d = only(b.evidence());
  EXPECT_THAT(first_lines(d), IsEmpty());
  EXPECT_THAT(detail(d, "own work"), HasSubstr("after it both go on alike, so it is no cause unless"));
}

TEST(Origin, WhatStandsInThePlaceOfTheCallIsNamedAlthoughAllGoOnAlike) {
  EvidenceBuilder b = three();
  matched(b, "A");
  b.own({0, 1, 2}, "x").own({1}, "v").calls({0, 2}, "B").own({0, 1, 2}, "y").calls({0, 1, 2}, "C");
  EXPECT_THAT(first_lines(only(b.evidence())), ElementsAre("own.cpp:22"));
}

// The one that lacks the call is further on in the same steps.
TEST(Origin, StepsThatTheOthersMakeAfterTheirCallAreNoDifference) {
  EvidenceBuilder b = three();
  matched(b, "A");
  b.own({0, 1, 2}, "x").calls({0, 2}, "B").own({0, 1, 2}, "yz").calls({0, 1, 2}, "C");
  EXPECT_THAT(first_lines(only(b.evidence())), IsEmpty());
  EvidenceBuilder blocked = three();  // these come no further than their call
  matched(blocked, "A");
  blocked.own({0, 1, 2}, "x").own({1}, "yz").calls({0, 2}, "B").calls({1}, "C");
  EXPECT_THAT(first_lines(only(blocked.evidence())), IsEmpty());
}

TEST(Origin, AnOperandIsTracedToTheFirstStepThatDiffers) {
  EvidenceBuilder b = three();
  matched(b, "A");
  b.own({0, 2}, "uxw").own({1}, "UxW").calls({0, 2}, "B").calls({1}, "D");
  const Diagnosis d = only(b.evidence());
  EXPECT_EQ(d.code, "program-mismatch");
  EXPECT_THAT(d.fields, ElementsAre("shape"));
  EXPECT_THAT(first_lines(d), ElementsAre("own.cpp:21", "own.cpp:21"));
}

TEST(Origin, AnOperandThatOneAloneMakesIsNamed) {
  EvidenceBuilder b = three();
  matched(b, "A");
  b.own({0, 1, 2}, "x").own({1}, "v").calls({0, 2}, "B").calls({1}, "D").own({0, 2}, "y").own({1}, "z");
  EXPECT_THAT(first_lines(only(b.evidence())), ElementsAre("own.cpp:22"));
}

// What a call is given may have been made long before.
TEST(Origin, AnOperandThatWasMadeBeforeOtherCallsIsNamed) {
  EvidenceBuilder b = three();
  b.own({0, 2}, "u").own({1}, "v");
  matched(b, "A");
  b.own({0, 1, 2}, "x").calls({0, 2}, "B").calls({1}, "D");
  const Diagnosis d = only(b.evidence());
  EXPECT_THAT(first_lines(d), IsEmpty());
  EXPECT_THAT(detail(d, "own work"), HasSubstr("no cause unless its values are used here"));
  ASSERT_GE(d.participants.size(), 2u);
  EXPECT_EQ(d.participants[d.participants.size() - 2].where, "own.cpp:22");
  EXPECT_EQ(d.participants.back().where, "own.cpp:21");
  EXPECT_EQ(d.participants.back().state, "differed here before");
}

// What a program went by that did otherwise: with what the other one saw at that line.
TEST(Origin, ValuesThatWereSeenOtherwiseAreToldWithBoth) {
  EvidenceBuilder b = three();
  auto see = [&](int process, const std::string& value, const std::string& where) {
    StepEvidence step{.kind = StepEvidence::Kind::kObserved, .what = "fetched value", .where = where, .value = value};
    step.fingerprint = std::hash<std::string>{}(value);
    step.after = b.process(process).issued;
    b.process(process).steps.push_back(step);
  };
  for (int p : {0, 1, 2}) see(p, std::to_string(p), "toy.cpp:5");  // before a call that all agreed on
  matched(b, "A");
  for (int p : {0, 1, 2}) {
    see(p, "7", "toy.cpp:6");
    see(p, p == 1 ? "2.5" : "3.5", "toy.cpp:8");
  }
  b.calls({0, 2}, "BC").calls({1}, "C");
  const Diagnosis d = only(b.evidence());
  EXPECT_EQ(detail(d, "may have decided"), "fetched value = 2.5 on process 1, 3.5 on process 0 at toy.cpp:8");
  EXPECT_EQ(std::count_if(d.details.begin(), d.details.end(), [](const auto& each) { return each.first == "may have decided"; }), 1);
}

// What one has forgotten is no difference.
TEST(Origin, OnlyWhatBothRememberIsCompared) {
  EvidenceBuilder b = three();
  matched(b, "A");
  b.own({0, 2}, std::string(kStepsRemembered - 1, 'u')).own({1}, "v" + std::string(kStepsRemembered - 1, 'u'));
  b.calls({0, 2}, "B").calls({1}, "D");
  EXPECT_THAT(first_lines(only(b.evidence())), IsEmpty()) << "process 1 is full, and may have made it before";
  b.process(1).steps.pop_back();
  EXPECT_THAT(first_lines(only(b.evidence())), ElementsAre("own.cpp:22"));
}

}  // namespace
}  // namespace shardlab
