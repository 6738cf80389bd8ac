// Nodes with bodies for every element of a batch at once.
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/ops/derive.h"
#include "runtime/ops/region_types.h"
#include "runtime/transform/batch.h"
#include "runtime/transform/region_bodies.h"
#include "runtime/transform/wide_types.h"

namespace shardlab::transform {
namespace {

TensorType with_batch(TensorType type, int dim, std::int64_t size) {
  if (dim != kNotBatched) type.shape.insert(type.shape.begin() + dim, size);
  return type;
}

std::vector<Batched> batched_params(GraphBuilder& b, const Graph& body, const std::vector<int>& dims, std::int64_t size) {
  std::vector<Batched> args;
  for (std::size_t i = 0; i < dims.size(); ++i) args.push_back({b.param(with_batch(body.type(body.params[i]), dims[i], size)), dims[i]});
  return args;
}

}  // namespace

BodyBatch body_batch(const Graph& body, const std::vector<int>& dims, const BatchAxis& axis, const std::vector<bool>& wanted) {
  GraphBuilder b(body.name, config_for(body));
  std::vector<Batched> found = emit_batched(b, body, batched_params(b, body, dims, axis.size), axis);
  BodyBatch out;
  std::vector<ValueId> results;
  for (std::size_t i = 0; i < found.size(); ++i) {
    out.batched.push_back(found[i].dim != kNotBatched);
    bool as_batch = out.batched[i] || (i < wanted.size() && wanted[i]);
    results.push_back(as_batch ? ops::batched_at(b, found[i], 0, axis.size) : found[i].value);
  }
  b.set_results(results);
  out.graph = b.finish();
  return out;
}

namespace {

std::vector<Batched> with_dims(const std::vector<ValueId>& values, const std::vector<bool>& batched, std::size_t first_stacked) {
  std::vector<Batched> out;
  for (std::size_t i = 0; i < values.size(); ++i) out.push_back({values[i], !batched[i] ? kNotBatched : i < first_stacked ? 0 : 1});
  return out;
}

// What is carried is batched from the first iteration on where it is after some iteration.
std::vector<Batched> batch_scan(GraphBuilder& b, const Node& node, std::vector<Batched> operands, const BatchAxis& axis) {
  LoopParts parts = loop_parts(node);
  const Graph& body = *node.attrs.bodies()[0];
  std::vector<int> dims;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    bool is_carry = i >= parts.consts && i < parts.first_x();
    if (is_carry && operands[i].dim != kNotBatched) operands[i] = {ops::batched_at(b, operands[i], 0, axis.size), 0};
    if (i >= parts.first_x() && operands[i].dim == 0) operands[i] = {ops::batched_at(b, operands[i], 1, axis.size), 1};
    dims.push_back(i >= parts.first_x() && operands[i].dim > 0 ? operands[i].dim - 1 : operands[i].dim);
  }
  std::vector<bool> wanted(parts.carried, false), batched;
  for (bool grew = true; grew;) {
    grew = false;
    batched = body_batch(body, dims, axis, {}).batched;
    for (std::size_t i = 0; i < parts.carried; ++i) {
      int& dim = dims[parts.consts + i];
      grew |= batched[i] && dim == kNotBatched;
      if (batched[i]) dim = 0;
      batched[i] = wanted[i] = dim != kNotBatched;
    }
  }
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    bool is_carry = i >= parts.consts && i < parts.first_x();
    values.push_back(is_carry && dims[i] == 0 ? ops::batched_at(b, operands[i], 0, axis.size) : operands[i].value);
  }
  Attrs attrs = node.attrs;
  attrs.set("bodies", Bodies{body_ref(body_batch(body, dims, axis, wanted).graph)});
  return with_dims(b.emit(*node.op, values, attrs), batched, parts.carried);
}

// A predicate as wide as the batch over a value that has the batch first.
ValueId widened(GraphBuilder& b, ValueId predicate, const Shape& shape) {
  return b.emit1(ops::kBroadcastInDim, {predicate}, Attrs{{"shape", shape}, {"dims", std::vector<std::int64_t>{0}}});
}

