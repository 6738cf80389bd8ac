#include "runtime/transform/linearize.h"

#include "runtime/transform/split.h"
#include "runtime/transform/wide_types.h"

namespace shardlab::transform {

Linearized linearize(GraphBuilder& b, const Graph& graph, const std::vector<ValueId>& args, const std::vector<bool>& active) {
  SL_CHECK(args.size() == graph.params.size() && active.size() == args.size(), "{} arguments for {} parameters", args.size(),
           graph.params.size());
  GraphBuilder both(graph.name, config_for(graph));
  std::vector<ValueId> primals, tangents;
  for (ValueId id : graph.params) primals.push_back(both.param(graph.type(id)));
  for (std::size_t i = 0; i < primals.size(); ++i) tangents.push_back(active[i] ? both.param(both.type(primals[i])) : kZero);
  WithTangents out = emit_jvp(both, graph, primals, tangents);
  Split split(b, both.finish());
  for (std::size_t i = 0; i < primals.size(); ++i) {
    split.known_param(primals[i], args[i]);
    if (tangents[i] != kZero) split.unknown_param(tangents[i]);
  }
  split.run();
  return split.finish(out.results, out.tangents);
}

}  // namespace shardlab::transform
