#include "runtime/graph/partition_callback.h"

#include "runtime/graph/carried.h"

namespace shardlab {

GraphRef with_partition(Graph body, PartitionCallback callback) { return carrying(std::move(body), std::move(callback)); }

const PartitionCallback* partition_of(const GraphRef& body) { return carried_by<PartitionCallback>(body); }

}  // namespace shardlab
