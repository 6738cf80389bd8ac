// Programs under test whose words are heard as they come, and jobs whose processes are started by hand.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/launch/child_process.h"
#include "tests/support/ports.h"

extern char** environ;

namespace shardlab::testing_ {

// A program under test: what it said, until it has said something or ended.
class Watched {
 public:
  Watched(std::vector<std::string> argv, const std::vector<std::string>& variables) {
    std::vector<std::string> environment = variables;
    for (char** entry = environ; *entry; ++entry) environment.emplace_back(*entry);
    child_ = std::make_unique<ChildProcess>(ChildOptions{.argv = std::move(argv), .environment = std::move(environment)});
  }
  void signal(int number) const { ::kill(child_->pid(), number); }
  // Whether it said `text` so often before it ended.
  bool says(const std::string& text, int times = 1) {
    while (count(text) < times && take()) {}
    return count(text) >= times;
  }
  const std::string& said() const { return said_; }
  // Waits for more; false where it has ended, or says nothing for long.
  bool hears() { return take(); }
  // To its end: what it said; then its code, or 128 and the signal.
  const std::string& output() {
    while (take()) {}
    pollfd done{child_->done_fd(), POLLIN, 0};
    ::poll(&done, 1, kLimitMs);
    int exit_code = 0, signal = 0;
    if (child_->reap(exit_code, signal)) {
      code_ = exit_code;
      signal_ = signal;
    }
    return said_;
  }
  int code() const { return code_; }
  int signal() const { return signal_; }

 private:
  static constexpr int kLimitMs = 60'000;
  int count(const std::string& text) const {
    int found = 0;
    for (std::size_t at = said_.find(text); at != std::string::npos; at = said_.find(text, at + 1)) ++found;
    return found;
  }
  bool take() {
    std::vector<pollfd> polled;
    std::vector<Descriptor*> from;
    for (Descriptor* each : {&child_->out(), &child_->err()})
      if (each->open()) {
        polled.push_back({each->get(), POLLIN, 0});
        from.push_back(each);
      }
    if (polled.empty() || ::poll(polled.data(), polled.size(), kLimitMs) <= 0) return false;
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      char bytes[4096];
      ssize_t n = ::read(polled[i].fd, bytes, sizeof bytes);
      if (n > 0)
        said_.append(bytes, std::size_t(n));
      else
        from[i]->reset();
    }
    return true;
  }

  std::unique_ptr<ChildProcess> child_;
  std::string said_;
  int code_ = -1, signal_ = -1;
};

inline std::string free_address() { return "localhost:" + std::to_string(support::unused_port()); }

// Three processes of one job, in three terminals; what each does after two sums.
inline std::vector<std::unique_ptr<Watched>> by_hand(const std::vector<std::string>& steps, const std::string& first = "",
                                                     const std::vector<std::string>& variables = {},
                                                     const std::string& address = free_address()) {
  std::vector<std::unique_ptr<Watched>> processes;
  for (int p = 0; p < 3; ++p) {
    std::vector<std::string> words{SHARDLAB_COORDINATION_PROCESS};
    if (!first.empty()) words.push_back(first);
    words.push_back("at=" + address + "," + std::to_string(p) + ",3");
    words.insert(words.end(), {"sum", "sum"});
    words.insert(words.end(), steps.begin(), steps.end());
    processes.push_back(std::make_unique<Watched>(std::move(words), variables));
  }
  return processes;
}

}  // namespace shardlab::testing_
