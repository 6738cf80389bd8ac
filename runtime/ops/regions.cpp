#include "runtime/ops/regions.h"

#include <array>
#include <cstring>

#include "runtime/base/error.h"

namespace shardlab::ops {
namespace {

struct Dim {
  std::int64_t size, from, to;
};

// Without dimensions of size 1, neighbours that step evenly on both sides joined.
std::vector<Dim> joined_dims(const Shape& shape, const Shape& from, const Shape& to) {
  std::vector<Dim> dims;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    if (!dims.empty() && dims.back().from == from[d] * shape[d] && dims.back().to == to[d] * shape[d])
      dims.back() = {dims.back().size * shape[d], from[d], to[d]};
    else
      dims.push_back({shape[d], from[d], to[d]});
  }
  return dims;
}

template <typename T>
void copy_dims(const std::vector<Dim>& dims, std::size_t next, const T* from, T* to) {
  if (next == dims.size()) {
    *to = *from;
    return;
  }
  const Dim& dim = dims[next];
  if (next + 1 < dims.size()) {
    for (std::int64_t i = 0; i < dim.size; ++i) copy_dims(dims, next + 1, from + i * dim.from, to + i * dim.to);
  } else if (dim.from == 1 && dim.to == 1) {
    std::memcpy(to, from, std::size_t(dim.size) * sizeof(T));
  } else {
    for (std::int64_t i = 0; i < dim.size; ++i) to[i * dim.to] = from[i * dim.from];
  }
}

template <typename Function>
void with_element_type(std::int64_t element_bytes, Function function) {
  switch (element_bytes) {
    case 1:
      return function(std::uint8_t{});
    case 2:
      return function(std::uint16_t{});
    case 4:
      return function(std::uint32_t{});
    case 8:
      return function(std::uint64_t{});
    case 16:
      return function(std::array<std::uint64_t, 2>{});
    default:
      throw InternalError("elements of 1, 2, 4, 8 or 16 bytes");
  }
}

}  // namespace

void copy_region(const Shape& shape, const ConstRegion& from, const MutableRegion& to, std::int64_t element_bytes) {
  if (element_count(shape) == 0) return;
  std::vector<Dim> dims = joined_dims(shape, from.strides, to.strides);
  with_element_type(element_bytes, [&](auto sample) {
    using T = decltype(sample);
    copy_dims(dims, 0, reinterpret_cast<const T*>(from.data) + from.offset, reinterpret_cast<T*>(to.data) + to.offset);
  });
}

void fill_elements(std::byte* out, const std::byte* element, std::int64_t count, std::int64_t element_bytes) {
  with_element_type(element_bytes, [&](auto sample) {
    using T = decltype(sample);
    T value;
    std::memcpy(&value, element, sizeof(T));
    for (std::int64_t i = 0; i < count; ++i) reinterpret_cast<T*>(out)[i] = value;
  });
}

std::int64_t offset_in(const Box& box, const Shape& index) {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < box.size(); ++d) offset = offset * box[d].size() + index[d] - box[d].start;
  return offset;
}

}  // namespace shardlab::ops
