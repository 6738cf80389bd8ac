// The simulated run and its schedules, on plans made by hand: one letter a call, the processes that take part given by letter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "scenarios/simulate/explore.h"

namespace shardlab::simulate {
namespace {

using testing::ElementsAre;

class Cluster {
 public:
  explicit Cluster(int processes) : plans_(std::size_t(processes)) {
    for (auto& plan : plans_) plan = std::make_shared<ProcessPlan>();
  }
  // A call takes part on these processes; without it on all.
  Cluster& group(char name, std::vector<int> processes) {
    groups_[name] = std::move(processes);
    return *this;
  }
  // Lower case reads: 'a' waits for the process's last 'A'.
  Cluster& run(int process, const std::string& names, int issuer = 0) {
    ProcessPlan& plan = *plans_[std::size_t(process)];
    for (char name : names) {
      Event event{.issuer = issuer};
      if (name >= 'a' && name <= 'z') {
        event.kind = Event::Kind::kRead;
        event.needs = last_[{process, char(name - 'a' + 'A')}];
        event.step = {.kind = StepEvidence::Kind::kRead, .what = "fetch", .where = "toy.cpp:9"};
      } else {
        event.kind = Event::Kind::kCall;
        event.program = program(name);
        event.call = {.fingerprint = event.program->fingerprint,
                      .group = event.program->group,
                      .op = event.program->name,
                      .where = std::string("toy.cpp:1") + name};
        event.number = plan.calls++;
        event.collectives = 1;
        last_[{process, name}] = event.number;
      }
      plan.events.push_back(std::move(event));
    }
    return *this;
  }
  Cluster& issuer(int process, const std::string& names) {
    ProcessPlan& plan = *plans_[std::size_t(process)];
    plan.events.push_back({.kind = Event::Kind::kSpawn, .other = plan.issuers});
    run(process, names, plan.issuers);
    ++plan.issuers;
    return *this;
  }
  std::unique_ptr<Simulation> make(SimulationOptions options = {}) const {
    return std::make_unique<Simulation>(std::vector<std::shared_ptr<const ProcessPlan>>(plans_.begin(), plans_.end()), std::move(options));
  }
  std::vector<Diagnosis> fifo(SimulationOptions options = {}) const {
    auto run = make(std::move(options));
    auto schedule = fifo_schedule();
    run->run(*schedule);
    return run->diagnoses();
  }
  Exploration explore(ExploreOptions options) const {
    return simulate::explore([this] { return make(); }, options);
  }

 private:
  std::shared_ptr<const ProgramEvidence> program(char name) {
    auto& known = programs_[name];
    if (known) return known;
    auto made = std::make_shared<ProgramEvidence>();
    made->fingerprint = std::uint64_t(name);
    made->name = std::string(1, name);
    made->processes.resize(plans_.size());
    std::iota(made->processes.begin(), made->processes.end(), 0);
    if (auto found = groups_.find(name); found != groups_.end()) made->processes = found->second;
    made->group = 1000;
    for (int p : made->processes) made->group = made->group * 31 + std::uint64_t(p);
    return known = made;
  }
  std::vector<std::shared_ptr<ProcessPlan>> plans_;
  std::map<char, std::vector<int>> groups_;
  std::map<char, std::shared_ptr<const ProgramEvidence>> programs_;
  std::map<std::pair<int, char>, std::int64_t> last_;
};

using Policy = ExploreOptions::Policy;

TEST(Simulation, ACorrectProgramEndsUnderEverySchedule) {
  Cluster cluster(4);
  for (int p = 0; p < 4; ++p) cluster.run(p, "ABaCb");
  EXPECT_TRUE(cluster.fifo().empty());
  for (Policy policy : {Policy::kRandom, Policy::kPct, Policy::kExhaustive}) {
    Exploration found = cluster.explore({.policy = policy, .count = 200});
    EXPECT_TRUE(found.diagnoses.empty());
    EXPECT_EQ(found.found_in_run, -1);
  }
}

TEST(Simulation, SaysWhatARealRunWouldSay) {
  Cluster swapped(4);
  for (int p : {0, 1, 3}) swapped.run(p, "ABC");
  swapped.run(2, "BAC");
  ASSERT_EQ(swapped.fifo().size(), 1u);
  EXPECT_EQ(swapped.fifo()[0].code, "order-mismatch");
  EXPECT_THAT(swapped.fifo()[0].processes, ElementsAre(2));

  Cluster circle(3);
  circle.group('A', {0, 1}).group('B', {1, 2}).group('C', {0, 2}).run(0, "AC").run(1, "BA").run(2, "CB");
  ASSERT_EQ(circle.fifo().size(), 1u);
  EXPECT_EQ(circle.fifo()[0].code, "deadlock");
}

TEST(Simulation, ReadsEndTheLookAhead) {
  Cluster cluster(3);
  for (int p : {0, 1}) cluster.run(p, "AaB");
  cluster.run(2, "B");
  std::vector<Diagnosis> found = cluster.fifo();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].processes, ElementsAre(2));
}

