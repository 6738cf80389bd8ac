// Copies between strided regions of dense arrays: what slice, pad, rev and concatenate are.
#pragma once

#include <cstddef>

#include "runtime/core/tensor_type.h"

namespace shardlab::ops {

// A region of a dense row-major array, in elements: element (i, j, …) lies at data + offset + i * strides[0] + j * strides[1] + …
struct ConstRegion {
  const std::byte* data;
  std::int64_t offset = 0;
  Shape strides{};
};
struct MutableRegion {
  std::byte* data;
  std::int64_t offset = 0;
  Shape strides{};
};

// Copies `shape` elements of `element_bytes` each from one region to another; strides may be negative.
void copy_region(const Shape& shape, const ConstRegion& from, const MutableRegion& to, std::int64_t element_bytes);

// `count` copies of one element.
void fill_elements(std::byte* out, const std::byte* element, std::int64_t count, std::int64_t element_bytes);

// Where the element with these global indices lies in a dense array of this box.
std::int64_t offset_in(const Box& box, const Shape& index);

}  // namespace shardlab::ops
