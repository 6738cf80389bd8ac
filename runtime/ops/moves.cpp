#include "runtime/ops/moves.h"

namespace shardlab::ops {

ValueId slice_in_dim(GraphBuilder& b, ValueId x, int dim, Interval range, std::int64_t stride) {
  Shape limit = b.shape(x), start(limit.size(), 0), strides(limit.size(), 1);
  std::size_t d = std::size_t(dim);
  if (range.start == 0 && range.stop == limit[d] && stride == 1) return x;
  start[d] = range.start;
  limit[d] = range.stop;
  strides[d] = stride;
  Attrs attrs{{"start", start}, {"limit", limit}};
  if (stride != 1) attrs.set("stride", strides);
  return b.emit1(kSlice, {x}, attrs);
}

ValueId joined(GraphBuilder& b, const Values& parts, int dim) {
  if (parts.size() == 1) return parts[0];
  return b.emit1(kConcatenate, parts, Attrs{{"axis", std::int64_t(dim)}});
}

ValueId reversed(GraphBuilder& b, ValueId x, const std::vector<int>& dims) {
  return dims.empty() ? x : b.emit1(kRev, {x}, Attrs{{"dims", integers_of(dims)}});
}

ValueId repeated(GraphBuilder& b, ValueId x, int dim, std::int64_t count) {
  Shape shape = b.shape(x), spread = shape;
  spread.insert(spread.begin() + dim + 1, count);
  shape[std::size_t(dim)] *= count;
  check_shape("repeat", spread);
  std::vector<std::int64_t> dims;
  for (int d = 0; d < int(spread.size()); ++d)
    if (d != dim + 1) dims.push_back(d);
  return reshaped(b, b.emit1(kBroadcastInDim, {x}, Attrs{{"shape", spread}, {"dims", dims}}), shape);
}

ValueId with_rank(GraphBuilder& b, ValueId x, int rank) {
  Shape shape = b.shape(x);
  if (int(shape.size()) < rank) shape.insert(shape.begin(), std::size_t(rank) - shape.size(), 1);
  return reshaped(b, x, shape);
}

std::vector<std::int64_t> required_list(const OpDef& op, const Attrs& attrs, std::string_view name) {
  if (!attrs.has(name)) throw_user_error("{}: attribute '{}' is missing", op.name, name);
  return integer_list_of(attrs, name);
}

}  // namespace shardlab::ops
