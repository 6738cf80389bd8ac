#include "runtime/core/buffer_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace shardlab {
namespace {

constexpr std::size_t kMega = std::size_t(1) << 20;
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeeps = false;
#else
constexpr bool kKeeps = true;
#endif

TEST(BufferMemory, EverySizeIsAlignedAndWritable) {
  for (std::size_t bytes : {std::size_t(0), std::size_t(1), std::size_t(63), std::size_t(262143), std::size_t(262144), kMega + 1,
                            2 * kMega - 1, 2 * kMega, 5 * kMega + 3, 64 * kMega}) {
    std::byte* data = allocate_buffer_memory(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 64, 0u) << bytes;
    std::memset(data, 0x5a, bytes);
    free_buffer_memory(data, bytes);
  }
}

TEST(BufferMemory, ALargePieceServesTheNextOfItsSize) {
  drop_kept_buffer_memory();
  std::byte* first = allocate_buffer_memory(7 * kMega);
  std::byte* other = allocate_buffer_memory(7 * kMega);
  EXPECT_NE(first, other);
  free_buffer_memory(first, 7 * kMega);
  EXPECT_EQ(kept_buffer_memory(), kKeeps ? 8 * kMega : 0);
  std::byte* again = allocate_buffer_memory(7 * kMega + 5);
  if (kKeeps) { EXPECT_EQ(again, first); }
  EXPECT_EQ(kept_buffer_memory(), 0u);
  free_buffer_memory(again, 7 * kMega + 5);
  free_buffer_memory(other, 7 * kMega);
  drop_kept_buffer_memory();
  EXPECT_EQ(kept_buffer_memory(), 0u);
}

// Of every size between two powers of two, the blocks are as large as asked for, and no more than a quarter larger.
TEST(BufferMemory, ABlockServesTheNextThatIsHardlySmaller) {
  for (std::size_t bytes = 1025; bytes < 262144; bytes += 1 + bytes / 40) {
    drop_kept_buffer_memory();
    std::byte* first = allocate_buffer_memory(bytes);
    std::memset(first, 0x5a, bytes);
    free_buffer_memory(first, bytes);
    EXPECT_GE(kept_buffer_memory(), kKeeps ? bytes : 0);
    EXPECT_LE(kept_buffer_memory(), bytes + bytes / 4);
    std::byte* again = allocate_buffer_memory(bytes);
    if (kKeeps) { EXPECT_EQ(again, first); }
    EXPECT_EQ(kept_buffer_memory(), 0u);
    free_buffer_memory(again, bytes);
  }
  drop_kept_buffer_memory();
  EXPECT_EQ(kept_buffer_memory(), 0u);
}

TEST(BufferMemory, ManyThreadsNeverShareAPiece) {
  auto work = [](unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::pair<std::byte*, std::size_t>> held;
    for (int i = 0; i < 400; ++i) {
      if (held.size() < 4 || random() % 2 == 0) {
        std::size_t bytes = random() % 2 == 0 ? (1 + random() % 12) * (kMega / 4) : 8 + random() % 300'000;
        std::byte* data = allocate_buffer_memory(bytes);
        std::memcpy(data, &data, sizeof data);  // its own address, at both ends
        std::memcpy(data + bytes - sizeof data, &data, sizeof data);
        held.emplace_back(data, bytes);
      } else {
        std::swap(held[random() % held.size()], held.back());
        auto [data, bytes] = held.back();
        held.pop_back();
        EXPECT_EQ(std::memcmp(data, &data, sizeof data), 0);
        EXPECT_EQ(std::memcmp(data + bytes - sizeof data, &data, sizeof data), 0);
        free_buffer_memory(data, bytes);
      }
    }
    for (auto [data, bytes] : held) free_buffer_memory(data, bytes);
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) threads.emplace_back(work, seed);
  for (auto& thread : threads) thread.join();
  drop_kept_buffer_memory();
}

}  // namespace
}  // namespace shardlab
