#include "runtime/graph/host_callback.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/text.h"

namespace shardlab {
namespace {

constexpr std::string_view kCallback = "callback";

struct Deleter {
  HostCallback callback;
  void operator()(const Literal* literal) const { delete literal; }
};

}  // namespace

Attrs callback_attrs(HostCallback callback, Where where, std::uint64_t which) {
  const std::uint64_t numbers[] = {hash_bytes(where.text()), which};
  const TensorType type{DType::kInt64, {2}};
  auto data = std::make_shared<Buffer>(sizeof numbers);
  std::memcpy(data->data(), numbers, sizeof numbers);
  std::shared_ptr<const Literal> literal(new Literal{type, std::move(data)}, Deleter{std::move(callback)});
  return Attrs{{std::string(kCallback), literal}};
}

const HostCallback* callback_of(const Node& node) {
  const AttrValue* value = node.attrs.find(kCallback);
  const auto* literal = value ? std::get_if<std::shared_ptr<const Literal>>(value) : nullptr;
  const Deleter* deleter = literal ? std::get_deleter<Deleter>(*literal) : nullptr;
  return deleter ? &deleter->callback : nullptr;
}

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
