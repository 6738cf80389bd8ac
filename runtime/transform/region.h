// Derivatives, transposes and batches of nodes with bodies: their bodies go through the same transformations.
//
// Ops give their rules in runtime/ops; those of nodes with bodies are here, since they need the transformations themselves.
// Source: the rules are those of JAX's scan, cond, while_loop and (without varying axes) shard_map.
#pragma once

#include "runtime/transform/jvp.h"

namespace shardlab::transform {

inline bool has_bodies(const Node& node) { return node.op->region != RegionKind::kNone; }

// The node with its tangents; at least one of `tangents` is not kZero.
WithTangents emit_region_jvp(GraphBuilder& b, const Node& node, const std::vector<ValueId>& operands, const std::vector<ValueId>& tangents);

// A node cut in two: what does not depend on tangents is emitted; the rest is a node that takes residuals from it.
struct RegionSplit {
  std::vector<ValueId> known_results;  // in the builder; kZero for those of the linear node
  const OpDef* op = nullptr;           // of the linear node
  Attrs attrs;
  // Its operands: an operand of the node that depends on tangents, or a residual in the builder.
  struct LinearOperand {
    int operand = -1;
    ValueId residual = kZero;
  };
  std::vector<LinearOperand> operands;
  std::vector<int> results;  // which of the node's results it makes, in order
};
// `known[i]` is the operand's value in the builder, kZero where it depends on tangents. UserError with JAX's text for while_loop.
RegionSplit split_region(GraphBuilder& b, const Node& node, const std::vector<ValueId>& known);

// As a TransposeRule.
std::vector<ValueId> emit_region_transpose(GraphBuilder& b, const Node& node, const std::vector<ValueId>& operands,
                                           const std::vector<TensorType>& operand_types, const std::vector<ValueId>& cotangents);
// As a BatchRule.
std::vector<Batched> emit_region_batch(GraphBuilder& b, const Node& node, const std::vector<Batched>& operands, const BatchAxis& axis);

// --- What they share.

// The operands of a loop: constant ones, carried ones, and those that are scanned over.
struct LoopParts {
  std::size_t consts = 0, carried = 0;
  std::size_t first_x() const { return consts + carried; }
};
LoopParts loop_parts(const Node& node);
Attrs with_parts(const Node& node, std::size_t consts, std::size_t carried);
GraphRef body_ref(Graph body);
// The same graph with its parameters in another order: order[i] is the old number of parameter i.
Graph reordered(Graph graph, const std::vector<std::size_t>& order);
// Of per-device code its mesh.
const Mesh& mesh_of(const Node& node);
// Of per-device code, per axis of the mesh whether it stays automatic.
std::vector<bool> is_automatic(const Node& node, const Mesh& mesh);
// Whether such code has shardings in types: those by Explicit axes that stay automatic. `manual_around`: the axes of code around it.
bool leaves_explicit_axes(const Node& code, const std::vector<std::string>& manual_around = {});
// A spec with one more leading dimension, cut by these axes.
Sharding with_leading(const Sharding& sharding, int rank, const Axes& axes);

}  // namespace shardlab::transform
