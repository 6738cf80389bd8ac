// A GPU's stream and memory, and buffers in it.
#pragma once

#include <cstring>
#include <memory>
#include <utility>

#include "runtime/core/buffer.h"
#include "virtualdev/cuda/gpu_api.h"

namespace shardlab::cuda {

// One GPU of this process. Its memory is allocated and released in the order of its stream's work, so that a buffer may be let go while
// work that reads it is still queued. Buffers keep it alive.
struct Gpu {
  std::shared_ptr<GpuApi> api;
  int number = 0, processors = 1;
  Stream stream{};
  Gpu(std::shared_ptr<GpuApi> api_in, int number_in)
      : api(std::move(api_in)), number(number_in), processors(api->info(number_in).processors), stream(api->create_stream(number_in)) {}
  ~Gpu() { api->destroy(stream); }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
};

// What the bytes of a buffer of a GPU are.
struct Block {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  Gpu* gpu = nullptr;
};

inline const Block& block_of(const Buffer& buffer) { return *buffer.as<Block>(); }
// The block that a part of a message names: the bytes() of its buffer.
inline const Block& block_of(std::span<const std::byte> part) { return *reinterpret_cast<const Block*>(part.data()); }

std::shared_ptr<Buffer> allocate_on(const std::shared_ptr<Gpu>& gpu, std::size_t bytes);
// Of memory that is allocated; take_over(): leaves a buffer that nobody reads any more without its own.
std::byte* take_over(const Buffer& buffer);
std::shared_ptr<Buffer> buffer_on(const std::shared_ptr<Gpu>& gpu, std::byte* data, std::size_t bytes);

// Memory of this process at which GPUs copy at full speed.
class Pinned {
 public:
  Pinned(GpuApi& api, std::size_t bytes) : api_(api), data_(api.allocate_pinned(bytes == 0 ? 1 : bytes)) {}
  ~Pinned() { api_.release_pinned(data_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  std::byte* data() const { return data_; }

 private:
  GpuApi& api_;
  std::byte* data_;
};

// Done when the work so far of a stream is. Made and waited for at once.
class Mark {
 public:
  Mark(GpuApi& api, int gpu, Stream stream) : api_(api), event_(api.create_event(gpu, false)) { api_.record(event_, stream); }
  ~Mark() { api_.destroy(event_); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  Event event() const { return event_; }

 private:
  GpuApi& api_;
  Event event_;
};

// What is issued meanwhile is a task, which reads and writes no memory but this (TaskWork).
class Task {
 public:
  Task(GpuApi& api, Stream stream, std::vector<const std::byte*> read, const std::vector<const std::byte*>& written,
       bool is_unordered = false)
      : api_(api), stream_(stream) {
    TaskWork task{std::move(read), 0, is_unordered};
    task.reads = task.places.size();
    task.places.insert(task.places.end(), written.begin(), written.end());
    api_.begin_task(std::move(task), stream);
  }
  ~Task() {
    try {
      api_.begin_task({}, stream_);
    } catch (const std::exception&) {  // what was queued could not be issued: who waits for it is told
    }
  }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

 private:
  GpuApi& api_;
  Stream stream_;
};

}  // namespace shardlab::cuda
