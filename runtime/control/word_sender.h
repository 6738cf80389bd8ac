// Sends a process's words to its coordinator: in order, several at once, and heartbeats.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "control.pb.h"
#include "runtime/comm/launch.h"

namespace shardlab::control {

// Thread-safe; a thread of its own writes. push() never waits for the network.
class WordSender {
 public:
  static constexpr int kBatchMax = 256;  // words in one message
  static constexpr int kLingerMs = 1;    // how long issued launches wait for more of them

  // kNow: somebody waits for the answer. kSoon: within kLingerMs, together with what follows. kLater: information that goes along with
  // the next word that matters, or the next heartbeat.
  enum class When { kNow, kSoon, kLater };

  // `write`: false where nobody takes words any more. `done`: the last one was written. `beat` adds what a heartbeat says.
  WordSender(std::function<bool(const wire::Words&)> write, std::function<void()> done, std::function<void(wire::Words&)> beat)
      : write_(std::move(write)), done_(std::move(done)), beat_(std::move(beat)) {}

  void start();
  void push(wire::Word word, When when);
  // What is pushed from now on is dropped.
  void close();
  // What was pushed is still written, and `done` called.
  void finish() { thread_.request_stop(); }
  void join() { thread_.join(); }

 private:
  void send(std::stop_token stop);
  wire::Words next_batch(bool last);  // with the lock held

  const std::function<bool(const wire::Words&)> write_;
  const std::function<void()> done_;
  const std::function<void(wire::Words&)> beat_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<wire::Word> queue_;
  bool wanted_ = false, urgent_ = false, closed_ = false;
  comm::Ns beat_ns_ = 0;
  std::jthread thread_;
};

}  // namespace shardlab::control
