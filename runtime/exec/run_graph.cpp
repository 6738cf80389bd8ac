#include "runtime/exec/run_graph.h"

#include "runtime/exec/context.h"
#include "runtime/exec/program_cache.h"
#include "runtime/exec/tracing.h"

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

std::vector<Array> run_graph(const Graph& graph, const std::vector<Array>& args, Where where) {
  Context& context = Context::current();
  if (context.tracer()) return context.tracer()->emit(graph, args, where);
  ProgramRequest request;
  request.name = graph.name;
  request.args = args;
  request.where = where;
  request.trace = [&](const std::optional<Mesh>&) { return graph; };
  return run_program(context, "graph " + print(graph) + signature_of(args), request);
}

std::vector<Array> joined(std::vector<Array> first, const std::vector<Array>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace shardlab
