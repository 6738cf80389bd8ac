// Leaves out what no result needs: nodes, or also parts of nodes with bodies.
#include <algorithm>
#include <map>

#include "runtime/base/selected.h"
#include "runtime/graph/dead_parts.h"
#include "runtime/graph/host_callback.h"

namespace shardlab {
namespace {

using Mask = std::vector<bool>;

bool any(const Mask& mask) { return std::find(mask.begin(), mask.end(), true) != mask.end(); }
bool all(const Mask& mask) { return std::find(mask.begin(), mask.end(), false) == mask.end(); }

enum class Depth : std::uint8_t { kNodes, kParts };

class Live {
 public:
  // What the wanted results need.
  Live(const Graph& graph, const Mask& wanted, Depth depth)
      : graph_(graph), wanted_(wanted), live_(graph.nodes.size()), needed_(graph.values.size()) {
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i]) needed_[std::size_t(graph.results[i])] = true;
    for (std::size_t n = graph.nodes.size(); n-- > 0;) {
      const Node& node = graph.nodes[n];
      Mask used = of(node.results, needed_);
      live_[n] = any(used) || has_effects(node);
      if (!live_[n]) continue;
      if (depth == Depth::kParts && !node.attrs.bodies().empty() && any(used)) {
        Node part = node;
        if (prune(part, used)) pruned_[n] = std::move(part);
      }
      for (ValueId id : at(n).operands) needed_[std::size_t(id)] = true;
    }
  }

  Mask used_params() const { return of(graph_.params, needed_); }
  bool is_all_live() const { return all(live_) && pruned_.empty(); }

  Graph copy(const Mask& params, std::vector<ValueId>* sources = nullptr) const {
    Graph result;
    result.name = graph_.name;
    std::vector<ValueId> renamed(graph_.values.size(), -1);
    auto copy_value = [&](ValueId id, NodeId producer, std::size_t index) {
      renamed[std::size_t(id)] = ValueId(result.values.size());
      result.values.push_back({graph_.values[std::size_t(id)].type, producer, int(index)});
      if (sources != nullptr) sources->push_back(id);
      return renamed[std::size_t(id)];
    };
    for (ValueId id : selected(graph_.params, params)) result.params.push_back(copy_value(id, -1, result.params.size()));
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!live_[n]) continue;
      Node node = at(n);
      for (ValueId& id : node.operands) id = renamed[std::size_t(id)];
      for (std::size_t i = 0; i < node.results.size(); ++i) node.results[i] = copy_value(node.results[i], NodeId(result.nodes.size()), i);
      result.nodes.push_back(std::move(node));
    }
    for (ValueId id : selected(graph_.results, wanted_)) result.results.push_back(renamed[std::size_t(id)]);
    return result;
  }

 private:
  static Mask of(const std::vector<ValueId>& ids, const Mask& values) {
    Mask mask;
    for (ValueId id : ids) mask.push_back(values[std::size_t(id)]);
    return mask;
  }

  const Node& at(std::size_t n) const {
    auto found = pruned_.find(n);
    return found == pruned_.end() ? graph_.nodes[n] : found->second;
  }

  static void keep(Node& node, const Mask& operands, const Mask& results) {
    node.operands = selected(node.operands, operands);
    node.results = selected(node.results, results);
  }

  // Whether anything was left out.
  static bool prune(Node& node, const Mask& used) {
    switch (node.op->region) {
      case RegionKind::kManual:
        return prune_manual(node, used);
      case RegionKind::kBranch:
        return prune_branches(node, used);
      case RegionKind::kScan:
        return prune_scan(node, used);
      default:
        return false;
    }
  }

  static bool prune_manual(Node& node, const Mask& used) {
    Live body(*node.attrs.bodies()[0], used, Depth::kParts);
    Mask operands = body.used_params();
    if (all(operands) && all(used) && body.is_all_live()) return false;
    Attrs attrs = node.attrs;
    attrs.set("in_specs", selected(attrs.shardings("in_specs"), operands)).set("out_specs", selected(attrs.shardings("out_specs"), used));
    node.attrs = attrs.set("bodies", one(body.copy(operands)));
    keep(node, operands, used);
    return true;
  }

  // Operand 0 says which branch; the branches take the others.
  static bool prune_branches(Node& node, const Mask& used) {
    std::vector<Live> branches;
    Mask params(node.operands.size() - 1, false);
    bool is_all_live = true;
    for (const GraphRef& branch : node.attrs.bodies()) {
      Mask own = branches.emplace_back(*branch, used, Depth::kParts).used_params();
      is_all_live = is_all_live && branches.back().is_all_live();
      for (std::size_t i = 0; i < params.size(); ++i) params[i] = params[i] || own[i];
    }
    if (all(params) && all(used) && is_all_live) return false;
    Bodies bodies;
    for (const Live& branch : branches) bodies.push_back(std::make_shared<const Graph>(branch.copy(params)));
    Attrs attrs = node.attrs;
    node.attrs = attrs.set("bodies", bodies);
    params.insert(params.begin(), true);
    keep(node, params, used);
    return true;
  }

  // What is carried is wanted of the body, too, where the body reads it.
  static bool prune_scan(Node& node, const Mask& used) {
    const std::size_t consts = std::size_t(node.attrs.integer("num_consts", 0)), carried = std::size_t(node.attrs.integer("num_carry", 0));
    Mask wanted = used;
    while (true) {
      Live body(*node.attrs.bodies()[0], wanted, Depth::kParts);
      Mask operands = body.used_params();
      bool is_closed = true;
      for (std::size_t i = 0; i < carried; ++i) {
        is_closed = is_closed && (wanted[i] || !operands[consts + i]);
        wanted[i] = wanted[i] || operands[consts + i];
        operands[consts + i] = wanted[i];
      }
      if (!is_closed) continue;
      if (all(operands) && all(wanted) && body.is_all_live()) return false;
      Attrs attrs = node.attrs;
      attrs.set("num_consts", std::int64_t(std::count(operands.begin(), operands.begin() + std::ptrdiff_t(consts), true)));
      attrs.set("num_carry", std::int64_t(std::count(wanted.begin(), wanted.begin() + std::ptrdiff_t(carried), true)));
      node.attrs = attrs.set("bodies", one(body.copy(operands)));
      keep(node, operands, wanted);
      return true;
    }
  }

  static Bodies one(Graph body) { return {std::make_shared<const Graph>(std::move(body))}; }

  const Graph& graph_;
  const Mask wanted_;
  std::map<std::size_t, Node> pruned_;  // nodes with bodies, as they are left
  Mask live_, needed_;                  // nodes, values
};

}  // namespace

static Graph live(const Graph& graph, Depth depth, std::vector<ValueId>* sources = nullptr) {
  return Live(graph, Mask(graph.results.size(), true), depth).copy(Mask(graph.params.size(), true), sources);
}

Graph without_dead_nodes(const Graph& graph) { return live(graph, Depth::kNodes); }
Graph without_dead_nodes(const Graph& graph, std::vector<ValueId>& sources) {
  sources.clear();
  return live(graph, Depth::kNodes, &sources);
}
Graph without_dead_parts(const Graph& graph) { return live(graph, Depth::kParts); }

}  // namespace shardlab
