// What the transformations of functions share: graphs made of them, run at once or emitted where a function is being traced.
#pragma once

#include <optional>
#include <string_view>

#include "runtime/exec/array.h"
#include "runtime/graph/graph.h"

namespace shardlab {

class Context;

// UserError where an argument of `name` is empty.
void check_args(const std::vector<Array>& args, std::string_view name, Where where);
std::vector<TensorType> types_of(const std::vector<Array>& arrays);
// For specs without a mesh: that of the function being traced, or the arguments'.
std::optional<Mesh> mesh_of_arrays(Context& context, const std::vector<Array>& args, const std::string& name, Where where);
// Inside a function being traced the graph's nodes are emitted there; else it is a program of its own, known by its text.
std::vector<Array> run_graph(const Graph& graph, const std::vector<Array>& args, Where where);
// The same of a function whose ops JAX runs one by one: results lie as if they did (results_by_ops.h), and what depends on no committed
// argument is a program of its own, on one device.
std::vector<Array> run_graph_by_ops(const Graph& graph, const std::vector<Array>& args, Where where);
std::vector<Array> joined(std::vector<Array> first, const std::vector<Array>& second);

}  // namespace shardlab
