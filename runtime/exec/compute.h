// One step of local computation: a node, on all local devices at once.
#pragma once

#include <vector>

#include "runtime/exec/epilogue.h"
#include "runtime/exec/thread_pool.h"
#include "runtime/graph/graph.h"

namespace shardlab {

// Per operand and result: buffers and boxes by mesh position.
struct ComputeCall {
  std::int64_t step;  // the step's number: the same at every launch, of no other step
  const Node& node;
  const Graph& graph;
  const std::vector<int>& local;  // positions to compute
  std::vector<const std::vector<BufferRef>*> operands;
  std::vector<const std::vector<Box>*> operand_boxes;
  std::vector<std::vector<BufferRef>*> results;
  std::vector<const std::vector<Box>*> result_boxes;
  const Epilogue* epilogue = nullptr;  // of a product whose result is that of the last node that it does
};

// Fills the results at the local positions. Devices whose operands are the same buffers share one computation and its result; where there
// are fewer computations than threads, rows of a result are computed beside each other. `worth`: elements of operands and results from
// which on a thread of its own gains more than it costs.
void compute(ComputeCall& call, ThreadPool& pool, std::int64_t worth = 32 * 1024);

}  // namespace shardlab
