// What transposes give is of its operand's type where shardings are in types.
#pragma once

#include "runtime/graph/graph.h"

namespace shardlab::transform {

// The graph with what ops of several operands take marked, in bodies too: a derivative of it moves tangents and cotangents there to the
// type of the value that they belong to. Without a derivative, and without types, nothing is left of the marks.
// Source: _unbroadcast in jax/_src/lax/lax.py, and out_sharding in the transposes of products, convolutions and sums.
Graph with_typed_cotangents(const Graph& graph);

// Such a mark: it is the operand itself.
bool is_typed_as_itself(const Node& node);

}  // namespace shardlab::transform
