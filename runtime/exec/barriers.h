// What waits for whole trees, and what keeps computations apart: block_until_ready, device_get, optimization_barrier.
#pragma once

#include "runtime/exec/host_array.h"
#include "runtime/exec/operand.h"
#include "runtime/exec/tree.h"

namespace shardlab {

// Waits until every leaf is computed; the tree itself. JAX: jax.block_until_ready(tree).
template <typename T>
T block_until_ready(const T& tree, std::source_location where = std::source_location::current()) {
  tree::for_each(tree, [&](const Array& leaf) { leaf.block_until_ready(where); });
  return tree;
}

// The leaves' values, in order. JAX: jax.device_get(tree), whose leaves stay in the tree.
template <typename T>
  requires(!std::is_same_v<T, Array>)
std::vector<HostArray> device_get(const T& tree, std::source_location where = std::source_location::current()) {
  std::vector<HostArray> values;
  tree::for_each(tree, [&](const Array& leaf) { values.emplace_back(leaf, where); });
  return values;
}

// The tree itself, of which nothing is computed together with what it was computed from: equal computations on both sides stay apart.
// JAX: jax.lax.optimization_barrier(tree).
template <typename T>
T optimization_barrier(const T& tree, std::source_location where = std::source_location::current()) {
  std::vector<Operand> operands;
  tree::for_each(tree, [&](const Array& leaf) { operands.emplace_back(leaf, where); });
  return operands.empty() ? tree : tree::unflatten(tree, apply("optimization_barrier", operands, {}, Where::from(where)));
}

}  // namespace shardlab
