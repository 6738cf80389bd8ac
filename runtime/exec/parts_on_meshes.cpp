#include "runtime/exec/parts_on_meshes.h"

#include <algorithm>
#include <functional>
#include <map>

#include "runtime/exec/foreign_meshes.h"
#include "runtime/graph/builder.h"
#include "runtime/graph/host_callback.h"
#include "runtime/ops/region_types.h"
#include "runtime/spmd/layout.h"
#include "runtime/spmd/partial_manual.h"
#include "runtime/spmd/propagate.h"
#include "runtime/spmd/work.h"

namespace shardlab {
namespace {

using Shardings = std::vector<std::optional<Sharding>>;

bool is_code(const Node& node) { return node.op->region == RegionKind::kManual; }

// The shardings that a node speaks of.
void visit_shardings(const Node& node, const std::function<void(const Sharding&)>& visit) {
  if (node.op->is_constraint) visit(node.attrs.sharding("sharding"));
  if (!is_code(node)) return;
  for (const char* specs : {"in_specs", "out_specs"})
    for (const Sharding& each : node.attrs.shardings(specs)) visit(each);
}

// The meshes whose axes do not nest with those of the program's, by what lies on them.
class Meshes {
 public:
  Meshes(const Graph& graph, const Mesh& mesh, const Shardings& params) : mesh_(mesh) {
    auto look_at = [&](const Sharding& sharding) {
      const Mesh& other = sharding.mesh();
      if (other.axis_count() == 0 || !other.same_devices(mesh_) || says_all_of(mesh_, other) || number(other) > 0) return;
      can_part_ &= !other.has_explicit_axes();
      others_.push_back(other);
    };
    for (std::size_t i = 0; i < params.size(); ++i)
      if (params[i]) look_at(*params[i]);
    for (const Node& node : graph.nodes) {
      visit_shardings(node, look_at);
      if (!is_code(node)) look_into_bodies(node);
    }
    for (const Node& node : graph.nodes) can_part_ &= number_of(node) <= 0 || !is_code(node) || is_wholly_manual(node, at(number_of(node)));
  }

  bool can_part() const { return can_part_ && !others_.empty(); }
  // 0: the program's own; -1: the node speaks of none.
  int number_of(const Node& node) const {
    if (node.op->is_constraint) return number(node.attrs.sharding("sharding").mesh());
    if (!is_code(node)) return -1;
    const std::vector<Sharding>&in = node.attrs.shardings("in_specs"), &out = node.attrs.shardings("out_specs");
    return number((in.empty() ? out : in).at(0).mesh());
  }
  int number(const Mesh& mesh) const {
    const auto found = std::find(others_.begin(), others_.end(), mesh);
    return found == others_.end() ? 0 : int(found - others_.begin()) + 1;
  }
  const Mesh& at(int number) const { return number == 0 ? mesh_ : others_[std::size_t(number) - 1]; }

 private:
  void look_into_bodies(const Node& node) {
    for (const GraphRef& body : node.attrs.bodies())
      visit_nodes(*body, [&](const Node& inner) {
        for (const auto& [name, value] : inner.attrs.entries()) {
          auto differs = [&](const Sharding& sharding) { return sharding.mesh() != mesh_ && sharding.mesh().same_devices(mesh_); };
          if (auto* sharding = std::get_if<Sharding>(&value)) can_part_ &= !differs(*sharding);
          if (auto* all = std::get_if<std::vector<Sharding>>(&value)) can_part_ &= std::none_of(all->begin(), all->end(), differs);
        }
      });
  }

  const Mesh& mesh_;
  std::vector<Mesh> others_;
  bool can_part_ = true;
};

// Where a value lies: on which mesh (-1: on whichever its users do, and on that of what it is made of, if anything, where they do not say),
// and how many times what it is computed from went over to another one.
struct Home {
  int mesh = -1;
  int level = 0;
  int made_of = -1;  // where `mesh` says nothing
  int own() const { return mesh >= 0 ? mesh : made_of; }
};

class Parting {
 public:
  Parting(const Graph& graph, const Meshes& meshes, const Shardings& params, const Shardings& results)
      : graph_(graph),
        meshes_(meshes),
        params_(params),
        results_(results),
        homes_(graph.values.size()),
        is_whole_(graph.values.size(), false),
        renamed_(graph.values.size(), -1),
        shardings_(graph.values.size()),
        out_(graph.name) {}

