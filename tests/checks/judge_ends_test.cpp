// Diagnoses of processes that ended, raised, are silent or stopped, from evidence made by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/checks/diagnoses.h"
#include "tests/checks/evidence_builder.h"
#include "traces/checks/check_def.h"
#include "traces/checks/wording.h"

namespace shardlab {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_::detail;
using testing_::EvidenceBuilder;
using testing_::only;
using testing_::participants;

TEST(Judge, SilentForTooLongIsStuckWhereItWasLast) {
  EvidenceBuilder b(4);
  b.program("A").calls({0, 1, 2}, "A").state(3, ProcessState::kSilent);
  b.process(3).at = "toy.cpp:88";
  Diagnosis d = only(b.evidence());
  EXPECT_EQ(d.code, "process-stuck");
  EXPECT_THAT(d.processes, ElementsAre(3));
  EXPECT_EQ(d.participants[0].where, "toy.cpp:88");
  b.call(3, "A");  // it stands at the call: nobody waits for it any more
  EXPECT_TRUE(judge(b.evidence()).empty());
}

TEST(Judge, WhoIsStoppedIsNamedThoughAllItsCallsAreMatched) {
  EvidenceBuilder b(3);
  b.program("A").program("B");
  for (int p = 0; p < 3; ++p) b.call(p, "A", true);
  b.call(1, "B").state(1, ProcessState::kStopped);
  EXPECT_TRUE(judge(b.evidence()).empty());  // nobody waits
  b.state(0, ProcessState::kWaiting).state(2, ProcessState::kReading);
  b.process(1).at = "toy.cpp:88";
  Diagnosis d = only(b.evidence());
  EXPECT_EQ(d.code, "process-stuck");
  EXPECT_THAT(d.processes, ElementsAre(1));
  EXPECT_THAT(d.message, HasSubstr("process 1 has fallen silent, stopped or cut off at toy.cpp:88; processes 0 and 2 wait for it in A"));
}

// The read that it has been through is not where it is.
TEST(Judge, WhoIsKilledStandsWhereItWasSeenLast) {
  EvidenceBuilder b(3);
  b.program("A").program("B");
  for (int p = 0; p < 3; ++p) b.call(p, "A", true);
  b.calls({0, 2}, "B").state(1, ProcessState::kKilled);
  ProcessEvidence& killed = b.process(1);
  killed.signal = 9;
  killed.where = "toy.cpp:70", killed.statement = 3, killed.doing = "fetch";
  killed.at = "toy.cpp:88", killed.at_statement = 4;
  Diagnosis d = only(b.evidence());
  EXPECT_THAT(d.message, HasSubstr("process 1 was killed by signal 9 (SIGKILL) at toy.cpp:88"));
  EXPECT_EQ(d.participants[0].where, "toy.cpp:88");
  EXPECT_EQ(d.participants[0].statement, 4);
}

// Its connection is gone: it will not come back, whoever waits.
TEST(Judge, WhoIsLostIsNamedThoughNobodyWaits) {
  EvidenceBuilder b(2);
  b.state(1, ProcessState::kStopped);
  b.process(1).exit_code = kDisappeared;
  EXPECT_EQ(only(b.evidence()).message, "process 1 has fallen silent, stopped or cut off");
}

TEST(Judge, EndedNormallyWithoutTheCall) {
  EvidenceBuilder b(4);
  b.program("A").calls({0}, "A");
  for (int p : {1, 2, 3}) b.state(p, ProcessState::kLeft);
  Diagnosis d = only(b.evidence());
  EXPECT_EQ(d.code, "missing-participant");
  EXPECT_THAT(d.processes, ElementsAre(0));
  EXPECT_EQ(detail(d, "direction"), "extra");
  EXPECT_EQ(d.message, "process 0 runs A at toy.cpp:30, but processes 1, 2 and 3 ended normally without it");

  EvidenceBuilder most(4);
  most.program("A").calls({0, 1, 3}, "A").state(2, ProcessState::kLeft);
  d = only(most.evidence());
  EXPECT_THAT(d.processes, ElementsAre(2));
  EXPECT_EQ(detail(d, "direction"), "skipped");
  EXPECT_THAT(participants(d), ElementsAre(2, 0, 1, 3));
}

TEST(Judge, WhoIsAboutToEndWithoutTheCallCountsToo) {
  EvidenceBuilder b(4);  // process 1 has left; the poison caught 2 at its exit and 3 at the read that 0 has come to
  b.program("A").calls({0}, "A").state(1, ProcessState::kLeft);
  for (int p : {0, 2, 3}) b.state(p, ProcessState::kReading);
  b.process(2).doing = "exit";
  for (int p : {0, 3}) {
    b.process(p).doing = "print";
    b.process(p).where = "toy.cpp:40";
  }
  Diagnosis d = only(b.evidence());
  EXPECT_THAT(d.processes, ElementsAre(0));
  EXPECT_EQ(detail(d, "direction"), "extra");
  EXPECT_EQ(d.message, "process 0 runs A at toy.cpp:30, but process 1 ended normally without it, and processes 2 and 3 are past it");
}

TEST(Judge, KilledBeatsEverything) {
  EvidenceBuilder b(4);
  b.program("A").program("X").calls({0, 1}, "A").calls({3}, "X");
  b.state(2, ProcessState::kKilled).process(2).signal = 9;
  Diagnosis d = only(b.evidence());
  EXPECT_EQ(d.code, "process-killed");
  EXPECT_THAT(d.processes, ElementsAre(2));
  EXPECT_THAT(participants(d), ElementsAre(2, 0, 1, 3));
  EXPECT_EQ(d.participants[0].state, "killed by signal 9 (SIGKILL)");
  EXPECT_THAT(d.message, HasSubstr("process 2 was killed by signal 9 (SIGKILL)"));
  EXPECT_THAT(d.message, HasSubstr("processes 0, 1 and 3 wait for it"));
}

TEST(Judge, WhoIsDeadWasWhereItBeganLast) {
  EvidenceBuilder b(2);
  b.program("A").call(1, "A", true).calls({0}, "A").state(1, ProcessState::kKilled).process(1).signal = 9;
  b.process(1).at = "toy.cpp:41";
  b.process(1).at_statement = 5;
  Diagnosis d = only(b.evidence());
  EXPECT_THAT(d.message, HasSubstr("was killed by signal 9 (SIGKILL) at toy.cpp:41, after A at toy.cpp:30; process 0 waits"));
  EXPECT_EQ(d.participants[0].where, "toy.cpp:41");
  EXPECT_EQ(d.participants[0].statement, 5);
}

TEST(Judge, ExitedWithACodeOrWithoutLeaving) {
  EvidenceBuilder b(2);
  b.program("A").call(1, "A", true).calls({0}, "A").state(1, ProcessState::kExited).process(1).exit_code = 3;
  Diagnosis d = only(b.evidence());
  EXPECT_EQ(d.code, "process-exited");
  EXPECT_THAT(d.processes, ElementsAre(1));
  EXPECT_EQ(d.message, "process 1 exited with code 3 after A at toy.cpp:30; process 0 waits for it in A at toy.cpp:30");
  b.process(1).exit_code = 0;
  EXPECT_THAT(only(b.evidence()).message, HasSubstr("exited without leaving the job"));
}

TEST(Judge, RaisedIsNamedWhenItIsNeeded) {
  EvidenceBuilder b(3);
  b.program("A").calls({0, 2}, "A");
  b.state(1, ProcessState::kRaised).process(1).error = "index 9 is out of range";
  b.process(1).where = "toy.cpp:12";
  Diagnosis d = only(b.evidence());
  EXPECT_EQ(d.code, "process-raised");
  EXPECT_THAT(d.processes, ElementsAre(1));
  EXPECT_EQ(d.message, "process 1 raised \"index 9 is out of range\" at toy.cpp:12; processes 0 and 2 wait for it in A at toy.cpp:30");
  EXPECT_EQ(d.participants[0].where, "toy.cpp:12");
}

// Past its last call, which is no part of what is wrong.
TEST(Judge, WhoEndedBetweenItsCallsIsInNone) {
  for (ProcessState state : {ProcessState::kRaised, ProcessState::kKilled, ProcessState::kSilent}) {
    EvidenceBuilder b(3);
    b.program("A").program("B");
    for (int p : {0, 1, 2}) b.call(p, "A", true);
    b.calls({0, 2}, "B").state(1, state);
    (state == ProcessState::kRaised ? b.process(1).where : b.process(1).at) = "toy.cpp:88";
    Diagnosis d = only(b.evidence());
    EXPECT_THAT(d.processes, ElementsAre(1));
    EXPECT_EQ(d.participants[0].op, "");
    EXPECT_EQ(d.participants[0].seq, -1);
    EXPECT_EQ(d.participants[0].where, "toy.cpp:88");
    EXPECT_THAT(d.participants[0].state, HasSubstr(", after A at toy.cpp:30"));
    EXPECT_THAT(text_of(d), HasSubstr("\n  process 1: in no call at toy.cpp:88, "));
  }
}

TEST(Judge, RaisedIsNoVerdictWhileOthersRunOn) {
  EvidenceBuilder b(3);
  b.state(1, ProcessState::kRaised);
  EXPECT_TRUE(judge(b.evidence()).empty());
  b.state(0, ProcessState::kLeft).state(2, ProcessState::kLeft);
  EXPECT_EQ(only(b.evidence()).code, "process-raised");
}

TEST(Judge, TheSameErrorOnAllIsNoDiagnosis) {
  EvidenceBuilder b(3);
  for (int p : {0, 1, 2}) b.state(p, ProcessState::kRaised).process(p).error = "shapes do not fit";
  EXPECT_TRUE(judge(b.evidence()).empty());
  b.process(1).error = "file not found";
  EXPECT_THAT(only(b.evidence()).processes, ElementsAre(1));
}

TEST(Judge, RaisedWithAnOpenCallThatTheOthersReachIsNotYetAVerdict) {
  EvidenceBuilder b(2);
  b.program("A").program("B").calls({1}, "A").state(1, ProcessState::kRaised);
  b.calls({0}, "A");
  EXPECT_TRUE(judge(b.evidence()).empty());
}

}  // namespace
}  // namespace shardlab
