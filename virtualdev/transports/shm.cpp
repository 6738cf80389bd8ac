// The transport between processes of one host: a ring of shared memory for each pair, and futexes to sleep on.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "runtime/base/error.h"
#include "virtualdev/transports/shm_segment.h"
#include "virtualdev/transports/transport_def.h"

namespace shardlab {
namespace {

using comm::ExchangeResult;
using comm::ExchangeStatus;
using comm::MessageHeader;
using comm::ProcessIndex;

constexpr std::size_t kHeaderBytes = sizeof(MessageHeader);
// A side publishes what it copied at least this often, so that the other copies at the same time.
constexpr std::size_t kChunkBytes = std::size_t(128) << 10;

// The writing end of a ring. One message at a time; copies as much as there is room for.
class Outgoing {
 public:
  Outgoing(const ShmSegment& segment, ProcessIndex from, const comm::Send& send, MessageHeader header)
      : segment_(segment), ring_(segment.ring(from, send.to)), data_(segment.ring_data(from, send.to)), send_(&send), header_(header) {
    header_.bytes = 0;
    for (std::span<const std::byte> part : send.parts) header_.bytes += std::int64_t(part.size());
  }

  bool done() const { return part_ == send_->parts.size() + 1; }
  ProcessIndex peer() const { return send_->to; }

  bool progress() {
    std::uint64_t written = ring_.written.load(std::memory_order_relaxed);
    std::size_t room = segment_.ring_bytes() - std::size_t(written - ring_.taken.load(std::memory_order_acquire));
    std::size_t budget = std::min(room, kChunkBytes), copied = 0;
    while (!done()) {
      std::span<const std::byte> part = current();
      std::size_t n = std::min(budget - copied, part.size() - offset_);
      put(written + copied, part.subspan(offset_, n));
      copied += n;
      offset_ += n;
      if (offset_ < part.size()) break;
      ++part_;
      offset_ = 0;
    }
    if (copied == 0) return false;
    ring_.written.store(written + copied, std::memory_order_release);
    segment_.ring_bell(send_->to);
    return true;
  }

 private:
  // The header is the first part.
  std::span<const std::byte> current() const { return part_ == 0 ? std::as_bytes(std::span(&header_, 1)) : send_->parts[part_ - 1]; }
  void put(std::uint64_t position, std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    std::size_t at = std::size_t(position % segment_.ring_bytes());
    std::size_t first = std::min(bytes.size(), segment_.ring_bytes() - at);
    std::memcpy(data_ + at, bytes.data(), first);
    if (first < bytes.size()) std::memcpy(data_, bytes.data() + first, bytes.size() - first);
  }

  const ShmSegment& segment_;
  ShmRing& ring_;
  std::byte* data_;
  const comm::Send* send_;
  MessageHeader header_;
  std::size_t part_ = 0, offset_ = 0;
};

// The reading end. The header is looked at and left where it is until it agrees.
class Incoming {
 public:
  Incoming(const ShmSegment& segment, ProcessIndex to, const comm::Receive& receive, MessageHeader expected)
      : segment_(segment),
        ring_(segment.ring(receive.from, to)),
        data_(segment.ring_data(receive.from, to)),
        receive_(&receive),
        expected_(expected) {
    expected_.bytes = std::int64_t(receive.data.size());
  }

  bool done() const { return agreed_ && offset_ == receive_->data.size(); }
  ProcessIndex peer() const { return receive_->from; }
  const std::optional<comm::WireMismatch>& mismatch() const { return mismatch_; }

  bool progress() {
    std::uint64_t taken = ring_.taken.load(std::memory_order_relaxed);
    std::size_t there = std::size_t(ring_.written.load(std::memory_order_acquire) - taken);
    std::size_t consumed = 0;
    if (!agreed_) {
      if (there < kHeaderBytes) return false;
      MessageHeader got;
      get(taken, std::as_writable_bytes(std::span(&got, 1)));
      if (!got.agrees(expected_) || got.bytes != expected_.bytes) {
        mismatch_ = comm::WireMismatch{receive_->from, expected_, got};
        return true;
      }
      agreed_ = true;
      consumed = kHeaderBytes;
    }
    std::size_t n = std::min({there - consumed, receive_->data.size() - offset_, kChunkBytes});
    get(taken + consumed, receive_->data.subspan(offset_, n));
    offset_ += n;
    consumed += n;
    if (consumed == 0) return false;
    ring_.taken.store(taken + consumed, std::memory_order_release);
    segment_.ring_bell(receive_->from);
    return true;
  }

