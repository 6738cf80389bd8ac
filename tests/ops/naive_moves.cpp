// References of the ops that move elements: each element of the result looked up by its index tuple.
#include "tests/ops/naive_index.h"

namespace shardlab::testing_ops {
namespace {

// The index of the operand where an element of the result comes from; nothing: from the padding.
using From = std::optional<Shape>;

From from_slice(const Shape& index, const Attrs& attrs) {
  Shape from = index;
  for (std::size_t d = 0; d < from.size(); ++d)
    from[d] = attrs.integers("start")[d] + index[d] * (attrs.has("stride") ? attrs.integers("stride")[d] : 1);
  return from;
}
From from_rev(const Shape& index, const Attrs& attrs, const Shape& shape) {
  Shape from = index;
  for (std::int64_t d : attrs.integers("dims")) from[std::size_t(d)] = shape[std::size_t(d)] - 1 - index[std::size_t(d)];
  return from;
}
From from_sliding_windows(const Shape& index, const Attrs& attrs) {
  Shape from(index.begin(), index.end() - 1);
  std::int64_t& place = from[std::size_t(attrs.integer("dimension"))];
  place = place * attrs.integer("stride") + index.back() * attrs.integer("dilation");
  return from;
}
From from_pad(const Shape& index, const Attrs& attrs, const Shape& shape) {
  Shape from = index;
  for (std::size_t d = 0; d < from.size(); ++d) {
    const std::int64_t* p = &attrs.integers("padding")[3 * d];
    std::int64_t place = index[d] - p[0];
    if (place < 0 || place % (p[2] + 1) != 0 || place / (p[2] + 1) >= shape[d]) return std::nullopt;
    from[d] = place / (p[2] + 1);
  }
  return from;
}

std::vector<Number> naive_concatenate(const std::vector<Tensor>& operands, const Attrs& attrs, const TensorType& result) {
  std::size_t axis = std::size_t(attrs.integer("axis"));
  std::vector<Number> out;
  for (Shape index : indices(result.shape)) {
    std::size_t i = 0;
    while (index[axis] >= operands[i].type.shape[axis]) index[axis] -= operands[i++].type.shape[axis];
    out.push_back(numbers(operands[i])[flat(index, operands[i].type.shape)]);
  }
  return out;
}

}  // namespace

std::optional<Tensor> naive_moves(const OpDef& op, const std::vector<Tensor>& operands, const Attrs& attrs, const TensorType& result) {
  if (op.name == "concatenate") return tensor_from(result, naive_concatenate(operands, attrs, result));
  if (op.name != "slice" && op.name != "rev" && op.name != "pad" && op.name != "sliding_windows") return std::nullopt;
  const Shape& shape = operands[0].type.shape;
  std::vector<Number> in = numbers(operands[0]), out;
  for (const Shape& index : indices(result.shape)) {
    From from = op.name == "slice"             ? from_slice(index, attrs)
                : op.name == "rev"             ? from_rev(index, attrs, shape)
                : op.name == "sliding_windows" ? from_sliding_windows(index, attrs)
                                               : from_pad(index, attrs, shape);
    out.push_back(from ? in[flat(*from, shape)] : numbers(operands[1])[0]);
  }
  return tensor_from(result, out);
}

}  // namespace shardlab::testing_ops
