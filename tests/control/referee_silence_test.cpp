// Who is late, silent, lost or not up yet: what the referee waits for, and whom it names.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "tests/control/referee_process.h"

namespace shardlab::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Clocks of other machines count from another begin: who is silent, and who is late, is told by this one's.
TEST(Referee, AnotherMachinesClockAccusesNobody) {
  constexpr comm::Ns kHour = 3'600'000'000'000;
  Referee referee({.num_processes = 2, .stuck = std::chrono::minutes(2)});
  Issuer issuers[2];
  auto program = make_program("A", {0, 1});
  referee.declare(program_evidence(*program));
  comm::Ns skew[2] = {kHour, -kHour};
  for (int p : {0, 1}) referee.joined(p, comm::now_ns() + skew[p]);
  for (int i = 0; i < 20; ++i)
    for (int p : {0, 1}) {
      CallEvidence call = call_evidence(issuers[p].launch(program, 7));
      call.issued_ns = comm::now_ns() + skew[p];
      referee.issued(p, std::move(call));
    }
  Evidence evidence = referee.evidence();
  EXPECT_EQ(evidence.processes[0].matched, 20);
  for (const ProcessEvidence& each : evidence.processes) EXPECT_LT(each.late.ns, kHour / 2);
  // One waits, and the other, whose clock is an hour behind, spoke just now: it is not stuck.
  CallEvidence call = call_evidence(issuers[0].launch(program, 7));
  call.issued_ns = comm::now_ns() + skew[0];
  referee.issued(0, std::move(call));
  EXPECT_FALSE(referee.wait_over(std::chrono::milliseconds(600)));  // it looks for who is stuck every quarter of a second
}

// One that tells when it has looked ahead, as processes behind a network do.
struct RemoteEar final : Listener {
  std::latch poisoned{1};
  void matched(std::int64_t) override {}
  void poison(bool) override { poisoned.count_down(); }
  void verdict(const VerdictRef&) override {}
  void left() override {}
  bool tells_when_it_looked_ahead() const override { return true; }
};

// However late the machine lets them speak, what they did is in the verdict; once they have spoken nothing else is waited for.
TEST(Referee, WordsThatAreCertainToComeAreWaitedFor) {
  Referee referee({.num_processes = 2, .look_ahead = std::chrono::milliseconds(1), .silent = std::chrono::seconds(30)});
  RemoteEar ears[2];
  Issuer issuers[2];
  for (int p : {0, 1}) {
    referee.joined(p, comm::now_ns());
    referee.listen(p, &ears[p]);
    referee.alive(p, comm::now_ns());
    auto program = make_program(p == 0 ? "A" : "B", {0, 1});
    referee.declare(program_evidence(*program));
    referee.issued(p, call_evidence(issuers[p].launch(program, 7)));
  }
  for (int p : {0, 1}) {
    ears[p].poisoned.wait();
    EXPECT_FALSE(referee.wait_over(std::chrono::milliseconds(100)));
    StepEvidence step{.what = p == 0 ? "sin" : "cos", .where = "toy.cpp:5", .fingerprint = std::uint64_t(p)};
    referee.recent(p, {{step}, "toy.cpp:9", -1});
    referee.looked_ahead(p);
  }
  ASSERT_TRUE(referee.wait_over(std::chrono::seconds(20)));
  Evidence evidence = referee.evidence();
  EXPECT_EQ(evidence.processes[0].steps.at(0).what, "sin");
  EXPECT_EQ(evidence.processes[1].steps.at(0).what, "cos");
  for (int p : {0, 1}) referee.listen(p, nullptr);
}

// A process that is stopped does not keep the verdict on others waiting for ever.
TEST(Referee, WhoIsSilentIsGivenUp) {
  Referee referee({.num_processes = 3, .silent = std::chrono::milliseconds(80)});
  RemoteEar ears[3];
  Issuer issuers[3];
  for (int p : {0, 1, 2}) {
    referee.joined(p, comm::now_ns());
    referee.listen(p, &ears[p]);
    referee.alive(p, comm::now_ns());
  }
  for (int p : {0, 1}) {
    auto program = make_program(p == 0 ? "A" : "B", {0, 1});
    referee.declare(program_evidence(*program));
    referee.issued(p, call_evidence(issuers[p].launch(program, 7)));
    referee.recent(p, {{}, "toy.cpp:9", -1});
    referee.looked_ahead(p);
  }
  EXPECT_TRUE(referee.wait_over(std::chrono::seconds(20)));
  for (int p : {0, 1, 2}) referee.listen(p, nullptr);
}

