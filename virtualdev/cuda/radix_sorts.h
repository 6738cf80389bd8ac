// The library of sorts, built by nvcc from radix_sorts.cu: CUB behind C functions. Loaded when a GPU is asked for, as CUDA's own are.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

extern "C" {

// Keys ascending by their lowest `bits`, places along with them, equal keys in their order; nothing of what is read is changed. Without
// `room` nothing is done: `room_bytes` says how much of it is needed.
cudaError_t shardlab_sort_words32(void* room, std::size_t* room_bytes, const std::uint32_t* keys, std::uint32_t* sorted_keys,
                                  const std::int32_t* places, std::int32_t* sorted_places, std::int64_t count, int bits,
                                  cudaStream_t stream);
cudaError_t shardlab_sort_words64(void* room, std::size_t* room_bytes, const std::uint64_t* keys, std::uint64_t* sorted_keys,
                                  const std::int32_t* places, std::int32_t* sorted_places, std::int64_t count, int bits,
                                  cudaStream_t stream);
}
