// The barriers alone: who passes, who is told what, and that nothing is left of them.
#include "runtime/control/barriers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <optional>

namespace shardlab::control {
namespace {

using Kind = BarrierEnd::Kind;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr milliseconds kLong{60'000};

// What each process heard, in order.
struct Heard {
  Barriers barriers;
  std::map<int, std::vector<BarrierEnd>> ends;
  explicit Heard(int processes) : barriers(processes, [](int p) { return "running, last in sum at toy.cpp:" + std::to_string(p); }) {}
  std::uint64_t come(int process, const std::string& name, std::vector<int> participants = {}, const std::string& where = "") {
    return barriers.arrive({name, process, std::move(participants), kLong, where},
                           [this, process](const BarrierEnd& end) { ends[process].push_back(end); });
  }
  std::size_t count(int process) { return ends[process].size(); }
  BarrierEnd last(int process) { return ends[process].empty() ? BarrierEnd{Kind::kTooMany, "nothing"} : ends[process].back(); }
};

TEST(Barriers, PassWhenAllThatTakePartAreThere) {
  for (int processes : {1, 2, 3, 4, 7})
    for (int round = 0; round < 3; ++round) {
      Heard heard(processes);
      for (int p = 0; p + 1 < processes; ++p) EXPECT_NE(heard.come((p + round) % processes, "a"), 0u);
      EXPECT_TRUE(heard.ends.empty());
      EXPECT_EQ(heard.come((processes - 1 + round) % processes, "a"), 0u);
      for (int p = 0; p < processes; ++p) EXPECT_EQ(heard.last(p).kind, Kind::kPassed);
    }
}

TEST(Barriers, OverSomeProcessesDoNotKnowTheOthers) {
  Heard heard(7);
  heard.come(5, "a", {1, 5, 6});
  heard.come(0, "b", {0, 2});
  heard.come(6, "a", {6, 1, 5, 5});  // a list is a set
  heard.barriers.ended(2, "left the job");
  heard.barriers.ended(3, "left the job");
  EXPECT_THAT(heard.last(0).why, HasSubstr("process 2 left the job and comes no more. Barrier Id: b"));
  heard.come(1, "a", {5, 6, 1});
  for (int p : {1, 5, 6}) EXPECT_EQ(heard.last(p).kind, Kind::kPassed);
  heard.come(4, "only me", {4});
  EXPECT_EQ(heard.last(4).kind, Kind::kPassed);
}

TEST(Barriers, ANameMayBeUsedAgain) {
  Heard heard(3);
  for (int round = 0; round < 100; ++round) {
    std::vector<int> participants = round % 2 ? std::vector<int>{0, 2} : std::vector<int>{0, 1, 2};
    for (int p : participants) heard.come(p, "a", participants);
    for (int p : participants) EXPECT_EQ(heard.last(p).kind, Kind::kPassed);
  }
  EXPECT_EQ(heard.count(0), 100u);
  EXPECT_EQ(heard.count(1), 50u);
}

TEST(Barriers, AsJaxWhoIsNoParticipantIsRefusedAlone) {
  Heard heard(3);
  heard.come(0, "a", {0, 1});
  heard.come(2, "a", {0, 1});
  EXPECT_EQ(heard.last(2).kind, Kind::kRefused);
  EXPECT_THAT(heard.last(2).why,
              StartsWith("INVALID_ARGUMENT: A non-participating process (2) called the barrier: a. Its participants are 0, 1"));
  heard.come(2, "a", {0, 1, 2, 7});
  EXPECT_THAT(heard.last(2).why, HasSubstr("Unexpected process (7) that is not in the job of 3 processes. Barrier Id: a"));
  heard.come(2, "a", {2, -1});
  EXPECT_THAT(heard.last(2).why, HasSubstr("Unexpected process (-1)"));
  heard.come(0, "a", {0, 1});
  EXPECT_THAT(heard.last(0).why, HasSubstr("process 0 waits at the barrier already"));
  heard.come(1, "a", {0, 1});
  EXPECT_EQ(heard.last(0).kind, Kind::kPassed);
  EXPECT_EQ(heard.last(1).kind, Kind::kPassed);
  Barriers barriers(2);
  std::optional<BarrierEnd> end;
  barriers.arrive({"a", 0, {}, milliseconds(0), ""}, [&](const BarrierEnd& e) { end = e; });
  EXPECT_THAT(end.value().why, HasSubstr("timeout is positive; got 0 ms"));
  barriers.arrive({std::string(Barriers::kNameBytesMax + 1, 'n'), 0, {}, kLong, ""}, [&](const BarrierEnd& e) { end = e; });
  EXPECT_THAT(end.value().why, HasSubstr("too long"));
}

TEST(Barriers, DifferentListsFailForAllOfBoth) {
  Heard heard(4);
  heard.come(1, "a", {0, 1, 2}, "toy.cpp:31");
  heard.come(0, "a", {0, 1, 3}, "toy.cpp:33");
  auto both = AllOf(HasSubstr("Conflicting processes specified by different processes for the same barrier: a"),
                    HasSubstr("Process 1 at toy.cpp:31 says 0, 1, 2; process 0 at toy.cpp:33 says 0, 1, 3"));
  EXPECT_THAT(heard.last(0).why, both);
  EXPECT_THAT(heard.last(1).why, both);
  for (int p : {2, 3}) {
    heard.come(p, "a", {0, 1, 2, 3});
    EXPECT_EQ(heard.last(p).kind, Kind::kRefused);
    EXPECT_THAT(heard.last(p).why, both);
  }
  for (int p : {3, 1, 0, 2}) heard.come(p, "a");
  for (int p : {0, 1, 2, 3}) EXPECT_EQ(heard.last(p).kind, Kind::kPassed);
}

TEST(Barriers, TheFirstLimitIsThatOfAllAndTellsWhoIsMissing) {
  Barriers barriers(4, [](int p) { return "running, last in sum at toy.cpp:" + std::to_string(p); });
  std::promise<BarrierEnd> ends[3];
  auto come = [&](int p, milliseconds limit) {
    barriers.arrive({"late", p, {0, 1, 2, 3}, limit, p == 1 ? "toy.cpp:7" : ""},
                    [&ends, p](const BarrierEnd& end) { ends[p].set_value(end); });
  };
  come(1, kLong);
  come(0, milliseconds(20));
  for (int p : {0, 1}) {
    BarrierEnd end = ends[p].get_future().get();
    EXPECT_EQ(end.kind, Kind::kTimedOut);
    EXPECT_EQ(end.why,
              "DEADLINE_EXCEEDED: Barrier timed out. Id: late. # of processes that reached the barrier: 2/4: 0, 1 at toy.cpp:7. The first "
              "process at the barrier: 1. Missing: 2 (running, last in sum at toy.cpp:2), 3 (running, last in sum at toy.cpp:3)");
  }
  std::promise<BarrierEnd> alone;
  barriers.arrive({"other", 3, {2, 3}, milliseconds(20), ""}, [&](const BarrierEnd& end) { alone.set_value(end); });
  EXPECT_EQ(alone.get_future().get().kind, Kind::kTimedOut);
  // Who comes late hears it too, and is at the next one when it comes again.
  come(2, kLong);
  EXPECT_EQ(ends[2].get_future().get().kind, Kind::kTimedOut);
}

TEST(Barriers, WhoEndsFailsThoseItTakesPartIn) {
  Heard heard(3);
  heard.come(0, "a");
  heard.come(1, "b", {0, 1});
  heard.barriers.ended(2, "was killed by signal 9 (SIGKILL)");
  EXPECT_EQ(heard.last(0).kind, Kind::kEnded);
  EXPECT_THAT(heard.last(0).why, HasSubstr("process 2 was killed by signal 9 (SIGKILL) and comes no more. Barrier Id: a"));
  heard.come(1, "a");  // as it was failed before
  heard.come(0, "a");  // and at once
  EXPECT_EQ(heard.last(1).kind, Kind::kEnded);
  EXPECT_EQ(heard.count(0), 2u);
  EXPECT_EQ(heard.last(0).kind, Kind::kEnded);
  heard.come(0, "b", {0, 1});
  EXPECT_EQ(heard.last(1).kind, Kind::kPassed);
  // Another process takes its place: 1 is to hear of the second failure before.
  heard.barriers.returned(2);
  heard.come(1, "a");
  EXPECT_EQ(heard.last(1).kind, Kind::kEnded);
  for (int p : {0, 1, 2}) heard.come(p, "a");
  for (int p : {0, 1, 2}) EXPECT_EQ(heard.last(p).kind, Kind::kPassed);
}

TEST(Barriers, WhoGivesUpFailsIt) {
  Heard heard(3);
  std::uint64_t ticket = heard.come(0, "a");
  heard.come(1, "a");
  EXPECT_TRUE(heard.barriers.withdraw(ticket));
  EXPECT_FALSE(heard.barriers.withdraw(ticket));
  EXPECT_EQ(heard.count(0), 0u);
  EXPECT_THAT(heard.last(1).why, HasSubstr("process 0 waits there no more. Barrier Id: a"));
  heard.come(2, "a");
  EXPECT_EQ(heard.last(2).kind, Kind::kEnded);
  for (int p : {0, 1, 2}) heard.come(p, "a");
  for (int p : {0, 1, 2}) EXPECT_EQ(heard.last(p).kind, Kind::kPassed);
}

TEST(Barriers, ThereAreNotTooMany) {
  Barriers barriers(2);
  std::size_t refused = 0;
  auto come = [&](int p, std::size_t i) {
    barriers.arrive({std::to_string(i), p, {}, kLong, ""}, [&](const BarrierEnd& end) { refused += end.kind == Kind::kTooMany; });
  };
  for (std::size_t i = 0; i <= Barriers::kBarriersMax; ++i) come(0, i);
  EXPECT_EQ(refused, 1u);
  for (std::size_t i = 0; i < Barriers::kBarriersMax; ++i) come(1, i);
  for (std::size_t i = 0; i < Barriers::kBarriersMax; ++i) come(1, i);  // nothing was left of those before
  EXPECT_EQ(refused, 1u);
}

}  // namespace
}  // namespace shardlab::control
