// Memory of GPUs that streams give out again themselves: the same program gets the same addresses each time, which its graphs hold, and
// asks the driver for nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <utility>
#include <vector>

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

  // Blocks of one stream by which take() finds them again, and those of them that it takes.
  class Note;

  // nullptr: there is no more, also when all that is free was given back.
  std::byte* allocate(std::size_t bytes, const void* stream, const Make& make, const Drop& drop) {
    const std::size_t size = (std::max<std::size_t>(bytes, 1) + kGrain - 1) / kGrain * kGrain;
    {
      std::lock_guard lock(mutex_);
      OfStream& own = streams_[stream];
      if (auto found = own.free.find(size); found != own.free.end() && !found->second.empty()) {
        std::byte* data = *found->second.begin();
        use(own, data, *own.blocks.at(data));
        return data;
      }
    }
    std::byte* data = make(size);
    if (data == nullptr) {
      trim(stream, drop);
      data = make(size);
    }
    if (data == nullptr) return nullptr;
    std::lock_guard lock(mutex_);
    streams_[stream].blocks[data] = std::make_shared<Block>(Block{size, false});
    return data;
  }

  void release(std::byte* data, const void* stream, std::size_t free_bytes_max, const Drop& drop) {
    std::size_t free_bytes = 0;
    {
      std::lock_guard lock(mutex_);
      OfStream& own = streams_[stream];
      Block& block = *own.blocks.at(data);
      block.is_free = true;
      own.free[block.size].insert(data);
      free_bytes = own.free_bytes += block.size;
    }
    if (free_bytes > free_bytes_max) trim(stream, drop);
  }

  std::shared_ptr<const Note> note(std::span<std::byte* const> all, std::span<std::byte* const> taken, const void* stream);
  // Takes the note's if all of its blocks are free.
  bool take(const Note& note);

  // All that is free of the stream.
  void trim(const void* stream, const Drop& drop) {
    std::map<std::size_t, std::set<std::byte*>> freed;
    {
      std::lock_guard lock(mutex_);
      OfStream& own = streams_[stream];
      std::swap(freed, own.free);
      own.free_bytes = 0;
      for (const auto& [size, list] : freed)
        for (std::byte* data : list) {
          own.blocks.at(data)->is_free = false;
          own.blocks.erase(data);
        }
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
  struct Block {
    std::size_t size = 0;
    bool is_free = false;  // what went back to the driver is not
  };
  struct OfStream {
    std::map<std::size_t, std::set<std::byte*>> free;     // by size
    std::map<std::byte*, std::shared_ptr<Block>> blocks;  // of all that came from the driver
    std::size_t free_bytes = 0;
  };
  static void use(OfStream& own, std::byte* data, Block& block) {
    own.free[block.size].erase(data);
    own.free_bytes -= block.size;
    block.is_free = false;
  }

  std::mutex mutex_;
  std::map<const void*, OfStream> streams_;
};

class MemoryPool::Note {
 private:
  friend class MemoryPool;
  const void* stream_ = nullptr;
  std::vector<std::shared_ptr<Block>> all_;
  std::vector<std::pair<std::byte*, std::shared_ptr<Block>>> taken_;
};

inline std::shared_ptr<const MemoryPool::Note> MemoryPool::note(std::span<std::byte* const> all, std::span<std::byte* const> taken,
                                                                const void* stream) {
  std::lock_guard lock(mutex_);
  const OfStream& own = streams_[stream];
  auto made = std::make_shared<Note>();
  made->stream_ = stream;
  for (std::byte* data : all) made->all_.push_back(own.blocks.at(data));
  for (std::byte* data : taken) made->taken_.push_back({data, own.blocks.at(data)});
  return made;
}

inline bool MemoryPool::take(const Note& note) {
  std::lock_guard lock(mutex_);
  if (!std::all_of(note.all_.begin(), note.all_.end(), [](const auto& block) { return block->is_free; })) return false;
  for (const auto& [data, block] : note.taken_) use(streams_[note.stream_], data, *block);
  return true;
}

}  // namespace shardlab::cuda
