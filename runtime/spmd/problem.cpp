#include "runtime/spmd/problem.h"

#include <algorithm>
#include <numeric>

#include "runtime/graph/barrier.h"
#include "runtime/spmd/index_map.h"
#include "runtime/spmd/layout.h"
#include "runtime/spmd/prepare.h"
#include "runtime/spmd/work.h"

namespace shardlab::spmd {
namespace {

// Constant expressions and broadcasts of scalars, by value.
std::vector<bool> free_values(const Graph& graph) {
  std::vector<bool> free(graph.values.size(), false), constant = constant_expressions(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    for (ValueId id : graph.nodes[n].results) free[std::size_t(id)] = constant[n] || is_scalar_broadcast(graph, graph.nodes[n]);
  return free;
}

// Constraints of what lies as they say anyway, by node.
std::vector<bool> idle_constraints(const Propagation& propagation) {
  const Graph& graph = propagation.graph;
  auto lies = [&](ValueId id) { return normalised(propagated_spec(propagation.values[std::size_t(id)], graph.type(id).shape)); };
  std::vector<bool> idle;
  for (const Node& node : graph.nodes) idle.push_back(node.op->is_constraint && lies(node.operands[0]) == lies(node.results[0]));
  return idle;
}

// Whether only index maps use the value, under whatever name idle constraints give it.
bool only_maps_use(const Graph& graph, const Uses& uses, const std::vector<bool>& idle, ValueId value) {
  const auto& users = uses[std::size_t(value)];
  return std::all_of(users.begin(), users.end(), [&](const Use& use) {
    if (use.node < 0) return false;
    const Node& user = graph.nodes[std::size_t(use.node)];
    if (idle[std::size_t(use.node)]) return only_maps_use(graph, uses, idle, user.results[0]);
    return user.op->needs != nullptr && !user.op->reduction;
  });
}

// Values with index maps that only index maps use.
std::vector<bool> composed_values(const Propagation& propagation, const std::vector<bool>& free, Composition composition) {
  const Graph& graph = propagation.graph;
  const std::vector<bool> idle = idle_constraints(propagation);
  std::vector<bool> composed(graph.values.size(), false);
  const Uses uses = uses_of(graph);
  for (const Node& node : graph.nodes) {
    const bool is_map = node.op->needs != nullptr && !node.op->reduction;
    if (node.results.size() != 1 || !is_map || free[std::size_t(node.results[0])]) continue;
    if (composition == Composition::kSlices ? !node.op->folds || node.operands.size() != 1 : !only_rearranges(graph, node)) continue;
    composed[std::size_t(node.results[0])] = only_maps_use(graph, uses, idle, node.results[0]);
  }
  return composed;
}

}  // namespace

bool Problem::composition_matters(const Propagation& propagation) {
  const std::vector<bool> free = free_values(propagation.graph);
  return composed_values(propagation, free, Composition::kSlices) != composed_values(propagation, free, Composition::kIndexMaps);
}

bool Problem::rounding_matters(const Propagation& propagation) {
  for (std::size_t id = 0; id < propagation.values.size(); ++id) {
    const Shape& shape = propagation.graph.values[id].type.shape;
    if (!is_even(shape, propagated_spec(propagation.values[id], shape))) return true;
  }
  return false;
}

Problem::Problem(const Propagation& propagation, const PropagationInput& input, Rounding rounding, Composition composition,
                 PartitionOptions for_bodies, LoopConstants loop_constants)
    : mesh_(input.mesh),
      propagation_(propagation),
      free_(free_values(propagation_.graph)),
      composed_(composed_values(propagation_, free_, composition)),
      known_(known_values(propagation_.graph, {})),
      for_bodies_(for_bodies),
      rounding_(rounding),
      loop_constants_(loop_constants),
      reshards_(input.mesh) {
  AtomTable table(mesh_);
  for (ValueId id = 0; id < ValueId(graph().values.size()); ++id) {
    const ValueSharding& value = propagation_.values[std::size_t(id)];
    NodeId producer = graph().values[std::size_t(id)].producer;
    bool in_full = rounding == Rounding::kAsPropagated || (producer >= 0 && node(producer).op->is_constraint);
    kept_.push_back(normalised(in_full ? propagated_spec(value, type(id).shape) : even_prefix(value, type(id).shape)));
    table.add_cuts(kept_.back());
  }
  for (std::size_t i = 0; i < graph().params.size(); ++i) {
    params_.push_back(param_spec(input, i));
    table.add_cuts(normalised(params_.back()));
  }
  for (const Spec& spec : propagation_.results) table.add_cuts(spec);
  shapes_.resize(graph().nodes.size());
  add_cuts_between_factors(table);
  atoms_ = table.atoms();
  roots_.resize(graph().values.size());
  std::iota(roots_.begin(), roots_.end(), 0);
  for (const Node& each : graph().nodes)
    if (each.op->is_constraint || is_barrier(*each.op))
      for (std::size_t i = 0; i < each.results.size(); ++i) roots_[std::size_t(each.results[i])] = root(each.operands[i]);
  regions_.resize(graph().nodes.size());
}

// Where a dimension is several of another tensor (reshape), an axis that cuts it may cut several of these, each by a part.
void Problem::add_cuts_between_factors(AtomTable& table) {
  auto has_parts = [](const FactorRule::TensorMap& map) {
    return std::any_of(map.begin(), map.end(), [](const auto& factors) { return factors.size() > 1; });
  };
  for (NodeId id = 0; id < NodeId(graph().nodes.size()); ++id) {
    const Node& each = node(id);
    if (each.op->region != RegionKind::kNone) continue;
    const FactorRule& rule = op_shape(id).rule;
    auto add = [&](const std::vector<ValueId>& values, const std::vector<FactorRule::TensorMap>& maps) {
      for (std::size_t i = 0; i < maps.size(); ++i) {
        if (!has_parts(maps[i])) continue;
        for (const FactorSharding& sharding : project(kept_[std::size_t(values[i])], maps[i], rule.factors)) table.add_cuts(sharding.axes);
      }
    };
    add(each.operands, rule.operands);
    add(each.results, rule.results);
  }
}

Spec Problem::propagated_form(ValueId value) const {
  return normalised(propagated_spec(propagation_.values[std::size_t(value)], type(value).shape));
}

Spec Problem::even_form(ValueId value) const { return normalised(even_prefix(propagation_.values[std::size_t(value)], type(value).shape)); }

// Bodies of loops and branches are partitioned for the parts that values are kept in around them, other code for even ones.
const RegionPlan* Problem::region(NodeId id) {
  const Node& each = node(id);
  if (each.op->region == RegionKind::kNone) return nullptr;
  auto& plan = regions_[std::size_t(id)];
  if (!plan) {
    RegionContext context{.graph = graph(), .mesh = mesh_, .loop_constants = loop_constants_, .for_bodies = for_bodies_};
    const bool is_control =
        each.op->region == RegionKind::kWhile || each.op->region == RegionKind::kScan || each.op->region == RegionKind::kBranch;
    context.rounding = is_control ? rounding_ : Rounding::kEven;
    auto form = [&](ValueId value) { return context.rounding == Rounding::kEven ? even_form(value) : propagated_form(value); };
    for (ValueId value : each.operands) context.operands.push_back(form(value));
    for (ValueId value : each.results) context.results.push_back(form(value));
    if (auto found = propagation_.bodies.find(id); found != propagation_.bodies.end()) context.bodies = found->second;
    plan = plan_region(context, each);
  }
  return &*plan;
}

Spec Problem::param_spec(const PropagationInput& input, std::size_t i) const {
  ValueId id = graph().params[i];
  Spec spec = input.params[i] ? *input.params[i] : even_prefix(propagation_.values[std::size_t(id)], type(id).shape);
  spec.resize(type(id).shape.size());
  if (input.params[i]) return spec;
  for (Axes& axes : spec) {
    auto is_part = [&](const AxisPiece& piece) { return piece != mesh_.whole_axis(piece.axis); };
    axes.erase(std::find_if(axes.begin(), axes.end(), is_part), axes.end());
  }
  return spec;
}

bool Problem::may_scatter_whole(const Node& scatter) const {
  const std::vector<AxisType>& types = mesh_.axis_types();
  const bool is_partly_explicit = std::any_of(types.begin(), types.end(), [&](AxisType type) { return type != types[0]; });
  return for_bodies_.scatters_whole || (is_partly_explicit && scatter.op->reduction);
}

bool Problem::is_planned(NodeId id) const {
  const Node& each = node(id);
  return !each.op->is_constraint && !is_barrier(*each.op) &&
         !std::all_of(each.results.begin(), each.results.end(), [&](ValueId v) { return is_free(v) || is_composed(v); });
}

const OpShape& Problem::op_shape(NodeId id) {
  auto& shape = shapes_[std::size_t(id)];
  if (!shape) {
    shape.emplace();
    shape->rule = rule_of(graph(), node(id));
    shape->can_cut = cuttable_factors(*node(id).op, shape->rule);
    shape->looked_up = looked_up_factors(*node(id).op, shape->rule);
  }
  return *shape;
}

}  // namespace shardlab::spmd
