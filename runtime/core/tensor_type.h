// Shapes, boxes of indices, and the type of a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/dtype.h"

namespace shardlab {

using Shape = std::vector<std::int64_t>;

std::int64_t element_count(const Shape& shape);
std::string text_of(const Shape& shape);  // "(4, 8)", "(3,)", "()"
// Row-major strides in elements.
Shape strides_of(const Shape& shape);

struct TensorType {
  DType dtype = DType::kFloat32;
  Shape shape;
  std::int64_t elements() const { return element_count(shape); }
  std::int64_t bytes() const { return elements() * size_of(dtype); }
  int rank() const { return int(shape.size()); }
  std::string text() const;  // "float32[4,8]", as JAX prints
  bool operator==(const TensorType&) const = default;
};

// Elements of one dtype as elements of another: integers by their low bits, fractions cut.
void convert_elements(DType from_dtype, const std::byte* from, DType to_dtype, std::byte* to, std::int64_t count);

// Half-open [start, stop) of one dimension.
struct Interval {
  std::int64_t start = 0, stop = 0;
  std::int64_t size() const { return stop > start ? stop - start : 0; }
  bool operator==(const Interval&) const = default;
};

// A box of global indices: what one device holds of an array.
using Box = std::vector<Interval>;
Shape shape_of(const Box& box);
std::int64_t element_count(const Box& box);
Box intersect(const Box& a, const Box& b);  // empty intervals where they do not meet
bool contains(const Box& outer, const Box& inner);
Box whole(const Shape& shape);

}  // namespace shardlab
