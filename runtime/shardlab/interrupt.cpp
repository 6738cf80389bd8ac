#include "runtime/shardlab/interrupt.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "runtime/base/error.h"
#include "traces/checks/wording.h"

namespace shardlab {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM};

// A handler reaches nothing else.
std::atomic<int> pipe_in = -1;
std::atomic<pid_t> watched_process = 0;
std::atomic<bool> came = false;

// What a signal says that comes at the very end, by the place of the signal in kSignals.
using LastTexts = std::array<std::string, kSignals.size()>;
std::atomic<const LastTexts*> last_texts = nullptr;

bool is_ours(int signal, void (*handler)(int)) {
  struct sigaction present {};
  sigaction(signal, nullptr, &present);
  return (present.sa_flags & SA_SIGINFO) == 0 && present.sa_handler == handler;
}

// Taken when the handler that calls this returns.
void end_by_default(int signal) {
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  sigaction(signal, &plain, nullptr);
  raise(signal);
}

void on_signal_at_the_end(int signal) {
  if (getpid() == watched_process)
    if (const LastTexts* texts = last_texts.load()) {
      const std::string& text = (*texts)[signal == kSignals[0] ? 0 : 1];
      if (write(STDERR_FILENO, text.data(), text.size()) < 0) _exit(128 + signal);
    }
  end_by_default(signal);
}

void on_signal_here(int signal) {
  int saved = errno;
  if (getpid() != watched_process) {  // a child of the program's, by fork: the pipe is not its own
    end_by_default(signal);
  } else if (came.exchange(true)) {
    _exit(128 + signal);
  } else {
    unsigned char byte = static_cast<unsigned char>(signal);
    if (write(pipe_in, &byte, 1) != 1) _exit(128 + signal);
  }
  errno = saved;
}

void wait_for_signal(int pipe_out, const std::function<void(int)>& on_signal) {
  unsigned char signal = 0;
  while (read(pipe_out, &signal, 1) < 0 && errno == EINTR) {}
  on_signal(signal);
}

}  // namespace

void watch_interrupts(std::function<void(int signal)> on_signal) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw IoError(fmt::format("no pipe for signals: {}", std::strerror(errno)));
  pipe_in = ends[1];
  watched_process = getpid();
  // The thread takes no signals itself: a second one must find the handler free. It lives as long as the process.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([out = ends[0], on_signal = std::move(on_signal)] { wait_for_signal(out, on_signal); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (int signal : kSignals) {
    if (!is_ours(signal, SIG_DFL)) continue;
    struct sigaction ours {};
    ours.sa_handler = on_signal_here;
    ours.sa_flags = SA_RESTART;
    sigemptyset(&ours.sa_mask);
    sigaction(signal, &ours, nullptr);
  }
}

void settle_interrupts(const std::string& places) {
  auto texts = std::make_unique<LastTexts>();
  for (std::size_t i = 0; i < kSignals.size(); ++i) (*texts)[i] = interrupt_text(kSignals[i], places);
  last_texts = texts.release();  // for as long as the process lives
  for (int signal : kSignals) {
    if (!is_ours(signal, on_signal_here)) continue;
    struct sigaction ours {};
    ours.sa_handler = on_signal_at_the_end;
    sigemptyset(&ours.sa_mask);
    sigaction(signal, &ours, nullptr);
  }
  yield_to_interrupt();
}

void yield_to_interrupt() {
  while (came && getpid() == watched_process) pause();
}

std::string interrupt_text(int signal, const std::string& places) {
  return fmt::format("shardlab: ended by {}; the processes were here:\n{}", signal_name(signal), places);
}

}  // namespace shardlab