// Three processes behind a network, of which the first two contradict each other before the third has come to that place.
struct Disputed {
  Referee referee{{.num_processes = 3, .look_ahead = std::chrono::milliseconds(1), .silent = std::chrono::seconds(30)}};
  RemoteEar ears[3];
  Issuer issuers[3];
  explicit Disputed(bool all_are_heard) {
    for (int p : {0, 1, 2}) {
      referee.joined(p, comm::now_ns());
      referee.listen(p, &ears[p]);
      if (all_are_heard || p < 2) referee.alive(p, comm::now_ns());
    }
    issue(0, "A");
    issue(1, "B");
  }
  ~Disputed() {
    for (int p : {0, 1, 2}) referee.listen(p, nullptr);
  }
  void issue(int p, const char* name) {
    auto program = make_program(name, {0, 1, 2});
    referee.declare(program_evidence(*program));
    referee.issued(p, call_evidence(issuers[p].launch(program, 7)));
  }
  void look_ahead(int p) {
    ears[p].poisoned.wait();
    referee.recent(p, {{}, "toy.cpp:9", -1});
    referee.looked_ahead(p);
  }
};

// Whom the majority blames waits for its word.
TEST(Referee, WhoHasNotComeUpYetDecidesAMajority) {
  Disputed job(true);
  for (int p : {0, 1, 2}) job.look_ahead(p);
  EXPECT_FALSE(job.referee.wait_over(std::chrono::milliseconds(100)));
  job.issue(2, "A");
  ASSERT_TRUE(job.referee.wait_over(std::chrono::seconds(20)));
  EXPECT_THAT(job.referee.verdict()->diagnoses.at(0).processes, ElementsAre(1));
}

// One that has joined and said nothing yet is not taken for silent: on a busy machine its first word comes late.
TEST(Referee, WhoHasJustJoinedDecidesAMajority) {
  Disputed job(false);
  for (int p : {0, 1, 0, 1}) job.look_ahead(p);
  EXPECT_FALSE(job.referee.wait_over(std::chrono::milliseconds(100)));
  job.referee.alive(2, comm::now_ns());
  job.issue(2, "A");
  job.look_ahead(2);
  ASSERT_TRUE(job.referee.wait_over(std::chrono::seconds(20)));
  EXPECT_THAT(job.referee.verdict()->diagnoses.at(0).processes, ElementsAre(1));
}

std::string predicate_of(const comm::ProgramInfo& program) {
  return fmt::format("predicate of while_loop (step 2), run 0 of {} [{:08x}]", program.name, std::uint32_t(group_of(program)));
}
StepEvidence told(const std::string& what, const std::string& rounds) {
  return {.kind = StepEvidence::Kind::kObserved, .what = what, .where = "toy.cpp:5", .value = rounds};
}

