#include "runtime/graph/partition_callback.h"

namespace shardlab {
namespace {

struct Deleter {
  PartitionCallback callback;
  void operator()(const Graph* graph) const { delete graph; }
};

}  // namespace

GraphRef with_partition(Graph body, PartitionCallback callback) { return {new Graph(std::move(body)), Deleter{std::move(callback)}}; }

const PartitionCallback* partition_of(const GraphRef& body) {
  const auto* deleter = std::get_deleter<Deleter>(body);
  return deleter != nullptr ? &deleter->callback : nullptr;
}

}  // namespace shardlab
