#include "runtime/shardlab/subset_transport.h"

#include <utility>

namespace shardlab {

SubsetTransport::SubsetTransport(std::shared_ptr<ProcessTransport> inner, std::vector<comm::ProcessIndex> processes, int num_processes)
    : inner_(std::move(inner)), processes_(std::move(processes)), rank_(std::size_t(num_processes), -1) {
  for (std::size_t i = 0; i < processes_.size(); ++i) rank_[std::size_t(processes_[i])] = int(i);
}

comm::ExchangeResult SubsetTransport::exchange(const comm::MessageHeader& header, std::span<const comm::Send> sends,
                                               std::span<const comm::Receive> receives,
                                               const std::function<void(const std::vector<comm::ProcessIndex>&)>& on_wait) {
  std::vector<comm::Send> mapped_sends(sends.begin(), sends.end());
  std::vector<comm::Receive> mapped_receives(receives.begin(), receives.end());
  std::vector<comm::ProcessIndex> absent;
  auto map = [&](comm::ProcessIndex& process) {
    if (rank_[std::size_t(process)] < 0) absent.push_back(process);
    process = rank_[std::size_t(process)];
  };
  for (comm::Send& send : mapped_sends) map(send.to);
  for (comm::Receive& receive : mapped_receives) map(receive.from);
  if (!absent.empty() || !inner_) {
    if (absent.empty()) return {};  // nobody to exchange with
    if (on_wait) on_wait(absent);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return aborted_; });
    return {.status = comm::ExchangeStatus::kAborted, .mismatches = {}};
  }
  comm::ExchangeResult result = inner_->exchange(header, mapped_sends, mapped_receives, [&](std::vector<comm::ProcessIndex> peers) {
    for (comm::ProcessIndex& peer : peers) peer = processes_[std::size_t(peer)];
    if (on_wait) on_wait(peers);
  });
  for (comm::WireMismatch& mismatch : result.mismatches) mismatch.from = processes_[std::size_t(mismatch.from)];
  return result;
}

void SubsetTransport::abort(std::string_view why) {
  {
    std::lock_guard lock(mutex_);
    aborted_ = true;
  }
  changed_.notify_all();
  if (inner_) inner_->abort(why);
}

std::vector<SentBytes> SubsetTransport::sent() const {
  std::vector<SentBytes> by_process(rank_.size());
  if (!inner_) return by_process;
  std::vector<SentBytes> inner = inner_->sent();
  for (std::size_t i = 0; i < processes_.size(); ++i) by_process[std::size_t(processes_[i])] = inner[i];
  return by_process;
}

void SubsetTransport::finish() {
  if (inner_) inner_->finish();
}

}  // namespace shardlab
