// A transport between threads that stand for processes, for tests: unbounded queues, one a pair.
#pragma once

#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/comm/transport.h"

namespace shardlab::testing {

class ThreadHub {
 public:
  struct Message {
    comm::MessageHeader header;
    std::vector<std::byte> data;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<int, int>, std::deque<Message>> queues;  // (from, to)
  std::map<std::pair<int, int>, std::int64_t> bytes;          // sent, (from, to)
  bool aborted = false;
};

class ThreadTransport final : public comm::Transport {
 public:
  ThreadTransport(std::shared_ptr<ThreadHub> hub, int self) : hub_(std::move(hub)), self_(self) {}
  std::string_view name() const override { return "thread"; }

  comm::ExchangeResult exchange(const comm::MessageHeader& header, std::span<const comm::Send> sends,
                                std::span<const comm::Receive> receives,
                                const std::function<void(const std::vector<int>&)>& on_wait) override {
    std::unique_lock lock(hub_->mutex);
    if (hub_->aborted && sends.empty() && receives.empty()) return {comm::ExchangeStatus::kAborted, {}};
    for (const comm::Send& send : sends) {
      ThreadHub::Message message{header, {}};
      for (auto part : send.parts) message.data.insert(message.data.end(), part.begin(), part.end());
      message.header.bytes = std::int64_t(message.data.size());
      hub_->bytes[{self_, send.to}] += message.header.bytes;
      hub_->queues[{self_, send.to}].push_back(std::move(message));
    }
    hub_->changed.notify_all();
    comm::ExchangeResult result;
    for (const comm::Receive& receive : receives) {
      auto& queue = hub_->queues[{receive.from, self_}];
      if (queue.empty() && on_wait) {
        // Who is told may be the one that aborts, under a lock of its own.
        lock.unlock();
        on_wait({receive.from});
        lock.lock();
      }
      hub_->changed.wait(lock, [&] { return !queue.empty() || hub_->aborted; });
      if (queue.empty()) return {comm::ExchangeStatus::kAborted, {}};
      const ThreadHub::Message& message = queue.front();
      if (!message.header.agrees(header) || message.data.size() != receive.data.size()) {
        result.status = comm::ExchangeStatus::kMismatch;
        result.mismatches.push_back({receive.from, header, message.header});
        continue;
      }
      if (!message.data.empty()) std::memcpy(receive.data.data(), message.data.data(), message.data.size());
      queue.pop_front();
    }
    return result;
  }

  void abort(std::string_view) override {
    std::lock_guard lock(hub_->mutex);
    hub_->aborted = true;
    hub_->changed.notify_all();
  }

 private:
  std::shared_ptr<ThreadHub> hub_;
  int self_;
};

}  // namespace shardlab::testing
