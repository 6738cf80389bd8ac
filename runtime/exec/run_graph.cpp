#include "runtime/exec/run_graph.h"

#include <algorithm>
#include <map>

#include "runtime/base/selected.h"
#include "runtime/exec/context.h"
#include "runtime/exec/program_cache.h"
#include "runtime/exec/results_by_ops.h"
#include "runtime/exec/signature.h"
#include "runtime/exec/tracing.h"
#include "runtime/graph/host_callback.h"
#include "runtime/transform/used_params.h"

namespace shardlab {

void check_args(const std::vector<Array>& args, std::string_view name, Where where) {
  for (const Array& arg : args)
    if (!arg.valid()) throw_user_error("{} at {}: an empty Array is passed; give it a value first", name, where.text());
}

std::vector<TensorType> types_of(const std::vector<Array>& arrays) {
  std::vector<TensorType> types;
  for (const Array& array : arrays) types.push_back(array.type());
  return types;
}

std::optional<Mesh> mesh_of_arrays(Context& context, const std::vector<Array>& args, const std::string& name, Where where) {
  if (context.tracer()) return context.tracer()->mesh();
  ProgramRequest request;
  request.name = name;
  request.args = args;
  request.where = where;
  return mesh_of(request, nullptr);
}

namespace {

// Which nodes are calls together, by which results lie; the graph's text does not tell.
std::string calls_text(const Graph& graph) {
  std::map<CallRef, std::size_t> numbers;
  std::string text = " by ops";
  for (const Node& node : graph.nodes)
    fmt::format_to(std::back_inserter(text), " {}.{}",
                   node.call ? numbers.try_emplace(outermost(node.call), numbers.size()).first->second + 1 : 0, node.call_result);
  return text;
}

std::vector<Array> run(const Graph& graph, const std::vector<Array>& args, Where where, bool lies_by_ops) {
  Context& context = Context::current();
  if (context.tracer()) return context.tracer()->emit(graph, args, where);
  ProgramRequest request;
  request.lies_by_ops = lies_by_ops;
  request.name = graph.name;
  request.args = args;
  request.where = where;
  request.trace = [&](const std::vector<Array>&, const std::optional<Mesh>&) { return graph; };
  return run_program(context, "graph " + print(graph) + (lies_by_ops ? calls_text(graph) : "") + signature_of(args), request);
}

std::vector<bool> placed_results(const Graph& graph, const std::vector<Array>& args) {
  std::vector<bool> params, results;
  for (const Array& arg : args) params.push_back(arg.committed());
  const std::vector<bool> placed = placed_values(graph, params);
  for (ValueId id : graph.results) results.push_back(placed[std::size_t(id)]);
  return results;
}

std::vector<Array> run_part(Graph graph, const std::vector<bool>& results, const std::vector<Array>& args, Where where) {
  graph.results = selected(graph.results, results);
  graph = without_dead_nodes(graph);
  const std::vector<bool> used = transform::used_params(graph);
  return run(transform::with_params(graph, used), selected(args, used), where, true);
}

}  // namespace

std::vector<Array> run_graph(const Graph& graph, const std::vector<Array>& args, Where where) { return run(graph, args, where, false); }

std::vector<Array> run_graph_by_ops(const Graph& graph, const std::vector<Array>& args, Where where) {
  Context& context = Context::current();
  if (context.tracer() || context.mesh() || std::any_of(graph.nodes.begin(), graph.nodes.end(), has_effects))
    return run(graph, args, where, true);
  std::vector<bool> placed = placed_results(graph, args);
  const auto count = std::size_t(std::count(placed.begin(), placed.end(), true));
  if (count == 0 || count == placed.size()) return run(graph, args, where, true);
  const std::vector<Array> there = run_part(graph, placed, args, where);
  std::vector<bool> rest = placed;
  rest.flip();
  const std::vector<Array> here = run_part(graph, rest, args, where);
  std::vector<Array> results;
  for (std::size_t i = 0, next = 0; i < placed.size(); ++i) {
    results.push_back(placed[i] ? there[next] : here[i - next]);
    next += placed[i];
  }
  return results;
}

std::vector<Array> joined(std::vector<Array> first, const std::vector<Array>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace shardlab
