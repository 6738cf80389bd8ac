// The ledger's proofs, one by one, and what must not be one.
#include "runtime/control/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/error.h"

#include "traces/checks/check_def.h"

namespace shardlab::control {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

class LedgerTest : public testing::Test {
 protected:
  LedgerTest() : ledger(4) {
    for (int p = 0; p < 4; ++p) ledger.joined(p, 0);
  }
  void declare(char name, std::vector<int> processes) {
    ProgramEvidence program{.fingerprint = std::uint64_t(name), .group = 1, .name = std::string(1, name)};
    program.text = program.name;
    program.processes = std::move(processes);
    ledger.declare(program);
  }
  void issue(int process, char name, std::int64_t time_ns = 0, std::int64_t planned_ns = 0) {
    CallEvidence call{.launch = next[process]++, .fingerprint = std::uint64_t(name), .group = 1, .op = std::string(1, name)};
    call.issued_ns = time_ns;
    call.planned_ns = planned_ns;
    ledger.issued(process, std::move(call));
  }
  void issue(int process, const std::string& names) {
    for (char name : names) issue(process, name);
  }
  Ledger ledger;
  std::int64_t next[4] = {};
};

TEST_F(LedgerTest, MatchesWhenAllAreThere) {
  declare('A', {0, 1, 2, 3});
  for (int p = 0; p < 3; ++p) issue(p, 'A');
  EXPECT_THAT(ledger.take_progress(), ElementsAre());
  EXPECT_EQ(ledger.first_open(0), 0);
  issue(3, 'A');
  EXPECT_THAT(ledger.take_progress(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(ledger.matched_of(2), 1);
  EXPECT_EQ(ledger.first_open(0), -1);
  EXPECT_FALSE(ledger.finding());
}

TEST_F(LedgerTest, WhatTheLastOnePlansLongerIsNoLateness) {
  constexpr std::int64_t kMs = 1'000'000;
  declare('A', {0, 1, 2, 3});
  auto late = [&](std::int64_t planned_by_others_ms, std::int64_t planned_ms) {
    const std::int64_t now = 1000 * kMs * (next[0] + 1);
    for (int p : {0, 1, 2}) issue(p, 'A', now, planned_by_others_ms * kMs);
    const LatenessEvidence before = ledger.evidence(now).processes[3].late;
    issue(3, 'A', now + 300 * kMs, planned_ms * kMs);
    const LatenessEvidence after = ledger.evidence(now).processes[3].late;
    return std::vector<std::int64_t>{(after.ns - before.ns) / kMs, (after.planned_ns - before.planned_ns) / kMs,
                                     after.calls - before.calls};
  };
  EXPECT_THAT(late(0, 0), ElementsAre(300, 0, 1));
  EXPECT_THAT(late(0, 100), ElementsAre(200, 100, 1));
  EXPECT_THAT(late(0, 300), ElementsAre(0, 300, 0));
  EXPECT_THAT(late(0, 900), ElementsAre(0, 300, 0)) << "it planned while the call before was open";
  EXPECT_THAT(late(900, 900), ElementsAre(300, 0, 1)) << "all planned as long, and it was late beside";
  EXPECT_THAT(late(900, 1000), ElementsAre(200, 100, 1));
}

TEST_F(LedgerTest, MatchesInChains) {
  declare('A', {0, 1});
  declare('B', {1, 2});
  declare('C', {0, 1, 2, 3});
  issue(0, "AC");
  issue(2, "BC");
  issue(3, "C");
  EXPECT_TRUE(ledger.take_progress().empty());
  issue(1, "ABC");
  EXPECT_THAT(ledger.take_progress(), ElementsAre(0, 1, 2, 3));
  for (int p = 0; p < 4; ++p) EXPECT_EQ(ledger.issued_of(p), ledger.matched_of(p));
}

TEST_F(LedgerTest, ContradictionIsFoundAtTheIssueThatCompletesIt) {
  declare('A', {0, 1, 2, 3});
  declare('X', {0, 1, 2, 3});
  issue(3, 'X', 50);
  EXPECT_FALSE(ledger.finding());
  issue(0, 'A', 40);  // issued before, heard of later
  ASSERT_TRUE(ledger.finding());
  EXPECT_EQ(ledger.finding()->kind, Finding::Kind::kContradiction);
  EXPECT_EQ(ledger.finding()->complete_ns, 50);
  EXPECT_THAT(ledger.finding()->processes, UnorderedElementsAre(0, 3));
}

TEST_F(LedgerTest, EvidenceIsCompleteWhenTheCallsBeforeAreMatched) {
  declare('M', {0, 1, 2});
  declare('A', {0, 1});
  declare('X', {0, 1});
  issue(0, 'M', 1);
  issue(0, 'A', 2);
  issue(1, 'M', 3);
  issue(1, 'X', 4);
  EXPECT_FALSE(ledger.finding());
  issue(2, 'M', 99);  // only now both stand at their next calls
  ASSERT_TRUE(ledger.finding());
  EXPECT_EQ(ledger.finding()->complete_ns, 99);
}

TEST_F(LedgerTest, DifferentHeadsThatDoNotNeedEachOtherAreFine) {
  declare('A', {0, 1});
  declare('B', {2, 3});
  declare('C', {1, 2});
  issue(0, 'A');
  issue(3, 'B');
  issue(1, 'C');  // 0 waits for 1 at A; 1 at C needs 2 alone
  EXPECT_FALSE(ledger.finding());
  issue(2, "CB");
  issue(1, 'A');
  EXPECT_FALSE(ledger.finding());
  for (int p = 0; p < 4; ++p) EXPECT_EQ(ledger.first_open(p), -1);
}

TEST_F(LedgerTest, LeavingWithOpenCallsIsLeavingWhenTheyAreMatched) {
  declare('A', {0, 1});
  issue(0, 'A');
  ledger.leaving(0, 5);
  EXPECT_FALSE(ledger.has_left(0));
  issue(1, 'A', 9);
  EXPECT_TRUE(ledger.has_left(0));
  EXPECT_FALSE(ledger.finding());
  issue(1, 'A', 12);
  ASSERT_TRUE(ledger.finding());
  EXPECT_EQ(ledger.finding()->kind, Finding::Kind::kGone);
  EXPECT_EQ(ledger.finding()->complete_ns, 12);
  EXPECT_EQ(judge(ledger.evidence(20)).at(0).code, "missing-participant");
}

TEST_F(LedgerTest, LeavingAfterTheOtherIssued) {
  declare('A', {0, 1});
  issue(0, 'A', 3);
  EXPECT_FALSE(ledger.finding());
  ledger.leaving(1, 8);
  ASSERT_TRUE(ledger.finding());
  EXPECT_EQ(ledger.finding()->complete_ns, 8);
}

TEST_F(LedgerTest, RaisedIsFoundWhenNeeded) {
  declare('A', {0, 1, 2, 3});
  declare('B', {0, 1, 2, 3});
  issue(1, 'A');
  ledger.raised(1, "boom", "toy.cpp:3", -1, 5);
  for (int p : {0, 2, 3}) issue(p, 'A');
  EXPECT_FALSE(ledger.finding());  // what it issued before it raised is matched
  issue(0, 'B', 7);
  ASSERT_TRUE(ledger.finding());
  Diagnosis diagnosis = judge(ledger.evidence(10)).at(0);
  EXPECT_EQ(diagnosis.code, "process-raised");
  EXPECT_EQ(diagnosis.evidence_ns, 7);
  EXPECT_EQ(diagnosis.detected_ns, 10);
}

TEST_F(LedgerTest, DeathIsAFindingAtOnce) {
  ledger.died(2, 0, 9, 77);
  ASSERT_TRUE(ledger.finding());
  EXPECT_EQ(ledger.finding()->kind, Finding::Kind::kDeath);
  EXPECT_EQ(judge(ledger.evidence(80)).at(0).code, "process-killed");
}

TEST_F(LedgerTest, NormalEndsAreNoFinding) {
  for (int p = 0; p < 4; ++p) {
    ledger.leaving(p, p);
    ledger.died(p, 0, 0, p);
  }
  EXPECT_TRUE(ledger.all_ended());
  EXPECT_FALSE(ledger.finding());
  EXPECT_TRUE(judge(ledger.evidence(9)).empty());
}

TEST_F(LedgerTest, ErrorsKeepTheirNameWhenTheProcessEnds) {
  for (int p = 0; p < 4; ++p) {
    ledger.raised(p, "shapes do not fit", "", -1, p);
    ledger.died(p, p == 2 ? 0 : 1, p == 2 ? 6 : 0, p);
  }
  EXPECT_FALSE(ledger.finding());
  EXPECT_EQ(ledger.state_of(2), ProcessState::kRaised);
  EXPECT_TRUE(judge(ledger.evidence(9)).empty());
}

TEST(Ledger, ProgramsThatNeverJoinAreNotOurs) {
  Ledger ledger(2);
  ledger.died(0, 0, 0, 1);
  ledger.died(1, 0, 0, 2);
  EXPECT_FALSE(ledger.finding());
}

TEST(Ledger, EndingBeforeJoiningIsFoundWhenAnotherJoins) {
  Ledger ledger(2);
  ledger.died(0, 0, 0, 1);
  EXPECT_FALSE(ledger.finding());
  ledger.joined(1, 2);
  EXPECT_TRUE(ledger.finding());
}

TEST_F(LedgerTest, NonOwnersAreIgnored) {
  declare('A', {0, 1});
  issue(3, 'A');
  EXPECT_EQ(ledger.issued_of(3), 0);
  issue(0, 'A');
  issue(1, 'A');
  EXPECT_EQ(ledger.matched_of(0), 1);
}

TEST_F(LedgerTest, MatchedCallsShrinkToTheLast64) {
  declare('A', {0, 1});
  for (int i = 0; i < 1000; ++i) {
    issue(0, 'A');
    issue(1, 'A');
  }
  Evidence evidence = ledger.evidence(0);
  EXPECT_EQ(evidence.processes[0].calls.size(), 64u);
  EXPECT_EQ(evidence.processes[0].matched, 1000);
  EXPECT_EQ(evidence.processes[0].history, evidence.processes[1].history);
  EXPECT_NE(evidence.processes[0].history, 0u);
}

TEST_F(LedgerTest, UndeclaredProgramsAreAnError) { EXPECT_THROW(issue(0, 'Z'), InternalError); }

// Two ends of a channel, in the order of issue.
class Messages : public LedgerTest {
 protected:
  void end(char name, int from, int to, bool receives, std::string type = "float32[4]", bool buffered = true, int tag = 0) {
    ProgramEvidence program{.fingerprint = std::uint64_t(name), .group = 1, .name = receives ? "recv" : "send"};
    program.processes = {std::min(from, to), std::max(from, to)};
    program.channel = std::to_string(from) + " to " + std::to_string(to) + ", tag " + std::to_string(tag);
    program.message = std::move(type);
    program.receives = receives;
    program.buffered = buffered;
    program.from = from;
    program.to = to;
    ledger.declare(program);
  }
  std::vector<Diagnosis> verdict() { return judge(ledger.evidence(0)); }
};

TEST_F(Messages, ABufferedSendIsOverAtOnceAndReceivedInOrder) {
  end('s', 0, 1, false);
  end('r', 0, 1, true);
  issue(0, "ss");
  EXPECT_EQ(ledger.matched_of(0), 2);
  issue(1, "r");
  EXPECT_EQ(ledger.matched_of(1), 1);
  issue(1, "rr");
  EXPECT_EQ(ledger.matched_of(1), 2);
  EXPECT_FALSE(ledger.finding());
  issue(0, "s");
  EXPECT_EQ(ledger.matched_of(1), 3);
}

TEST_F(Messages, AnUnbufferedSendWaitsForItsReceive) {
  end('s', 0, 1, false, "float32[4]", false);
  end('r', 0, 1, true);
  issue(0, "s");
  EXPECT_EQ(ledger.matched_of(0), 0);
  issue(1, "r");
  EXPECT_EQ(ledger.matched_of(0), 1);
  EXPECT_EQ(ledger.matched_of(1), 1);
}

TEST_F(Messages, AllReceivingFirstIsADeadlockAndNoMismatch) {
  end('a', 0, 1, false);
  end('A', 0, 1, true);
  end('b', 1, 0, false);
  end('B', 1, 0, true);
  issue(0, "Ba");
  EXPECT_FALSE(ledger.finding());
  issue(1, "Ab");
  ASSERT_TRUE(ledger.finding());
  ASSERT_EQ(verdict().size(), 1u);
  EXPECT_EQ(verdict()[0].code, "deadlock");
  EXPECT_THAT(verdict()[0].processes, ElementsAre(0, 1));
}

TEST_F(Messages, EndsThatDoNotFitAreAProgramMismatch) {
  end('s', 0, 1, false, "float32[4]");
  end('r', 0, 1, true, "float32[8]");
  issue(0, "s");
  issue(1, "r");
  ASSERT_TRUE(ledger.finding());
  ASSERT_EQ(verdict().size(), 1u);
  EXPECT_EQ(verdict()[0].code, "program-mismatch");
  EXPECT_THAT(verdict()[0].processes, ElementsAre(0, 1));
  EXPECT_TRUE(verdict()[0].tie);
}

TEST_F(Messages, WhatIsNeverSentOrNeverReceivedNamesWhoDoesNot) {
  end('r', 0, 1, true);
  issue(1, "r");
  ledger.leaving(0, 9);
  ASSERT_TRUE(ledger.finding());
  ASSERT_EQ(verdict().size(), 1u);
  EXPECT_EQ(verdict()[0].code, "missing-participant");
  EXPECT_THAT(verdict()[0].processes, ElementsAre(0));
}

TEST_F(Messages, ASendThatNobodyReceives) {
  end('s', 2, 3, false);
  issue(2, "s");
  for (int p = 0; p < 4; ++p) ledger.leaving(p, 9);
  ASSERT_TRUE(ledger.finding());
  ASSERT_EQ(verdict().size(), 1u);
  EXPECT_EQ(verdict()[0].code, "missing-participant");
  EXPECT_THAT(verdict()[0].processes, ElementsAre(3));
}

TEST_F(LedgerTest, EqualCallsOnUnequalValuesNeverMatch) {
  declare('A', {0, 1, 2, 3});
  for (int p = 0; p < 4; ++p)
    ledger.issued(p, {.fingerprint = 'A',
                      .group = 1,
                      .op = "device_put",
                      .value_hash = p == 2 ? 8u : 7u,
                      .value_head = {"1.0", p == 2 ? "3.0" : "2.0"}});
  ASSERT_TRUE(ledger.finding());
  EXPECT_EQ(ledger.matched_of(0), 0);
  std::vector<Diagnosis> found = judge(ledger.evidence(0));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, "input-divergence");
  EXPECT_THAT(found[0].processes, ElementsAre(2));
  EXPECT_NE(found[0].message.find("element 1 is 3.0 on process 2 and 2.0 on processes 0, 1 and 3"), std::string::npos) << found[0].message;
}

TEST_F(LedgerTest, KnowsForWhomOthersWait) {
  declare('A', {0, 1, 2, 3});
  EXPECT_TRUE(ledger.awaited().empty());
  for (int p : {0, 1, 3}) issue(p, 'A', 10 + p);
  EXPECT_THAT(ledger.awaited(), ElementsAre(2));
  EXPECT_EQ(ledger.awaited_since(2), 10);
}

}  // namespace
}  // namespace shardlab::control
