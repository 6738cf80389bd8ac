#include "runtime/exec/captured.h"

#include <algorithm>

#include "runtime/exec/array_impl.h"

namespace shardlab {

std::vector<Operand> operands_of(const std::vector<Array>& arrays, Where where) {
  std::vector<Operand> operands;
  for (const Array& each : arrays) operands.emplace_back(each, where);
  return operands;
}

std::vector<Array> all_captured(const std::vector<TracedBody>& bodies) {
  std::vector<Array> all;
  for (const TracedBody& body : bodies)
    for (const Array& each : body.captured)
      if (std::none_of(all.begin(), all.end(), [&](const Array& other) { return other.impl() == each.impl(); })) all.push_back(each);
  return all;
}

GraphRef with_captured(TracedBody body, const std::vector<Array>& captured, bool first) {
  Graph& graph = body.graph;
  std::size_t own = graph.params.size() - body.captured.size();
  std::vector<ValueId> params(graph.params.begin(), graph.params.begin() + std::ptrdiff_t(own)), taken;
  for (const Array& each : captured) {
    auto found = std::find_if(body.captured.begin(), body.captured.end(), [&](const Array& other) { return other.impl() == each.impl(); });
    if (found != body.captured.end()) {
      taken.push_back(graph.params[own + std::size_t(found - body.captured.begin())]);
    } else {
      taken.push_back(ValueId(graph.values.size()));
      graph.values.push_back({each.type(), -1, 0});
    }
  }
  params.insert(first ? params.begin() : params.end(), taken.begin(), taken.end());
  graph.params = std::move(params);
  for (std::size_t i = 0; i < graph.params.size(); ++i) graph.values[std::size_t(graph.params[i])].result_index = int(i);
  return std::make_shared<const Graph>(std::move(graph));
}

}  // namespace shardlab
