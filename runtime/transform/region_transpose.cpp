// Nodes with bodies turned round: cotangents of their linear operands from those of their results.
#include <algorithm>
#include <deque>

#include "runtime/ops/derive.h"
#include "runtime/ops/region_types.h"
#include "runtime/transform/region_bodies.h"
#include "runtime/transform/transpose.h"
#include "runtime/transform/varying.h"
#include "runtime/transform/wide_types.h"

namespace shardlab::transform {
namespace {

struct Question {
  const Node& node;
  const std::vector<ValueId>& operands;  // kAsked, or the value
  const std::vector<TensorType>& types;
  const std::vector<ValueId>& cotangents;
  bool is_asked(std::size_t i) const { return operands[i] == kAsked; }
  // A scan is linear in all that it carries, also where the carry begins with a known value (zeros).
  bool is_linear(std::size_t i) const {
    if (node.op->region != RegionKind::kScan) return is_asked(i);
    LoopParts parts = loop_parts(node);
    return is_asked(i) || (i >= parts.consts && i < parts.first_x());
  }
};

// The body's parameters from `first` operand on: those that are asked for, then the others.
std::vector<std::size_t> asked_first(const Question& q, std::size_t first) {
  std::vector<std::size_t> order;
  for (bool asked : {true, false})
    for (std::size_t i = first; i < q.operands.size(); ++i)
      if (q.is_linear(i) == asked) order.push_back(i - first);
  return order;
}

int asked_count(const Question& q) {
  int count = 0;
  for (std::size_t i = 0; i < q.operands.size(); ++i) count += q.is_linear(i);
  return count;
}

// Backwards through the iterations: cotangents of constants are summed up on the way, each added to what came before (JAX's order), those
// of the carry carried.
std::vector<ValueId> transpose_scan(GraphBuilder& b, const Question& q) {
  LoopParts parts = loop_parts(q.node);
  const Graph& body = *q.node.attrs.bodies()[0];
  GraphBuilder inner(body.name, config_for(body));
  std::vector<ValueId> known_consts, known_xs, sums, carry, ys(q.cotangents.size() - parts.carried, kZero);  // in the body
  std::vector<ValueId> outer_consts, outer_carry, outer_xs;                                                  // around it
  for (std::size_t i = 0; i < parts.consts; ++i)
    if (!q.is_asked(i)) {
      known_consts.push_back(inner.param(q.types[i]));
      outer_consts.push_back(q.operands[i]);
    }
  for (std::size_t i = 0; i < parts.consts; ++i)
    if (q.is_asked(i)) {
      sums.push_back(inner.param(q.types[i]));
      outer_carry.push_back(ops::filled(b, q.types[i], 0.0));
    }
  for (std::size_t i = 0; i < parts.carried; ++i) {
    const TensorType& type = q.types[parts.consts + i];
    carry.push_back(inner.param(type));
    outer_carry.push_back(ops::instantiated(b, q.cotangents[i], type));
  }
  for (std::size_t i = 0; i < ys.size(); ++i) {
    ValueId cotangent = q.cotangents[parts.carried + i];
    if (cotangent == kZero) continue;
    ys[i] = inner.param(body.type(body.results[parts.carried + i]));
    outer_xs.push_back(cotangent);
  }
  for (std::size_t i = parts.first_x(); i < q.operands.size(); ++i)
    if (!q.is_asked(i)) {
      known_xs.push_back(inner.param(body.type(body.params[i])));
      outer_xs.push_back(q.operands[i]);
    }
  std::vector<ValueId> known = known_consts, cotangents = carry;
  known.insert(known.end(), known_xs.begin(), known_xs.end());
  cotangents.insert(cotangents.end(), ys.begin(), ys.end());
  Graph linear = reordered(body, asked_first(q, 0));
  std::vector<ValueId> found = emit_transpose(inner, linear, asked_count(q), known, cotangents, sums);
  for (std::size_t i = sums.size(); i < found.size(); ++i) {
    if (i < sums.size() + carry.size())
      found[i] = ops::instantiated(inner, found[i], inner.type(carry[i - sums.size()]));
    else
      found[i] = ops::instantiated(inner, found[i], linear.type(linear.params[i]));
  }
  inner.set_results(found);
  std::vector<ValueId> operands = outer_consts;
  operands.insert(operands.end(), outer_carry.begin(), outer_carry.end());
  operands.insert(operands.end(), outer_xs.begin(), outer_xs.end());
  Attrs attrs = with_parts(q.node, outer_consts.size(), outer_carry.size());
  attrs.set("reverse", !q.node.attrs.flag("reverse")).set("bodies", Bodies{body_ref(inner.finish())});
  return b.emit(*q.node.op, operands, attrs);
}

// What no branch uses has no cotangent, as in JAX.
std::vector<ValueId> transpose_cond(GraphBuilder& b, const Question& q) {
  std::vector<ValueId> operands{q.operands[0]};
  for (std::size_t i = 1; i < q.operands.size(); ++i)
    if (!q.is_asked(i)) operands.push_back(q.operands[i]);
  for (ValueId id : q.cotangents)
    if (id != kZero) operands.push_back(id);
  std::vector<std::size_t> order = asked_first(q, 1);
  std::deque<GraphBuilder> branches;
  std::vector<std::vector<ValueId>> found;  // per branch
  for (const GraphRef& body : q.node.attrs.bodies()) {
    GraphBuilder& inner = branches.emplace_back(body->name, config_for(*body));
    std::vector<ValueId> known, cotangents;
    for (std::size_t i = 1; i < q.operands.size(); ++i)
      if (!q.is_asked(i)) known.push_back(inner.param(q.types[i]));
    for (std::size_t i = 0; i < q.cotangents.size(); ++i)
      cotangents.push_back(q.cotangents[i] == kZero ? kZero : inner.param(body->type(body->results[i])));
    found.push_back(emit_transpose(inner, reordered(*body, order), asked_count(q), known, cotangents));
  }
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < found[0].size(); ++i)
    if (std::any_of(found.begin(), found.end(), [&](const std::vector<ValueId>& each) { return each[i] != kZero; })) used.push_back(i);
  std::vector<ValueId> results(found[0].size(), kZero);
  if (used.empty()) return results;
  Bodies bodies;
  for (std::size_t k = 0; k < branches.size(); ++k) {
    std::vector<ValueId> given;
    for (std::size_t i : used) given.push_back(ops::instantiated(branches[k], found[k][i], q.types[order[i] + 1]));
    branches[k].set_results(given);
    bodies.push_back(body_ref(branches[k].finish()));
  }
  Attrs attrs = q.node.attrs;
  const std::vector<ValueId> emitted = b.emit(*q.node.op, operands, attrs.set("bodies", bodies));
  for (std::size_t i = 0; i < used.size(); ++i) results[used[i]] = emitted[i];
  return results;
}

// The manual axes that a sharding does not name, and how many devices they have.
std::pair<std::vector<std::string>, std::int64_t> unnamed(const Node& node, const Sharding& sharding, int rank) {
  const Mesh& mesh = sharding.mesh();
  std::vector<bool> named = is_automatic(node, mesh);
  for (const Axes& axes : sharding.spec(rank))
    for (const AxisPiece& piece : axes) named[std::size_t(piece.axis)] = true;
  std::pair<std::vector<std::string>, std::int64_t> out{{}, 1};
  for (std::size_t a = 0; a < named.size(); ++a)
    if (!named[a] && mesh.shape()[a] > 1) {
      out.first.push_back(mesh.axis_names()[a]);
      out.second *= mesh.shape()[a];
    }
  return out;
}

// psum is its own transpose. So that sums come out once: a result that is the same along axes was promised by each device, and each gets
// its part of the cotangent; an operand that all devices along axes took has the sum of what they say. Where all say the same that is no
// sum.
std::vector<ValueId> transpose_shard_map(GraphBuilder& b, const Question& q) {
  const Graph& body = *q.node.attrs.bodies()[0];
  const auto &in = q.node.attrs.shardings("in_specs"), &out = q.node.attrs.shardings("out_specs");
  GraphBuilder inner(body.name, config_for(body));
  std::vector<ValueId> operands, known, cotangents;
  std::vector<Sharding> in_specs, out_specs;
  for (std::size_t i = 0; i < q.operands.size(); ++i)
    if (!q.is_asked(i)) {
      operands.push_back(q.operands[i]);
      in_specs.push_back(in[i]);
      known.push_back(inner.param(body.type(body.params[i])));
    }
  for (std::size_t i = 0; i < q.cotangents.size(); ++i) {
    cotangents.push_back(kZero);
    if (q.cotangents[i] == kZero) continue;
    const TensorType& type = body.type(body.results[i]);
    const std::int64_t copies = unnamed(q.node, out[i], type.rank()).second;
    // JAX divides out here, which lets the cotangent lie otherwise than the code takes it; in there it may cancel with a sum.
    operands.push_back(copies > 1 ? ops::binary(b, ops::kMul, q.cotangents[i], 1.0) : q.cotangents[i]);
    in_specs.push_back(out[i]);
    cotangents.back() = inner.param(type);
    if (copies > 1) cotangents.back() = ops::binary(inner, ops::kDiv, cotangents.back(), double(copies));
  }
  std::vector<std::size_t> order = asked_first(q, 0);
  std::vector<ValueId> found = emit_transpose(inner, reordered(body, order), asked_count(q), known, cotangents);
  std::vector<ValueId> results;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == kZero) continue;
    out_specs.push_back(in[order[i]]);
    auto [axes, size] = unnamed(q.node, in[order[i]], body.type(body.params[order[i]]).rank());
    results.push_back(size > 1 ? inner.emit1(ops::kPsum, {found[i]}, Attrs{{"axis_name", axes}, {"axis_size", size}}) : found[i]);
  }
  if (results.empty()) return found;
  inner.set_results(results);
  const Graph transposed = inner.finish();
  const Graph code = without_sums_of_equals(transposed, varying_params(transposed, in_specs), mesh_of(q.node));
  Attrs attrs = q.node.attrs;
  attrs.set("bodies", Bodies{body_ref(code)}).set("in_specs", in_specs).set("out_specs", out_specs);
  std::vector<ValueId> emitted = b.emit(*q.node.op, operands, attrs);
  for (auto next = emitted.begin(); ValueId & id : found)
    if (id != kZero) id = *next++;
  return found;
}