  Graph run() {
    for (std::size_t i = 0; i < graph_.params.size(); ++i) {
      const auto id = std::size_t(graph_.params[i]);
      renamed_[id] = out_.param(graph_.values[id].type);
      if (!params_[i]) continue;
      homes_[id].mesh = meshes_.number(params_[i]->mesh());
      const Spec spec = params_[i]->spec(graph_.values[id].type.rank());
      is_whole_[id] = std::all_of(spec.begin(), spec.end(), [](const Axes& axes) { return axes.empty(); });
      if (homes_[id].mesh > 0) shardings_[id] = params_[i];
    }
    std::map<std::pair<int, int>, std::vector<std::size_t>> groups;  // by level and mesh; the program's own comes first in its level
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Home home = home_of(graph_.nodes[n]);
      for (ValueId id : graph_.nodes[n].results) homes_[std::size_t(id)] = home;
      groups[{home.level, std::max(home.own(), 0)}].push_back(n);
    }
    for (const auto& [place, nodes] : groups)
      if (place.second == 0)
        for (std::size_t n : nodes) emit(graph_.nodes[n]);
      else
        emit_part(place.second, nodes);
    std::vector<ValueId> results;
    for (ValueId id : graph_.results) results.push_back(renamed_[std::size_t(id)]);
    out_.set_results(std::move(results));
    return without_dead_nodes(out_.finish());
  }

 private:
  Home& home(ValueId id) { return homes_[std::size_t(id)]; }

  bool is_of_whole(const Node& node) {
    return std::all_of(node.operands.begin(), node.operands.end(),
                       [&](ValueId id) { return home(id).own() < 0 || is_whole_[std::size_t(id)]; });
  }

  // Of parameters that are whole alone nothing comes to lie on a mesh, and what repeats a value lies as its users want it first, as in
  // Shardy. Each user makes that anew, so it is nothing that takes long or has effects.
  Home home_of(const Node& node) {
    Home found{meshes_.number_of(node), 0};
    if (found.mesh < 0 && node.results.empty()) found.mesh = 0;
    const bool is_once = !node.attrs.bodies().empty() || has_effects(node) || spmd::is_heavy(graph_, node);
    const bool is_open = !is_once && (node.op->backward_first || std::all_of(node.operands.begin(), node.operands.end(),
                                                                             [&](ValueId id) { return home(id).mesh < 0; }));
    if (found.mesh < 0 && (is_once || !is_of_whole(node))) {
      int& mesh = is_open ? found.made_of : found.mesh;
      for (ValueId id : node.operands) {
        const int other = is_open || is_once ? home(id).own() : home(id).mesh;
        if (other >= 0) mesh = mesh < 0 || mesh == other ? other : 0;
      }
    }
    if (found.mesh < 0 && has_effects(node)) found.mesh = 0;
    for (ValueId id : node.operands)
      found.level = std::max(found.level, home(id).level + (home(id).own() >= 0 && home(id).own() != found.own()));
    return found;
  }

  // A value on the program's own mesh: what lies where its users do is made anew there.
  ValueId here(ValueId id) {
    const NodeId producer = graph_.values[std::size_t(id)].producer;
    if (home(id).mesh >= 0 || home(id).made_of <= 0 || producer < 0) return renamed_[std::size_t(id)];
    const auto [found, is_new] = here_.try_emplace(id, -1);
    if (is_new) {
      const Node& node = graph_.nodes[std::size_t(producer)];
      const std::vector<ValueId> made = emitted(node);
      for (std::size_t r = 0; r < made.size(); ++r) here_[node.results[r]] = made[r];
    }
    return here_.at(id);
  }

  std::vector<ValueId> emitted(const Node& node) {
    std::vector<ValueId> operands;
    for (ValueId id : node.operands) operands.push_back(here(id));
    Attrs attrs = node.attrs;
    auto is_elsewhere = [&](ValueId id) { return home(id).mesh > 0; };
    if (meshes_.number_of(node) < 0 && !is_of_whole(node) && std::any_of(node.operands.begin(), node.operands.end(), is_elsewhere))
      attrs.set(spmd::kMeetsMeshes, true);
    out_.set_place_of(node);
    return out_.emit(*node.op, operands, attrs);
  }

  void emit(const Node& node) {
    const std::vector<ValueId> found = emitted(node);
    for (std::size_t r = 0; r < found.size(); ++r) renamed_[std::size_t(node.results[r])] = found[r];
  }

  // A part's own graph, and what it takes from around it.
  struct Body {
    explicit Body(std::string name) : builder(std::move(name)) {}
    GraphBuilder builder;
    std::map<ValueId, ValueId> values;                         // of this part
    std::map<std::pair<ValueId, std::string>, ValueId> taken;  // from around it, each way that it is taken
    std::vector<ValueId> operands;                             // of `out_`
    std::vector<Sharding> in_specs;
    std::vector<bool> is_open;  // per operand whether propagation says how it comes
  };

