#include "virtualdev/cuda/link_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace shardlab::cuda {
namespace {

using comm::ExchangeResult;
using comm::ExchangeStatus;

std::size_t bytes_of(const comm::Send& send) {
  std::size_t bytes = 0;
  for (const auto& part : send.parts) bytes += block_of(part).bytes;
  return bytes;
}

}  // namespace

ExchangeResult exchange_by_host(GpuApi& api, const LinkContext& link, std::span<const comm::Send> sends,
                                std::span<const comm::Receive> receives) {
  std::vector<std::unique_ptr<Pinned>> staged;
  std::vector<comm::Send> host_sends;
  std::vector<std::unique_ptr<Mark>> copied;
  for (const comm::Send& send : sends) {
    comm::Send host{send.to, {}};
    for (const auto& part : send.parts) {
      const Block& block = block_of(part);
      staged.push_back(std::make_unique<Pinned>(api, block.bytes));
      if (block.bytes > 0) api.copy(staged.back()->data(), block.data, block.bytes, block.gpu->stream);
      host.parts.push_back({staged.back()->data(), block.bytes});
      copied.push_back(std::make_unique<Mark>(api, block.gpu->number, block.gpu->stream));
    }
    host_sends.push_back(std::move(host));
  }
  for (const auto& mark : copied) api.synchronize(mark->event());
  std::vector<comm::Receive> host_receives;
  std::vector<std::unique_ptr<Pinned>> arrived;
  for (const comm::Receive& receive : receives) {
    arrived.push_back(std::make_unique<Pinned>(api, block_of(receive.data).bytes));
    host_receives.push_back({receive.from, {arrived.back()->data(), block_of(receive.data).bytes}});
  }
  ExchangeResult result = link.transport->exchange(link.header, host_sends, host_receives, link.on_wait);
  if (result.status != ExchangeStatus::kDone) return result;
  copied.clear();
  for (std::size_t i = 0; i < receives.size(); ++i) {
    const Block& block = block_of(receives[i].data);
    if (block.bytes == 0) continue;
    api.copy(block.data, arrived[i]->data(), block.bytes, block.gpu->stream);
    copied.push_back(std::make_unique<Mark>(api, block.gpu->number, block.gpu->stream));
  }
  for (const auto& mark : copied) api.synchronize(mark->event());
  return result;
}

int NcclExchange::index_of(const Gpu* gpu) const {
  auto found = std::find_if(gpus_.begin(), gpus_.end(), [&](const auto& each) { return each.get() == gpu; });
  SL_CHECK(found != gpus_.end(), "a message of a GPU of another backend");
  return int(found - gpus_.begin());
}

void NcclExchange::list_peers(std::span<const comm::Send> sends, std::span<const comm::Receive> receives) {
  auto peer_of = [&](int process) -> Peer& {
    auto found = std::find_if(peers_.begin(), peers_.end(), [&](const Peer& each) { return each.process == process; });
    return found != peers_.end() ? *found : peers_.emplace_back(Peer{.process = process});
  };
  for (const comm::Send& send : sends) {
    Peer& peer = peer_of(send.to);
    peer.send = &send;
    peer.own.sent_bytes = std::int64_t(bytes_of(send));
    if (peer.own.sent_bytes > 0) peer.own.sends_from = index_of(block_of(send.parts[0]).gpu);
  }
  for (const comm::Receive& receive : receives) {
    Peer& peer = peer_of(receive.from);
    peer.receive = &receive;
    peer.own.wanted_bytes = std::int64_t(block_of(receive.data).bytes);
    if (peer.own.wanted_bytes > 0) peer.own.receives_at = index_of(block_of(receive.data).gpu);
  }
}

ExchangeResult NcclExchange::meet() {
  std::vector<comm::Send> sends;
  std::vector<comm::Receive> receives;
  for (Peer& peer : peers_) {
    sends.push_back({peer.process, {std::as_bytes(std::span(&peer.own, 1))}});
    receives.push_back({peer.process, std::as_writable_bytes(std::span(&peer.theirs, 1))});
  }
  auto on_wait = [&](const std::vector<int>& processes) {
    has_told_ = true;
    if (link_.on_wait) link_.on_wait(processes);
  };
  ExchangeResult result = link_.transport->exchange(link_.header, sends, receives, on_wait);
  if (result.status != ExchangeStatus::kDone) return result;
  for (const Peer& peer : peers_) {
    bool is_received = peer.theirs.sent_bytes == peer.own.wanted_bytes, is_sent = peer.theirs.wanted_bytes == peer.own.sent_bytes;
    if (is_received && is_sent) continue;
    comm::WireMismatch mismatch{peer.process, link_.header, link_.header};
    mismatch.expected.bytes = is_received ? peer.own.sent_bytes : peer.own.wanted_bytes;
    mismatch.got.bytes = is_received ? peer.theirs.wanted_bytes : peer.theirs.sent_bytes;
    result.status = ExchangeStatus::kMismatch;
    result.mismatches.push_back(mismatch);
  }
  return result;
}

