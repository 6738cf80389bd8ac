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
  std::vector<std::size_t> sizes;
};

// The deaths that a membership tells of.
class Deaths {
 public:
  std::function<void(int, comm::Ns)> listener() {
    return [this](int process, comm::Ns) {
      std::lock_guard lock(mutex_);
      processes_.push_back(process);
      changed_.notify_all();
    };
  }
  std::vector<int> wait(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(30), [&] { return processes_.size() >= count; });
    return processes_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> processes_;
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
