// The dimension numbers of gather and scatter. Source: StableHLO's specification of gather and scatter.
#pragma once

#include "runtime/graph/builder.h"

namespace shardlab::ops {

// The last dimension of the indices holds the index vectors, of which each names the start of one window of the operand; the other
// dimensions of the indices are *batch* dimensions. A window has the operand's dimensions without the collapsed and batching ones. The
// gathered (or the updates) have the batch dimensions and, at `offset`, those of the windows.
struct GatherDims {
  std::vector<std::int64_t> offset;            // of the gathered or updates: the dimensions of windows
  std::vector<std::int64_t> collapsed;         // of the operand: of window size 1, left out (scatter: inserted)
  std::vector<std::int64_t> index_map;         // of the operand: which dimension each number of an index vector is for
  std::vector<std::int64_t> operand_batching;  // of the operand: walked along with those of the indices in `indices_batching`
  std::vector<std::int64_t> indices_batching;

  explicit GatherDims(const Attrs& attrs);
  GatherDims() = default;
  void set(Attrs& attrs) const;

  bool is_collapsed(std::int64_t operand_dim) const;  // or batching: no dimension of windows
  // The operand's dimensions of windows, in order: the i-th belongs to dimension offset[i] of the gathered.
  std::vector<int> window_dims(int operand_rank) const;
  // The gathered's dimensions that are the batch dimensions of the indices, in order.
  std::vector<int> batch_dims(int gathered_rank) const;
  // UserError unless the numbers fit an operand, indices and the gathered of these shapes.
  void check(std::string_view op, const TensorType& operand, const TensorType& indices) const;
};

// What a device gives for an element that another device holds, as eight bytes that repeat: what adds nothing to it, which of floats is -0.
std::uint64_t elsewhere(DType dtype);

// The elements of x at `indices` along a dimension, each row by its own; all other dimensions are equal. Indices must be in bounds.
ValueId along_dim(GraphBuilder& b, ValueId x, ValueId indices, int dim);

}  // namespace shardlab::ops
