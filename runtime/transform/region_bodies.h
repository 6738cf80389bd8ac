// What the rules of nodes with bodies share about bodies: cut by what is known, batched, with tangents.
#pragma once

#include "runtime/transform/region.h"
#include "runtime/transform/split.h"

namespace shardlab::transform {

// A body cut by which of its parameters are known.
class BodySplit {
 public:
  BodySplit(const Graph& body, const std::vector<bool>& unknown);

  bool varies(std::size_t result) const { return split_.varies(body_.results[result]); }
  bool varies_value(ValueId id) const { return split_.varies(id); }
  // In the builder, of a value that does not vary.
  ValueId known(ValueId id) const { return split_.known(id); }
  void finish(const std::vector<bool>& is_linear);

  GraphBuilder& builder() { return b_; }
  const Linearized& cut() const { return cut_; }
  // The parameter of the body that a residual is, or -1.
  int param_of(ValueId residual) const {
    return residual < ValueId(param_of_.size()) ? param_of_[std::size_t(residual)] : -1;  // parameters are a builder's first values
  }

 private:
  const Graph& body_;
  GraphBuilder b_;
  std::vector<int> param_of_;
  Split split_;
  Linearized cut_;
};

// Which operands from `first` on are unknown (kZero).
std::vector<bool> unknown_of(const std::vector<ValueId>& known, std::size_t first = 0);
// The known results in their places, and which results are linear.
void place_results(RegionSplit& out, const std::vector<bool>& is_linear, const std::vector<ValueId>& known);

// What bodies keep: of each the value, or kZero.
using TypedValue = std::pair<TensorType, ValueId>;
struct SharedPlace {
  TensorType type;
  std::vector<ValueId> values;
};
// Values of one type share a place, those of a body in their order, as in JAX: what lies there lies alike in all branches.
std::vector<SharedPlace> shared_places(const std::vector<std::vector<TypedValue>>& of_bodies);

// A body on parameters that have the batch where `dims` says. Results that are batched, or are `wanted` so, have it as their first
// dimension.
struct BodyBatch {
  Graph graph;
  std::vector<bool> batched;  // per result, before what is wanted
};
BodyBatch body_batch(const Graph& body, const std::vector<int>& dims, const BatchAxis& axis, const std::vector<bool>& wanted);

// --- Calls: checkpoint, and functions with derivatives of their own.

RegionSplit split_checkpoint(GraphBuilder& b, const Node& node, const std::vector<ValueId>& known);
// `operands` as a TransposeRule's; the cotangents of those that are asked for, in order.
std::vector<ValueId> transpose_checkpoint(GraphBuilder& b, const Node& node, const std::vector<ValueId>& operands,
                                          const std::vector<TensorType>& types, const std::vector<ValueId>& cotangents);

WithTangents custom_jvp(GraphBuilder& b, const Node& node, const std::vector<ValueId>& operands, const std::vector<ValueId>& tangents);
// Their tangents, and calls of functions that are linear: nothing is known of the results.
RegionSplit split_whole(const Node& node, const std::vector<ValueId>& known);
std::vector<ValueId> transpose_custom_tangents(GraphBuilder& b, const Node& node, const std::vector<ValueId>& operands,
                                               const std::vector<ValueId>& cotangents);
WithTangents linear_solve_jvp(GraphBuilder& b, const Node& node, const std::vector<ValueId>& operands,
                              const std::vector<ValueId>& tangents);
std::vector<ValueId> transpose_linear_solve(GraphBuilder& b, const Node& node, const std::vector<ValueId>& operands,
                                            const std::vector<ValueId>& cotangents);
std::vector<Batched> batch_linear_solve(GraphBuilder& b, const Node& node, const std::vector<Batched>& operands, const BatchAxis& axis);
std::vector<Batched> batch_custom(GraphBuilder& b, const Node& node, const std::vector<Batched>& operands, const BatchAxis& axis);
std::vector<Batched> batch_custom_tangents(GraphBuilder& b, const Node& node, const std::vector<Batched>& operands, const BatchAxis& axis);

}  // namespace shardlab::transform
