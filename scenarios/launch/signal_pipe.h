// SIGINT and SIGTERM as bytes in a pipe, for who supervises processes.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "runtime/base/error.h"
#include "scenarios/launch/child_process.h"

namespace shardlab {

// For the life of this object; one at a time in a process.
class SignalPipe {
 public:
  explicit SignalPipe(bool wanted) {
    if (!wanted) return;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw IoError(fmt::format("no pipe for signals: {}", std::strerror(errno)));
    read_ = Descriptor(ends[0]);
    write_ = Descriptor(ends[1]);
    write_fd_ = ends[1];
    struct sigaction action {};
    action.sa_handler = [](int signal) {
      int saved = errno;
      unsigned char byte = static_cast<unsigned char>(signal);
      [[maybe_unused]] ssize_t n = write(write_fd_, &byte, 1);
      errno = saved;
    };
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, &interrupt_);
    sigaction(SIGTERM, &action, &terminate_);
  }
  ~SignalPipe() {
    if (!read_.open()) return;
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
    write_fd_ = -1;
  }
  SignalPipe(const SignalPipe&) = delete;
  SignalPipe& operator=(const SignalPipe&) = delete;

  int fd() const { return read_.get(); }
  int take() {
    unsigned char byte = 0;
    return read(read_.get(), &byte, 1) == 1 ? byte : 0;
  }

 private:
  static inline std::atomic<int> write_fd_ = -1;  // a handler can reach nothing else
  Descriptor read_, write_;
  struct sigaction interrupt_ {
  }, terminate_{};
};

}  // namespace shardlab
