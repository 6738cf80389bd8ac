#include "runtime/spmd/lightened.h"

#include <algorithm>

#include "runtime/spmd/layout.h"

namespace shardlab::spmd {
namespace {

constexpr int kSkippedMax = 32;  // origins in nodes that are gone

ValueSharding along(const ValueSharding& value, const std::vector<int>& dims) {
  if (!value) return std::nullopt;
  std::vector<DimSharding> sharding;
  for (int d : dims) sharding.push_back(d < 0 ? DimSharding{} : (*value)[std::size_t(d)]);
  return sharding;
}

// Origins in the words of the lighter graph.
class OriginTranslator {
 public:
  OriginTranslator(const Propagation& from, const LighterGraph& to) : from_(from), to_(to), nodes_(from.graph.nodes.size(), -1) {
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      for (ValueId id : from.graph.nodes[n].results)
        if (const ValueId now = to.renamed[std::size_t(id)]; now >= 0) nodes_[n] = to.graph.values[std::size_t(now)].producer;
  }

  // The node that makes now what a node of the original made; -1: none.
  NodeId node(NodeId original) const { return nodes_[std::size_t(original)]; }

  std::vector<Origin> of(const LiesAs& lies) const {
    std::vector<Origin> origins;
    if (lies.value < 0) return origins;
    for (const Origin& origin : from_.origins[std::size_t(lies.value)]) {
      auto place = std::find(lies.dims.begin(), lies.dims.end(), origin.dimension);
      if (place == lies.dims.end()) continue;
      if (std::optional<Origin> translated = translate(origin)) {
        translated->dimension = int(place - lies.dims.begin());
        origins.push_back(*translated);
      }
    }
    return origins;
  }

 private:
  // Through nodes that are gone to the origin before them.
  std::optional<Origin> translate(Origin origin) const {
    for (int skipped = 0; skipped < kSkippedMax; ++skipped) {
      const NodeId node = origin.node < 0 ? -1 : nodes_[std::size_t(origin.node)];
      const bool names_node = origin.kind == Origin::Kind::kRule || origin.kind == Origin::Kind::kBody;
      const ValueId from = origin.from < 0 ? -1 : to_.renamed[std::size_t(origin.from)];
      if ((!names_node || node >= 0) && (origin.kind != Origin::Kind::kRule || from >= 0)) {
        origin.node = node;
        origin.from = from;
        return origin;
      }
      if (origin.from < 0) return std::nullopt;
      const auto& earlier = from_.origins[std::size_t(origin.from)];
      auto next = std::find_if(earlier.begin(), earlier.end(),
                               [&](const Origin& each) { return overlaps(each.piece, origin.piece) && each.step < origin.step; });
      if (next == earlier.end()) return std::nullopt;
      origin = *next;
    }
    return std::nullopt;
  }

  const Propagation& from_;
  const LighterGraph& to_;
  std::vector<NodeId> nodes_;  // per node of the original; -1: gone
};

}  // namespace

std::optional<Propagation> lightened(const Propagation& propagation, Lighten lighten) {
  auto spec_of = [&](const LiesAs& lies) {
    const Shape& whole = propagation.graph.type(lies.value).shape;
    Shape shape;
    for (int d : lies.dims) shape.push_back(d < 0 ? 1 : whole[std::size_t(d)]);
    return normalised(propagated_spec(along(propagation.values[std::size_t(lies.value)], lies.dims), shape));
  };
  auto lie_alike = [&](const LiesAs& a, const LiesAs& b) { return a == b || spec_of(a) == spec_of(b); };
  std::optional<LighterGraph> lighter = lighten(propagation.graph, lie_alike);
  if (!lighter) return std::nullopt;
  Propagation result;
  const OriginTranslator origins(propagation, *lighter);
  for (const LiesAs& lies : lighter->values) {
    result.values.push_back(lies.value < 0 ? std::nullopt : along(propagation.values[std::size_t(lies.value)], lies.dims));
    result.origins.push_back(origins.of(lies));
  }
  result.graph = std::move(lighter->graph);
  for (const auto& [node, bodies] : propagation.bodies) {
    const NodeId now = origins.node(node);
    if (now >= 0 && result.graph.nodes[std::size_t(now)].attrs.bodies().size() == bodies->size()) result.bodies[now] = bodies;
  }
  result.results = propagation.results;
  return result;
}

}  // namespace shardlab::spmd
