#include "scenarios/launch/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "runtime/base/error.h"

namespace shardlab {
namespace {

struct Pipe {
  Descriptor read, write;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw IoError(fmt::format("no pipe for a process's output: {}", std::strerror(errno)));
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

void Descriptor::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

ChildProcess::ChildProcess(const ChildOptions& options) {
  SL_CHECK(!options.argv.empty(), "no program to start");
  Pipe out, err;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  if (options.pipes) {
    out = make_pipe();
    err = make_pipe();
    posix_spawn_file_actions_adddup2(&actions, out.write.get(), 1);
    posix_spawn_file_actions_adddup2(&actions, err.write.get(), 2);
  }
  if (!options.inherit_input) posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (int signal : {SIGINT, SIGTERM, SIGPIPE, SIGCHLD, SIGHUP}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> argv = pointers(options.argv), environment = pointers(options.environment);
  int error = posix_spawnp(&pid_, argv[0], &actions, &attributes, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) throw_user_error("the program '{}' cannot be started: {}", options.argv[0], std::strerror(error));
  running_ = true;
  done_ = Descriptor(int(syscall(SYS_pidfd_open, pid_, 0)));
  if (!done_.open()) {
    int status;
    signal_group(SIGKILL);
    waitpid(pid_, &status, 0);
    running_ = false;
    throw IoError(fmt::format("processes cannot be watched here (pidfd_open: {})", std::strerror(errno)));
  }
  out_ = std::move(out.read);
  err_ = std::move(err.read);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(other.pid_), running_(other.running_), done_(std::move(other.done_)), out_(std::move(other.out_)), err_(std::move(other.err_)) {
  other.pid_ = -1;
  other.running_ = false;
}

ChildProcess::~ChildProcess() {
  if (pid_ <= 0) return;
  signal_group(SIGKILL);  // what it started too, even when it has ended itself
  int status;
  if (running_) waitpid(pid_, &status, 0);
}

bool ChildProcess::reap(int& exit_code, int& signal) {
  if (!running_) return false;
  int status = 0;
  pid_t ended = waitpid(pid_, &status, WNOHANG);
  if (ended != pid_) return false;
  running_ = false;
  signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  return true;
}

void ChildProcess::signal_group(int signal) const {
  if (pid_ > 0) kill(-pid_, signal);
}

}  // namespace shardlab
