#include "runtime/ops/collective_batch.h"

#include <algorithm>

#include "runtime/ops/compose.h"
#include "runtime/ops/region_types.h"

namespace shardlab::ops {
namespace {

bool is_over_batch(const BatchArgs& args) {
  return !args.axis.name.empty() && args.attrs.strings("axis_name") == std::vector<std::string>{args.axis.name};
}

// Where each device has a part of the batch: the collective that goes over the devices, after the batch's own part.
ValueId over_devices(GraphBuilder& b, const OpDef& op, ValueId x, const BatchAxis& axis, Attrs attrs = {}) {
  if (axis.devices == 1) return x;
  return b.emit1(op, {x}, attrs.set("axis_name", axis.device_axes).set("axis_size", axis.devices));
}

void check_on_each_device(const BatchArgs& args) {
  if (args.axis.devices > 1)
    throw_user_error(
        "{}: over axis '{}' of vmap, which spmd_axis_name cuts over the devices of this shard_map; leave spmd_axis_name out, or exchange "
        "over the mesh axes",
        args.op.name, args.axis.name);
}

// The batch goes first, and the dimensions that these attributes name move up.
std::vector<Batched> shifted_batch(GraphBuilder& b, const BatchArgs& args, std::initializer_list<std::string_view> names) {
  Attrs attrs = args.attrs;
  for (std::string_view name : names) attrs.set(name, args.attrs.integer(name) + 1);
  return {{b.emit1(args.op, {batched_at(b, args.operands[0], 0, args.size)}, attrs), 0}};
}

// Dimension d and the one after it as one; and one as `first` and the rest.
ValueId merged_dims(GraphBuilder& b, ValueId x, int d) {
  Shape shape = b.shape(x);
  shape[std::size_t(d)] *= shape[std::size_t(d) + 1];
  shape.erase(shape.begin() + d + 1);
  return reshaped(b, x, shape);
}
ValueId split_dim(GraphBuilder& b, ValueId x, int d, std::int64_t first) {
  Shape shape = b.shape(x);
  shape[std::size_t(d)] /= first;
  shape.insert(shape.begin() + d, first);
  return reshaped(b, x, shape);
}

// What the operand's elements come to together: `count` times the same where it is not batched.
ValueId reduced(GraphBuilder& b, const Batched& x, Reduction reduction, std::int64_t count) {
  if (x.dim == kNotBatched) return reduction == Reduction::kSum ? binary(b, kMul, x.value, double(count)) : x.value;
  const OpDef& reduce = reduction == Reduction::kSum ? kReduceSum : reduction == Reduction::kMax ? kReduceMax : kReduceMin;
  // A collective over several axes of vmap is one reduction, as JAX's: the inner one's, made just before, takes this dimension too.
  const NodeId producer = b.graph().values[std::size_t(x.value)].producer;
  if (producer < 0 || b.graph().nodes[std::size_t(producer)].op != &reduce || b.graph().nodes.size() != std::size_t(producer) + 1)
    return b.emit1(reduce, {x.value}, Attrs{{"axes", std::vector<std::int64_t>{x.dim}}});
  const Node inner = b.graph().nodes[std::size_t(producer)];
  std::vector<std::int64_t> axes = inner.attrs.integers("axes");
  std::int64_t dim = x.dim;
  for (std::int64_t axis : axes) dim += axis <= dim ? 1 : 0;
  axes.push_back(dim);
  std::sort(axes.begin(), axes.end());
  return b.emit1(reduce, {inner.operands[0]}, Attrs{{"axes", axes}});
}

}  // namespace

std::vector<Batched> same_dim_batch(GraphBuilder& b, const BatchArgs& args) {
  return {{b.emit1(args.op, {args.operands[0].value}, args.attrs), args.operands[0].dim}};
}

std::vector<Batched> reduction_batch(GraphBuilder& b, const BatchArgs& args) {
  if (!is_over_batch(args)) return same_dim_batch(b, args);
  return {{over_devices(b, args.op, reduced(b, args.operands[0], args.op.reduction.value(), args.size), args.axis), kNotBatched}};
}

std::vector<Batched> all_gather_batch(GraphBuilder& b, const BatchArgs& args) {
  if (!is_over_batch(args)) return shifted_batch(b, args, {"axis"});
  const int axis = int(args.attrs.integer("axis"));
  ValueId x = batched_at(b, args.operands[0], axis, args.size);
  if (args.attrs.flag("tiled")) x = merged_dims(b, x, axis);
  return {{over_devices(b, args.op, x, args.axis, Attrs{{"axis", std::int64_t(axis)}, {"tiled", true}}), kNotBatched}};
}

std::vector<Batched> psum_scatter_batch(GraphBuilder& b, const BatchArgs& args) {
  if (!is_over_batch(args)) return shifted_batch(b, args, {"scatter_dimension"});
  const int axis = int(args.attrs.integer("scatter_dimension"));
  ValueId x = reduced(b, args.operands[0], Reduction::kSum, args.size);
  if (args.attrs.flag("tiled")) x = split_dim(b, x, axis, args.size * args.axis.devices);
  return {{over_devices(b, args.op, x, args.axis, Attrs{{"scatter_dimension", std::int64_t(axis)}, {"tiled", true}}), axis}};
}

// Of element s the t-th part goes to element t, which concatenates them: [s, …, (t, rest), …] becomes [t, …, rest, …, (s, rest), …].
std::vector<Batched> all_to_all_batch(GraphBuilder& b, const BatchArgs& args) {
  if (!is_over_batch(args)) return shifted_batch(b, args, {"split_axis", "concat_axis"});
  check_on_each_device(args);
  if (args.attrs.has("split_sizes")) throw_user_error("{}: split_sizes over an axis of vmap; pad to equal parts", args.op.name);
  const int split = int(args.attrs.integer("split_axis")), concat = int(args.attrs.integer("concat_axis"));
  ValueId x = split_dim(b, batched_at(b, args.operands[0], 0, args.size), split + 1, args.size);
  x = moved_dim(b, x, split + 1, 0);   // [t, s, …, rest, …]
  x = moved_dim(b, x, 1, concat + 1);  // s before the dimension that grows
  return {{merged_dims(b, x, concat + 1), 0}};
}

// Elements that are no target get zeros.
std::vector<Batched> ppermute_batch(GraphBuilder& b, const BatchArgs& args) {
  if (!is_over_batch(args)) return same_dim_batch(b, args);
  check_on_each_device(args);
  const auto& perm = args.attrs.integers("perm");
  const bool is_full = std::int64_t(perm.size()) == 2 * args.size;
  const Batched& operand = args.operands[0];
  if (operand.dim == kNotBatched && is_full) return {operand};
  std::vector<double> sources(std::size_t(args.size), 0.0), targets(std::size_t(args.size), 0.0);
  for (std::size_t i = 0; i + 1 < perm.size(); i += 2) {
    sources[std::size_t(perm[i + 1])] = double(perm[i]);
    targets[std::size_t(perm[i + 1])] = 1;
  }
  const int dim = std::max(operand.dim, 0);
  const Term x(b, Arg(batched_at(b, operand, dim, args.size)));
  const Term moved = taken(x, constant_vector(b, DType::kInt32, sources), dim);
  if (is_full) return {{moved.id(), dim}};
  ValueId is_target = constant_vector(b, DType::kBool, targets).id();
  is_target = b.emit1(kBroadcastInDim, {is_target}, Attrs{{"shape", x.shape()}, {"dims", std::vector<std::int64_t>{dim}}});
  return {{b.emit1(kSelect, {is_target, moved.id(), filled(b, x.type(), 0.0)}), dim}};
}

std::vector<Batched> pbroadcast_batch(GraphBuilder& b, const BatchArgs& args) {
  if (!is_over_batch(args)) return same_dim_batch(b, args);
  const Batched& x = args.operands[0];
  if (x.dim == kNotBatched) return {x};
  check_on_each_device(args);
  return {{part(Term(b, Arg(x.value)), x.dim, args.attrs.integer("source")).id(), kNotBatched}};
}

std::vector<Batched> axis_index_batch(GraphBuilder& b, const BatchArgs& args) {
  if (!is_over_batch(args)) return {{b.emit1(args.op, {}, args.attrs), kNotBatched}};
  ValueId index = numbers(b, DType::kInt32, args.size).id();
  if (args.axis.devices == 1) return {{index, 0}};
  ValueId device = b.emit1(args.op, {}, Attrs{{"axis_name", args.axis.device_axes}, {"axis_size", args.axis.devices}});
  ValueId first = binary(b, kMul, device, double(args.size));
  return {{b.emit1(kAdd, {index, broadcast_to(b, first, {args.size})}), 0}};
}

}  // namespace shardlab::ops
