#include "scenarios/simulate/thread_transport.h"

#include <cstring>

namespace shardlab::simulate {

comm::ExchangeResult ThreadTransport::exchange(const comm::MessageHeader& header, std::span<const comm::Send> sends,
                                               std::span<const comm::Receive> receives,
                                               const std::function<void(const std::vector<comm::ProcessIndex>&)>& on_wait) {
  std::unique_lock lock(hub_->mutex_);
  if (hub_->aborted_ && sends.empty() && receives.empty()) return {comm::ExchangeStatus::kAborted, {}};
  for (const comm::Send& send : sends) {
    ThreadHub::Message message{header, {}};
    for (auto part : send.parts) message.data.insert(message.data.end(), part.begin(), part.end());
    message.header.bytes = std::int64_t(message.data.size());
    hub_->queues_[{self_, send.to}].push_back(std::move(message));
  }
  hub_->changed_.notify_all();
  auto queue_of = [&](const comm::Receive& receive) -> auto& { return hub_->queues_[{receive.from, self_}]; };
  std::vector<comm::ProcessIndex> awaited;
  for (const comm::Receive& receive : receives)
    if (queue_of(receive).empty()) awaited.push_back(receive.from);
  if (!awaited.empty() && on_wait) {
    lock.unlock();
    on_wait(awaited);
    lock.lock();
  }
  comm::ExchangeResult result;
  for (const comm::Receive& receive : receives) {
    auto& queue = queue_of(receive);
    hub_->changed_.wait(lock, [&] { return !queue.empty() || hub_->aborted_; });
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

void ThreadTransport::abort(std::string_view) {
  std::lock_guard lock(hub_->mutex_);
  hub_->aborted_ = true;
  hub_->changed_.notify_all();
}

}  // namespace shardlab::simulate
