// Every class of diagnosis from evidence made by hand: whom it names, what it says, and what must stay quiet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/checks/diagnoses.h"
#include "tests/checks/evidence_builder.h"
#include "traces/checks/check_def.h"
#include "traces/checks/evidence_json.h"
#include "traces/checks/wording.h"

namespace shardlab {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_::detail;
using testing_::EvidenceBuilder;
using testing_::only;
using testing_::participants;

TEST(Judge, NothingToSayOfSlowProcesses) {
  EvidenceBuilder b(4);
  b.program("A").program("B").calls({0, 1}, "AB").calls({2}, "A");
  EXPECT_TRUE(judge(b.evidence()).empty());  // process 3 has issued nothing yet
}

TEST(Judge, AnAlternativeThatWouldNotEndIsAPotentialDeadlock) {
  EvidenceBuilder b(2);
  b.state(0, ProcessState::kLeft).state(1, ProcessState::kLeft);
  b.evidence().alternatives.push_back({"sends that are not buffered", "deadlock", "a circle", {0, 1}, ""});
  Diagnosis d = only(b.evidence());
  EXPECT_EQ(d.code, "potential-deadlock");
  EXPECT_EQ(d.severity, "warning");
  EXPECT_THAT(d.processes, ElementsAre(0, 1));
}

TEST(Judge, ThreeAgainstOneIsTheOnesProgram) {
  EvidenceBuilder b(4);
  b.program("matmul", {}, {"float32[8,8] P('a', None)", "float32[8,8] P(None, 'b')"});
  b.program("other", {}, {"float32[8,8] P('b', None)", "float32[8,8] P('a', 'b')"});
  b.at("other").name = "matmul";
  for (int p : {0, 1, 2}) b.call(p, "matmul");
  b.call(3, "other");
  Diagnosis d = only(b.evidence());
  EXPECT_EQ(d.code, "program-mismatch");
  EXPECT_EQ(d.severity, "error");
  EXPECT_THAT(d.processes, ElementsAre(3));
  EXPECT_FALSE(d.tie);
  EXPECT_THAT(participants(d), ElementsAre(3, 0, 1, 2));
  EXPECT_THAT(d.fields, ElementsAre("sharding"));
  EXPECT_EQ(d.message,
            "process 3 runs matmul(P('b', None), P('a', 'b')) at toy.cpp:31 where processes 0, 1 and 2 run "
            "matmul(P('a', None), P(None, 'b')) at toy.cpp:30");
  EXPECT_EQ(detail(d, "first differing line"), "1");
}

TEST(Judge, TwoProcessesAreATieWithoutBlame) {
  EvidenceBuilder b(2);
  b.program("A").program("X").calls({0}, "A").calls({1}, "X");
  Diagnosis d = only(b.evidence());
  EXPECT_EQ(d.code, "program-mismatch");
  EXPECT_THAT(d.processes, ElementsAre(0, 1));
  EXPECT_TRUE(d.tie);
  EXPECT_THAT(participants(d), ElementsAre(0, 1));
  EXPECT_THAT(d.message, HasSubstr("process 0 runs A at toy.cpp:30 where process 1 runs X at toy.cpp:31"));
}

TEST(Judge, AllDifferFromOneAnother) {
  EvidenceBuilder b(3);
  b.program("A").program("B").program("C").calls({0}, "A").calls({1}, "B").calls({2}, "C");
  Diagnosis d = only(b.evidence());
  EXPECT_EQ(d.code, "program-mismatch");
  EXPECT_TRUE(d.tie);
  EXPECT_THAT(d.processes, ElementsAre(0, 1, 2));
}

TEST(Judge, TwoOfSevenDifferInTwoWays) {
  EvidenceBuilder b(7);
  b.program("A").program("B").program("C").calls({0, 1, 3, 5, 6}, "A").calls({2}, "B").calls({4}, "C");
  Diagnosis d = only(b.evidence());
  EXPECT_THAT(d.processes, ElementsAre(2, 4));
  EXPECT_FALSE(d.tie);
  EXPECT_THAT(d.message, HasSubstr("process 4 runs C"));
}

TEST(Judge, TheSameDevicesInAnotherOrderAreSaidToBeThat) {
  EvidenceBuilder b(3);
  b.program("f", {}, {}, "devices [0,1,2,3,4,5]").program("g", {}, {}, "devices [1,0,2,3,4,5]");
  b.at("g").name = "f";
  std::swap(b.at("g").devices[0], b.at("g").devices[1]);
  b.call(0, "f").call(1, "f").call(2, "g");
  Diagnosis d = only(b.evidence());
  EXPECT_THAT(d.fields, ElementsAre("mesh"));
  EXPECT_EQ(detail(d, "mesh"), "the same devices in another order");
  EXPECT_THAT(d.message, HasSubstr("the order of devices is [1,0,2,3,4,5] on process 2"));
}

TEST(Judge, WhoDiffersInARootIsToldSo) {
  EvidenceBuilder b(3);
  b.program("f", {}, {}, "%1 = broadcast(%0) {root = 0} : float32[8]").program("g", {}, {}, "%1 = broadcast(%0) {root = 1} : float32[8]");
  b.at("g").name = "f";
  b.call(0, "f").call(1, "f").call(2, "g");
  EXPECT_THAT(only(b.evidence()).fields, ElementsAre("root"));
}

Diagnosis only_remark(const Evidence& evidence) {
  std::vector<Diagnosis> found = remarks(evidence);
  EXPECT_EQ(found.size(), 1u);
  return found.empty() ? Diagnosis{} : found.front();
}

TEST(Remarks, WhoWaitedHowLongForWhom) {
  EvidenceBuilder b(3);
  b.program("A");
  for (int p = 0; p < 3; ++p) b.call(p, "A", true).state(p, ProcessState::kLeft);
  b.process(1).late = {.calls = 2, .ns = 350'000'000, .longest_ns = 300'000'000, .op = "sum", .where = "toy.cpp:31", .waiting = {0, 2}};
  Diagnosis d = only_remark(b.evidence());
  EXPECT_EQ(d.code, "straggler");
  EXPECT_EQ(d.severity, "info");
  EXPECT_THAT(d.processes, ElementsAre(1));
  EXPECT_EQ(d.message, "processes 0 and 2 waited 0.350 s for process 1 in all, 0.300 s of it in sum at toy.cpp:31");
  ASSERT_EQ(d.participants.size(), 3u);
  EXPECT_EQ(d.participants[0].state, "came last");
  EXPECT_EQ(d.participants[0].kind, "") << "of the call that it came last to, not of its last one";
  b.process(1).late.ns = 90'000'000;  // too little to speak of
  EXPECT_TRUE(remarks(b.evidence()).empty());
  b.process(1).late.ns = 110'000'000;  // much, but the others are as late, each in turn
  for (int p : {0, 2}) b.process(p).late.ns = 400'000'000;
  EXPECT_EQ(remarks(b.evidence()).size(), 2u);
}

TEST(Remarks, ResultsThatNobodyUsed) {
  EvidenceBuilder b(2);
  for (int p : {0, 1}) {
    b.state(p, ProcessState::kLeft);
    b.process(p).unused = {{.kind = StepEvidence::Kind::kUnused, .what = "sum", .where = "toy.cpp:9", .value = "3"}};
  }
  Diagnosis d = only_remark(b.evidence());
  EXPECT_EQ(d.code, "unawaited");
  EXPECT_EQ(d.severity, "warning");
  EXPECT_EQ(d.message, "the result of sum at toy.cpp:9 is dropped before anybody used it, 3 times, on all processes");
}

TEST(Remarks, NothingBesideAVerdict) {
  EvidenceBuilder b(2);
  b.program("A").program("B").call(0, "A").call(1, "B");
  b.process(1).late = {.calls = 1, .ns = 500'000'000, .longest_ns = 500'000'000, .waiting = {0}};
  EXPECT_EQ(judge(b.evidence()).size(), 1u);
  EXPECT_TRUE(remarks(b.evidence()).empty());
}

TEST(Judge, ManySidesThatStandAlikeAreToldAsOne) {
  EvidenceBuilder b(16);
  b.program("A").program("B");
  for (int p = 0; p < 16; ++p) b.call(p, p == 7 ? "B" : "A");
  std::string text = text_of(only(b.evidence()));
  EXPECT_THAT(text, HasSubstr("process 7 runs B at toy.cpp:31 where processes 0-6 and 8-15 run A at toy.cpp:30"));
  EXPECT_THAT(text, HasSubstr("\n  process 7: B #0"));
  EXPECT_THAT(text, HasSubstr("\n  processes 0-6 and 8-15: A #0"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);  // and what is equal on both sides
}

TEST(Judge, HalfAgainstHalf) {
  EvidenceBuilder b(4);
  b.program("A").program("X").calls({0, 2}, "A").calls({1, 3}, "X");
  Diagnosis d = only(b.evidence());
  EXPECT_TRUE(d.tie);
  EXPECT_THAT(d.processes, ElementsAre(0, 1, 2, 3));
}

TEST(Judge, FieldsNameWhatDiffers) {
  EvidenceBuilder b(2);
  b.program("f", {}, {"float32[8,8] P('a')"}).program("g", {}, {"int32[8,4] P('a')"});
  b.at("g").mesh = "mesh(b=4)";
  b.at("f").collectives.push_back({.kind = "all-reduce", .dtype = "float32", .shape = "(8,)", .reduction = "sum", .groups = "[[0,1]]"});
  b.at("g").collectives.push_back({.kind = "all-reduce", .dtype = "float32", .shape = "(8,)", .reduction = "max", .groups = "[[0,1]]"});
  b.call(0, "f").call(1, "g");
  EXPECT_THAT(only(b.evidence()).fields, ElementsAre("op", "shape", "dtype", "reduction", "mesh"));
}

TEST(Judge, EqualFieldsAreACodeDifferenceAndItsLineIsNamed) {
  EvidenceBuilder b(3);
  b.program("f", {}, {"float32[8] P('a')"}, "%0 = sin()\n%1 = exp(%0)").program("g", {}, {"float32[8] P('a')"}, "%0 = sin()\n%1 = log(%0)");
  b.at("g").name = "f";
  b.call(0, "f").call(1, "f").call(2, "g");
  Diagnosis d = only(b.evidence());
  EXPECT_THAT(d.fields, ElementsAre("code"));
  EXPECT_EQ(detail(d, "first differing line"), "2");
  EXPECT_EQ(detail(d, "line on process 2"), "%1 = log(%0)");
  EXPECT_THAT(d.message, HasSubstr("their programs differ: op of %1 is log on process 2 and exp on processes 0 and 1"));
}

TEST(Judge, AnotherOrder) {
  EvidenceBuilder b(4);
  b.program("A").program("B").program("C").calls({0, 1, 3}, "ABC").calls({2}, "BAC");
  Diagnosis d = only(b.evidence());
  EXPECT_EQ(d.code, "order-mismatch");
  EXPECT_THAT(d.processes, ElementsAre(2));
  EXPECT_EQ(d.message, "process 2 runs B at toy.cpp:31 before A, where processes 0, 1 and 3 run A at toy.cpp:30 first");
}

TEST(Judge, AnotherOrderOfTwoGroupsConcernsThoseInBoth) {
  EvidenceBuilder b(4);
  b.program("A").program("B", {2, 3}).calls({0, 1}, "A").calls({2}, "AB").calls({3}, "BA");
  Diagnosis d = only(b.evidence());
  EXPECT_EQ(d.code, "order-mismatch");
  EXPECT_THAT(d.processes, ElementsAre(2, 3));
  EXPECT_TRUE(d.tie);
  EXPECT_THAT(participants(d), ElementsAre(2, 3, 0, 1));
}

TEST(Judge, SkippedAndExtra) {
  EvidenceBuilder skipped(4);
  skipped.program("A").program("B").program("C").calls({0, 1, 2}, "ABC").calls({3}, "BC");
  Diagnosis d = only(skipped.evidence());
  EXPECT_EQ(d.code, "missing-participant");
  EXPECT_THAT(d.processes, ElementsAre(3));
  EXPECT_EQ(detail(d, "direction"), "skipped");
  EXPECT_EQ(d.message, "processes 0, 1 and 2 run A at toy.cpp:30, which process 3 skips; process 3 runs B at toy.cpp:31 next");

  EvidenceBuilder extra(4);
  extra.program("A").program("B").program("X").calls({1, 2, 3}, "AB").calls({0}, "XAB");
  d = only(extra.evidence());
  EXPECT_EQ(d.code, "missing-participant");
  EXPECT_THAT(d.processes, ElementsAre(0));
  EXPECT_EQ(detail(d, "direction"), "extra");
  EXPECT_EQ(d.message,
            "process 0 runs X at toy.cpp:32, a call that processes 1, 2 and 3 do not make: processes 1, 2 and 3 run A at toy.cpp:30");
}

TEST(Judge, OfTwoTheOneThatLacksTheCall) {
  EvidenceBuilder b(2);
  b.program("A").program("B").program("C").calls({0}, "ABC").calls({1}, "BC");
  Diagnosis d = only(b.evidence());
  EXPECT_EQ(d.code, "missing-participant");
  EXPECT_FALSE(d.tie);
  EXPECT_THAT(d.processes, ElementsAre(1));
  EXPECT_EQ(detail(d, "direction"), "skipped");
}

TEST(Judge, SkippedInASubgroupConcernsItsMembersAlone) {
  EvidenceBuilder b(4);  // process 3 skips B; 0 and 1 have no part in it, though they stand where 3 stands
  b.program("B", {2, 3}).program("C").calls({2}, "BC").calls({0, 1, 3}, "C");
  Diagnosis d = only(b.evidence());
  EXPECT_EQ(d.code, "missing-participant");
  EXPECT_THAT(d.processes, ElementsAre(3));
  EXPECT_EQ(participants(d).front(), 3);
}

StepEvidence predicate(const std::string& value) {
  return {.kind = StepEvidence::Kind::kObserved,
          .what = "predicate of while (step 2), run 0 of f [0badcafe]",
          .where = "toy.cpp:9",
          .value = value};
}

TEST(Judge, ALoopThatEndsEarlierOnOneIsTracedToItsPredicate) {
  EvidenceBuilder b(3);
  b.program("f");
  for (int p = 0; p < 3; ++p) b.call(p, "f", true).process(p).steps = {predicate(p == 1 ? "2 with 3" : "3+ with 2")};
  Diagnosis d = only(b.evidence());
  EXPECT_EQ(d.code, "input-divergence");
  EXPECT_THAT(d.processes, ElementsAre(1));
  EXPECT_EQ(d.message,
            "the predicate of while at toy.cpp:9 was false (of 3) after 2 rounds on process 1 and was true (of 2) and began 3 rounds on "
            "processes 0 and 2: from there on they run different calls of one launch");
  EXPECT_EQ(d.participants.back().where, "toy.cpp:9");
}

TEST(Judge, ALoopThatIsStillUnderWayMayYetEndAsTheOthers) {
  EvidenceBuilder b(3);
  b.program("f");
  for (int p = 0; p < 3; ++p) b.call(p, "f", true).process(p).steps = {predicate(p == 1 ? "3 with 3" : "2+ with 2")};
  EXPECT_TRUE(judge(b.evidence()).empty());
}

TEST(Judge, ABroadcastFromAnotherRootSaysSo) {
  EvidenceBuilder b(3);
  b.program("A").program("B");
  b.at("A").name = b.at("B").name = "broadcast";
  b.at("A").collectives = {{.kind = "transfer", .pairs = "[[0,2],[0,4]]"}};
  b.at("B").collectives = {{.kind = "transfer", .pairs = "[[2,0],[2,4]]"}};
  b.calls({0, 1}, "A").calls({2}, "B");
  EXPECT_THAT(only(b.evidence()).fields, testing::Contains("root"));
  b.at("B").collectives[0].pairs = "[[2,0],[4,0]]";
  EXPECT_THAT(only(b.evidence()).fields, testing::Not(testing::Contains("root")));
}

// Those that stand alike are one side, and what is equal on all is told once.
TEST(Judge, TextShowsWhatDiffers) {
  EvidenceBuilder b(4);
  b.program("A").program("X").calls({0, 1, 3}, "A").calls({2}, "X").state(2, ProcessState::kReading);
  Diagnosis diagnosis = only(b.evidence());
  std::string text = text_of(diagnosis);
  EXPECT_THAT(text, HasSubstr("program-mismatch: process 2 runs X"));
  EXPECT_THAT(text, HasSubstr("\n  process 2: X #0 at toy.cpp:31, "));
  EXPECT_THAT(text, HasSubstr("\n  processes 0, 1 and 3: A #0 at toy.cpp:30, running"));
  EXPECT_THAT(text, HasSubstr("\n  all: launch"));
  SideTable table = side_table(diagnosis);
  ASSERT_EQ(table.sides.size(), 2u);
  EXPECT_THAT(table.sides[1].processes, ElementsAre(0, 1, 3));
  EXPECT_THAT(table.common, testing::Contains(std::pair<std::string, std::string>("kind", "launch")));
  EXPECT_THAT(table.differing, testing::Contains(testing::Pair("op", ElementsAre("X", "A"))));
}

// One line called from two functions is two places.
TEST(Judge, TellsInWhichFunctionsACallWasMade) {
  EvidenceBuilder b(3);
  b.program("A").program("X").calls({0, 1}, "A").calls({2}, "X");
  for (int p : {0, 1, 2})
    b.process(p).callers = {{.kind = StepEvidence::Kind::kCalled, .what = p == 2 ? "evaluate, main" : "train, main", .after = 0}};
  Diagnosis diagnosis = only(b.evidence());
  EXPECT_THAT(text_of(diagnosis), HasSubstr("process 2: X #0 at toy.cpp:31, called in evaluate, main"));
  EXPECT_THAT(text_of(diagnosis), HasSubstr("processes 0 and 1: A #0 at toy.cpp:30, called in train, main"));
}

// A process of which no functions are heard stands with those that it stands like; two that are called in two functions do not.
TEST(Judge, ASideWhoseCallersAreNotKnownStandsWithItsLike) {
  EvidenceBuilder b(5);
  b.program("A").program("X").calls({0, 1, 3, 4}, "A").calls({2}, "X");
  for (int p : {1, 2, 3, 4})
    b.process(p).callers = {{.kind = StepEvidence::Kind::kCalled, .what = p == 4 ? "evaluate, main" : "train, main", .after = 0}};
  const std::string text = text_of(only(b.evidence()));
  EXPECT_THAT(text, HasSubstr("processes 0, 1 and 3: A #0 at toy.cpp:30, called in train, main"));
  EXPECT_THAT(text, HasSubstr("process 4: A #0 at toy.cpp:30, called in evaluate, main"));
}

// Where in its launch a side communicates: a jitted function's line alone would not say.
TEST(Judge, TellsAxesAndTheCallChain) {
  EvidenceBuilder b(4);
  b.program("f").program("g").calls({0, 1, 3}, "f").calls({2}, "g");
  b.at("f").collectives.push_back({.kind = "all-reduce", .op = "sum", .where = "toy.cpp:12", .axes = "a, b"});
  b.at("g").collectives.push_back({.kind = "all-gather", .op = "g", .where = "toy.cpp:31", .axes = "b"});
  Diagnosis diagnosis = only(b.evidence());
  auto detail = [&](const char* name) {
    for (const auto& [key, value] : diagnosis.details)
      if (key == name) return value;
    return std::string();
  };
  EXPECT_EQ(detail("mesh axes on process 2"), "b");
  EXPECT_EQ(detail("mesh axes on processes 0, 1 and 3"), "a, b");
  EXPECT_EQ(detail("call chain on processes 0, 1 and 3"), "all-reduce of sum at toy.cpp:12, in f at toy.cpp:30");
  EXPECT_EQ(detail("call chain on process 2"), "");
}

TEST(Json, EvidenceAndDiagnosesSurvive) {
  EvidenceBuilder b(3);
  b.program("A", {}, {"float32[8] P('a')"}).program("X").calls({0, 1}, "A").calls({2}, "X").state(0, ProcessState::kReading);
  b.at("A").collectives.push_back({.kind = "all-reduce", .bytes = 4});
  b.evidence().complete_ns = 7;
  Evidence copy = evidence_from_json(to_json(b.evidence()));
  EXPECT_EQ(to_json(copy), to_json(b.evidence()));
  std::vector<Diagnosis> found = judge(b.evidence());
  EXPECT_EQ(to_json(diagnoses_from_json(to_json(found))), to_json(found));
  EXPECT_EQ(to_json(judge(copy)), to_json(found));
  EXPECT_THROW(evidence_from_json("{"), std::exception);
}

}  // namespace
}  // namespace shardlab
