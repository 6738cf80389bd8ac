#include "scenarios/launch/other_launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "runtime/base/error.h"
#include "runtime/comm/launch.h"
#include "scenarios/launch/signal_pipe.h"

namespace shardlab {
namespace {

using comm::now_ns;
using comm::Ns;

constexpr Ns kMs = 1'000'000;
constexpr Ns kKillAfterNs = 10'000 * kMs;  // from the first signal: it has processes on other hosts to end

// Becomes the program in the child; what keeps it from that comes back through the pipe.
[[noreturn]] void become(char** argv, pid_t parent, int report) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  // In the background of a terminal it could not read from it.
  if (isatty(0)) {
    int null = open("/dev/null", O_RDONLY);
    if (null >= 0) dup2(null, 0);
  }
  for (int signal : {SIGINT, SIGTERM, SIGPIPE, SIGCHLD, SIGHUP}) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvp(argv[0], argv);
  int why = errno;
  [[maybe_unused]] ssize_t n = write(report, &why, sizeof why);
  _exit(127);
}

pid_t start(std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw IoError(fmt::format("no pipe to a child: {}", std::strerror(errno)));
  Descriptor out(ends[0]), in(ends[1]);
  std::fflush(nullptr);
  pid_t parent = getpid(), pid = fork();
  if (pid < 0) throw IoError(fmt::format("no process for {}: {}", words[0], std::strerror(errno)));
  if (pid == 0) become(argv.data(), parent, in.get());
  in.reset();
  int why = 0;
  if (read(out.get(), &why, sizeof why) != sizeof why) return pid;
  waitpid(pid, nullptr, 0);
  throw_user_error("{} cannot be started: {}", words[0], std::strerror(why));
}

}  // namespace

OtherLauncherEnd run_other_launcher(std::vector<std::string> argv, std::chrono::milliseconds limit) {
  SignalPipe signals(true);
  const pid_t pid = start(argv);
  Descriptor done(int(syscall(SYS_pidfd_open, pid, 0)));
  if (!done.open()) throw IoError(fmt::format("processes cannot be watched here (pidfd_open: {})", std::strerror(errno)));
  OtherLauncherEnd end;
  Ns limit_ns = limit.count() > 0 ? now_ns() + Ns(limit.count()) * kMs : 0, kill_ns = 0;
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    Ns next_ns = kill_ns != 0 ? kill_ns : limit_ns;
    pollfd polled[]{{done.get(), POLLIN, 0}, {signals.fd(), POLLIN, 0}};
    poll(polled, 2, next_ns == 0 ? -1 : int(std::clamp<Ns>((next_ns - now_ns() + kMs - 1) / kMs, 0, 60'000)));
    int signal = signals.take();
    if (signal != 0) {
      if (end.interrupted_by == 0 && !end.timed_out) end.interrupted_by = signal;
      kill(pid, signal);
      if (kill_ns == 0) kill_ns = now_ns() + kKillAfterNs;
    }
    if (limit_ns != 0 && kill_ns == 0 && now_ns() >= limit_ns) {
      end.timed_out = true;
      kill(pid, SIGTERM);
      kill_ns = now_ns() + kKillAfterNs;
    }
    if (kill_ns != 0 && now_ns() >= kill_ns) kill(-pid, SIGKILL);
  }
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  return end;
}

}  // namespace shardlab
