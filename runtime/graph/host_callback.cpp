#include "runtime/graph/host_callback.h"

#include <algorithm>

#include "runtime/base/text.h"
#include "runtime/graph/carried.h"

namespace shardlab {

Attrs callback_attrs(HostCallback callback, Where where, std::uint64_t which) {
  return attrs_carrying(std::move(callback), {std::int64_t(hash_bytes(where.text())), std::int64_t(which)});
}

const HostCallback* callback_of(const Node& node) { return carried_by<HostCallback>(node.attrs); }

bool has_callbacks(const Graph& graph) {
  bool found = false;
  visit_nodes(graph, [&](const Node& node) { found = found || callback_of(node) != nullptr; });
  return found;
}

bool has_effects(const Node& node) {
  if (node.results.empty() || node.attrs.flag("effect")) return true;
  const Bodies& bodies = node.attrs.bodies();
  return std::any_of(bodies.begin(), bodies.end(),
                     [](const GraphRef& body) { return std::any_of(body->nodes.begin(), body->nodes.end(), has_effects); });
}

}  // namespace shardlab
