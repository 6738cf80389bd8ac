// Time as a process has had it: a rival on its only processor takes nothing from it that it did not have, and sleep is time.
#include "runtime/control/own_time.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace shardlab::control {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// Children that want the processor this process is bound to, as long as this lives.
class Rivals {
 public:
  explicit Rivals(int count) {
    ::sched_getaffinity(0, sizeof before_, &before_);
    int processor = 0;
    while (!CPU_ISSET(processor, &before_)) ++processor;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    for (int i = 0; i < count; ++i) {
      pid_t child = ::fork();
      if (child == 0)
        for (std::atomic<int> n = 0;; ++n)
          ;
      children_.push_back(child);
    }
  }
  ~Rivals() {
    for (pid_t child : children_) ::kill(child, SIGKILL);
    for (pid_t child : children_) ::waitpid(child, nullptr, 0);
    ::sched_setaffinity(0, sizeof before_, &before_);
  }

 private:
  cpu_set_t before_;
  std::vector<pid_t> children_;
};

nanoseconds own_time_of(milliseconds wall) {
  OwnTime time;
  nanoseconds own{0};
  for (auto begin = std::chrono::steady_clock::now(); std::chrono::steady_clock::now() - begin < wall;) {
    std::this_thread::sleep_for(milliseconds(4));
    own += time.lap();
  }
  return own;
}

TEST(OwnTime, SleepIsTime) {
  nanoseconds own = own_time_of(milliseconds(100));
  EXPECT_GE(own, milliseconds(90));
}

TEST(OwnTime, WaitingForAProcessorIsNone) {
  Rivals rivals(7);
  std::atomic<bool> over = false;
  std::jthread busy([&] {
    while (!over) {}
  });
  nanoseconds own = own_time_of(milliseconds(400));
  over = true;
  EXPECT_LT(own, milliseconds(250));  // an eighth of it is its share
  EXPECT_GT(own, milliseconds(1));
}

}  // namespace
}  // namespace shardlab::control
