#include "runtime/ops/derive.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/ops/calls.h"

namespace shardlab::ops {

ValueId add_tangents(GraphBuilder& b, ValueId x, ValueId y) {
  if (x == kZero) return y;
  if (y == kZero) return x;
  return b.emit1(kAdd, {x, y});
}

const Node* producer_of(const GraphBuilder& b, ValueId value) {
  const NodeId producer = b.graph().values[std::size_t(value)].producer;
  return producer < 0 ? nullptr : &b.graph().nodes[std::size_t(producer)];
}

ValueId instantiated(GraphBuilder& b, ValueId tangent, const TensorType& type) { return tangent == kZero ? filled(b, type, 0.0) : tangent; }

bool has_tangent(DType dtype) { return is_floating(dtype) || is_complex(dtype); }

Values zero_jvp(GraphBuilder&, const JvpArgs& args) { return Values(args.results.size(), kZero); }

Values linear_jvp(GraphBuilder& b, const JvpArgs& args) {
  Values tangents;
  for (std::size_t i = 0; i < args.tangents.size(); ++i) tangents.push_back(instantiated(b, args.tangents[i], b.type(args.operands[i])));
  return b.emit(args.op, tangents, args.attrs);
}

Values multilinear_jvp(GraphBuilder& b, const JvpArgs& args) {
  ValueId sum = kZero;
  for (std::size_t i = 0; i < args.tangents.size(); ++i) {
    if (args.tangents[i] == kZero) continue;
    Values operands(args.operands.begin(), args.operands.end());
    operands[i] = args.tangents[i];
    sum = add_tangents(b, sum, b.emit1(args.op, operands, args.attrs));
  }
  return {sum};
}

ValueId moved_dim(GraphBuilder& b, ValueId x, int from, int to) {
  std::vector<int> axes;
  for (int d = 0; d < b.type(x).rank(); ++d)
    if (d != from) axes.push_back(d);
  axes.insert(axes.begin() + to, from);
  return transposed(b, x, axes);
}

ValueId batched_at(GraphBuilder& b, const Batched& x, int dim, std::int64_t size) {
  if (x.dim != kNotBatched) return moved_dim(b, x.value, x.dim, dim);
  Shape shape = b.shape(x.value);
  std::vector<std::int64_t> dims;
  for (int d = 0; d < int(shape.size()); ++d) dims.push_back(dim_in_batch(d, dim));
  shape.insert(shape.begin() + dim, size);
  return b.emit1(kBroadcastInDim, {x.value}, Attrs{{"shape", shape}, {"dims", dims}, {kRepeatedDim, std::int64_t(dim)}, {kImplicit, true}});
}

std::vector<std::int64_t> dims_in_batch(const std::vector<std::int64_t>& dims, int batch_dim) {
  std::vector<std::int64_t> result;
  for (std::int64_t dim : dims) result.push_back(dim_in_batch(int(dim), batch_dim));
  return result;
}

Axes batch_pieces(const BatchAxis& axis, const Mesh& mesh, const Spec& taken, std::string_view what) {
  if (axis.mesh_axes.empty()) return {};
  const Axes pieces = resolve(PartitionSpec(SpecEntry(axis.mesh_axes)), mesh).at(0);
  for (const Axes& dim : taken)
    for (const AxisPiece& each : dim)
      if (std::any_of(pieces.begin(), pieces.end(), [&](const AxisPiece& piece) { return piece.axis == each.axis; }))
        throw_user_error("vmap spmd_axis_name ('{}'{}) cannot appear in {}, but got spec {}", fmt::join(axis.mesh_axes, "', '"),
                         axis.mesh_axes.size() == 1 ? "," : "", what, text_of(taken, mesh));
  return pieces;
}

// Where the batched operands agree on its dimension the batch stays there, else it becomes the first. Operands that are scalars beside
// larger ones (limits, conditions) stay scalars where they are the same for all elements.
std::vector<Batched> batch_elementwise(GraphBuilder& b, const BatchArgs& args) {
  Shape element;
  int dim = kNotBatched;
  bool agree = true;
  for (const Batched& x : args.operands) {
    Shape shape = b.shape(x.value);
    if (x.dim != kNotBatched) shape.erase(shape.begin() + x.dim);
    if (shape.size() > element.size()) element = shape;
    if (x.dim == kNotBatched || (shape.empty() && dim != kNotBatched)) continue;
    agree &= dim == kNotBatched || dim == x.dim;
    dim = x.dim;
  }
  if (!agree) dim = 0;
  Shape whole = element;
  whole.insert(whole.begin() + dim, args.size);
  Values values;
  for (const Batched& x : args.operands) {
    bool is_scalar = b.type(x.value).rank() == (x.dim == kNotBatched ? 0 : 1);
    if (!is_scalar || element.empty())
      values.push_back(batched_at(b, x, dim, args.size));
    else if (x.dim == kNotBatched)
      values.push_back(x.value);
    else
      values.push_back(b.emit1(kBroadcastInDim, {x.value}, Attrs{{"shape", whole}, {"dims", std::vector<std::int64_t>{dim}}}));
  }
  std::vector<Batched> results;
  for (ValueId id : b.emit(args.op, values, args.attrs)) results.push_back({id, dim});
  return results;
}

}  // namespace shardlab::ops
