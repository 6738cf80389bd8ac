#include "runtime/core/buffer.h"

#include <cstring>

#include "runtime/core/buffer_memory.h"

namespace shardlab {

Buffer::Buffer(std::size_t bytes) : data_(allocate_buffer_memory(bytes), Free{bytes}), size_(bytes) {}

void Buffer::Free::operator()(std::byte* data) const { free_buffer_memory(data, bytes); }

void copy_box(const std::byte* from, const Box& from_box, std::byte* to, const Box& to_box, const Box& box, std::int64_t element_bytes) {
  if (element_count(box) == 0) return;
  if (box == from_box && box == to_box) {
    std::memcpy(to, from, std::size_t(element_count(box) * element_bytes));
    return;
  }
  std::size_t rank = box.size();
  Shape from_strides = strides_of(shape_of(from_box)), to_strides = strides_of(shape_of(to_box));
  // Trailing dimensions that are whole on both sides are one run.
  std::int64_t run = 1;
  std::size_t outer = rank;
  while (outer > 0) {
    std::size_t d = outer - 1;
    run *= box[d].size();
    outer = d;
    if (box[d] != from_box[d] || box[d] != to_box[d]) break;
  }
  std::int64_t from_at = 0, to_at = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    from_at += (box[d].start - from_box[d].start) * from_strides[d];
    to_at += (box[d].start - to_box[d].start) * to_strides[d];
  }
  Shape index(outer, 0);
  while (true) {
    std::memcpy(to + to_at * element_bytes, from + from_at * element_bytes, std::size_t(run * element_bytes));
    std::size_t d = outer;
    while (d > 0) {
      --d;
      from_at += from_strides[d];
      to_at += to_strides[d];
      if (++index[d] < box[d].size()) break;
      from_at -= index[d] * from_strides[d];
      to_at -= index[d] * to_strides[d];
      index[d] = 0;
      if (d == 0) return;
    }
    if (outer == 0) return;
  }
}

}  // namespace shardlab
