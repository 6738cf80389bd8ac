// Nodes with bodies cut in two, their bodies by the same cut: what the second half needs of the first is saved as residuals.
#include <algorithm>
#include <deque>
#include <map>

#include "runtime/ops/derive.h"
#include "runtime/ops/region_types.h"
#include "runtime/transform/region_bodies.h"
#include "runtime/transform/scan_invariants.h"
#include "runtime/transform/varying.h"
#include "runtime/transform/wide_types.h"

namespace shardlab::transform {

BodySplit::BodySplit(const Graph& body, const std::vector<bool>& unknown) : body_(body), b_(body.name), split_(b_, body) {
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    if (unknown[i]) {
      split_.unknown_param(body.params[i]);
    } else {
      param_of_.push_back(int(i));
      split_.known_param(body.params[i], b_.param(body.type(body.params[i])));
    }
  }
  split_.run();
}

void BodySplit::finish(const std::vector<bool>& is_linear) {
  std::vector<ValueId> known, tangents;
  for (std::size_t i = 0; i < is_linear.size(); ++i) (is_linear[i] ? tangents : known).push_back(body_.results[i]);
  cut_ = split_.finish(known, tangents);
}

std::vector<bool> unknown_of(const std::vector<ValueId>& known, std::size_t first) {
  std::vector<bool> unknown;
  for (std::size_t i = first; i < known.size(); ++i) unknown.push_back(known[i] == kZero);
  return unknown;
}

void place_results(RegionSplit& out, const std::vector<bool>& is_linear, const std::vector<ValueId>& known) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < is_linear.size(); ++i) {
    out.known_results.push_back(is_linear[i] ? kZero : known.at(next++));
    if (is_linear[i]) out.results.push_back(int(i));
  }
}

std::vector<SharedPlace> shared_places(const std::vector<std::vector<TypedValue>>& of_bodies) {
  std::vector<SharedPlace> shared;
  for (std::size_t k = 0; k < of_bodies.size(); ++k)
    for (const auto& [type, id] : of_bodies[k]) {
      auto place = std::find_if(shared.begin(), shared.end(),
                                [&, &type = type](const SharedPlace& each) { return each.type == type && each.values[k] == kZero; });
      if (place == shared.end()) place = shared.insert(place, {type, std::vector<ValueId>(of_bodies.size(), kZero)});
      place->values[k] = id;
    }
  return shared;
}

namespace {

// Residuals of an iteration are stacked; what is the same for all of them, or is scanned over anyway, is passed as it is.
RegionSplit split_scan(GraphBuilder& b, const Node& node, const std::vector<ValueId>& known) {
  LoopParts parts = loop_parts(node);
  const Graph& body = *node.attrs.bodies()[0];
  std::vector<bool> unknown = unknown_of(known), is_linear(node.results.size());
  std::optional<BodySplit> split;
  for (bool grew = true; grew;) {
    split.emplace(body, unknown);
    grew = false;
    for (std::size_t i = 0; i < parts.carried; ++i) {
      grew |= split->varies(i) && !unknown[parts.consts + i];
      if (split->varies(i)) unknown[parts.consts + i] = true;
    }
  }
  for (std::size_t i = 0; i < is_linear.size(); ++i) is_linear[i] = i < parts.carried ? unknown[parts.consts + i] : split->varies(i);
  split->finish(is_linear);
  const Linearized& cut = split->cut();

  // What is known, as a scan of its own, which gives residuals besides.
  auto is_const = [&](int param) { return param >= 0 && std::size_t(param) < parts.consts; };
  auto is_x = [&](int param) { return param >= 0 && std::size_t(param) >= parts.first_x(); };
  std::vector<ValueId> results = cut.results, residuals(cut.residuals.size(), kZero);  // of the latter those that are passed as they are
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    const int param = split->param_of(cut.residuals[i]);
    if (is_const(param) || is_x(param))
      residuals[i] = known[std::size_t(param)];
    else
      results.push_back(cut.residuals[i]);
  }
  split->builder().set_results(results);
  std::vector<ValueId> known_consts, others;
  std::size_t known_carry = 0;
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    if (unknown[i]) continue;
    (i < parts.consts ? known_consts : others).push_back(known[i]);
    known_carry += i >= parts.consts && i < parts.first_x();
  }
  const HoistedBody hoisted = with_invariants_before(b, split->builder().finish(), known_consts, cut.results.size());
  known_consts.insert(known_consts.end(), hoisted.more_consts.begin(), hoisted.more_consts.end());
  std::vector<ValueId> made;
  if (!hoisted.body.results.empty()) {
    std::vector<ValueId> operands = known_consts;
    operands.insert(operands.end(), others.begin(), others.end());
    Attrs attrs = with_parts(node, known_consts.size(), known_carry);
    with_place(b, node, [&] { made = b.emit(*node.op, operands, attrs.set("bodies", Bodies{body_ref(hoisted.body)})); });
  }
  RegionSplit out;
  place_results(out, is_linear, made);

  // The linear body's parameters in the order of a scan's: unknown ones by kind, then residuals, which the cut has last.
  std::vector<std::size_t> consts, carry, xs;
  std::vector<RegionSplit::LinearOperand> const_operands, carry_operands, x_operands;
  std::size_t number = 0;
  auto add = [&](bool as_const, bool as_carry, RegionSplit::LinearOperand operand) {
    (as_const ? consts : as_carry ? carry : xs).push_back(number++);
    (as_const ? const_operands : as_carry ? carry_operands : x_operands).push_back(operand);
  };
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    if (!unknown[i]) continue;
    const bool is_first = i < parts.consts;
    add(is_first, !is_first && i < parts.first_x(),
        known[i] == kZero ? RegionSplit::LinearOperand{int(i), kZero} : RegionSplit::LinearOperand{-1, known[i]});
  }
  auto kept = hoisted.kept.begin();
  auto stacked = made.begin() + std::ptrdiff_t(cut.results.size());
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    const int param = split->param_of(cut.residuals[i]);
    if (residuals[i] != kZero) {
      add(is_const(param), false, {-1, residuals[i]});
      continue;
    }
    const ValueId before = *kept++;
    add(before != kZero, false, {-1, before != kZero ? before : *stacked++});
  }

  std::vector<std::size_t> order = consts;
  order.insert(order.end(), carry.begin(), carry.end());
  order.insert(order.end(), xs.begin(), xs.end());
  out.op = node.op;
  out.operands = const_operands;
  out.operands.insert(out.operands.end(), carry_operands.begin(), carry_operands.end());
  out.operands.insert(out.operands.end(), x_operands.begin(), x_operands.end());
  out.attrs = with_parts(node, consts.size(), carry.size());
  out.attrs.set("bodies", Bodies{body_ref(reordered(cut.linear, order))});
  return out;
}

