#include "runtime/transform/jvp.h"

#include <algorithm>

#include "runtime/ops/derive.h"
#include "runtime/transform/region.h"
#include "runtime/transform/typed_cotangents.h"
#include "runtime/transform/wide_types.h"

namespace shardlab::transform {
namespace {

bool is_zero(ValueId tangent) { return tangent == kZero; }

std::vector<ValueId> tangents_of(GraphBuilder& b, const Node& node, const std::vector<ValueId>& operands, std::vector<ValueId>& results,
                                 const std::vector<ValueId>& tangents) {
  std::vector<ValueId> none(results.size(), kZero);
  if (std::all_of(tangents.begin(), tangents.end(), is_zero)) return none;
  auto varies = [&](ValueId id) { return ops::has_tangent(b.type(id).dtype); };
  if (std::none_of(results.begin(), results.end(), varies)) return none;
  if (node.op->jvp == nullptr)
    throw_no_rule(node, "Differentiation rule",
                  "the op is not differentiable; stop_gradient its operands, or leave it out of the function");
  std::vector<ValueId> found = node.op->jvp(b, {*node.op, node.attrs, operands, results, tangents});
  SL_CHECK(found.size() == results.size(), "{}: its jvp rule gives {} tangents for {} results", node.op->name, found.size(),
           results.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!varies(results[i])) found[i] = kZero;
    SL_CHECK(found[i] == kZero || b.type(found[i]) == b.type(results[i]), "{}: its jvp rule gives {} for a result {}", node.op->name,
             b.type(found[i]).text(), b.type(results[i]).text());
  }
  return found;
}

}  // namespace

WithTangents emit_jvp(GraphBuilder& b, const Graph& graph, const std::vector<ValueId>& args, const std::vector<ValueId>& tangents) {
  SL_CHECK(args.size() == graph.params.size() && tangents.size() == args.size(), "{} arguments and {} tangents for {} parameters",
           args.size(), tangents.size(), graph.params.size());
  Renaming primal(graph), tangent(graph);
  for (std::size_t i = 0; i < args.size(); ++i) {
    primal[graph.params[i]] = args[i];
    tangent[graph.params[i]] = tangents[i];
  }
  for (const Node& node : graph.nodes) {
    with_place(b, node, [&] {
      std::vector<ValueId> operands = primal.of(node.operands), operand_tangents;
      for (ValueId id : node.operands) operand_tangents.push_back(tangent[id]);
      std::vector<ValueId> results, found;
      if (has_bodies(node) && !std::all_of(operand_tangents.begin(), operand_tangents.end(), is_zero)) {
        WithTangents both = emit_region_jvp(b, node, operands, operand_tangents);
        results = std::move(both.results);
        found = std::move(both.tangents);
      } else {
        results = is_typed_as_itself(node) ? std::vector{operands[0]} : b.emit(*node.op, operands, node.attrs);
        found = tangents_of(b, node, operands, results, operand_tangents);
      }
      for (std::size_t i = 0; i < results.size(); ++i) {
        primal[node.results[i]] = results[i];
        tangent[node.results[i]] = found[i];
      }
    });
  }
  b.set_place({}, "");
  WithTangents out{primal.of(graph.results), {}};
  for (ValueId id : graph.results) out.tangents.push_back(tangent[id]);
  return out;
}

Graph jvp(const Graph& graph, const std::vector<bool>& active) {
  GraphBuilder b(graph.name, config_for(graph));
  std::vector<ValueId> args, tangents;
  for (ValueId id : graph.params) args.push_back(b.param(graph.type(id)));
  for (std::size_t i = 0; i < args.size(); ++i) tangents.push_back(active[i] ? b.param(b.type(args[i])) : kZero);
  WithTangents out = emit_jvp(b, graph, args, tangents);
  std::vector<ValueId> results = out.results;
  for (std::size_t i = 0; i < out.results.size(); ++i)
    if (ops::has_tangent(b.type(out.results[i]).dtype)) results.push_back(ops::instantiated(b, out.tangents[i], b.type(out.results[i])));
  b.set_results(std::move(results));
  return without_dead_nodes(b.finish());
}

}  // namespace shardlab::transform
