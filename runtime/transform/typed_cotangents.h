// Tangents and cotangents that are of their values' types where shardings are in types.
#pragma once

#include "runtime/graph/graph.h"

namespace shardlab::transform {

// The graph with what ops of several operands take marked, in bodies too: a derivative of it moves tangents and cotangents there to the
// type of the value that they belong to. Without a derivative, and without types, nothing is left of the marks.
// Source: _unbroadcast in jax/_src/lax/lax.py, and out_sharding in the transposes of products, convolutions and sums.
Graph with_typed_cotangents(const Graph& graph);

// The same of what functions take that JAX jits (runtime/graph/unjitted.h): these take tangents to be of their values' types, wherever they
// lie. Source: _pjit_jvp in jax/_src/pjit.py.
Graph with_typed_tangents(const Graph& graph);

// Such a mark: it is the operand itself.
bool is_typed_as_itself(const Node& node);

}  // namespace shardlab::transform