std::vector<ValueId> transpose(GraphBuilder& b, const Question& q) {
  switch (q.node.op->region) {
    case RegionKind::kScan:
      return transpose_scan(b, q);
    case RegionKind::kBranch:
      return transpose_cond(b, q);
    case RegionKind::kManual:
      return transpose_shard_map(b, q);
    case RegionKind::kCall:
      if (q.node.op == &ops::kCustomLinearSolve) return transpose_linear_solve(b, q.node, q.operands, q.cotangents);
      if (q.node.op == &ops::kCustomVjpTangents) return transpose_custom_tangents(b, q.node, q.operands, q.cotangents);
      if (q.node.op != &ops::kCustomPartitioning) return transpose_checkpoint(b, q.node, q.operands, q.types, q.cotangents);
      [[fallthrough]];
    default:
      throw_no_rule(q.node, "Transpose rule (for reverse-mode differentiation)", "forward mode (jvp) works, or leave the op out");
  }
}

}  // namespace

std::vector<ValueId> emit_region_transpose(GraphBuilder& b, const Node& node, const std::vector<ValueId>& operands,
                                           const std::vector<TensorType>& operand_types, const std::vector<ValueId>& cotangents) {
  Question q{node, operands, operand_types, cotangents};
  std::vector<ValueId> found = transpose(b, q), all(operands.size(), kZero);
  std::size_t next = 0;
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (q.is_linear(i)) all[i] = found[next++];
  return all;
}

}  // namespace shardlab::transform