// Two have parted ways in a loop, and the others, which compute, have not come so far: they decide who is right. Who has no part in it is
// not waited for.
TEST(Referee, WhoHasNotComeAsFarInALoopDecidesAMajority) {
  Referee referee({.num_processes = 5, .silent = std::chrono::seconds(30)});
  RemoteEar ears[5];
  auto program = make_program("f", kAll);
  referee.declare(program_evidence(*program));
  const std::string what = predicate_of(*program);
  for (int p = 0; p < 5; ++p) {
    referee.joined(p, comm::now_ns());
    referee.listen(p, &ears[p]);
    referee.alive(p, comm::now_ns());
    if (p < 4) referee.issued(p, call_evidence(Issuer().launch(program, 7)));
  }
  for (int p : {0, 1}) {
    referee.recent(p, {{told(what, "2+ with 1")}, "", -1});
    referee.at_work(p, comm::now_ns());
  }
  referee.waiting(3, "f", "toy.cpp:7", -1, comm::now_ns());
  referee.recent(3, {{told(what, "3+ with 2")}, "", -1});
  referee.recent(2, {{told(what, "2 with 3")}, "", -1});
  for (int p = 0; p < 5; ++p) {
    ears[p].poisoned.wait();
    if (p > 1)
      referee.recent(p, {p == 4 ? std::vector<StepEvidence>() : std::vector{told(what, p == 2 ? "2 with 3" : "3+ with 2")}, "", -1});
    if (p <= 1) referee.recent(p, {{told(what, "2+ with 1")}, "", -1});
    for (int times = 0; times < (p == 4 ? 1 : 2); ++times) referee.looked_ahead(p);
  }
  EXPECT_FALSE(referee.wait_over(std::chrono::milliseconds(100)));
  for (int p : {0, 1}) referee.recent(p, {{told(what, "3+ with 2")}, "", -1});
  ASSERT_TRUE(referee.wait_over(std::chrono::seconds(20)));
  EXPECT_THAT(referee.verdict()->diagnoses.at(0).processes, ElementsAre(2)) << referee.verdict()->text;
  for (int p = 0; p < 5; ++p) referee.listen(p, nullptr);
}

// The same of processes as threads, whose launches still run when their programs have ended.
TEST(Referee, WhoIsSlowInALoopDecidesAMajorityAfterItsProgramHasEnded) {
  Referee referee({.num_processes = 4, .look_ahead = std::chrono::milliseconds(1)});
  const std::string what = predicate_of(*make_program("f", kAll));
  auto codes = run(referee, 4, [&](Process& p) {
    p.issue("f", kAll);
    const comm::Launch launch{.number = 0, .program = p.programs.at("f"), .where = {"toy.cpp", "main", 7, -1}};
    p.read();
    auto tell = [&](const char* rounds) { p.control.observed(what, rounds, {"toy.cpp", "main", 5, -1}); };
    tell("2+ with 1");
    if (p.index == 2) return tell("2 with 3");  // and leaves
    std::jthread executor([&, index = p.index] {
      if (index != 3) {
        while (!referee.evidence().processes[2].steps.size() || referee.evidence().complete_ns == 0) std::this_thread::yield();
        EXPECT_FALSE(referee.wait_over(std::chrono::milliseconds(100)));
      }
      tell("3+ with 2");
      p.control.waiting(launch, 0, {2});
    });
    p.control.await_verdict("exit", {"toy.cpp", "main", 9, -1});
    while (!referee.verdict()) std::this_thread::yield();
    p.control.await_agreement(p.issuer.last() + 1, "exit", {"toy.cpp", "main", 9, -1});
  });
  ASSERT_NE(referee.verdict(), nullptr);
  EXPECT_THAT(referee.verdict()->diagnoses.at(0).processes, ElementsAre(2)) << referee.verdict()->text;
}

TEST(Referee, ASlowProcessIsNoFindingHoweverLongTheOthersWait) {
  Referee referee({.num_processes = 2});
  std::latch others_wait(1);
  auto codes = run(referee, 2, [&](Process& p) {
    p.issue("A", {0, 1});
    if (p.index == 1) {
      others_wait.wait();
    } else {
      p.issue("B", {0, 1});
      std::jthread watcher([&] {
        while (referee.evidence().processes[0].state != ProcessState::kReading) std::this_thread::yield();
        EXPECT_FALSE(referee.wait_over(std::chrono::milliseconds(150)));  // three look-aheads
        others_wait.count_down();
      });
      p.read();
      return;
    }
    p.issue("B", {0, 1});
    p.read();
  });
  EXPECT_THAT(codes, ElementsAre("", ""));
  EXPECT_EQ(referee.verdict(), nullptr);
}

