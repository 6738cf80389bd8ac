// Host callbacks of code that all devices share: the first device of the mesh calls, and the others get what it got.
#pragma once

#include "runtime/graph/graph.h"

namespace shardlab::transform {

// Each such callback becomes per-device code, which takes whole operands and broadcasts the first device's results. Those of per-device
// code stay: every device calls for itself. Source: XLA's partitioner, which gives an instruction of one device whole operands and adds
// up its results with zeros of the others.
Graph with_callbacks_on_first(const Graph& graph, const Mesh& mesh);

}  // namespace shardlab::transform
