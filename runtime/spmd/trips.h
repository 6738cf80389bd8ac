// How often loops run.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/graph/graph.h"

namespace shardlab::spmd {

// Iterations beyond so many are not counted: what saves bytes in these is worth it.
inline constexpr std::int64_t kTripsMax = 128;

// Of a loop in `graph`: a scan's length, or as often as a loop runs whose condition follows from numbers that it starts from constants and
// changes by constants alone (a fori_loop), which is found by computing them. Nothing where it depends on anything else.
std::optional<std::int64_t> known_trips(const Graph& graph, const Node& loop);
// The same, or once; of other nodes with bodies once.
std::int64_t trips_of(const Graph& graph, const Node& node);

}  // namespace shardlab::spmd
