#include "runtime/core/tensor_type.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace shardlab {

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (std::int64_t size : shape) count *= size;
  return count;
}

std::string text_of(const Shape& shape) {
  if (shape.size() == 1) return fmt::format("({},)", shape[0]);
  return fmt::format("({})", fmt::join(shape, ", "));
}

Shape strides_of(const Shape& shape) {
  Shape strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}

// Part of the keys of calls.
std::string TensorType::text() const {
  std::string text(name_of(dtype));
  text += '[';
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d > 0) text += ',';
    text += std::to_string(shape[d]);
  }
  text += ']';
  return text;
}

void convert_elements(DType from_dtype, const std::byte* from, DType to_dtype, std::byte* to, std::int64_t count) {
  visit_dtype(from_dtype, [&]<typename From>(From) {
    visit_dtype(to_dtype, [&]<typename To>(To) {
      for (std::int64_t i = 0; i < count; ++i) reinterpret_cast<To*>(to)[i] = element_from<To>(reinterpret_cast<const From*>(from)[i]);
    });
  });
}

Shape shape_of(const Box& box) {
  Shape shape(box.size());
  for (std::size_t d = 0; d < box.size(); ++d) shape[d] = box[d].size();
  return shape;
}

std::int64_t element_count(const Box& box) {
  std::int64_t count = 1;
  for (const Interval& interval : box) count *= interval.size();
  return count;
}

Box intersect(const Box& a, const Box& b) {
  Box result(a.size());
  for (std::size_t d = 0; d < a.size(); ++d) {
    std::int64_t start = std::max(a[d].start, b[d].start);
    result[d] = {start, std::max(start, std::min(a[d].stop, b[d].stop))};
  }
  return result;
}

bool contains(const Box& outer, const Box& inner) {
  for (std::size_t d = 0; d < outer.size(); ++d)
    if (inner[d].size() > 0 && (inner[d].start < outer[d].start || inner[d].stop > outer[d].stop)) return false;
  return true;
}

Box whole(const Shape& shape) {
  Box box(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) box[d] = {0, shape[d]};
  return box;
}

}  // namespace shardlab
