#include "virtualdev/cuda/place_sorts.h"

#include "virtualdev/cuda/radix_sorts.h"

namespace shardlab::cuda {

bool PlaceSorts::is_there() {
  std::lock_guard lock(mutex_);
  if (!is_there_) is_there_ = load_library(sorts_library()) != nullptr;
  return *is_there_;
}

cudaError_t PlaceSorts::call(void* room, std::size_t* room_bytes, const PlaceSort& sort, cudaStream_t stream) {
  auto by = [&]<typename Word>(auto* function, Word) {
    return function(room, room_bytes, reinterpret_cast<const Word*>(sort.words), reinterpret_cast<Word*>(sort.sorted_words),
                    reinterpret_cast<const std::int32_t*>(sort.places), reinterpret_cast<std::int32_t*>(sort.sorted_places), sort.count,
                    sort.bits, stream);
  };
  return sort.word_bytes == 4 ? by(SHARDLAB_CALL(library_, shardlab_sort_words32), std::uint32_t())
                              : by(SHARDLAB_CALL(library_, shardlab_sort_words64), std::uint64_t());
}

cudaError_t PlaceSorts::room(int gpu, const PlaceSort& sort, std::size_t& bytes) {
  std::lock_guard lock(mutex_);
  auto [found, is_new] = rooms_.try_emplace({gpu, sort.count, sort.word_bytes, sort.bits}, 0);
  if (is_new) {
    if (cudaError_t result = call(nullptr, &found->second, sort, nullptr); result != cudaSuccess) {
      rooms_.erase(found);
      return result;
    }
  }
  bytes = found->second;
  return cudaSuccess;
}

cudaError_t PlaceSorts::run(const PlaceSort& sort, cudaStream_t stream) {
  std::size_t bytes = sort.room_bytes;
  return call(sort.room, &bytes, sort, stream);
}

}  // namespace shardlab::cuda