TEST(Referee, WhoIsSilentForTooLongIsNamedWithItsLine) {
  Referee referee({.num_processes = 2, .stuck = std::chrono::milliseconds(40)});
  auto codes = run(referee, 2, [&](Process& p) {
    if (p.index == 0) {
      p.issue("A", {0, 1});
      p.read();
    } else {
      p.control.at({"toy.cpp", "main", 77, -1});
      while (!referee.verdict()) std::this_thread::yield();  // alive, in no call
      p.issue("A", {0, 1});
    }
  });
  ASSERT_NE(referee.verdict(), nullptr);
  EXPECT_EQ(referee.verdict()->code, "process-stuck");
  EXPECT_THAT(referee.verdict()->diagnoses[0].processes, ElementsAre(1));
  EXPECT_THAT(referee.verdict()->text, HasSubstr("toy.cpp:77"));
}

TEST(Referee, WhoComputesIsNotStuckHoweverLong) {
  Referee referee({.num_processes = 2, .stuck = std::chrono::milliseconds(40)});
  auto codes = run(referee, 2, [&](Process& p) {
    if (p.index == 1)
      for (int i = 0; i < 400; ++i) {  // ten times the limit; it is looked for every quarter of it
        referee.at_work(1, comm::now_ns());
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    p.issue("A", {0, 1});
    p.read();
  });
  EXPECT_EQ(referee.verdict(), nullptr);
}

TEST(Referee, WhoGivesNoSignOfLifeIsNamedThoughAllItsCallsAreMatched) {
  Referee referee({.num_processes = 2, .stuck = std::chrono::milliseconds(40)});
  for (int p : {0, 1}) referee.joined(p, comm::now_ns());
  referee.alive(1, comm::now_ns());  // and never again
  referee.waiting(0, "A", "toy.cpp:7", -1, comm::now_ns());
  for (int i = 0; i < 100'000 && !referee.verdict(); ++i) {
    referee.alive(0, comm::now_ns());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_NE(referee.verdict(), nullptr);
  EXPECT_EQ(referee.verdict()->code, "process-stuck");
  EXPECT_THAT(referee.verdict()->diagnoses[0].processes, ElementsAre(1));
}

// Its connection is lost, and nobody waits for more: who waits for its data never says that it has looked ahead. No limit passes here.
TEST(Referee, WhoIsLostIsNamedAtOnceWithWhoeverIsAsSilent) {
  constexpr std::chrono::hours kNever{1};
  Referee referee({.num_processes = 4, .look_ahead = kNever, .stuck = kNever, .silent = kNever});
  RemoteEar ears[4];
  for (int p : {0, 1, 2, 3}) {
    referee.joined(p, comm::now_ns());
    referee.listen(p, &ears[p]);
    referee.alive(p, comm::now_ns() - (p < 2 ? 0 : 2 * std::chrono::nanoseconds(kNever).count()));
  }
  for (int p : {0, 1}) referee.waiting(p, "A", "toy.cpp:7", -1, comm::now_ns());
  referee.lost(3, comm::now_ns(), kNever);
  ASSERT_TRUE(referee.wait_over(std::chrono::seconds(20)));
  ASSERT_EQ(referee.verdict()->diagnoses.size(), 2u);
  for (int p : {2, 3}) {
    const Diagnosis& lost = referee.verdict()->diagnoses[std::size_t(p - 2)];
    EXPECT_EQ(lost.code, "process-stuck");
    EXPECT_THAT(lost.processes, ElementsAre(p));
    EXPECT_THAT(lost.message, HasSubstr("has fallen silent, stopped or cut off; processes 0 and 1 wait for it in A at toy.cpp:7"));
  }
  for (int p : {0, 1, 2, 3}) referee.listen(p, nullptr);
}

TEST(Referee, WhoIsLostIsNamedWhereNobodyWaitsForIt) {
  Referee referee({.num_processes = 2, .stuck = std::chrono::hours(1)});
  for (int p : {0, 1}) referee.joined(p, comm::now_ns());
  referee.lost(1, comm::now_ns(), std::chrono::hours(1));
  ASSERT_TRUE(referee.wait_over(std::chrono::seconds(20)));
  EXPECT_EQ(referee.verdict()->diagnoses.at(0).message, "process 1 has fallen silent, stopped or cut off");
}

}  // namespace
}  // namespace shardlab::control
