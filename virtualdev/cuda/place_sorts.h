// Sorts of places by words, by CUB.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include "virtualdev/cuda/libraries.h"

namespace shardlab::cuda {

// Thread-safe; the GPU is the thread's.
class PlaceSorts {
 public:
  PlaceSorts() : library_(sorts_library()) {}
  // Looked for once.
  bool is_there();
  // Bytes of room that a sort works in, on a GPU; asked of the library once for each size.
  cudaError_t room(int gpu, const PlaceSort& sort, std::size_t& bytes);
  cudaError_t run(const PlaceSort& sort, cudaStream_t stream);

 private:
  cudaError_t call(void* room, std::size_t* room_bytes, const PlaceSort& sort, cudaStream_t stream);

  Library library_;
  std::mutex mutex_;
  std::optional<bool> is_there_;
  std::map<std::tuple<int, std::int64_t, int, int>, std::size_t> rooms_;
};

}  // namespace shardlab::cuda
