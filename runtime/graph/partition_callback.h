// A user's own partition of a node: what each device runs, once the shardings around the node are known.
//
// It travels with the pointer to the node's body (runtime/graph/carried.h).
#pragma once

#include <functional>

#include "runtime/graph/graph.h"

namespace shardlab {

// The node as the planner meets it. Shardings are on the program's mesh, even.
struct PartitionRequest {
  const Mesh& mesh;
  std::vector<TensorType> args, results;  // of the whole arrays
  std::vector<Sharding> arg_shardings, result_shardings;
};
// What every device runs on its tiles of the operands, cut by arg_shardings; its results are tiles by result_shardings.
struct PartitionAnswer {
  GraphRef body;
  std::vector<Sharding> arg_shardings, result_shardings;
};
using PartitionCallback = std::function<PartitionAnswer(const PartitionRequest&)>;

// The body with this callback attached.
GraphRef with_partition(Graph body, PartitionCallback callback);
// The callback of a body, or nullptr (of one that was parsed from text, too): it is partitioned like any other graph.
const PartitionCallback* partition_of(const GraphRef& body);

}  // namespace shardlab
