// Immutable, shared storage of one shard.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "runtime/core/tensor_type.h"

namespace shardlab {

// Dense row-major elements of one shard, aligned to 64 bytes. Written by whoever makes it, immutable once shared as
// BufferRef; devices that hold the same replica share one.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes);  // uninitialised
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_.get());
  }
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(data_.get());
  }

 private:
  struct Free {
    std::size_t bytes = 0;
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte[], Free> data_;
  std::size_t size_;
};

using BufferRef = std::shared_ptr<const Buffer>;

// Copies the part `box` (global indices) from a shard that holds `from_box` into a shard that holds `to_box`; `box` lies in both.
void copy_box(const std::byte* from, const Box& from_box, std::byte* to, const Box& to_box, const Box& box, std::int64_t element_bytes);

}  // namespace shardlab
