// Who is in a job, without a network: joining, deserting, and whose end is told by whom.
#include "runtime/control/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>

namespace shardlab::control {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

class Stream final : public Attendant {
 public:
  void roll(const std::vector<Member>& joined, int) override { sizes.push_back(joined.size()); }
  void silence(const Member& silent, double, const std::string& whereabouts) override {
    told.push_back(std::to_string(silent.process) + whereabouts);
  }
  void disagreement(const std::string& what) override { disagreements.push_back(what); }
  std::vector<std::size_t> sizes;
  std::vector<std::string> told, disagreements;
};

// The deaths that a membership tells of.
class Deaths {
 public:
  std::function<void(int, comm::Ns, bool)> listener() {
    return [this](int process, comm::Ns, bool silent) {
      std::lock_guard lock(mutex_);
      if (silent) silent_.push_back(process);
      processes_.push_back(process);
      changed_.notify_all();
    };
  }
  std::vector<int> wait(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(30), [&] { return processes_.size() >= count; });
    return processes_;
  }

  std::vector<int> silent() {
    std::lock_guard lock(mutex_);
    return silent_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> processes_, silent_;
};

TEST(Membership, EverybodyIsToldOfWhoeverJoins) {
  Deaths deaths;
  Membership membership({.num_processes = 3, .grace = hours(1), .on_gone = deaths.listener()});
  Stream first, second;
  EXPECT_EQ(membership.join({.process = 2, .pid = 7, .host = "a"}, &second), std::nullopt);
  EXPECT_EQ(membership.join({.process = 0}, &first), std::nullopt);
  EXPECT_THAT(second.sizes, ElementsAre(1, 2));
  EXPECT_THAT(first.sizes, ElementsAre(2));
  EXPECT_THAT(membership.missing(), ElementsAre(1));
  EXPECT_THAT(*membership.join({.process = 2}, &first), HasSubstr("process 2 has joined before, as pid 7 on a"));
  for (int odd : {-1, 3, 1 << 30}) EXPECT_THAT(*membership.join({.process = odd}, &first), HasSubstr("joins a job of 3 processes"));
  EXPECT_FALSE(membership.wait_joined(milliseconds(0)));
  EXPECT_THAT(first.sizes, ElementsAre(2));
}

TEST(Membership, ABrokenStreamIsADeathUnlessSomebodyReportsOne) {
  Deaths deaths;
  Membership membership({.num_processes = 3, .grace = milliseconds(200), .on_gone = deaths.listener()});
  Stream streams[3];
  for (int p = 0; p < 3; ++p) membership.join({.process = p}, &streams[p]);
  membership.reported(1, milliseconds(0));
  membership.stream_ended(1);
  membership.stream_ended(2);
  EXPECT_THAT(deaths.wait(1), ElementsAre(2));
  EXPECT_FALSE(membership.wait_deserted(milliseconds(0)));
  membership.stream_ended(0);
  EXPECT_TRUE(membership.wait_deserted(milliseconds(0)));
  EXPECT_THAT(deaths.wait(2), ElementsAre(2, 0));
}

TEST(Membership, WhoSaidNothingBeforeItsStreamBrokeIsSilent) {
  Deaths deaths;
  Membership membership({.num_processes = 3, .silence = hours(1), .on_gone = deaths.listener()});
  Stream streams[3];
  for (int p = 0; p < 3; ++p) membership.join({.process = p}, &streams[p]);
  membership.heard(2, comm::now_ns() - std::chrono::nanoseconds(hours(2)).count());
  for (int p : {0, 2}) membership.stream_ended(p);
  EXPECT_EQ(deaths.wait(2).size(), 2u);
  EXPECT_THAT(deaths.silent(), ElementsAre(2));
}

TEST(Membership, AnotherNumberOfProcessesIsRefused) {
  Deaths deaths;
  Membership membership({.num_processes = 3, .grace = hours(1), .on_gone = deaths.listener()});
  Stream stream;
  EXPECT_FALSE(membership.disagree());
  EXPECT_EQ(
      *membership.join({.process = 1, .pid = 7, .host = "b", .num_processes = 4}, &stream),
      "process 1 (pid 7 on b) was started as one of 4 (num_processes), and the job was started with 3: start all processes with the same "
      "number");
  EXPECT_TRUE(membership.disagree());
  EXPECT_EQ(membership.join({.process = 1, .num_processes = 3}, &stream), std::nullopt);
}

// Those who are there, and who comes later; the first one alone, as all that follows is of no use.
TEST(Membership, AnotherNumberOfProcessesIsToldToAll) {
  Deaths deaths;
  Membership membership({.num_processes = 3, .grace = hours(1), .on_gone = deaths.listener()});
  Stream first, refused, late;
  EXPECT_EQ(membership.join({.process = 0, .pid = 5, .host = "a", .num_processes = 3}, &first), std::nullopt);
  const std::string told = *membership.join({.process = 4, .pid = 7, .host = "b", .num_processes = 5}, &refused);
  EXPECT_EQ(
      told,
      "process 4 (pid 7 on b) was started as one of 5 (num_processes), and the job was started with 3, as process 0 (pid 5 on a) was: "
      "start all processes with the same number");
  EXPECT_THAT(*membership.join({.process = 1, .num_processes = 2}, &refused), HasSubstr("started as one of 2"));
  EXPECT_EQ(membership.join({.process = 2, .num_processes = 3}, &late), std::nullopt);
  EXPECT_THAT(first.disagreements, ElementsAre(told));
  EXPECT_THAT(late.disagreements, ElementsAre(told));
  EXPECT_THAT(refused.disagreements, ElementsAre());
}

// One of the job's processes is missing then, and will not come.
TEST(Membership, OneNumberForTwoProcessesIsToldToAll) {
  Deaths deaths;
  Membership membership({.num_processes = 3, .grace = hours(1), .on_gone = deaths.listener()});
  Stream first, second, refused, late;
  EXPECT_EQ(membership.join({.process = 0}, &first), std::nullopt);
  EXPECT_EQ(membership.join({.process = 1, .pid = 5, .host = "a"}, &second), std::nullopt);
  EXPECT_FALSE(membership.disagree());
  EXPECT_THAT(*membership.join({.process = 1, .pid = 7, .host = "b"}, &refused), HasSubstr("process 1 has joined before, as pid 5 on a"));
  EXPECT_TRUE(membership.disagree());
  EXPECT_EQ(membership.join({.process = 2}, &late), std::nullopt);
  const std::string told =
      "two processes have the number 1 (process_id), pid 5 on a and pid 7 on b: each process needs one of its own, from 0 to 2";
  EXPECT_THAT(first.disagreements, ElementsAre(told));
  EXPECT_THAT(second.disagreements, ElementsAre(told));
  EXPECT_THAT(late.disagreements, ElementsAre(told));
  EXPECT_THAT(refused.disagreements, ElementsAre());
}

// One that comes again, or one too many, is told so; the job goes on without it.
TEST(Membership, ASecondOneOfANumberDoesNotEndAJobThatNeedsNoMore) {
  Deaths deaths;
  Membership membership({.num_processes = 2, .grace = hours(1), .on_gone = deaths.listener()});
  Stream streams[2], other;
  EXPECT_EQ(membership.join({.process = 0}, &streams[0]), std::nullopt);
  membership.stream_ended(0);
  EXPECT_THAT(*membership.join({.process = 0}, &other), HasSubstr("has joined before"));
  EXPECT_FALSE(membership.disagree());
  EXPECT_EQ(membership.join({.process = 1}, &streams[1]), std::nullopt);
  EXPECT_THAT(*membership.join({.process = 1}, &other), HasSubstr("has joined before"));
  EXPECT_FALSE(membership.disagree());
  EXPECT_THAT(streams[1].disagreements, ElementsAre());
}

TEST(Membership, AJobThatHasBegunIsNotEndedByOneOfAnother) {
  Deaths deaths;
  Membership membership({.num_processes = 1, .grace = hours(1), .on_gone = deaths.listener()});
  Stream stream, other;
  EXPECT_EQ(membership.join({.process = 0, .num_processes = 1}, &stream), std::nullopt);
  EXPECT_THAT(*membership.join({.process = 0, .num_processes = 2}, &other), HasSubstr("started as one of 2"));
  EXPECT_THAT(stream.disagreements, ElementsAre());
  EXPECT_FALSE(membership.disagree());
}

TEST(Membership, NobodyIsTakenForGoneOnceItIsOver) {
  Deaths deaths;
  Membership membership({.num_processes = 1, .on_gone = deaths.listener()});
  Stream stream;
  membership.join({.process = 0}, &stream);
  membership.stop_watching();
  membership.stream_ended(0);
  EXPECT_TRUE(membership.silent(milliseconds(0)).empty());
  EXPECT_TRUE(deaths.wait(0).empty());
}

}  // namespace
}  // namespace shardlab::control
