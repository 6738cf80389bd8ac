// CUB's radix sort of two widths of keys: all sorts that a GPU does by it (codegen/order_plan.cpp).
#include "virtualdev/cuda/radix_sorts.h"

#include <cub/device/device_radix_sort.cuh>

namespace {

template <typename Word>
cudaError_t sort_words(void* room, std::size_t* room_bytes, const Word* keys, Word* sorted_keys, const std::int32_t* places,
                       std::int32_t* sorted_places, std::int64_t count, int bits, cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(room, *room_bytes, keys, sorted_keys, places, sorted_places, count, 0, bits, stream);
}

}  // namespace

#define SHARDLAB_EXPORT __attribute__((visibility("default")))

extern "C" {

SHARDLAB_EXPORT cudaError_t shardlab_sort_words32(void* room, std::size_t* room_bytes, const std::uint32_t* keys,
                                                  std::uint32_t* sorted_keys, const std::int32_t* places, std::int32_t* sorted_places,
                                                  std::int64_t count, int bits, cudaStream_t stream) {
  return sort_words(room, room_bytes, keys, sorted_keys, places, sorted_places, count, bits, stream);
}
SHARDLAB_EXPORT cudaError_t shardlab_sort_words64(void* room, std::size_t* room_bytes, const std::uint64_t* keys,
                                                  std::uint64_t* sorted_keys, const std::int32_t* places, std::int32_t* sorted_places,
                                                  std::int64_t count, int bits, cudaStream_t stream) {
  return sort_words(room, room_bytes, keys, sorted_keys, places, sorted_places, count, bits, stream);
}
}
