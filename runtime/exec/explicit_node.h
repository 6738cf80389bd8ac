// One op's result shardings from its operands' alone, with JAX's texts where they are ambiguous.
#pragma once

#include "runtime/core/sharding.h"
#include "runtime/graph/graph.h"

namespace shardlab {

// "i", or "(i,j)" for several axes.
std::string axes_text(const Axes& axes, const Mesh& mesh);

// JAX's reshape: dimensions that stay, ones that come and go, a merge or split whose cut dimension leads and divides. Other cuts are left
// out, and not told.
struct Reshaped {
  Spec spec;
  bool is_told;
};
Reshaped reshaped_spec(const Spec& spec, const Shape& from, const Shape& to);

// `operands`: their specs. `has_out_sharding`: the result is asked for in some sharding, which resolves what is ambiguous.
std::vector<Spec> typed_results(const Graph& graph, const Node& node, const Mesh& mesh, const std::vector<Spec>& operands,
                                bool has_out_sharding);

}  // namespace shardlab
