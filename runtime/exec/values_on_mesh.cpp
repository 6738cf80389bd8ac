#include "runtime/exec/values_on_mesh.h"

#include <algorithm>

#include "runtime/ops/calls.h"
#include "runtime/ops/primitives.h"

namespace shardlab {
namespace {

// Its operand for every element of a batch, and on the mesh if that is.
bool repeats(const Node& node) { return node.op == &ops::kCutAsBatch || node.attrs.has(ops::kRepeatedDim); }

// Source: the sharding rules in jax/_src/lax that ask for the context's mesh.
bool starts_on_context_mesh(const Node& node) {
  return node.op->elementwise || node.op->constant || node.operands.empty() || node.op == &ops::kBroadcastInDim;
}

// Of a loop what its body gives; of a choice what some branch does.
std::vector<bool> from_bodies(const Node& node, const std::vector<bool>& operands, MeshSource source) {
  const bool chooses = node.op->region == RegionKind::kBranch;
  const Bodies& bodies = node.attrs.bodies();
  std::vector<bool> results(node.results.size(), false);
  for (auto body = chooses ? bodies.begin() : bodies.end() - 1; body != bodies.end(); ++body) {
    const std::vector<bool> inside = values_on_mesh(**body, {operands.begin() + (chooses ? 1 : 0), operands.end()}, source);
    for (std::size_t r = 0; r < results.size(); ++r) results[r] = results[r] || inside[std::size_t((*body)->results[r])];
  }
  return results;
}

}  // namespace

std::vector<bool> values_on_mesh(const Graph& graph, const std::vector<bool>& params, MeshSource source) {
  std::vector<bool> on(graph.values.size(), false);
  for (std::size_t i = 0; i < params.size(); ++i) on[std::size_t(graph.params[i])] = params[i];
  for (const Node& node : graph.nodes) {
    std::vector<bool> operands;
    for (ValueId id : node.operands) operands.push_back(on[std::size_t(id)]);
    const bool any = std::find(operands.begin(), operands.end(), true) != operands.end();
    std::vector<bool> results(node.results.size(), any);
    if (node.attrs.has(ops::kCapturedCommitted)) {
      results = {node.attrs.flag(ops::kCapturedCommitted)};
    } else if (repeats(node)) {
      results = {operands[0] || (source == MeshSource::kEagerOps && node.op == &ops::kCutAsBatch)};
    } else if (node.op->is_constraint || node.op->region == RegionKind::kManual || source == MeshSource::kEagerOps) {
      results.assign(results.size(), true);
    } else if (node.op->region == RegionKind::kScan || node.op->region == RegionKind::kWhile || node.op->region == RegionKind::kBranch) {
      results = from_bodies(node, operands, source);
    } else if (source == MeshSource::kTracedOps && starts_on_context_mesh(node)) {
      results.assign(results.size(), true);
    }
    for (std::size_t r = 0; r < results.size(); ++r) on[std::size_t(node.results[r])] = results[r];
  }
  return on;
}

}  // namespace shardlab
