// Who lives in an elastic job, without a network: gatherings, deaths in the middle of them, and who comes again.
#include "runtime/control/assembly.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace shardlab::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Job {
 public:
  explicit Job(int n) : assembly(n, [this](const Gathered& g, const std::vector<Ended>&) { begun.push_back(g.epoch); }) {
    for (int p = 0; p < n; ++p) enter(p);
  }
  Assembly::Entry enter(int p) {
    incarnation[p] = ++next_;
    return assembly.enter({.process = p, .devices = 2, .incarnation = incarnation[p]});
  }
  // One that waits does nothing else.
  bool waits(int p) const { return coming.contains(p); }
  void come(int p, bool closing = false, bool renew = false) {
    if (waits(p)) return;
    coming.insert(p);
    answers.erase(p);
    assembly.gather(p, incarnation[p], closing, renew, [this, p](const Gathered& g) {
      answers[p] = g;
      coming.erase(p);
    });
  }
  void kill(int p) {
    coming.erase(p);
    assembly.died(p, {0, 9});
  }

  std::vector<std::int64_t> begun;
  std::set<int> coming;
  std::map<int, Gathered> answers;
  std::map<int, std::uint64_t> incarnation;
  Assembly assembly;

 private:
  std::uint64_t next_ = 100;
};

TEST(Assembly, TheSameProcessesGoOnInTheSameEpoch) {
  Job job(3);
  for (int round = 0; round < 3; ++round) {
    job.come(0);
    job.come(2);
    EXPECT_TRUE(job.answers.empty());
    job.come(1);
    for (int p = 0; p < 3; ++p) EXPECT_THAT(job.answers.at(p).live, ElementsAre(0, 1, 2));
    for (int p = 0; p < 3; ++p) job.come(p, true);
    for (int p = 0; p < 3; ++p) EXPECT_TRUE(job.answers.at(p).whole);
    job.answers.clear();
  }
  EXPECT_TRUE(job.begun.empty());
}

TEST(Assembly, ADeathWhileOthersCloseIsToldToAllOfThem) {
  Job job(4);
  for (int p = 0; p < 4; ++p) job.come(p);
  job.come(0, true);
  job.come(1, true);
  job.kill(2);
  EXPECT_FALSE(job.answers.at(0).whole);
  EXPECT_THAT(job.answers.at(1).live, ElementsAre(0, 1, 3));
  job.come(3, true);
  EXPECT_FALSE(job.answers.at(3).whole);
  job.answers.clear();
  for (int p : {0, 1, 3}) job.come(p);
  EXPECT_THAT(job.answers.at(0).live, ElementsAre(0, 1, 3));
  EXPECT_EQ(job.answers.at(3).epoch, 1);
  EXPECT_THAT(job.begun, ElementsAre(1));
  EXPECT_EQ(job.assembly.ended(2)->signal, 9);
}

TEST(Assembly, WhoComesAgainWaitsForTheOthersAndDoesNotDisturbThem) {
  Job job(3);
  for (int p = 0; p < 3; ++p) job.come(p);
  job.kill(1);
  std::uint64_t old = job.incarnation[1];
  for (int p : {0, 2}) job.come(p, false, true);
  EXPECT_EQ(job.answers.at(0).epoch, 1);
  Assembly::Entry entry = job.enter(1);
  EXPECT_TRUE(entry.again);
  EXPECT_EQ(entry.members.size(), 3u);
  EXPECT_EQ(entry.replaced, std::nullopt);
  job.come(1);
  EXPECT_EQ(job.answers.count(1), 0u);
  for (int p : {0, 2}) job.come(p, true);
  EXPECT_TRUE(job.answers.at(0).whole && job.answers.at(2).whole);
  for (int p : {0, 2}) job.come(p);
  for (int p = 0; p < 3; ++p) EXPECT_EQ(job.answers.at(p).epoch, 2);
  // The one before is not heard.
  EXPECT_FALSE(job.assembly.is_current(1, old));
  EXPECT_TRUE(job.assembly.is_current(1, job.incarnation[1]));
  EXPECT_FALSE(job.assembly.vanished(1, old, {}));
  bool answered = false;
  job.assembly.gather(1, old, false, false, [&](const Gathered&) { answered = true; });
  EXPECT_FALSE(answered);
}

TEST(Assembly, ASecondProcessOfAnIndexTakesItsPlace) {
  Job job(2);
  Assembly::Entry entry = job.enter(1);
  EXPECT_EQ(entry.replaced, 1);
  EXPECT_THAT(job.assembly.enter({.process = 1, .devices = 3, .incarnation = 7}).refused,
              HasSubstr("Different local topology for node 1 has been set previously"));
  EXPECT_THAT(job.assembly.enter({.process = 2, .incarnation = 7}).refused, HasSubstr("joins a job of 2 processes"));
}

TEST(Assembly, WhoLeavesIsNotWaitedFor) {
  Job job(3);
  for (int p = 0; p < 3; ++p) job.come(p);
  job.assembly.left(0, job.incarnation[0]);
  job.come(1, false, true);
  job.come(2, false, true);
  EXPECT_THAT(job.answers.at(1).live, ElementsAre(1, 2));
  EXPECT_TRUE(job.assembly.ended(0)->left);
}

// Whatever happens in whatever order: nobody waits for ever while all who live have come, and all of one epoch are told the same.
TEST(Assembly, RandomLivesNeverHang) {
  std::mt19937 random(20261121);
  for (int run = 0; run < 300; ++run) {
    int n = 1 + int(random() % 5);
    Job job(n);
    std::map<int, bool> inside;
    for (int step = 0; step < 60; ++step) {
      int p = int(random() % unsigned(n));
      switch (random() % 6) {
        case 0:
          job.kill(p);
          break;
        case 1:
          if (!job.assembly.is_alive(p)) job.enter(p), inside[p] = false;
          break;
        default:
          if (job.assembly.is_alive(p)) job.come(p, inside[p] && random() % 2, inside[p]);
      }
      for (const auto& [answered, gathered] : job.answers) inside[answered] = !inside[answered];
      job.answers.clear();
    }
    // All who live come, those that closed once more: all are answered alike, at last.
    job.answers.clear();
    for (int round = 0; round < 3; ++round)
      for (int p = 0; p < n; ++p)
        if (job.assembly.is_alive(p) && (!job.answers.contains(p) || !job.answers.at(p).whole)) job.come(p, false, true);
    for (int p = 0; p < n; ++p)
      if (job.assembly.is_alive(p)) {
        ASSERT_EQ(job.answers.count(p), 1u) << "run " << run << " process " << p;
        EXPECT_EQ(job.answers.at(p).live, job.answers.begin()->second.live);
        EXPECT_EQ(job.answers.at(p).epoch, job.answers.begin()->second.epoch);
      }
  }
}

}  // namespace
}  // namespace shardlab::control
