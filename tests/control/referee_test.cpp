// The whole logic of the control plane with processes as threads: gates, look-ahead, poison, verdicts, back-pressure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <latch>
#include <limits>
#include <thread>

#include "tests/control/referee_process.h"

namespace shardlab::control {
namespace {

using comm::DiagnosisError;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Referee, AgreementPassesAndNobodyIsBlamed) {
  Referee referee({.num_processes = 4});
  auto codes = run(referee, 4, [](Process& p) {
    for (int i = 0; i < 300; ++i) {
      p.issue("A", kAll);
      if (p.index < 2) p.issue("B", {0, 1});
      p.issue("C", kAll);
      if (i % 50 == 0) p.read();
    }
    p.read();
  });
  EXPECT_THAT(codes, ElementsAre("", "", "", ""));
  EXPECT_EQ(referee.verdict(), nullptr);
  EXPECT_EQ(referee.evidence().processes[0].matched, 900);
}

TEST(Referee, AMismatchReachesEveryReadWithBothLines) {
  constexpr std::chrono::hours kNever{1};  // no limit of time has a part in it
  double quickest_ms = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 50; ++i) {
    Referee referee({.num_processes = 4, .look_ahead = kNever, .stuck = kNever, .silent = kNever});
    std::barrier<> start(4);
    auto codes = run(referee, 4, [&](Process& p) {
      start.arrive_and_wait();
      p.issue("A", kAll);
      p.issue(p.index == 3 ? "X" : "B", kAll);
      p.issue("C", kAll);
      p.read();
    });
    EXPECT_THAT(codes, ElementsAre("program-mismatch", "program-mismatch", "program-mismatch", "program-mismatch"));
    ASSERT_TRUE(referee.verdict());
    const Diagnosis& d = referee.verdict()->diagnoses.at(0);
    EXPECT_THAT(d.processes, ElementsAre(3)) << d.message;
    EXPECT_THAT(d.message, HasSubstr("process 3 runs X(P('a')) at toy.cpp:88 where processes 0, 1 and 2 run B(P('a')) at toy.cpp:66"));
    quickest_ms = std::min(quickest_ms, d.detected_after_ms());
    EXPECT_GT(d.evidence_ns, 0);
  }
  EXPECT_LT(quickest_ms, 100);
}

// What all have matched is sound: its reader goes on, and says what it would do next.
TEST(Referee, AReadOfWhatWasMatchedPassesAfterThePoison) {
  Referee referee({.num_processes = 3, .look_ahead = std::chrono::seconds(20)});
  auto codes = run(referee, 3, [](Process& p) {
    p.issue("A", kThree);
    if (p.index < 2) {
      p.issue("B", kThree);
      p.issue("C", kThree);
      p.read();
      return;
    }
    p.issue("C", kThree);
    while (!p.control.poisoned()) std::this_thread::yield();
    p.control.await_agreement(0, "fetch", {"toy.cpp", "main", 50, -1});  // of A
    EXPECT_TRUE(p.control.may_run(0));
    p.issue("B", kThree);
    try {
      p.read();
    } catch (const DiagnosisError&) {
      EXPECT_FALSE(p.control.may_run(1));  // C: nobody else stood there
      throw;
    }
  });
  EXPECT_THAT(codes, ElementsAre("order-mismatch", "order-mismatch", "order-mismatch"));
  EXPECT_THAT(referee.verdict()->diagnoses.at(0).processes, ElementsAre(2));
}

TEST(Referee, TheLookAheadTellsAnOrderFromAProgram) {
  Referee referee({.num_processes = 4});
  run(referee, 4, [](Process& p) {
    p.issue(p.index == 1 ? "B" : "A", kAll);
    p.issue(p.index == 1 ? "A" : "B", kAll);
    p.issue("C", kAll);
    p.read();
  });
  EXPECT_EQ(referee.verdict()->code, "order-mismatch");
  EXPECT_THAT(referee.verdict()->diagnoses.at(0).processes, ElementsAre(1));
}

TEST(Referee, ExtraCallUnderIfProcessIndex) {
  Referee referee({.num_processes = 4});
  auto codes = run(referee, 4, [](Process& p) {
    p.issue("A", kAll);
    if (p.index == 0) p.issue("X", kAll);
    p.read();
  });
  EXPECT_EQ(codes[0], "missing-participant");
  const Diagnosis& d = referee.verdict()->diagnoses.at(0);
  EXPECT_EQ(d.code, "missing-participant");
  EXPECT_EQ(d.participants.size(), 4u);
}

TEST(Referee, ARaisedProcessIsNamedToThoseWhoWait) {
  Referee referee({.num_processes = 4});
  auto codes = run(referee, 4, [](Process& p) {
    p.issue("A", kAll);
    if (p.index == 2) throw UserError("index 9 is out of range");
    p.issue("B", kAll);
    p.read();
  });
  EXPECT_THAT(codes, ElementsAre("process-raised", "process-raised", "user", "process-raised"));
  EXPECT_THAT(referee.verdict()->text, HasSubstr("process 2 raised \"index 9 is out of range\" at toy.cpp:12"));
  EXPECT_THAT(referee.verdict()->diagnoses[0].processes, ElementsAre(2));
}