// Every branch gives the residuals of all, zeros for those of the others.
RegionSplit split_cond(GraphBuilder& b, const Node& node, const std::vector<ValueId>& known) {
  const Bodies& bodies = node.attrs.bodies();
  std::vector<bool> unknown = unknown_of(known, 1), is_linear(node.results.size(), false);
  std::deque<BodySplit> splits;
  for (const GraphRef& body : bodies) {
    splits.emplace_back(*body, unknown);
    for (std::size_t i = 0; i < is_linear.size(); ++i) is_linear[i] = is_linear[i] || splits.back().varies(i);
  }
  for (BodySplit& split : splits) split.finish(is_linear);
  std::vector<std::vector<TypedValue>> of_branches;
  for (BodySplit& split : splits) {
    std::vector<TypedValue>& own = of_branches.emplace_back();
    for (ValueId id : split.cut().residuals) own.emplace_back(split.builder().type(id), id);
  }
  const std::vector<SharedPlace> residuals = shared_places(of_branches);
  Bodies known_bodies, linear_bodies;
  for (std::size_t k = 0; k < splits.size(); ++k) {
    BodySplit& split = splits[k];
    std::vector<ValueId> results = split.cut().results;
    for (const SharedPlace& each : residuals)
      results.push_back(each.values[k] != kZero ? each.values[k] : ops::filled(split.builder(), each.type, 0.0));
    split.builder().set_results(results);
    GraphBuilder linear(bodies[k]->name, config_for(*bodies[k]));
    std::vector<ValueId> args;
    for (std::size_t i = 0; i < unknown.size(); ++i)
      if (unknown[i]) args.push_back(linear.param(bodies[k]->type(bodies[k]->params[i])));
    // The linear body takes its own in the order in which the split gave them.
    std::map<ValueId, ValueId> params;
    for (const SharedPlace& each : residuals) {
      const ValueId param = linear.param(each.type);
      if (each.values[k] != kZero) params[each.values[k]] = param;
    }
    for (ValueId id : split.cut().residuals) args.push_back(params.at(id));
    linear.set_results(emit_graph(linear, split.cut().linear, args));
    linear_bodies.push_back(body_ref(linear.finish()));
    known_bodies.push_back(body_ref(split.builder().finish()));
  }
  RegionSplit out;
  std::vector<ValueId> operands{known[0]}, made;
  out.operands.push_back({-1, known[0]});
  for (std::size_t i = 1; i < known.size(); ++i) {
    if (known[i] == kZero)
      out.operands.push_back({int(i), kZero});
    else
      operands.push_back(known[i]);
  }
  Attrs attrs = node.attrs;
  std::size_t known_results = splits[0].cut().results.size();
  if (known_results + residuals.size() > 0) made = b.emit(*node.op, operands, attrs.set("bodies", known_bodies));
  for (std::size_t i = 0; i < residuals.size(); ++i) out.operands.push_back({-1, made[known_results + i]});
  place_results(out, is_linear, made);
  out.op = node.op;
  out.attrs = node.attrs;
  out.attrs.set("bodies", linear_bodies);
  return out;
}

