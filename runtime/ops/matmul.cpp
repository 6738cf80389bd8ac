// matmul and dot, as jax.numpy lowers them: dot_general, then perhaps a transpose.
#include <algorithm>
#include <numeric>

#include "runtime/ops/lower.h"

namespace shardlab::ops {
namespace {

std::vector<std::int64_t> joined(const std::vector<std::int64_t>& left, const std::vector<std::int64_t>& right) {
  std::vector<std::int64_t> both = left;
  both.insert(both.end(), right.begin(), right.end());
  return both;
}

ValueId dot(GraphBuilder& b, ValueId left, ValueId right, std::int64_t left_contract, std::int64_t right_contract,
            const std::vector<std::int64_t>& left_batch, const std::vector<std::int64_t>& right_batch) {
  return b.emit1(kDotGeneral, {left, right},
                 Attrs{{"contract", std::vector<std::int64_t>{left_contract, right_contract}}, {"batch", joined(left_batch, right_batch)}});
}

ValueId without_dims(GraphBuilder& b, ValueId x, const std::vector<std::int64_t>& dims) {
  Shape shape;
  for (int d = 0; d < b.type(x).rank(); ++d)
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) shape.push_back(b.shape(x)[std::size_t(d)]);
  return reshaped(b, x, shape);
}

// Batch dimensions that both operands have become batch dimensions; those that one lacks (or has with size 1) are the other's free
// dimensions, moved to their place afterwards.
Values expand_matmul(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  DType dtype = promoted_dtype(b, args);
  ValueId x = value_of(b, args[0], dtype), y = value_of(b, args[1], dtype);
  for (int i : {0, 1})
    if (b.type(i == 0 ? x : y).rank() == 0)
      throw_user_error("matmul input operand {} must have ndim at least 1, but it has ndim 0; multiply by a scalar with mul", i);
  const Shape x_shape = b.shape(x), y_shape = b.shape(y);
  bool x_is_matrix = x_shape.size() > 1, y_is_matrix = y_shape.size() > 1;
  std::size_t x_batches = x_is_matrix ? x_shape.size() - 2 : 0, y_batches = y_is_matrix ? y_shape.size() - 2 : 0;
  std::size_t batches = std::max(x_batches, y_batches);
  std::vector<std::int64_t> x_squeezed, y_squeezed, x_batch, y_batch, shared, x_other, y_other;
  for (std::size_t i = 0; i < batches; ++i) {
    bool x_has = i + x_batches >= batches, y_has = i + y_batches >= batches;
    std::int64_t x_size = x_has ? x_shape[i + x_batches - batches] : 0, y_size = y_has ? y_shape[i + y_batches - batches] : 0;
    std::int64_t place = std::int64_t(i);
    if (!x_has) {
      y_other.push_back(place);
    } else if (!y_has) {
      x_other.push_back(place);
    } else if (x_size == 1) {
      x_squeezed.push_back(std::int64_t(shared.size() + x_other.size() + x_squeezed.size()));
      y_other.push_back(place);
    } else if (y_size == 1) {
      y_squeezed.push_back(std::int64_t(shared.size() + y_other.size() + y_squeezed.size()));
      x_other.push_back(place);
    } else if (x_size == y_size) {
      x_batch.push_back(std::int64_t(shared.size() + x_other.size()));
      y_batch.push_back(std::int64_t(shared.size() + y_other.size()));
      shared.push_back(place);
    } else {
      throw_user_error("Incompatible types for {} arguments: {} and {}; batch dimensions must be equal or 1", op.name, b.type(x).text(),
                       b.type(y).text());
    }
  }
  if (x_is_matrix) x_other.push_back(std::int64_t(batches));
  if (y_is_matrix) y_other.push_back(std::int64_t(batches + x_is_matrix));
  x = without_dims(b, x, x_squeezed);
  y = without_dims(b, y, y_squeezed);
  ValueId result = dot(b, x, y, b.type(x).rank() - 1, b.type(y).rank() - 1 - y_is_matrix, x_batch, y_batch);
  std::vector<std::int64_t> places = joined(joined(shared, x_other), y_other);
  std::vector<int> permutation(places.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  std::sort(permutation.begin(), permutation.end(), [&](int i, int j) { return places[std::size_t(i)] < places[std::size_t(j)]; });
  return {transposed(b, result, permutation)};
}

// The last dimension of x with the last but one of y; a scalar multiplies.
Values expand_dot(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  if (shape_of_arg(b, args[0]).empty() || shape_of_arg(b, args[1]).empty()) return expand_promoted(b, kMul, args, attrs);
  (void)op;
  DType dtype = promoted_dtype(b, args);
  ValueId x = value_of(b, args[0], dtype), y = value_of(b, args[1], dtype);
  return {dot(b, x, y, b.type(x).rank() - 1, std::max(0, b.type(y).rank() - 2), {}, {})};
}

}  // namespace

extern const OpDef kMatmul, kDot;

const OpDef kMatmul = {.name = "matmul",
                       .doc = "The matrix product; leading dimensions are batches and broadcast, a vector is a row or a column.",
                       .operands_min = 2,
                       .operands_max = 2,
                       .expand = expand_matmul};
const OpDef kDot = {.name = "dot",
                    .doc = "Sums of products over the last dimension of x and the last but one of y; a scalar multiplies.",
                    .operands_min = 2,
                    .operands_max = 2,
                    .expand = expand_dot};

}  // namespace shardlab::ops
