#include "runtime/core/buffer_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <list>
#include <mutex>
#include <new>
#include <unordered_map>

namespace shardlab {
namespace {

// Fresh pages cost more than most computations that fill them: the kernel maps each at its first touch, and clears it.
constexpr std::size_t kLarge = std::size_t(256) << 10;
constexpr std::size_t kHugePage = std::size_t(2) << 20;
constexpr std::size_t kGranule = std::size_t(64) << 10;  // of pieces smaller than a huge page
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeeps = false;  // so that a use after the end is found
#else
constexpr bool kKeeps = true;
#endif

std::size_t rounded(std::size_t bytes, std::size_t granule) { return (bytes + granule - 1) / granule * granule; }

bool is_large(std::size_t bytes) { return kKeeps && bytes >= kLarge; }
std::size_t piece_bytes(std::size_t bytes) { return rounded(bytes, bytes >= kHugePage ? kHugePage : kGranule); }

std::byte* map_piece(std::size_t bytes) {
  const bool is_huge = bytes >= kHugePage;
  const std::size_t slack = is_huge ? kHugePage : 0;  // a huge page must lie on its own multiple
  void* address = mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(address);
  if (!is_huge) return begin;
  const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage) % kHugePage;
  if (before > 0) munmap(begin, before);
  if (slack > before) munmap(begin + before + bytes, slack - before);
  madvise(begin + before, bytes, MADV_HUGEPAGE);  // a wish
  return begin + before;
}

class KeptPieces {
 public:
  KeptPieces() : limit_(std::size_t(sysconf(_SC_PHYS_PAGES)) / 4 * std::size_t(sysconf(_SC_PAGESIZE))) {}

  std::byte* take(std::size_t bytes) {
    std::lock_guard lock(mutex_);
    auto found = by_size_.find(bytes);
    if (found == by_size_.end() || found->second.empty()) return nullptr;
    auto piece = found->second.back();  // the one that is most likely in the caches
    found->second.pop_back();
    std::byte* data = piece->data;
    by_age_.erase(piece);
    total_ -= bytes;
    return data;
  }

  void give(std::byte* data, std::size_t bytes) {
    madvise(data, bytes, MADV_FREE);
    std::lock_guard lock(mutex_);
    by_age_.push_back({data, bytes});
    by_size_[bytes].push_back(std::prev(by_age_.end()));
    total_ += bytes;
    shrink(limit_);
  }

  void drop() {
    std::lock_guard lock(mutex_);
    shrink(0);
  }

  std::size_t total() {
    std::lock_guard lock(mutex_);
    return total_;
  }

 private:
  struct Piece {
    std::byte* data;
    std::size_t bytes;
  };

  void shrink(std::size_t limit) {  // the oldest first
    while (total_ > limit) {
      Piece oldest = by_age_.front();
      by_size_[oldest.bytes].pop_front();
      by_age_.pop_front();
      total_ -= oldest.bytes;
      munmap(oldest.data, oldest.bytes);
    }
  }

  std::mutex mutex_;
  std::list<Piece> by_age_;
  std::unordered_map<std::size_t, std::deque<std::list<Piece>::iterator>> by_size_;
  std::size_t total_ = 0;
  const std::size_t limit_;
};

KeptPieces& kept_pieces() {
  static KeptPieces& pieces = *new KeptPieces;  // outlives every array
  return pieces;
}

}  // namespace

std::byte* allocate_buffer_memory(std::size_t bytes) {
  if (!is_large(bytes)) {
    void* data = std::aligned_alloc(64, rounded(bytes == 0 ? 1 : bytes, 64));
    if (data == nullptr) throw std::bad_alloc();
    return static_cast<std::byte*>(data);
  }
  const std::size_t piece = piece_bytes(bytes);
  if (std::byte* kept = kept_pieces().take(piece)) return kept;
  std::byte* data = map_piece(piece);
  if (data == nullptr) {
    kept_pieces().drop();
    data = map_piece(piece);
  }
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

void free_buffer_memory(std::byte* data, std::size_t bytes) noexcept {
  if (data == nullptr) return;
  if (is_large(bytes))
    kept_pieces().give(data, piece_bytes(bytes));
  else
    std::free(data);
}

std::size_t kept_buffer_memory() { return kept_pieces().total(); }

void drop_kept_buffer_memory() { kept_pieces().drop(); }

}  // namespace shardlab