Sharding boxed_sharding(const Node& node, const Mesh& mesh, VaryingAxes varies, int rank) {
  Axes axes;
  const std::vector<bool> automatic = is_automatic(node, mesh);
  for (int axis = 0; axis < mesh.axis_count(); ++axis)
    if (!automatic[std::size_t(axis)] && (varies >> axis & 1) != 0) axes.push_back(mesh.whole_axis(axis));
  return with_leading(Sharding(mesh, Spec(std::size_t(rank))), rank, axes);
}

// A residual is each device's own: it leaves per-device code with one more dimension, cut over the manual axes along which it may vary, and
// comes back the same way.
RegionSplit split_shard_map(GraphBuilder& b, const Node& node, const std::vector<ValueId>& known) {
  const Graph& body = *node.attrs.bodies()[0];
  const auto &in = node.attrs.shardings("in_specs"), &out_specs = node.attrs.shardings("out_specs");
  std::vector<bool> unknown = unknown_of(known), is_linear(node.results.size());
  BodySplit split(body, unknown);
  for (std::size_t i = 0; i < is_linear.size(); ++i) is_linear[i] = split.varies(i);
  split.finish(is_linear);
  const Linearized& cut = split.cut();
  GraphBuilder& first = split.builder();

  const Mesh mesh = mesh_of(node);
  GraphBuilder second(body.name, config_for(body));
  std::vector<ValueId> operands, results = cut.results, args, made;
  std::vector<Sharding> known_in, known_out, linear_in, linear_out;
  RegionSplit out;
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    if (unknown[i]) {
      args.push_back(second.param(body.type(body.params[i])));
      linear_in.push_back(in[i]);
      out.operands.push_back({int(i), kZero});
    } else {
      operands.push_back(known[i]);
      known_in.push_back(in[i]);
    }
  }
  for (std::size_t i = 0; i < is_linear.size(); ++i) (is_linear[i] ? linear_out : known_out).push_back(out_specs[i]);
  std::vector<std::size_t> saved_at;
  for (ValueId residual : cut.residuals) {
    TensorType type = first.type(residual);
    if (int param = split.param_of(residual); param >= 0) {
      args.push_back(second.param(type));
      linear_in.push_back(in[std::size_t(param)]);
      out.operands.push_back({-1, known[std::size_t(param)]});
      continue;
    }
    TensorType boxed = type;
    boxed.shape.insert(boxed.shape.begin(), 1);
    results.push_back(ops::reshaped(first, residual, boxed.shape));
    args.push_back(ops::reshaped(second, second.param(boxed), type.shape));
    saved_at.push_back(out.operands.size());
    linear_in.emplace_back(mesh, Spec());
    out.operands.push_back({-1, kZero});
  }
  if (!results.empty()) {
    first.set_results(results);
    const Graph code = first.finish();
    const std::vector<VaryingAxes> varies = Varying(code, varying_params(code, known_in), mesh).results();
    for (std::size_t i = 0; i < saved_at.size(); ++i) {
      const std::size_t result = cut.results.size() + i;
      known_out.push_back(boxed_sharding(node, mesh, varies[result], code.type(code.results[result]).rank() - 1));
      linear_in[saved_at[i]] = known_out.back();
    }
    Attrs attrs = node.attrs;
    attrs.set("bodies", Bodies{body_ref(code)}).set("in_specs", known_in).set("out_specs", known_out);
    made = b.emit(*node.op, operands, attrs);
  }
  for (std::size_t i = 0; i < saved_at.size(); ++i) out.operands[saved_at[i]].residual = made.at(cut.results.size() + i);
  place_results(out, is_linear, made);
  second.set_results(emit_graph(second, cut.linear, args));
  out.op = node.op;
  out.attrs = node.attrs;
  out.attrs.set("bodies", Bodies{body_ref(second.finish())}).set("in_specs", linear_in).set("out_specs", linear_out);
  return out;
}

}  // namespace

RegionSplit split_region(GraphBuilder& b, const Node& node, const std::vector<ValueId>& known) {
  switch (node.op->region) {
    case RegionKind::kScan:
      return split_scan(b, node, known);
    case RegionKind::kBranch:
      return split_cond(b, node, known);
    case RegionKind::kManual:
      return split_shard_map(b, node, known);
    case RegionKind::kWhile:
      throw_user_error(
          "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with dynamic start/stop values. Try using "
          "lax.scan, or using fori_loop with static start/stop. (The number of iterations is not known beforehand, so neither is how "
          "much to save; forward mode, jvp, works.)");
    case RegionKind::kCall:
      if (node.op == &ops::kCheckpoint) return split_checkpoint(b, node, known);
      if (node.op != &ops::kCustomPartitioning) return split_whole(node, known);
      [[fallthrough]];
    default:
      throw_no_rule(node, "Differentiation rule", "write the derivative as another function with a sharding rule of its own");
  }
}

}  // namespace shardlab::transform
