// Where what a function gives lies if its ops run one by one.
#pragma once

#include "runtime/spmd/propagate.h"

namespace shardlab {

// Per value of the graph whether it depends on a parameter that has a place, as `params` says, or says itself where it lies.
std::vector<bool> placed_values(const Graph& graph, const std::vector<bool>& params);

// Per result of the graph, whose parameters lie as `input` says, on a mesh with Auto axes: each op, or call of a compiled function, is
// propagated by itself, from where its operands lie. Nothing for what nobody has placed.
//
// Source: JAX runs functions that are not jitted so, under transformations too; functions of its library are compiled by themselves.
std::vector<std::optional<Spec>> results_by_ops(const spmd::PropagationInput& input);

}  // namespace shardlab
