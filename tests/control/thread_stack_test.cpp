// Threads are asked where they are, more than once.
#include "runtime/shardlab/thread_stack.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <latch>
#include <thread>

namespace shardlab {
namespace {

constexpr std::chrono::milliseconds kLimit{5000};

// Loops until it is told to end.
class Thread {
 public:
  explicit Thread(void (*body)(std::latch&, const std::atomic<bool>&)) : thread_([this, body] { body(ready_, ends_); }) { ready_.wait(); }
  ~Thread() {
    ends_ = true;
    thread_.join();
  }
  pthread_t handle() { return thread_.native_handle(); }

 private:
  std::latch ready_{1};
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

__attribute__((noinline)) void turn_left(std::latch& ready, const std::atomic<bool>& ends) {
  ready.count_down();
  while (!ends) asm volatile("");
}
__attribute__((noinline)) void turn_right(std::latch& ready, const std::atomic<bool>& ends) {
  ready.count_down();
  while (!ends) asm volatile("" ::: "memory");
}

// Which of the two functions a stack goes through: by the addresses of their code, which is short.
bool goes_through(const std::vector<std::uintptr_t>& stack, void (*function)(std::latch&, const std::atomic<bool>&)) {
  const auto begin = reinterpret_cast<std::uintptr_t>(function);
  for (const std::uintptr_t address : stack)
    if (address >= begin && address < begin + 200) return true;
  return false;
}

TEST(ThreadStack, IsToldOfEachThreadAsOftenAsAsked) {
  Thread left(turn_left), right(turn_right);
  for (int i = 0; i < 20; ++i) {
    const auto of_left = stack_of(left.handle(), kLimit), of_right = stack_of(right.handle(), kLimit);
    EXPECT_TRUE(goes_through(of_left, turn_left)) << i;
    EXPECT_TRUE(goes_through(of_right, turn_right)) << i;
    EXPECT_FALSE(goes_through(of_left, turn_right) && goes_through(of_right, turn_left)) << i;
  }
}

TEST(ThreadStack, AProgramThatUsesTheSignalKeepsIt) {
  struct sigaction own {
  }, before{};
  own.sa_handler = [](int) {};
  sigaction(SIGURG, &own, &before);
  Thread left(turn_left);
  EXPECT_TRUE(stack_of(left.handle(), kLimit).empty());
  sigaction(SIGURG, &before, nullptr);
}

}  // namespace
}  // namespace shardlab
