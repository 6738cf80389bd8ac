// A child process in a group of its own, with a descriptor to wait on and pipes for its output.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace shardlab {

// Closes on destruction.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { reset(); }
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void reset();
  int release() {
    int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

struct ChildOptions {
  std::vector<std::string> argv, environment;
  bool pipes = true;  // standard output and error through pipes
  bool inherit_input = false;
};

// Killed with its whole group and reaped on destruction, if it still runs.
class ChildProcess {
 public:
  explicit ChildProcess(const ChildOptions&);  // throws UserError
  ChildProcess(ChildProcess&&) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  int done_fd() const { return done_.get(); }  // readable when it has ended
  Descriptor& out() { return out_; }
  Descriptor& err() { return err_; }
  bool running() const { return running_; }
  // Takes the status of a child that has ended; false while it runs.
  bool reap(int& exit_code, int& signal);
  void signal_group(int signal) const;

 private:
  pid_t pid_ = -1;
  bool running_ = false;
  Descriptor done_, out_, err_;
};

}  // namespace shardlab
