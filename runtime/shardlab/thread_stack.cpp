#include "runtime/shardlab/thread_stack.h"

#include <execinfo.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <mutex>
#include <semaphore>

namespace shardlab {
namespace {

constexpr std::size_t kFramesMax = 64;

// A handler reaches nothing else.
std::array<void*, kFramesMax> frames;
std::atomic<int> count = 0;
std::atomic<pthread_t> asked;
std::binary_semaphore answered{0};  // release() is a store and a futex's wake

void on_signal(int) {
  if (pthread_self() != asked) return;  // an answer that is late, to an earlier question
  const int saved = errno;
  count = backtrace(frames.data(), int(frames.size()));
  answered.release();
  errno = saved;
}

}  // namespace

std::vector<std::uintptr_t> stack_of(pthread_t thread, std::chrono::milliseconds limit) {
  static std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  struct sigaction before {
  }, ours{};
  sigaction(SIGURG, nullptr, &before);
  const bool is_used = (before.sa_flags & SA_SIGINFO) != 0 || (before.sa_handler != SIG_DFL && before.sa_handler != on_signal);
  if (is_used) return {};
  void* first = nullptr;
  backtrace(&first, 1);  // loads what it needs
  ours.sa_handler = on_signal;
  ours.sa_flags = SA_RESTART;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGURG, &ours, nullptr);
  while (answered.try_acquire()) {}
  asked = thread;
  std::vector<std::uintptr_t> stack;
  if (pthread_kill(thread, SIGURG) == 0 && answered.try_acquire_for(limit))
    for (int i = 1; i < count; ++i) stack.push_back(reinterpret_cast<std::uintptr_t>(frames[std::size_t(i)]));
  return stack;  // the handler stays: an answer that is late must not end the process
}

}  // namespace shardlab