// One stretch of memory for a message; where its parts lie apart they are brought together, on the GPU of the first.
const Block& NcclExchange::packed(const comm::Send& send) {
  if (send.parts.size() == 1) return block_of(send.parts[0]);
  const std::shared_ptr<Gpu>& gpu = gpus_[std::size_t(index_of(block_of(send.parts[0]).gpu))];
  kept_.push_back(allocate_on(gpu, bytes_of(send)));
  const Block& whole = block_of(*kept_.back());
  std::size_t at = 0;
  for (const auto& part : send.parts) {
    const Block& block = block_of(part);
    if (block.bytes == 0) continue;
    bool is_near = block.gpu == gpu.get();
    if (!is_near) api_.wait(gpu->stream, Mark(api_, block.gpu->number, block.gpu->stream).event());
    api_.copy(whole.data + at, block.data, block.bytes, gpu->stream);
    if (!is_near) api_.wait(block.gpu->stream, Mark(api_, gpu->number, gpu->stream).event());
    at += block.bytes;
  }
  return whole;
}

void NcclExchange::issue(const CommunicatorGroup& group) {
  std::vector<const Block*> messages(peers_.size());
  for (std::size_t i = 0; i < peers_.size(); ++i)
    if (peers_[i].own.sent_bytes > 0) messages[i] = &packed(*peers_[i].send);
  used_.assign(gpus_.size(), false);
  auto member = [&](int index) {
    used_[std::size_t(index)] = true;
    return group.own[std::size_t(index)];
  };
  auto calls = [&] {
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      const Peer& peer = peers_[i];
      int first = group.first_rank.at(peer.process);
      if (messages[i] != nullptr)
        api_.send(messages[i]->data, messages[i]->bytes, first + peer.theirs.receives_at, member(peer.own.sends_from),
                  messages[i]->gpu->stream);
      if (peer.own.wanted_bytes == 0) continue;
      const Block& block = block_of(peer.receive->data);
      api_.receive(block.data, block.bytes, first + peer.theirs.sends_from, member(peer.own.receives_at), block.gpu->stream);
    }
  };
  api_.group_start();
  try {
    calls();
  } catch (...) {  // a group that stays open takes in all that follows, an abort too
    try {
      api_.group_end();
    } catch (const GpuError&) {  // the first failure is what is told
    }
    throw;
  }
  api_.group_end();
}

bool NcclExchange::is_aborted() { return link_.transport->exchange(link_.header, {}, {}, {}).status == ExchangeStatus::kAborted; }

void NcclExchange::pause() {
  constexpr std::int64_t kTellAfterNs = 20'000'000;
  if (is_aborted()) throw Aborted();
  if (has_told_ || !link_.on_wait || comm::now_ns() - began_ns_ < kTellAfterNs) return;
  has_told_ = true;
  std::vector<int> others;
  for (const Peer& peer : peers_) others.push_back(peer.process);
  std::sort(others.begin(), others.end());
  link_.on_wait(others);
}

void NcclExchange::wait_until_taken(const CommunicatorGroup& group) {
  for (std::size_t i = 0; i < used_.size(); ++i)
    while (used_[i] && !api_.is_ready(group.own[i])) {
      pause();
      std::this_thread::yield();
    }
}

// In pauses that grow: short at first, for what comes soon.
void NcclExchange::wait_until_done(const CommunicatorGroup& group) {
  constexpr std::chrono::nanoseconds kPauseMin{5'000}, kPauseMax{250'000};
  std::vector<std::unique_ptr<Mark>> marks;
  for (std::size_t i = 0; i < used_.size(); ++i)
    if (used_[i]) marks.push_back(std::make_unique<Mark>(api_, gpus_[i]->number, gpus_[i]->stream));
  for (auto next = kPauseMin; !marks.empty();) {
    std::erase_if(marks, [&](const auto& mark) { return api_.is_done(mark->event()); });
    if (marks.empty()) return;
    for (std::size_t i = 0; i < used_.size(); ++i)
      if (used_[i]) api_.is_ready(group.own[i]);  // throws what went wrong
    pause();
    std::this_thread::sleep_for(next);
    next = std::min(2 * next, kPauseMax);
  }
}

// In one group; returns when the GPUs are done.
void NcclExchange::move(const CommunicatorGroup& group) {
  issue(group);
  wait_until_taken(group);
  wait_until_done(group);
  for (const Peer& peer : peers_)
    if (peer.own.sent_bytes > 0) communicators_.count_sent(peer.process, peer.own.sent_bytes);
}

ExchangeResult NcclExchange::run(std::span<const comm::Send> sends, std::span<const comm::Receive> receives) {
  list_peers(sends, receives);
  bool by_nccl = false;
  try {
    by_nccl = communicators_.goes_by_nccl(processes_, [this] { pause(); });
  } catch (const Aborted&) { return {ExchangeStatus::kAborted, {}}; }
  if (!by_nccl) return exchange_by_host(api_, link_, sends, receives);
  ExchangeResult result = meet();
  if (result.status != ExchangeStatus::kDone) return result;
  if (std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) { return peer.own.sent_bytes + peer.own.wanted_bytes == 0; }))
    return result;
  try {
    move(communicators_.await(processes_, [this] { pause(); }));
    return result;
  } catch (const Aborted&) {
    communicators_.abort();
    return {ExchangeStatus::kAborted, {}};
  } catch (const NcclError& error) {
    communicators_.abort();
    for (int waited = 0; waited < kGraceMs; waited += 10) {
      if (is_aborted()) return {ExchangeStatus::kAborted, {}};
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    throw TransportError(
        fmt::format("the exchange between the GPUs of {} broke: {}", CommunicatorGroup{.processes = processes_}.text(), error.what()));
  } catch (const GpuError&) {  // of this process's own work
    communicators_.abort();
    throw;
  }
}

}  // namespace shardlab::cuda