// Elements whose predicates differ: the loop goes on while any does, and those that are done keep what they have.
std::vector<Batched> batch_while(GraphBuilder& b, const Node& node, const std::vector<Batched>& operands, const BatchAxis& axis) {
  LoopParts parts = loop_parts(node);
  const Graph &condition = *node.attrs.bodies()[0], &body = *node.attrs.bodies()[1];
  std::vector<int> dims;
  for (std::size_t i = 0; i < operands.size(); ++i)
    dims.push_back(i < parts.consts || operands[i].dim == kNotBatched ? operands[i].dim : 0);
  bool differs = false;
  for (bool grew = true; grew;) {
    grew = false;
    std::vector<bool> batched = body_batch(body, dims, axis, {}).batched;
    differs = body_batch(condition, dims, axis, {}).batched[0];
    for (std::size_t i = 0; i < parts.carried; ++i) {
      int& dim = dims[parts.consts + i];
      grew |= (batched[i] || differs) && dim == kNotBatched;
      if (batched[i] || differs) dim = 0;
    }
  }
  std::vector<bool> wanted;
  for (std::size_t i = 0; i < parts.carried; ++i) wanted.push_back(dims[parts.consts + i] == 0);
  GraphBuilder test(condition.name, config_for(condition)), step(body.name, config_for(body));
  ValueId going = emit_batched(test, condition, batched_params(test, condition, dims, axis.size), axis)[0].value;
  if (differs) going = test.emit1(ops::kReduceOr, {going}, Attrs{{"axes", std::vector<std::int64_t>{0}}});
  test.set_results({going});
  std::vector<Batched> args = batched_params(step, body, dims, axis.size), next = emit_batched(step, body, args, axis);
  ValueId goes_on = differs ? emit_batched(step, condition, args, axis)[0].value : kZero;
  std::vector<ValueId> results;
  for (std::size_t i = 0; i < next.size(); ++i) {
    ValueId value = wanted[i] ? ops::batched_at(step, next[i], 0, axis.size) : next[i].value;
    if (differs) value = step.emit1(ops::kSelect, {widened(step, goes_on, step.shape(value)), value, args[parts.consts + i].value});
    results.push_back(value);
  }
  step.set_results(results);
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < operands.size(); ++i)
    values.push_back(i >= parts.consts && dims[i] == 0 ? ops::batched_at(b, operands[i], 0, axis.size) : operands[i].value);
  Attrs attrs = node.attrs;
  attrs.set("bodies", Bodies{body_ref(test.finish()), body_ref(step.finish())});
  return with_dims(b.emit(*node.op, values, attrs), wanted, parts.carried);
}

// Elements that choose for themselves: all branches run, and each element takes its own.
std::vector<Batched> batch_choice(GraphBuilder& b, const Node& node, const std::vector<Batched>& operands, const BatchAxis& axis) {
  const Bodies& bodies = node.attrs.bodies();
  std::vector<Batched> given(operands.begin() + 1, operands.end()), chosen;
  for (std::size_t k = bodies.size(); k-- > 0;) {
    std::vector<Batched> results = emit_batched(b, *bodies[k], given, axis);
    for (Batched& each : results) each = {ops::batched_at(b, each, 0, axis.size), 0};
    if (chosen.empty()) {
      chosen = results;
      continue;
    }
    ValueId takes = ops::binary(b, ops::kLessEqual, operands[0].value, double(k));
    for (std::size_t i = 0; i < chosen.size(); ++i)
      chosen[i].value = b.emit1(ops::kSelect, {widened(b, takes, b.shape(chosen[i].value)), results[i].value, chosen[i].value});
  }
  return chosen;
}

std::vector<Batched> batch_cond(GraphBuilder& b, const Node& node, const std::vector<Batched>& operands, const BatchAxis& axis) {
  if (operands[0].dim != kNotBatched) return batch_choice(b, node, operands, axis);
  std::vector<int> dims;
  std::vector<ValueId> values{operands[0].value};
  for (std::size_t i = 1; i < operands.size(); ++i) {
    dims.push_back(operands[i].dim);
    values.push_back(operands[i].value);
  }
  std::vector<bool> wanted(node.results.size(), false);
  for (const GraphRef& body : node.attrs.bodies()) {
    std::vector<bool> batched = body_batch(*body, dims, axis, {}).batched;
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = wanted[i] || batched[i];
  }
  Bodies bodies;
  for (const GraphRef& body : node.attrs.bodies()) bodies.push_back(body_ref(body_batch(*body, dims, axis, wanted).graph));
  Attrs attrs = node.attrs;
  return with_dims(b.emit(*node.op, values, attrs.set("bodies", bodies)), wanted, wanted.size());
}

std::vector<Batched> batch_checkpoint(GraphBuilder& b, const Node& node, const std::vector<Batched>& operands, const BatchAxis& axis) {
  std::vector<ValueId> values;
  std::vector<int> dims;
  for (const Batched& each : operands) {
    values.push_back(each.value);
    dims.push_back(each.dim);
  }
  BodyBatch inner = body_batch(*node.attrs.bodies()[0], dims, axis, {});
  Attrs attrs = node.attrs;
  attrs.set("bodies", Bodies{body_ref(std::move(inner.graph))});
  return with_dims(b.emit(*node.op, values, attrs), inner.batched, inner.batched.size());
}

