// Whether 64-bit types are on in a graph that is transformed.
#pragma once

#include "runtime/core/config.h"
#include "runtime/graph/graph.h"

namespace shardlab::transform {

// The config for what is derived from `graph`: 64-bit types are on where it has one, so that what rules make by users' ops keeps them.
Config config_for(const Graph& graph);

}  // namespace shardlab::transform