TEST(Referee, TheSameErrorEverywhereIsNoDiagnosis) {
  Referee referee({.num_processes = 3});
  run(referee, 3, [](Process& p) {
    p.issue("A", {0, 1, 2});
    throw UserError("shapes do not fit");
  });
  EXPECT_EQ(referee.verdict(), nullptr);
  EXPECT_EQ(referee.common_error(), "shapes do not fit");
}

TEST(Referee, AnErrorThatNobodyWaitsForIsDiagnosedAtTheEnd) {
  Referee referee({.num_processes = 3});
  run(referee, 3, [](Process& p) {
    p.issue("A", {0, 1, 2});
    if (p.index == 1) throw UserError("the disk is full");
  });
  ASSERT_TRUE(referee.verdict());
  EXPECT_EQ(referee.verdict()->code, "process-raised");
}

TEST(Referee, ADeathEndsEveryWaitAtOnce) {
  Referee referee({.num_processes = 3, .look_ahead = std::chrono::seconds(30)});
  std::latch ready(2);
  std::jthread killer([&] {
    ready.wait();
    referee.died(2, 0, 9, comm::now_ns());
  });
  std::vector<std::string> codes(2);
  {
    std::vector<std::jthread> threads;
    for (int p = 0; p < 2; ++p)
      threads.emplace_back([&, p] {
        LocalLedgerControl control(referee, p);
        Issuer issuer;
        control.issued(issuer.launch(make_program("A", {0, 1, 2}), 1));
        ready.count_down();
        try {
          control.await_agreement(0, "print", {});
        } catch (const DiagnosisError& error) { codes[p] = error.code(); }
      });
  }
  EXPECT_THAT(codes, ElementsAre("process-killed", "process-killed"));
}

// A message that was sent and never received lies before the next one between the two, which then does not fit.
TEST(Referee, AMessageThatDoesNotFitIsTracedToTheReceiveThatIsMissing) {
  Referee referee({.num_processes = 2, .wire_grace = std::chrono::milliseconds(20)});
  Issuer issuers[2];
  ProgramEvidence send{.fingerprint = 77, .group = 5, .name = "send", .devices = {0, 1}, .processes = {0, 1}};
  send.channel = "0 to 1, tag 3";
  send.message = "float32[4]";
  send.buffered = true;
  send.from = 0;
  send.to = 1;
  referee.declare(send);
  auto program = make_program("A", {0, 1});
  referee.declare(program_evidence(*program));
  for (int p : {0, 1}) referee.joined(p, comm::now_ns());
  referee.issued(0, {.fingerprint = 77, .group = 5, .op = "send", .where = "toy.cpp:4", .issued_ns = comm::now_ns()});
  for (int p : {0, 1}) referee.issued(p, call_evidence(issuers[p].launch(program, 7)));
  referee.wire_mismatch(1, 0, "a message of another call", comm::now_ns());
  ASSERT_TRUE(referee.wait_over(std::chrono::seconds(20)));
  const Diagnosis& diagnosis = referee.verdict()->diagnoses.at(0);
  EXPECT_EQ(diagnosis.code, "missing-participant");
  EXPECT_THAT(diagnosis.processes, ElementsAre(1));
  EXPECT_THAT(diagnosis.message,
              HasSubstr("process 0 sends float32[4] (from 0 to 1, tag 3) at toy.cpp:4, which process 1 does not receive"));
}

// The calls that do not fit lie behind one that a third process has not come to: neither is at the head, and they contradict all the same.
TEST(Referee, AMessageThatDoesNotFitIsTracedBehindACallThatLacksOthers) {
  Referee referee({.num_processes = 3, .wire_grace = std::chrono::seconds(30)});
  Issuer issuers[2];
  std::vector<int> all{0, 1, 2};
  std::vector<std::shared_ptr<const comm::ProgramInfo>> programs{make_program("A", all), make_program("B", all), make_program("C", all)};
  for (const auto& program : programs) referee.declare(program_evidence(*program));
  for (int p : all) referee.joined(p, comm::now_ns());
  for (int p : {0, 1}) referee.issued(p, call_evidence(issuers[p].launch(programs[0], 7)));
  referee.issued(0, call_evidence(issuers[0].launch(programs[1], 8)));
  referee.wire_mismatch(1, 0, "a message of another call", comm::now_ns());
  referee.issued(1, call_evidence(issuers[1].launch(programs[2], 9)));
  ASSERT_TRUE(referee.wait_over(std::chrono::seconds(20)));
  const Diagnosis& diagnosis = referee.verdict()->diagnoses.at(0);
  EXPECT_EQ(diagnosis.code, "program-mismatch");
  EXPECT_THAT(diagnosis.processes, ElementsAre(0, 1));
  EXPECT_THAT(diagnosis.message, AllOf(HasSubstr("process 0 runs B"), HasSubstr("process 1 runs C")));
}

