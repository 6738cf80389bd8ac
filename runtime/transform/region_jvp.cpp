// Forward derivatives of nodes with bodies: one node computes the values and their tangents.
#include <algorithm>

#include "runtime/ops/derive.h"
#include "runtime/ops/region_types.h"
#include "runtime/transform/region_bodies.h"
#include "runtime/transform/wide_types.h"

namespace shardlab::transform {
namespace {

using Cuts = std::vector<std::size_t>;  // where the groups of values end; each group is followed by its tangents

// Values, and after each group of them those of the tangents that there are.
template <typename T, typename Has>
std::vector<T> interleaved(const std::vector<T>& values, const std::vector<T>& tangents, const Cuts& cuts, Has&& has) {
  std::vector<T> all;
  std::size_t first = 0;
  for (std::size_t end : cuts) {
    for (std::size_t i = first; i < end; ++i) all.push_back(values[i]);
    for (std::size_t i = first; i < end; ++i)
      if (has(i)) all.push_back(tangents[i]);
    first = end;
  }
  return all;
}

// A body with tangents. `wanted`: which results' tangents it gives, zeros made where they are zero.
struct BodyJvp {
  Graph graph;
  std::vector<bool> varies;  // per result
};

BodyJvp body_jvp(const Graph& body, const std::vector<bool>& active, const Cuts& params, const Cuts& results,
                 const std::vector<bool>& wanted) {
  GraphBuilder b(body.name, config_for(body));
  std::vector<ValueId> args(active.size(), kZero), tangents(active.size(), kZero);
  std::size_t first = 0;
  for (std::size_t end : params) {
    for (std::size_t i = first; i < end; ++i) args[i] = b.param(body.type(body.params[i]));
    for (std::size_t i = first; i < end; ++i)
      if (active[i]) tangents[i] = b.param(body.type(body.params[i]));
    first = end;
  }
  WithTangents out = emit_jvp(b, body, args, tangents);
  BodyJvp found;
  for (std::size_t i = 0; i < out.tangents.size(); ++i) {
    found.varies.push_back(out.tangents[i] != kZero);
    if (wanted[i]) out.tangents[i] = ops::instantiated(b, out.tangents[i], b.type(out.results[i]));
  }
  b.set_results(interleaved(out.results, out.tangents, results, [&](std::size_t i) { return wanted[i]; }));
  found.graph = b.finish();
  return found;
}

std::vector<bool> active_of(const std::vector<ValueId>& tangents) {
  std::vector<bool> active;
  for (ValueId id : tangents) active.push_back(id != kZero);
  return active;
}

// The node's results told apart again.
WithTangents told_apart(const std::vector<ValueId>& all, std::size_t count, const Cuts& cuts, const std::vector<bool>& wanted) {
  WithTangents out{std::vector<ValueId>(count, kZero), std::vector<ValueId>(count, kZero)};
  std::size_t next = 0, first = 0;
  for (std::size_t end : cuts) {
    for (std::size_t i = first; i < end; ++i) out.results[i] = all[next++];
    for (std::size_t i = first; i < end; ++i)
      if (wanted[i]) out.tangents[i] = all[next++];
    first = end;
  }
  return out;
}

// Loops: a carried value whose tangent is not zero after some iteration has one from the first.
WithTangents loop_jvp(GraphBuilder& b, const Node& node, const std::vector<ValueId>& operands, std::vector<ValueId> tangents) {
  LoopParts parts = loop_parts(node);
  bool is_while = node.op->region == RegionKind::kWhile;
  const Graph& body = *node.attrs.bodies().back();
  Cuts params{parts.consts, parts.first_x()}, results{parts.carried};
  if (!is_while) {
    params.push_back(operands.size());
    results.push_back(node.results.size());
  }
  std::vector<bool> active = active_of(tangents), wanted;
  while (true) {
    std::vector<bool> none(node.results.size(), false);
    std::vector<bool> varies = body_jvp(body, active, params, results, none).varies;
    wanted = varies;
    bool grew = false;
    for (std::size_t i = 0; i < parts.carried; ++i) {
      grew |= varies[i] && !active[parts.consts + i];
      wanted[i] = active[parts.consts + i] = varies[i] || active[parts.consts + i];
    }
    if (!grew) break;
  }
  if (std::none_of(wanted.begin(), wanted.end(), [](bool each) { return each; }))  // nothing that it gives varies
    return {b.emit(*node.op, operands, node.attrs), std::vector<ValueId>(node.results.size(), kZero)};
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (active[i]) tangents[i] = ops::instantiated(b, tangents[i], b.type(operands[i]));
  auto count = [&](std::size_t first, std::size_t end) {
    return std::size_t(std::count(active.begin() + std::ptrdiff_t(first), active.begin() + std::ptrdiff_t(end), true));
  };
  Attrs attrs = with_parts(node, parts.consts + count(0, parts.consts), parts.carried + count(parts.consts, parts.first_x()));
  Bodies bodies{body_ref(body_jvp(body, active, params, results, wanted).graph)};
  if (is_while) {  // the condition takes the tangents too, and does nothing with them
    const Graph& condition = *node.attrs.bodies()[0];
    GraphBuilder wider(condition.name);
    std::vector<ValueId> args(operands.size(), kZero);
    std::size_t first = 0;
    for (std::size_t end : params) {
      for (std::size_t i = first; i < end; ++i) args[i] = wider.param(condition.type(condition.params[i]));
      for (std::size_t i = first; i < end; ++i)
        if (active[i]) wider.param(condition.type(condition.params[i]));
      first = end;
    }
    wider.set_results(emit_graph(wider, condition, args));
    bodies.insert(bodies.begin(), body_ref(wider.finish()));
  }
  attrs.set("bodies", bodies);
  auto all = b.emit(*node.op, interleaved(operands, tangents, params, [&](std::size_t i) { return active[i]; }), attrs);
  return told_apart(all, node.results.size(), results, wanted);
}

WithTangents cond_jvp(GraphBuilder& b, const Node& node, const std::vector<ValueId>& operands, const std::vector<ValueId>& tangents) {
  std::vector<ValueId> given(operands.begin() + 1, operands.end()), along(tangents.begin() + 1, tangents.end());
  std::vector<bool> active = active_of(along), wanted(node.results.size(), false);
  Cuts params{given.size()}, results{node.results.size()};
  for (const GraphRef& body : node.attrs.bodies()) {
    std::vector<bool> varies = body_jvp(*body, active, params, results, std::vector<bool>(node.results.size(), false)).varies;
    for (std::size_t i = 0; i < varies.size(); ++i) wanted[i] = wanted[i] || varies[i];
  }
  Bodies bodies;
  for (const GraphRef& body : node.attrs.bodies()) bodies.push_back(body_ref(body_jvp(*body, active, params, results, wanted).graph));
  std::vector<ValueId> all = interleaved(given, along, params, [&](std::size_t i) { return active[i]; });
  all.insert(all.begin(), operands[0]);
  Attrs attrs = node.attrs;
  return told_apart(b.emit(*node.op, all, attrs.set("bodies", bodies)), node.results.size(), results, wanted);
}

// Tangents lie as their values do.
WithTangents shard_map_jvp(GraphBuilder& b, const Node& node, const std::vector<ValueId>& operands, const std::vector<ValueId>& tangents) {
  const Graph& body = *node.attrs.bodies()[0];
  std::vector<bool> active = active_of(tangents);
  Cuts params{operands.size()}, results{node.results.size()};
  std::vector<bool> wanted = body_jvp(body, active, params, results, std::vector<bool>(node.results.size(), false)).varies;
  const auto &in = node.attrs.shardings("in_specs"), &out = node.attrs.shardings("out_specs");
  auto is_active = [&](std::size_t i) { return bool(active[i]); };
  auto is_wanted = [&](std::size_t i) { return bool(wanted[i]); };
  Attrs attrs = node.attrs;
  attrs.set("bodies", Bodies{body_ref(body_jvp(body, active, params, results, wanted).graph)});
  attrs.set("in_specs", interleaved(in, in, params, is_active)).set("out_specs", interleaved(out, out, results, is_wanted));
  return told_apart(b.emit(*node.op, interleaved(operands, tangents, params, is_active), attrs), node.results.size(), results, wanted);
}

// What is computed again is the function with its tangents.
WithTangents checkpoint_jvp(GraphBuilder& b, const Node& node, const std::vector<ValueId>& operands, const std::vector<ValueId>& tangents) {
  const Graph& body = *node.attrs.bodies()[0];
  std::vector<bool> active = active_of(tangents);
  Cuts params{operands.size()}, results{node.results.size()};
  std::vector<bool> wanted = body_jvp(body, active, params, results, std::vector<bool>(node.results.size(), false)).varies;
  Attrs attrs = node.attrs;
  attrs.set("bodies", Bodies{body_ref(body_jvp(body, active, params, results, wanted).graph)});
  auto is_active = [&](std::size_t i) { return bool(active[i]); };
  return told_apart(b.emit(*node.op, interleaved(operands, tangents, params, is_active), attrs), node.results.size(), results, wanted);
}

}  // namespace

WithTangents emit_region_jvp(GraphBuilder& b, const Node& node, const std::vector<ValueId>& operands,
                             const std::vector<ValueId>& tangents) {
  switch (node.op->region) {
    case RegionKind::kWhile:
    case RegionKind::kScan:
      return loop_jvp(b, node, operands, tangents);
    case RegionKind::kBranch:
      return cond_jvp(b, node, operands, tangents);
    case RegionKind::kManual:
      return shard_map_jvp(b, node, operands, tangents);
    case RegionKind::kCall:
      if (node.op == &ops::kCheckpoint) return checkpoint_jvp(b, node, operands, tangents);
      if (node.op == &ops::kCustomVjpTangents) throw_no_forward_mode(node);
      if (node.op == &ops::kCustomLinearSolve) return linear_solve_jvp(b, node, operands, tangents);
      if (node.op != &ops::kCustomPartitioning) return custom_jvp(b, node, operands, tangents);
      [[fallthrough]];
    default:
      throw_no_rule(node, "Differentiation rule", "write the derivative as another function with a sharding rule of its own");
  }
}

}  // namespace shardlab::transform
