// The functions of the library of sorts (virtualdev/cuda/radix_sorts.h), which do on the host what CUB's radix sort does.
#include <algorithm>
#include <numeric>

#include "tests/virtualdev/cuda/libraries/stand_in.h"
#include "virtualdev/cuda/radix_sorts.h"

namespace shardlab::testing::libraries {
namespace {

template <typename Word>
cudaError_t sort_words(void* room, std::size_t* room_bytes, const Word* keys, Word* sorted_keys, const std::int32_t* places,
                       std::int32_t* sorted_places, std::int64_t count, int bits, cudaStream_t stream) {
  const std::size_t bytes = std::size_t(count) * 8 + 512;
  if (room == nullptr) {
    world().device("a question for the room of a sort");
    *room_bytes = bytes;
    return cudaSuccess;
  }
  StreamState& on = world().stream(stream, "a sort");
  if (*room_bytes < bytes || !world().holds(room, bytes)) return world().failed(cudaErrorInvalidValue);
  if (bits < 1 || bits > 8 * int(sizeof(Word))) return world().failed(cudaErrorInvalidValue);
  const std::size_t n = std::size_t(count);
  for (const void* words : {static_cast<const void*>(keys), static_cast<const void*>(sorted_keys)})
    if (!world().holds(words, n * sizeof(Word))) world().fault("a sort of words that are not there");
  for (const std::int32_t* list : {places, static_cast<const std::int32_t*>(sorted_places)})
    if (!world().holds(list, n * 4)) world().fault("a sort of places that are not there");
  world().issue(on, 's', [=] {
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t(0));
    const Word mask = bits == 8 * int(sizeof(Word)) ? ~Word(0) : (Word(1) << bits) - 1;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return (keys[x] & mask) < (keys[y] & mask); });
    for (std::size_t i = 0; i < n; ++i) {
      sorted_keys[i] = keys[order[i]];
      sorted_places[i] = places[order[i]];
    }
  });
  world().count("sort");
  return cudaSuccess;
}

}  // namespace
}  // namespace shardlab::testing::libraries

using namespace shardlab::testing::libraries;

cudaError_t shardlab_sort_words32(void* room, std::size_t* room_bytes, const std::uint32_t* keys, std::uint32_t* sorted_keys,
                                  const std::int32_t* places, std::int32_t* sorted_places, std::int64_t count, int bits,
                                  cudaStream_t stream) {
  return sort_words(room, room_bytes, keys, sorted_keys, places, sorted_places, count, bits, stream);
}
cudaError_t shardlab_sort_words64(void* room, std::size_t* room_bytes, const std::uint64_t* keys, std::uint64_t* sorted_keys,
                                  const std::int32_t* places, std::int32_t* sorted_places, std::int64_t count, int bits,
                                  cudaStream_t stream) {
  return sort_words(room, room_bytes, keys, sorted_keys, places, sorted_places, count, bits, stream);
}