struct FaultCase {
  SimulatedFault::Kind kind;
  std::string code;
};
class Faults : public testing::TestWithParam<FaultCase> {};
TEST_P(Faults, AreNamed) {
  Cluster cluster(3);
  for (int p = 0; p < 3; ++p) cluster.run(p, "ABC");
  SimulatedFault fault{.kind = GetParam().kind, .processes = {1}, .collective = 1, .exit_code = 3, .delay_ms = 700, .text = "boom"};
  std::vector<Diagnosis> found = cluster.fifo({.faults = {fault}});
  if (GetParam().code.empty()) {
    EXPECT_TRUE(found.empty());
    return;
  }
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, GetParam().code);
  EXPECT_THAT(found[0].processes, ElementsAre(1));
}
INSTANTIATE_TEST_SUITE_P(Every, Faults,
                         testing::Values(FaultCase{SimulatedFault::Kind::kRaise, "process-raised"},
                                         FaultCase{SimulatedFault::Kind::kExit, "process-exited"},
                                         FaultCase{SimulatedFault::Kind::kKill, "process-killed"},
                                         FaultCase{SimulatedFault::Kind::kHang, "process-stuck"},
                                         FaultCase{SimulatedFault::Kind::kDelay, ""}));

// Process 0 issues A and B from two threads; the others issue A first.
Cluster two_issuers() {
  Cluster cluster(3);
  cluster.issuer(0, "A").issuer(0, "B");
  for (int p : {1, 2}) cluster.run(p, "AB");
  return cluster;
}

TEST(Explore, FindsWhatTheFirstScheduleHides) {
  Cluster cluster = two_issuers();
  EXPECT_TRUE(cluster.fifo().empty());
  for (Policy policy : {Policy::kRandom, Policy::kPct, Policy::kExhaustive}) {
    Exploration found = cluster.explore({.policy = policy, .count = 100, .seed = 7});
    ASSERT_EQ(found.diagnoses.size(), 1u);
    EXPECT_EQ(found.diagnoses[0].code, "order-mismatch");
    EXPECT_TRUE(found.first_run_ended);
  }
}

TEST(Explore, AShrunkScheduleReplaysEveryTime) {
  Cluster cluster = two_issuers();
  Exploration found = cluster.explore({.policy = Policy::kRandom, .count = 100, .seed = 3});
  ASSERT_FALSE(found.choices.empty());
  for (int i = 0; i < 100; ++i) {
    Exploration again = cluster.explore({.policy = Policy::kReplay, .choices = found.choices});
    ASSERT_EQ(again.diagnoses.size(), 1u);
    EXPECT_EQ(again.diagnoses[0].message, found.diagnoses[0].message);
  }
}

TEST(Explore, ExhaustiveCountsTheSchedulesThatDiffer) {
  Cluster cluster(2);
  cluster.group('X', {0}).group('Y', {0});  // two threads whose calls concern nobody else
  cluster.issuer(0, "X").issuer(0, "Y");
  cluster.run(0, "A").run(1, "A");
  Exploration found = cluster.explore({.policy = Policy::kExhaustive, .count = 10'000});
  EXPECT_TRUE(found.complete);
  EXPECT_TRUE(found.diagnoses.empty());
  EXPECT_LT(found.runs, 20);
  EXPECT_THAT(found.covered, testing::HasSubstr("every schedule"));
}

TEST(Explore, NeverSaysMoreThanItTried) {
  Cluster cluster(2);
  for (int p : {0, 1}) cluster.run(p, "ABC");
  EXPECT_THAT(cluster.explore({.policy = Policy::kRandom, .count = 10}).covered, testing::HasSubstr("none found in 10 random schedules"));
  EXPECT_THAT(cluster.explore({.policy = Policy::kPct, .depth = 2, .count = 10}).covered,
              testing::HasSubstr("a bug of depth 2 was missed with a probability of at most"));
}

TEST(Schedules, ThreadsAreNamedAndRead) {
  EXPECT_EQ(text_of({2, 0}), "p2");
  EXPECT_EQ(text_of({2, 1}), "p2.1");
  EXPECT_EQ(thread_from("p12.3"), (ThreadId{12, 3}));
  for (const char* wrong : {"", "2", "p", "px", "p1.", "p1.x", "p1.2.3"}) EXPECT_THROW(thread_from(wrong), UserError) << wrong;
}

TEST(Schedules, TheBoundOfPct) {
  EXPECT_DOUBLE_EQ(pct_bound(4, 100, 1), 0.25);
  EXPECT_DOUBLE_EQ(pct_bound(4, 100, 3), 0.25 / 10'000);
}

}  // namespace
}  // namespace shardlab::simulate
