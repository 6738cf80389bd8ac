#include "virtualdev/transports/shm_link.h"

#include <algorithm>
#include <cstring>

namespace shardlab {
namespace {

// A side publishes what it copied at least this often, so that the other copies at the same time.
constexpr std::size_t kChunkBytes = std::size_t(128) << 10;

class ShmLink final : public ByteLink {
 public:
  ShmLink(const ShmSegment& segment, int self, int peer)
      : segment_(segment),
        peer_(peer),
        out_(segment.ring(self, peer)),
        in_(segment.ring(peer, self)),
        out_data_(segment.ring_data(self, peer)),
        in_data_(segment.ring_data(peer, self)) {}

  std::size_t write(std::span<const std::span<const std::byte>> parts) override {
    std::uint64_t written = out_.written.load(std::memory_order_relaxed);
    std::size_t room = room_after(written);
    if (room == 0) {
      // Whoever takes something after this rings the bell; what was taken before is seen by looking again.
      out_.writer_waits.store(1);
      room = room_after(written);
      if (room == 0) return 0;
    }
    std::size_t budget = std::min(room, kChunkBytes), copied = 0;
    for (std::span<const std::byte> part : parts) {
      std::size_t n = std::min(budget - copied, part.size());
      put(written + copied, part.first(n));
      copied += n;
      if (copied == budget) break;
    }
    if (copied == 0) return 0;
    out_.written.store(written + copied, std::memory_order_release);
    segment_.ring_bell(peer_);
    return copied;
  }

  std::size_t read(std::span<std::byte> into) override {
    std::uint64_t taken = in_.taken.load(std::memory_order_relaxed);
    std::size_t there = std::size_t(in_.written.load(std::memory_order_acquire) - taken);
    std::size_t n = std::min({there, into.size(), kChunkBytes});
    if (n == 0) return 0;
    get(taken, into.first(n));
    in_.taken.store(taken + n);
    if (in_.writer_waits.load() != 0 && in_.writer_waits.exchange(0) != 0) segment_.ring_bell(peer_);
    return n;
  }

 private:
  std::size_t room_after(std::uint64_t written) const { return segment_.ring_bytes() - std::size_t(written - out_.taken.load()); }

  void put(std::uint64_t position, std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    std::size_t at = std::size_t(position % segment_.ring_bytes());
    std::size_t first = std::min(bytes.size(), segment_.ring_bytes() - at);
    std::memcpy(out_data_ + at, bytes.data(), first);
    if (first < bytes.size()) std::memcpy(out_data_, bytes.data() + first, bytes.size() - first);
  }
  void get(std::uint64_t position, std::span<std::byte> bytes) const {
    std::size_t at = std::size_t(position % segment_.ring_bytes());
    std::size_t first = std::min(bytes.size(), segment_.ring_bytes() - at);
    std::memcpy(bytes.data(), in_data_ + at, first);
    if (first < bytes.size()) std::memcpy(bytes.data() + first, in_data_, bytes.size() - first);
  }

  const ShmSegment& segment_;
  int peer_;
  ShmRing &out_, &in_;
  std::byte *out_data_, *in_data_;
};

}  // namespace

std::unique_ptr<ByteLink> make_shm_link(const ShmSegment& segment, int self, int peer) {
  return std::make_unique<ShmLink>(segment, self, peer);
}

}  // namespace shardlab
