#include "runtime/shardlab/crash.h"

#include <execinfo.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>

namespace shardlab {
namespace {

constexpr std::array kCrashes{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr std::size_t kCrashFramesMax = 64, kStackBytes = std::size_t(256) << 10;

// A handler reaches nothing else.
std::atomic<void (*)(int, std::span<const std::uintptr_t>)> teller = nullptr;
std::atomic<bool> crashed = false;

// Where the thread was when the signal came; 0: not known.
std::uintptr_t place_of(const void* context) {
#if defined(__x86_64__)
  return std::uintptr_t(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return std::uintptr_t(static_cast<const ucontext_t*>(context)->uc_mcontext.pc);
#else
  (void)context;
  return 0;
#endif
}

void on_crash(int signal, siginfo_t*, void* context) {
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  sigaction(signal, &plain, nullptr);
  if (crashed.exchange(true)) return;  // another thread, while the first is told of
  std::array<void*, kCrashFramesMax> frames;
  const std::size_t count = std::size_t(backtrace(frames.data(), int(frames.size())));
  std::array<std::uintptr_t, kCrashFramesMax> stack{};
  std::size_t kept = 0;
  // The handler's own frames end where the signal came. There no call has been made: the address after it stands for the one of a return.
  const std::uintptr_t place = place_of(context);
  for (std::size_t i = 0; i < count; ++i) {
    const auto address = reinterpret_cast<std::uintptr_t>(frames[i]);
    if (address == place) kept = 0;
    stack[kept++] = address == place ? place + 1 : address;
  }
  // The heap may be broken, or locked by another thread: told by a copy, without the handlers that a fork would run.
  const pid_t child = _Fork();
  if (child == 0) {
    alarm(kCrashTold);
    for (const int each : kCrashes) sigaction(each, &plain, nullptr);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    teller.load()(signal, std::span(stack.data(), kept));
    _exit(0);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  raise(signal);  // taken when this returns
}

}  // namespace

void watch_crashes(void (*tell)(int signal, std::span<const std::uintptr_t> stack)) {
  teller = tell;
  void* first = nullptr;
  backtrace(&first, 1);  // loads what it needs
  // A stack that is used up leaves none for the handler: of the calling thread.
  alignas(16) static std::array<std::byte, kStackBytes> own_stack;
  stack_t present{}, own{};
  if (sigaltstack(nullptr, &present) == 0 && (present.ss_flags & SS_DISABLE) != 0) {
    own.ss_sp = own_stack.data();
    own.ss_size = kStackBytes;
    sigaltstack(&own, nullptr);
  }
  for (const int signal : kCrashes) {
    struct sigaction before {
    }, ours{};
    sigaction(signal, nullptr, &before);
    if ((before.sa_flags & SA_SIGINFO) != 0 || before.sa_handler != SIG_DFL) continue;
    ours.sa_sigaction = on_crash;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    sigaction(signal, &ours, nullptr);
  }
}

}  // namespace shardlab
