// custom_linear_solve: x with A x = b by a solver of the user's, which is never looked into.
//
// Source: JAX's custom_linear_solve. x' = A^-1 (b' - A' x), by the solver again; transposed it is the transposed system, by the solver for
// that, so derivatives of any order are solutions, too.
#include <algorithm>

#include "runtime/ops/derive.h"
#include "runtime/ops/primitives.h"
#include "runtime/ops/region_types.h"
#include "runtime/transform/region_bodies.h"

namespace shardlab::transform {
namespace {

// The node's bodies, each of the constants and then a vector. The last two are there where the system can be transposed.
enum Body : std::size_t { kSolve, kMatvec, kTransposeSolve, kVecmat };

std::size_t consts_of(const Node& node) { return std::size_t(node.attrs.integer("num_consts")); }

}  // namespace

WithTangents linear_solve_jvp(GraphBuilder& b, const Node& node, const std::vector<ValueId>& operands,
                              const std::vector<ValueId>& tangents) {
  const std::size_t consts = consts_of(node), count = node.results.size();
  WithTangents out;
  out.results = b.emit(*node.op, operands, node.attrs);
  std::vector<ValueId> right(tangents.begin() + std::ptrdiff_t(consts), tangents.end());
  if (std::any_of(tangents.begin(), tangents.begin() + std::ptrdiff_t(consts), [](ValueId id) { return id != kZero; })) {
    std::vector<ValueId> at(operands.begin(), operands.begin() + std::ptrdiff_t(consts)),
        changes(tangents.begin(), tangents.begin() + std::ptrdiff_t(consts));
    at.insert(at.end(), out.results.begin(), out.results.end());
    changes.resize(at.size(), kZero);
    const std::vector<ValueId> moved = emit_jvp(b, *node.attrs.bodies()[kMatvec], at, changes).tangents;
    b.set_place_of(node);
    for (std::size_t i = 0; i < count; ++i)
      if (moved[i] != kZero) right[i] = right[i] == kZero ? b.emit1(ops::kNeg, {moved[i]}) : b.emit1(ops::kSub, {right[i], moved[i]});
  }
  if (std::all_of(right.begin(), right.end(), [](ValueId id) { return id == kZero; })) {
    out.tangents.assign(count, kZero);
    return out;
  }
  std::vector<ValueId> system(operands.begin(), operands.begin() + std::ptrdiff_t(consts));
  for (std::size_t i = 0; i < count; ++i) system.push_back(ops::instantiated(b, right[i], b.type(out.results[i])));
  out.tangents = b.emit(*node.op, system, node.attrs);
  return out;
}

std::vector<ValueId> transpose_linear_solve(GraphBuilder& b, const Node& node, const std::vector<ValueId>& operands,
                                            const std::vector<ValueId>& cotangents) {
  const std::size_t consts = consts_of(node);
  const Bodies& bodies = node.attrs.bodies();
  if (bodies.size() <= kVecmat)
    throw_user_error("transpose_solve required for backwards mode automatic differentiation of custom_linear_solve [{}]",
                     node.where.text());
  std::vector<ValueId> system(operands.begin(), operands.begin() + std::ptrdiff_t(consts)), asked;
  SL_CHECK(std::find(system.begin(), system.end(), kAsked) == system.end(), "{}: its system varies", node.op->name);
  for (std::size_t i = 0; i < cotangents.size(); ++i) {
    const Graph& solve = *bodies[kSolve];
    system.push_back(ops::instantiated(b, cotangents[i], solve.type(solve.results[i])));
  }
  Attrs attrs = node.attrs;
  attrs.set("bodies", Bodies{bodies[kTransposeSolve], bodies[kVecmat], bodies[kSolve], bodies[kMatvec]});
  const std::vector<ValueId> found = b.emit(*node.op, system, attrs);
  for (std::size_t i = consts; i < operands.size(); ++i)
    if (operands[i] == kAsked) asked.push_back(found[i - consts]);
  return asked;
}

std::vector<Batched> batch_linear_solve(GraphBuilder& b, const Node& node, const std::vector<Batched>& operands, const BatchAxis& axis) {
  const std::size_t consts = consts_of(node);
  std::vector<int> dims;
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    dims.push_back(i < consts ? operands[i].dim : 0);
    values.push_back(i < consts ? operands[i].value : ops::batched_at(b, operands[i], 0, axis.size));
  }
  Bodies bodies;
  for (const GraphRef& body : node.attrs.bodies())
    bodies.push_back(body_ref(body_batch(*body, dims, axis, std::vector<bool>(body->results.size(), true)).graph));
  Attrs attrs = node.attrs;
  std::vector<Batched> results;
  for (ValueId id : b.emit(*node.op, values, attrs.set("bodies", bodies))) results.push_back({id, 0});
  return results;
}

}  // namespace shardlab::transform
