#include "runtime/core/buffer_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <list>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

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

std::size_t physical_memory() { return std::size_t(sysconf(_SC_PHYS_PAGES)) * std::size_t(sysconf(_SC_PAGESIZE)); }

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

  void give(std::byte* data, std::size_t bytes) noexcept {
    madvise(data, bytes, MADV_FREE);
    std::lock_guard lock(mutex_);
    std::list<Piece> added;
    try {
      auto& of_size = by_size_[bytes];
      added.push_back({data, bytes});
      of_size.push_back(added.begin());
    } catch (const std::bad_alloc&) {
      munmap(data, bytes);
      return;
    }
    by_age_.splice(by_age_.end(), added);
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
  const std::size_t limit_ = physical_memory() / 4;
};

// Blocks between what malloc hands out at once and what is a piece of its own: malloc would merge and split them again and again, which
// took a fifth of the time of a program of many small steps. A block that is kept holds the next one's address.
class KeptBlocks {
 public:
  static bool takes(std::size_t bytes) { return kKeeps && bytes > kSmallest && bytes < kLarge; }
  // Four sizes between two powers of two.
  static std::size_t block_bytes(std::size_t bytes) { return size_of(class_of(bytes)); }

  std::byte* take(std::size_t bytes) {
    const std::size_t index = class_of(bytes);
    Class& kept = classes_[index];
    std::lock_guard lock(kept.mutex);
    Block* block = kept.last;  // the one that is most likely in the caches
    if (block == nullptr) return nullptr;
    kept.last = block->before;
    total_ -= size_of(index);
    return reinterpret_cast<std::byte*>(block);
  }

  void give(std::byte* data, std::size_t bytes) noexcept {
    const std::size_t index = class_of(bytes);
    if (total_ + size_of(index) > limit_) return std::free(data);
    Class& kept = classes_[index];
    std::lock_guard lock(kept.mutex);
    kept.last = new (data) Block{kept.last};
    total_ += size_of(index);
  }

  void drop() {
    for (std::size_t index = 0; index < classes_.size(); ++index) {
      std::lock_guard lock(classes_[index].mutex);
      for (Block* block = std::exchange(classes_[index].last, nullptr); block != nullptr; total_ -= size_of(index))
        std::free(std::exchange(block, block->before));
    }
  }

  std::size_t total() const { return total_; }

 private:
  static constexpr std::size_t kSmallest = 1024;  // below it malloc has a cache of each thread's own
  static constexpr int kFirstPower = std::bit_width(kSmallest) - 1, kPowers = std::bit_width(kLarge) - 1 - kFirstPower;
  struct Block {
    Block* before;
  };
  struct Class {
    std::mutex mutex;
    Block* last = nullptr;
  };

  // Of more than a power of two, and of at most the next one.
  static std::size_t class_of(std::size_t bytes) {
    const int power = std::bit_width(bytes - 1) - 1;
    return std::size_t(power - kFirstPower) * 4 + (bytes - 1 - (std::size_t(1) << power)) / (std::size_t(1) << (power - 2));
  }
  static std::size_t size_of(std::size_t index) {
    const std::size_t power = std::size_t(1) << (std::size_t(kFirstPower) + index / 4);
    return power + (index % 4 + 1) * (power / 4);
  }

  std::array<Class, std::size_t(kPowers) * 4> classes_;
  std::atomic<std::size_t> total_{0};
  const std::size_t limit_ = physical_memory() / 16;
};

KeptPieces& kept_pieces() {
  static KeptPieces& pieces = *new KeptPieces;  // outlives every array
  return pieces;
}
KeptBlocks& kept_blocks() {
  static KeptBlocks& blocks = *new KeptBlocks;
  return blocks;
}

}  // namespace

std::byte* allocate_buffer_memory(std::size_t bytes) {
  if (!is_large(bytes)) {
    const bool is_kept = KeptBlocks::takes(bytes);
    if (std::byte* kept = is_kept ? kept_blocks().take(bytes) : nullptr) return kept;
    void* data = std::aligned_alloc(64, is_kept ? KeptBlocks::block_bytes(bytes) : rounded(bytes == 0 ? 1 : bytes, 64));
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
  else if (KeptBlocks::takes(bytes))
    kept_blocks().give(data, bytes);
  else
    std::free(data);
}

std::size_t kept_buffer_memory() { return kept_pieces().total() + kept_blocks().total(); }

void drop_kept_buffer_memory() {
  kept_pieces().drop();
  kept_blocks().drop();
}

}  // namespace shardlab