TEST(Referee, BackPressureHoldsTheIssuerUntilItIsMatched) {
  Referee referee({.num_processes = 2});
  LocalLedgerControl slow(referee, 1);
  Issuer slow_issuer;
  auto program = make_program("A", {0, 1});
  std::atomic<int> issued = 0;
  std::jthread fast([&] {
    LocalLedgerControl control(referee, 0);
    Issuer issuer;
    for (int i = 0; i < 3000; ++i) {
      control.issued(issuer.launch(program, 1));
      ++issued;
    }
    control.leave();
  });
  // It stops at the bound until the other comes: the referee sees it waiting to issue.
  while (referee.evidence().processes[0].doing != "issue") std::this_thread::yield();
  EXPECT_EQ(issued, int(Gate::kUnmatchedMax));
  for (int i = 0; i < 3000; ++i) slow.issued(slow_issuer.launch(program, 1));
  slow.leave();
  fast.join();
  EXPECT_EQ(issued, 3000);
  EXPECT_EQ(referee.verdict(), nullptr);
}

TEST(Referee, APoisonedLoopThatNeverReadsEnds) {
  Referee referee({.num_processes = 2, .look_ahead = std::chrono::seconds(30)});
  auto codes = run(referee, 2, [](Process& p) {
    p.issue(p.index == 0 ? "A" : "B", {0, 1});
    while (true) p.issue("C", {0, 1});
  });
  EXPECT_THAT(codes, ElementsAre("program-mismatch", "program-mismatch"));
}

TEST(Referee, AWireMismatchThatTheLaunchesDoNotExplainStillEnds) {
  Referee referee({.num_processes = 2, .wire_grace = std::chrono::milliseconds(20)});
  std::atomic<int> stopped = 0;
  std::string text;
  LocalLedgerControl one(referee, 1, [&](const std::string&) { ++stopped; });
  LocalLedgerControl zero(referee, 0, [&](const std::string&) { ++stopped; });
  Issuer issuer;
  comm::Launch launch = issuer.launch(make_program("A", {0, 1}), 7);
  zero.issued(launch);
  zero.wire_mismatch(launch, 0, {.from = 1, .expected = {.bytes = 8}, .got = {.bytes = 4}});
  EXPECT_TRUE(zero.poisoned());
  try {
    zero.await_agreement(0, "print", {});
    FAIL();
  } catch (const DiagnosisError& error) { text = error.what(); }
  EXPECT_THAT(text, HasSubstr("process 0 received from process 1 a message of another length in A at toy.cpp:7"));
  // A process hears the verdict before its transport is stopped, so that no error of the transport comes first.
  for (int ms = 0; stopped < 2 && ms < 5000; ++ms) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(stopped, 2);
}

TEST(Referee, ReadsOfNothingReturnAtOnce) {
  Referee referee({.num_processes = 2});
  LocalLedgerControl control(referee, 0);
  control.await_agreement(-1, "print", {});
  control.await_agreement(5, "print", {});  // launches that do not span processes need no agreement
}

TEST(Referee, WhoHasReadOnWhileItsExecutorWaitsStillWaits) {
  Referee referee({.num_processes = 2, .stuck = std::chrono::milliseconds(40)});
  for (int p : {0, 1}) referee.joined(p, comm::now_ns());
  referee.alive(1, comm::now_ns());
  referee.reading(0, {5, false, "fetch", "toy.cpp:8", -1}, comm::now_ns());
  referee.waiting(0, "A", "toy.cpp:7", -1, comm::now_ns());
  EXPECT_EQ(referee.evidence().processes[0].doing, "fetch");
  referee.running(0, comm::now_ns());  // agreed on; the data are not there
  EXPECT_EQ(referee.evidence().processes[0].state, ProcessState::kWaiting);
  EXPECT_EQ(referee.evidence().processes[0].where, "toy.cpp:7");
  for (int i = 0; i < 100'000 && !referee.verdict(); ++i) {
    referee.alive(0, comm::now_ns());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_NE(referee.verdict(), nullptr);
  EXPECT_EQ(referee.verdict()->code, "process-stuck");
  referee.waiting(0, "", "", -1, comm::now_ns());
  EXPECT_EQ(referee.verdict()->diagnoses[0].processes, std::vector<int>{1});
}

TEST(Referee, StepsBetweenCallsTellASkippedCallFromAnotherProgram) {
  Referee referee({.num_processes = 3});
  run(referee, 3, [](Process& p) {
    if (p.index != 1) p.issue("A", kThree);
    if (p.index != 1) p.read();
    p.issue("B", kThree);
    p.control.await_agreement(p.issuer.last(), "print", {"toy.cpp", "main", 120, -1});
  });
  ASSERT_NE(referee.verdict(), nullptr);
  EXPECT_EQ(referee.verdict()->code, "missing-participant");
  EXPECT_THAT(referee.verdict()->diagnoses[0].processes, ElementsAre(1));
}

}  // namespace
}  // namespace shardlab::control
