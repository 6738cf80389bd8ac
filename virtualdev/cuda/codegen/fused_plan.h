// The kernel of a fused step.
#pragma once

#include "runtime/exec/fuse.h"
#include "virtualdev/cuda/codegen/node_plan.h"

namespace shardlab::cuda {

// Who goes through a row of a step with reductions: one thread, where rows are short, or the threads of a block; or those of a block go
// through a tile of several, where columns are reduced.
enum class RowOf : std::uint8_t { kThread, kBlock, kTile };
RowOf row_of(const FusedStep& step, const FusedStep::Rows& rows);

// Buffers: the step's inputs, then its outputs; numbers: rows and the elements of each, then each repetition's Repeats. Values inside stay
// in registers; those between two reductions are computed once for each reduction that needs them, and once for the results.
// Of tiles the last numbers are ColumnParts' size and count; in a column's place are accumulators, as many as there are parts, each of all
// columns.
KernelText fused_kernel(const FusedStep& step, RowOf row_of);

// Into how many parts of so many rows columns are cut, and how many tiles that makes, for a kernel of tiles that takes so many lanes.
constexpr std::int64_t kTileWidth = 32;  // ColumnTile of kernels/reduce.cuh
struct ColumnParts {
  std::int64_t count = 1, size = 1, tiles = 0;
};
ColumnParts column_parts(const FusedStep::Rows& rows, int lanes);
// What makes the elements of these: buffers: parts, results; numbers: blocks, parts, columns, 1.
KernelText column_end(const FusedStep::Op& op);

}  // namespace shardlab::cuda