// Over Explicit axes that the code leaves to types the batch is cut by its type alone.
BatchAxis named_by_code(const Node& node, BatchAxis axis) {
  const Mesh& mesh = mesh_of(node);
  const std::vector<bool> automatic = is_automatic(node, mesh);
  const bool is_typed = std::all_of(axis.mesh_axes.begin(), axis.mesh_axes.end(), [&](const std::string& name) {
    const auto a = std::size_t(*mesh.axis_index(name));
    return automatic[a] && mesh.axis_types()[a] == AxisType::kExplicit;
  });
  if (is_typed) axis.mesh_axes.clear();
  return axis;
}

// The batch as per-device code sees it.
BatchAxis on_each_device(const Node& node, const BatchAxis& axis) {
  if (axis.mesh_axes.empty()) return axis;
  const auto& manual = node.attrs.strings("axis_names");
  const auto &in = node.attrs.shardings("in_specs"), &out = node.attrs.shardings("out_specs");
  const Mesh& mesh = (in.empty() ? out : in).at(0).mesh();
  for (const std::string& name : axis.mesh_axes)  // one of a single device is as good as manual
    if (mesh.axis_size(*mesh.axis_index(name)) > 1 && std::find(manual.begin(), manual.end(), name) == manual.end())
      throw_user_error("vmap spmd_axis_name '{}' must be an axis marked as manual of the shard_map inside, whose axis_names are {{{}}}",
                       name, fmt::join(manual, ", "));
  BatchAxis part{.size = axis.size, .name = axis.name, .device_axes = axis.mesh_axes};
  for (const std::string& name : axis.mesh_axes) part.devices *= mesh.axis_size(*mesh.axis_index(name));
  if (axis.size % part.devices != 0)
    throw_user_error(
        "shard_map applied under vmap with spmd_axis_name was given a batch that is not evenly divisible by the corresponding mesh axis "
        "sizes: its size {} is mapped to mesh axes {{{}}} of size {}, but {} does not evenly divide {}",
        axis.size, fmt::join(axis.mesh_axes, ", "), part.devices, part.devices, axis.size);
  part.size /= part.devices;
  return part;
}

// Every device has the whole batch of its shards, or with spmd_axis_name its part of the batch.
std::vector<Batched> batch_shard_map(GraphBuilder& b, const Node& node, const std::vector<Batched>& operands, const BatchAxis& given) {
  const BatchAxis axis = named_by_code(node, given);
  const Graph& body = *node.attrs.bodies()[0];
  std::vector<Sharding> in = node.attrs.shardings("in_specs"), out = node.attrs.shardings("out_specs");
  std::vector<ValueId> values;
  std::vector<int> dims;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Axes pieces = ops::batch_pieces(axis, in[i].mesh(), in[i].spec(body.type(body.params[i]).rank()), "shard_map in_specs");
    bool batched = operands[i].dim != kNotBatched;
    dims.push_back(batched ? 0 : kNotBatched);
    values.push_back(batched ? ops::batched_at(b, operands[i], 0, axis.size) : operands[i].value);
    if (batched) in[i] = with_leading(in[i], body.type(body.params[i]).rank(), pieces);
  }
  BodyBatch inner = body_batch(body, dims, on_each_device(node, axis), {});
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Axes pieces = ops::batch_pieces(axis, out[i].mesh(), out[i].spec(body.type(body.results[i]).rank()), "shard_map out_specs");
    if (inner.batched[i]) out[i] = with_leading(out[i], body.type(body.results[i]).rank(), pieces);
  }
  Attrs attrs = node.attrs;
  attrs.set("bodies", Bodies{body_ref(std::move(inner.graph))}).set("in_specs", in).set("out_specs", out);
  return with_dims(b.emit(*node.op, values, attrs), inner.batched, inner.batched.size());
}

}  // namespace

std::vector<Batched> emit_region_batch(GraphBuilder& b, const Node& node, const std::vector<Batched>& operands, const BatchAxis& axis) {
  switch (node.op->region) {
    case RegionKind::kScan:
      return batch_scan(b, node, operands, axis);
    case RegionKind::kWhile:
      return batch_while(b, node, operands, axis);
    case RegionKind::kBranch:
      return batch_cond(b, node, operands, axis);
    case RegionKind::kManual:
      return batch_shard_map(b, node, operands, axis);
    case RegionKind::kCall:
      if (node.op == &ops::kCheckpoint) return batch_checkpoint(b, node, operands, axis);
      if (node.op == &ops::kCustomLinearSolve) return batch_linear_solve(b, node, operands, axis);
      if (node.op == &ops::kCustomVjpTangents) return batch_custom_tangents(b, node, operands, axis);
      if (node.op != &ops::kCustomPartitioning) return batch_custom(b, node, operands, axis);
      [[fallthrough]];
    default:
      throw_no_rule(node, "Batching rule", "the function's sharding rule does not know the batch; loop over it instead");
  }
}

}  // namespace shardlab::transform
