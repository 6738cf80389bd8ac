// Memory of GPUs that streams give out again themselves: the same program gets the same addresses each time, which its graphs hold, and
// asks the driver for nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace shardlab::cuda {

// What a stream released serves its own next allocation of that size, rounded up to kGrain: the lowest address first, so that equal sets of
// free memory are given out equally. Work of a stream is in order, so nothing waits. Free memory goes back to the driver when it has no
// more, or when all of a stream's is more than a share of the GPU's.
//
// Thread-safe.
class MemoryPool {
 public:
  static constexpr std::size_t kGrain = 512;
  using Make = std::function<std::byte*(std::size_t)>;  // nullptr: there is no more
  using Drop = std::function<void(std::byte*)>;

  // nullptr: there is no more, also when all that is free was given back.
  std::byte* allocate(std::size_t bytes, const void* stream, const Make& make, const Drop& drop) {
    const std::size_t size = (std::max<std::size_t>(bytes, 1) + kGrain - 1) / kGrain * kGrain;
    {
      std::lock_guard lock(mutex_);
      OfStream& own = streams_[stream];
      if (auto found = own.free.find(size); found != own.free.end() && !found->second.empty()) {
        own.free_bytes -= size;
        return found->second.extract(found->second.begin()).value();
      }
    }
    std::byte* data = make(size);
    if (data == nullptr) {
      trim(stream, drop);
      data = make(size);
    }
    if (data == nullptr) return nullptr;
    std::lock_guard lock(mutex_);
    streams_[stream].sizes[data] = size;
    return data;
  }

  void release(std::byte* data, const void* stream, std::size_t free_bytes_max, const Drop& drop) {
    std::size_t free_bytes = 0;
    {
      std::lock_guard lock(mutex_);
      OfStream& own = streams_[stream];
      const std::size_t size = own.sizes.at(data);
      own.free[size].insert(data);
      free_bytes = own.free_bytes += size;
    }
    if (free_bytes > free_bytes_max) trim(stream, drop);
  }

  // All that is free of the stream.
  void trim(const void* stream, const Drop& drop) {
    std::map<std::size_t, std::set<std::byte*>> freed;
    {
      std::lock_guard lock(mutex_);
      OfStream& own = streams_[stream];
      std::swap(freed, own.free);
      own.free_bytes = 0;
      for (const auto& [size, list] : freed)
        for (std::byte* data : list) own.sizes.erase(data);
    }
    for (const auto& [size, list] : freed)
      for (std::byte* data : list) drop(data);
  }

  // Before the stream goes. What is not free of it belongs to nobody any more.
  void forget(const void* stream, const Drop& drop) {
    trim(stream, drop);
    std::lock_guard lock(mutex_);
    streams_.erase(stream);
  }

 private:
  struct OfStream {
    std::map<std::size_t, std::set<std::byte*>> free;  // by size
    std::map<std::byte*, std::size_t> sizes;           // of all that came from the driver
    std::size_t free_bytes = 0;
  };
  std::mutex mutex_;
  std::map<const void*, OfStream> streams_;
};

}  // namespace shardlab::cuda
