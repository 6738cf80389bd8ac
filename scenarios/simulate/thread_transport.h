// A transport between threads that stand for processes: one queue a pair, unbounded, so that a send never waits.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/comm/transport.h"

namespace shardlab::simulate {

// What the threads of one run share.
class ThreadHub {
 public:
  struct Message {
    comm::MessageHeader header;
    std::vector<std::byte> data;
  };

 private:
  friend class ThreadTransport;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<int, int>, std::deque<Message>> queues_;  // from, to
  bool aborted_ = false;
};

// The end of one process; abort() ends the waiting of all.
class ThreadTransport final : public comm::Transport {
 public:
  ThreadTransport(std::shared_ptr<ThreadHub> hub, int self) : hub_(std::move(hub)), self_(self) {}
  std::string_view name() const override { return "threads"; }
  comm::ExchangeResult exchange(const comm::MessageHeader& header, std::span<const comm::Send> sends,
                                std::span<const comm::Receive> receives,
                                const std::function<void(const std::vector<comm::ProcessIndex>&)>& on_wait) override;
  void abort(std::string_view why) override;

 private:
  std::shared_ptr<ThreadHub> hub_;
  int self_;
};

}  // namespace shardlab::simulate
