// Transformations of functions of arrays: derivatives and batches, eagerly as one cached program, inside jit as nodes.
//
// These take flat lists of arrays; runtime/exec/autodiff.h and vmap.h have the functions for users, over trees. Arrays that a function
// captures are constants to the derivative, and stay where they lie.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/exec/tree_function.h"
#include "runtime/graph/op_def.h"

namespace shardlab {

struct TransformOptions {
  std::string name = "f";    // of the function, for errors and the trace
  std::vector<bool> active;  // per argument: whether it varies; the others are constants
  Where where;
  bool holomorphic = false;  // gradients of complex numbers
};

// The results, then the gradients of the first one along the active arguments.
std::vector<Array> value_and_grad_of(const ArrayFunction& function, const std::vector<Array>& args, const TransformOptions& options);

// The results and their tangents, one each (zeros for integers and bool). `tangents`: one for each active argument.
struct WithTangents {
  std::vector<Array> results, tangents;
};
WithTangents jvp_of(const ArrayFunction& function, const std::vector<Array>& args, const std::vector<Array>& tangents,
                    const TransformOptions& options);

// The derivative at the arguments, ready for cotangents (pull) or tangents (push); both can be called many times.
struct Differential {
  std::vector<Array> results;
  ArrayFunction pull;  // cotangents of all results to cotangents of the active arguments
  ArrayFunction push;  // tangents of the active arguments to tangents of all results
};
Differential differential_of(const ArrayFunction& function, const std::vector<Array>& args, const TransformOptions& options);

// The function for each element of a batch; `in_axes` and `out_axes` as JAX's, none: not batched. Negative ones count from the end.
struct BatchOptions {
  std::string name = "f";
  std::vector<std::optional<int>> in_axes, out_axes;  // one a part of arguments and results or one a leaf; a single one stands for all
  Where where;
  BatchAxis axis = {.size = -1};  // -1: the size is the arguments'
  LeafCounts counts = {};         // of the arguments; empty: one leaf each
  KeyPaths paths = {};            // of the arguments' leaves
};
std::vector<Array> batched(const TreeFunction& function, const std::vector<Array>& args, const BatchOptions& options);

}  // namespace shardlab
