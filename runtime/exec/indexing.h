// NumPy's indexing in C++: x[{Slice{1, 5}, ellipsis, 0}] is x[1:5, ..., 0], and x.at({0, i}).add(y) is x.at[0, i].add(y).
#pragma once

#include <initializer_list>
#include <optional>
#include <variant>
#include <vector>

#include "runtime/exec/out_sharding.h"

namespace shardlab {

// start:stop:step. Negative places count from the end; a negative step walks backwards.
struct Slice {
  std::optional<std::int64_t> start{}, stop{};
  std::int64_t step = 1;
};
struct NewAxis {};
struct Ellipsis {};
inline constexpr NewAxis newaxis{};    // None: a new dimension of size 1
inline constexpr Ellipsis ellipsis{};  // ...: all dimensions that the others do not name
inline constexpr Slice all_indices{};  // ':'

// One place of an index: a number (the dimension goes away), a slice, a new dimension, an ellipsis, or an array: of integers, or of bool,
// which stands for the places where it holds (as many dimensions as it has).
class Index {
 public:
  using Line = std::source_location;
  template <std::integral Int>
  Index(Int place, Line line = Line::current()) : value_(std::int64_t(place)), line_(line) {}     // NOLINT: implicit on purpose
  Index(Slice slice, Line line = Line::current()) : value_(slice), line_(line) {}                 // NOLINT
  Index(NewAxis axis, Line line = Line::current()) : value_(axis), line_(line) {}                 // NOLINT
  Index(Ellipsis dots, Line line = Line::current()) : value_(dots), line_(line) {}                // NOLINT
  Index(Array indices, Line line = Line::current()) : value_(std::move(indices)), line_(line) {}  // NOLINT

  using Value = std::variant<std::int64_t, Slice, NewAxis, Ellipsis, Array>;
  const Value& value() const { return value_; }
  Line line() const { return line_; }  // the user's

 private:
  Value value_;
  Line line_;
};

// x[indices]. Numbers out of bounds are a UserError with NumPy's text; slices are cut to the array. Arrays of integers are broadcast
// together, with the numbers beside them; their dimensions stand in place of those that they index, or first where something lies between
// them, as in NumPy; places out of bounds are moved to the nearest, as in JAX. Masks are read, so inside jit they are a UserError.
Array index(const Operand& x, const std::vector<Index>& indices, const OutOptions& options = {});

// x.at[indices]: new arrays with some elements changed.
class At {
 public:
  At(Operand x, std::vector<Index> indices) : x_(std::move(x)), indices_(std::move(indices)) {}

  Array get(const OutOptions& options = {}) const { return index(x_, indices_, options); }
  Array set(const Operand& values, const OutOptions& options = {}) const { return update(values, "scatter", options); }
  Array add(const Operand& values, const OutOptions& options = {}) const { return update(values, "scatter_add", options); }
  Array multiply(const Operand& values, const OutOptions& options = {}) const { return update(values, "scatter_mul", options); }
  Array min(const Operand& values, const OutOptions& options = {}) const { return update(values, "scatter_min", options); }
  Array max(const Operand& values, const OutOptions& options = {}) const { return update(values, "scatter_max", options); }

 private:
  Array update(const Operand& values, std::string_view scatter, const OutOptions& options) const;
  Operand x_;
  std::vector<Index> indices_;
};
// Values broadcast to the shape of x[indices]. Updates at places out of bounds are dropped.
At at(const Operand& x, const std::vector<Index>& indices);

}  // namespace shardlab