  void emit_part(int mesh, const std::vector<std::size_t>& nodes) {
    Body body("on_mesh");
    std::vector<ValueId> made;
    for (std::size_t n : nodes) {
      add(body, graph_.nodes[n], mesh);
      made.insert(made.end(), graph_.nodes[n].results.begin(), graph_.nodes[n].results.end());
    }
    std::vector<ValueId> results;
    for (ValueId id : made) results.push_back(body.values.at(id));
    body.builder.set_results(results);
    Graph graph = body.builder.finish();
    const std::vector<Sharding> out_specs = lie(graph, body, mesh, made);
    const Node& last = graph_.nodes[nodes.back()];
    out_.set_place_of(last);
    const std::vector<ValueId> found = out_.emit(ops::kOnMesh, body.operands,
                                                 Attrs{{"bodies", Bodies{std::make_shared<const Graph>(std::move(graph))}},
                                                       {"axis_names", meshes_.at(mesh).axis_names()},
                                                       {spmd::kPlanned, true},
                                                       {"in_specs", body.in_specs},
                                                       {"out_specs", out_specs}});
    for (std::size_t i = 0; i < made.size(); ++i) {
      renamed_[std::size_t(made[i])] = found[i];
      shardings_[std::size_t(made[i])] = out_specs[i];
    }
  }

  void add(Body& body, const Node& node, int mesh) {
    std::vector<ValueId> operands;
    for (std::size_t i = 0; i < node.operands.size(); ++i) operands.push_back(operand(body, node, i, mesh));
    body.builder.set_place_of(node);
    const std::vector<ValueId> found = body.builder.emit(*node.op, operands, node.attrs);
    for (std::size_t r = 0; r < found.size(); ++r) body.values[node.results[r]] = found[r];
  }

  // What lies nowhere is computed anew; what comes from around the part comes as its user wants it.
  ValueId operand(Body& body, const Node& node, std::size_t i, int mesh) {
    const ValueId id = node.operands[i];
    if (auto found = body.values.find(id); found != body.values.end()) return found->second;
    const NodeId producer = graph_.values[std::size_t(id)].producer;
    if (home(id).mesh < 0 && producer >= 0) {
      add(body, graph_.nodes[std::size_t(producer)], mesh);
      return body.values.at(id);
    }
    // What lies on another mesh and is repeated here lies as propagation says.
    const bool is_open =
        home(id).mesh >= 0 && home(id).mesh != mesh && !is_whole_[std::size_t(id)] && !node.op->is_constraint && !is_code(node);
    const Sharding sharding = home(id).mesh == mesh    ? *shardings_[std::size_t(id)]
                              : node.op->is_constraint ? node.attrs.sharding("sharding")
                              : is_code(node)          ? node.attrs.shardings("in_specs")[i]
                                                       : Sharding(meshes_.at(mesh), Spec{});
    auto [taken, is_new] = body.taken.try_emplace({id, is_open ? "" : sharding.text()}, -1);
    if (is_new) {
      taken->second = body.builder.param(graph_.type(id));
      body.operands.push_back(renamed_[std::size_t(id)]);
      body.in_specs.push_back(sharding);
      body.is_open.push_back(is_open);
    }
    return taken->second;
  }

  // How the part's results lie: as propagation leaves them on its mesh, or as they are asked for there. Says how open operands come.
  std::vector<Sharding> lie(const Graph& graph, Body& body, int mesh, const std::vector<ValueId>& made) const {
    const Mesh& own = meshes_.at(mesh);
    spmd::PropagationInput input{&graph, own, {}, {}};
    for (std::size_t i = 0; i < graph.params.size(); ++i)
      input.params.push_back(body.is_open[i] ? std::nullopt : std::optional(body.in_specs[i].spec(graph.type(graph.params[i]).rank())));
    for (ValueId id : made) {
      std::optional<Spec>& wanted = input.results.emplace_back();
      for (std::size_t r = 0; r < graph_.results.size(); ++r)
        if (graph_.results[r] == id && r < results_.size() && results_[r] && results_[r]->mesh() == own)
          wanted = results_[r]->spec(graph_.type(id).rank());
    }
    const spmd::Propagation propagated = spmd::propagate(input);
    for (std::size_t i = 0; i < graph.params.size(); ++i) {
      const ValueId param = propagated.graph.params[i];
      if (body.is_open[i])
        body.in_specs[i] = Sharding(own, spmd::even_prefix(propagated.values[std::size_t(param)], propagated.graph.type(param).shape));
    }
    std::vector<Sharding> found;
    for (const Spec& spec : propagated.results) found.emplace_back(own, spec);
    return found;
  }

  const Graph& graph_;
  const Meshes& meshes_;
  const Shardings &params_, &results_;
  std::vector<Home> homes_;          // per value
  std::vector<bool> is_whole_;       // per value whether it is a parameter that lies on its mesh uncut
  std::vector<ValueId> renamed_;     // per value, in `out_`
  std::map<ValueId, ValueId> here_;  // of values that lie elsewhere those made anew
  Shardings shardings_;              // per value on another mesh
  GraphBuilder out_;
};

}  // namespace

std::optional<Graph> with_parts_on_meshes(const Graph& graph, const Mesh& mesh, const Shardings& params, const Shardings& results) {
  const Meshes meshes(graph, mesh, params);
  if (!meshes.can_part()) return std::nullopt;
  return Parting(graph, meshes, params, results).run();
}

}  // namespace shardlab