 private:
  void get(std::uint64_t position, std::span<std::byte> bytes) const {
    if (bytes.empty()) return;
    std::size_t at = std::size_t(position % segment_.ring_bytes());
    std::size_t first = std::min(bytes.size(), segment_.ring_bytes() - at);
    std::memcpy(bytes.data(), data_ + at, first);
    if (first < bytes.size()) std::memcpy(bytes.data() + first, data_, bytes.size() - first);
  }

  const ShmSegment& segment_;
  ShmRing& ring_;
  const std::byte* data_;
  const comm::Receive* receive_;
  MessageHeader expected_;
  std::optional<comm::WireMismatch> mismatch_;
  std::size_t offset_ = 0;
  bool agreed_ = false;
};

// One thread exchanges; abort() may come from any thread, and through the segment from any process. A peer that dies leaves us asleep
// until somebody aborts: the control plane does as soon as it knows.
class ShmTransport final : public comm::Transport {
 public:
  ShmTransport(std::unique_ptr<ShmSegment> segment, ProcessIndex self)
      : segment_(std::move(segment)), self_(self), door_(segment_->doorbell(self)) {}

  std::string_view name() const override { return "shm"; }

  ExchangeResult exchange(const MessageHeader& header, std::span<const comm::Send> sends, std::span<const comm::Receive> receives,
                          const std::function<void(const std::vector<ProcessIndex>&)>& on_wait) override {
    check_peers(sends, receives);
    std::vector<Outgoing> outgoing;
    std::vector<Incoming> incoming;
    outgoing.reserve(sends.size());
    incoming.reserve(receives.size());
    for (const comm::Send& send : sends) outgoing.emplace_back(*segment_, self_, send, header);
    for (const comm::Receive& receive : receives) incoming.emplace_back(*segment_, self_, receive, header);
    bool told = false;
    while (true) {
      std::uint32_t bell = door_.bell.load();  // before looking: what changes from here on changes it
      if (door_.aborted.load()) return {ExchangeStatus::kAborted, {}};
      bool moved = false, done = true;
      for (Outgoing& out : outgoing)
        if (!out.done()) {
          moved |= out.progress();
          done &= out.done();
        }
      ExchangeResult result{ExchangeStatus::kMismatch, {}};
      for (Incoming& in : incoming)
        if (!in.done()) {
          moved |= in.progress();
          done &= in.done();
          if (in.mismatch()) result.mismatches.push_back(*in.mismatch());
        }
      if (!result.mismatches.empty()) return result;
      if (done) return {};
      if (moved) continue;
      if (!told && on_wait) on_wait(awaited(outgoing, incoming));
      told = true;
      sleep(bell);
    }
  }

  void abort(std::string_view) override { segment_->abort(self_); }

 private:
  void check_peers(std::span<const comm::Send> sends, std::span<const comm::Receive> receives) const {
    auto check = [&](ProcessIndex peer) {
      SL_CHECK(peer >= 0 && peer < segment_->num_processes() && peer != self_, "process {} exchanges with process {} of {}", self_, peer,
               segment_->num_processes());
    };
    for (const comm::Send& send : sends) check(send.to);
    for (const comm::Receive& receive : receives) check(receive.from);
  }

  static std::vector<ProcessIndex> awaited(const std::vector<Outgoing>& outgoing, const std::vector<Incoming>& incoming) {
    std::vector<ProcessIndex> peers;
    for (const Incoming& in : incoming)
      if (!in.done()) peers.push_back(in.peer());
    for (const Outgoing& out : outgoing)
      if (!out.done()) peers.push_back(out.peer());
    std::sort(peers.begin(), peers.end());
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
    return peers;
  }

  // The flag is up before the kernel compares the bell: a peer that rings later sees it, one that rang before changed the bell.
  void sleep(std::uint32_t bell) {
    door_.sleeping.store(1);
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&door_.bell), FUTEX_WAIT, bell, nullptr, nullptr, 0);
    door_.sleeping.store(0, std::memory_order_relaxed);
  }

  std::unique_ptr<ShmSegment> segment_;
  ProcessIndex self_;
  ShmDoorbell& door_;
};

std::unique_ptr<comm::Transport> make(const TransportOptions& options) {
  std::unique_ptr<ShmSegment> segment = ShmSegment::open(options.address);
  SL_CHECK(segment->num_processes() == options.num_processes && options.process_index >= 0 && options.process_index < options.num_processes,
           "process {} of {} opened shared memory of {} processes", options.process_index, options.num_processes, segment->num_processes());
  return std::make_unique<ShmTransport>(std::move(segment), options.process_index);
}

}  // namespace

const TransportDef kShmTransport{
    .name = "shm",
    .doc = "Processes of one host: shared memory, and futexes to sleep on.",
    .processes_max = 0,
    .make = make,
};

}  // namespace shardlab
