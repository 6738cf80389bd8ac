#include "runtime/spmd/propagate.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/spmd/code_edges.h"
#include "runtime/spmd/outlines.h"
#include "runtime/spmd/prepare.h"
#include "runtime/spmd/region.h"
#include "runtime/spmd/unflatten.h"
#include "runtime/spmd/visit.h"

namespace shardlab::spmd {
namespace {

bool is_open_and_empty(const std::vector<DimSharding>& dims) {
  return std::all_of(dims.begin(), dims.end(), [](const DimSharding& dim) { return dim.axes.empty(); });
}

bool same(const ValueSharding& old_value, const std::vector<DimSharding>& dims) {
  return old_value ? *old_value == dims : is_open_and_empty(dims);
}

const std::vector<DimSharding>& dims_of(const ValueSharding& value) {
  static const std::vector<DimSharding> kUndecided;
  return value ? *value : kUndecided;
}

ValueSharding closed(const std::optional<Spec>& spec, int rank) {
  if (!spec) return std::nullopt;
  std::vector<DimSharding> dims(std::size_t(rank), DimSharding{{}, true});
  for (std::size_t d = 0; d < dims.size() && d < spec->size(); ++d) dims[d].axes = without_axes_of_one((*spec)[d]);
  return dims;
}

// How the user writes a result's spec: as he asked for it, or as one of his arguments lies. Axes of size 1 are no cuts, but may be named.
Spec as_given(const Spec& result, std::size_t i, const PropagationInput& input) {
  auto is_it = [&](const std::optional<Spec>& given) {
    if (!given) return false;
    Spec cuts(result.size());
    for (std::size_t d = 0; d < given->size(); ++d)
      if (const Axes axes = without_axes_of_one((*given)[d]); d < cuts.size())
        cuts[d] = axes;
      else if (!axes.empty())
        return false;
    return cuts == result;
  };
  if (i < input.results.size() && input.results[i]) return is_it(input.results[i]) ? *input.results[i] : result;
  const auto param = std::find_if(input.params.begin(), input.params.end(), [&](const std::optional<Spec>& given) {
    return given && given->size() == result.size() && is_it(given);
  });
  return param == input.params.end() ? result : **param;
}

// Two tensors of one shape that share every dimension: a value and a result of the function.
FactorRule identity_rule(const Shape& shape) {
  TensorType type{DType::kFloat32, shape};
  FactorRule rule({type}, {type});
  for (int d = 0; d < int(shape.size()); ++d) rule.add(shape[std::size_t(d)], {d}, {d});
  return rule;
}

// The largest part of a dimension's pieces that the function's boundary lets through: even, and in open dimensions no sub-axes.
Axes cut_at_boundary(const DimSharding& dim, std::int64_t size, const Mesh& mesh) {
  Axes kept;
  std::int64_t parts = part_count(dim.axes), left = size;
  if (size % parts == 0) {
    kept = dim.axes;
  } else {
    for (const AxisPiece& piece : dim.axes) {
      std::int64_t common = std::gcd(piece.size, left);
      if (common == 1) break;
      kept.push_back({piece.axis, piece.pre, common});
      if (common != piece.size) break;
      left /= common;
    }
  }
  if (dim.closed) return kept;
  auto sub_axis = std::find_if(kept.begin(), kept.end(), [&](const AxisPiece& piece) { return piece != mesh.whole_axis(piece.axis); });
  kept.erase(sub_axis, kept.end());
  return kept;
}

Spec cut_at_boundary(const ValueSharding& value, const Shape& shape, const Mesh& mesh) {
  Spec spec(shape.size());
  if (!value) return spec;
  for (std::size_t d = 0; d < shape.size(); ++d) spec[d] = cut_at_boundary((*value)[d], shape[d], mesh);
  return spec;
}

constexpr int kLastLevel = 4;  // of Shardy's op-priority levels

// The graph's shardings on their way to the fixpoint, those of its loops' and branches' bodies among them. Invariant: a value's pieces are
// only ever extended, so that it ends. Values without elements take no part: XLA makes constants of them, whatever they are and however
// they are constrained, before it propagates.
class Propagator {
 public:
  explicit Propagator(const PropagationInput& input) : input_(input), mesh_(input.mesh) {
    graph_ = with_cloned_constants(*input.graph);
    const Graph& graph = graph_;
    SL_CHECK(input.params.size() == graph.params.size(), "{} parameters, {} specs", graph.params.size(), input.params.size());
    SL_CHECK(input.results.empty() || input.results.size() == graph.results.size(), "{} results, {} specs", graph.results.size(),
             input.results.size());
    std::vector<bool> is_given;
    for (const auto& spec : input.params) is_given.push_back(spec.has_value());
    flat_ = flattened(graph, is_given, mesh_);
    values_.resize(flat_.graph.values.size());
    origins_.resize(values_.size());
    for (std::size_t i = 0; i < graph.params.size(); ++i) {
      ValueId id = graph.params[i];
      value(id) = closed(input.params[i], graph.type(id).rank());
      if (!value(id) && i < input.open_params.size()) value(id) = input.open_params[i];
      note(id, {}, {.kind = Origin::Kind::kParameter, .index = int(i)});
    }
    for (std::size_t i = 0; i < graph.results.size(); ++i)
      results_.push_back(i < input.results.size() ? closed(input.results[i], graph.type(graph.results[i]).rank()) : std::nullopt);
    for (std::size_t i = 0; i < input.open_results.size(); ++i)
      if (!results_[i]) results_[i] = input.open_results[i];
    seed_constraints();
    seed_regions();
    uses_ = uses_of(flat_.graph);
    sharing_.resize(values_.size());
    for (ValueId id = 0; id < ValueId(values_.size()); ++id)
      if (flat_.sharers[std::size_t(id)] != id) sharing_[std::size_t(flat_.sharers[std::size_t(id)])].push_back(id);
    for (const Node& node : flat_.graph.nodes) rules_.push_back(propagation_rule_of(flat_.graph, node));
    for (const Node& node : flat_.graph.nodes) used_once_.push_back(operands_used_once(node));
  }

  Propagation run() {
    for (level_ = 0; level_ <= kLastLevel; ++level_) {
      exchange_with_results();
      visit_all();
      exchange_with_results();
    }
    Propagation out = unflattened(std::move(graph_), {flat_, values_, origins_});
    for (std::size_t i = 0; i < results_.size(); ++i)
      out.results.push_back(as_given(cut_at_boundary(results_[i], shape(out.graph.results[i]), mesh_), i, input_));
    return out;
  }

 private:
  std::size_t place(ValueId id) const { return std::size_t(flat_.sharers[std::size_t(id)]); }
  ValueSharding& value(ValueId id) { return values_[place(id)]; }
  const Shape& shape(ValueId id) const { return flat_.graph.type(id).shape; }
  bool is_empty(ValueId id) const { return flat_.graph.type(id).elements() == 0; }
  Projection projected(ValueId id, const FactorRule::TensorMap& map, const std::vector<Factor>& factors) {
    Projection projection = project(seen_dims(id), map, factors);
    if (place(id) < barred_.size() && !barred_[place(id)].empty())
      projection.push_back({.factor = kBarred, .axes = barred_[place(id)], .closed = true});
    return projection;
  }
  const std::vector<DimSharding>& seen_dims(ValueId id) { return is_empty(id) ? dims_of(std::nullopt) : dims_of(value(id)); }
  const Node& node(NodeId n) const { return flat_.graph.nodes[std::size_t(n)]; }

  void seed_constraints() {
    std::vector<ValueSharding> before = values_;
    apply_constraints(flat_, mesh_, values_);
    barred_ = barred_axes(flat_.graph, mesh_);
    for (std::size_t id = 0; id < barred_.size(); ++id)
      if (!barred_[id].empty()) barred_[place(ValueId(id))] = barred_[id];
    for (ValueId id = 0; id < ValueId(before.size()); ++id)
      if (!before[std::size_t(id)] && values_[std::size_t(id)]) note(id, {}, {.kind = Origin::Kind::kConstraint});
  }

  // What per-device code gives lies as its out_specs say.
  void seed_regions() {
    for (const Node& n : flat_.graph.nodes) {
      auto specs = demanded_results(n, flat_.graph, mesh_);
      for (std::size_t i = 0; specs && i < specs->size(); ++i) {
        if (value(n.results[i])) continue;
        value(n.results[i]) = closed((*specs)[i], flat_.graph.type(n.results[i]).rank());
        note(n.results[i], {}, {.kind = Origin::Kind::kBody, .node = flat_.graph.values[std::size_t(n.results[i])].producer});
      }
    }
  }

  // A dimension that the code's axes cut is smaller inside.
  void visit_code_edge(NodeId n, const FlatGraph::CodeEdge& edge) {
    const ValueId source = node(n).operands[0], target = node(n).results[0];
    const bool enters = edge.operand >= 0;
    const ValueId outer = enters ? source : target, inner = enters ? target : source;
    ValueSharding around = value(outer), within = value(inner);
    link_sides(edge, around, shape(outer), within, shape(inner));
    auto take = [&](ValueId id, const ValueSharding& found, ValueId other) {
      if (found && assign(id, *found, {.kind = Origin::Kind::kRule, .node = n, .from = other})) revisit_neighbours(id, n);
    };
    take(outer, around, inner);
    take(inner, within, outer);
  }

  bool operands_used_once(const Node& n) const {
    if (takes_operands_often(n.op->name)) return false;
    return std::all_of(n.operands.begin(), n.operands.end(),
                       [&](ValueId id) { return uses_[std::size_t(id)].size() == 1 || flat_.graph.type(id).rank() == 0; });
  }

  // Source: Shardy's op priorities; each level includes the earlier ones.
  Direction direction(NodeId n, const Factor& factor) const {
    const OpDef& op = *node(n).op;
    if (factor.blocked) return Direction::kNone;
    Direction direction = Direction::kNone;
    if (level_ >= 1 || used_once_[std::size_t(n)] || flat_.is_edge(n)) {
      if (op.elementwise || op.pass_through) direction = Direction::kBoth;
      if (op.forward_first) direction = direction | Direction::kForward;
    }
    Direction general = op.backward_first && level_ < 4 ? Direction::kBackward : Direction::kBoth;
    if ((level_ >= 2 && factor.kind == FactorKind::kPass) || level_ >= 3) direction = direction | general;
    return direction;
  }

  void exchange_with_results() {
    for (std::size_t i = 0; i < results_.size(); ++i) {
      ValueId id = graph_.results[i];
      if (is_empty(id)) continue;
      FactorRule rule = identity_rule(shape(id));
      std::vector<Projection> inner{projected(id, rule.operands[0], rule.factors)};
      std::vector<Projection> outer{project(dims_of(results_[i]), rule.results[0], rule.factors)};
      extend_factors({rule, inner, outer, std::vector<Direction>(rule.factors.size(), Direction::kBoth)});
      assign(id, unproject(inner[0], rule.operands[0], rule.factors), {.kind = Origin::Kind::kResult, .index = int(i)});
      std::vector<DimSharding> dims = unproject(outer[0], rule.results[0], rule.factors);
      if (!same(results_[i], dims)) results_[i] = std::move(dims);
    }
  }

  void visit_all() {
    pending_.clear();
    is_pending_.assign(flat_.graph.nodes.size(), false);
    for (auto n = flat_.order.rbegin(); n != flat_.order.rend(); ++n) add_pending(*n);
    while (!pending_.empty()) {
      NodeId n = pending_.back();
      pending_.pop_back();
      is_pending_[std::size_t(n)] = false;
      visit(n);
    }
  }

  void add_pending(NodeId n) {
    if (n < 0 || (!rules_[std::size_t(n)].present && !flat_.code_edges.contains(n)) || is_pending_[std::size_t(n)]) return;
    is_pending_[std::size_t(n)] = true;
    pending_.push_back(n);
  }

  void visit(NodeId n) {
    if (const auto edge = flat_.code_edges.find(n); edge != flat_.code_edges.end()) {
      visit_code_edge(n, edge->second);
      return;
    }
    const Node& visited = node(n);
    const FactorRule& rule = rules_[std::size_t(n)];
    std::vector<Projection> operands, results;
    for (std::size_t i = 0; i < visited.operands.size(); ++i)
      operands.push_back(projected(visited.operands[i], rule.operands[i], rule.factors));
    for (std::size_t i = 0; i < visited.results.size(); ++i)
      results.push_back(projected(visited.results[i], rule.results[i], rule.factors));
    std::vector<Direction> directions;
    for (const Factor& factor : rule.factors) directions.push_back(direction(n, factor));
    std::vector<Change> changes = extend_factors({rule, operands, results, std::move(directions), visited.op->elementwise});
    take_over(n, changes, operands, results);
  }

  // Operands first, then results; a value that is an operand twice is taken as its last place has it.
  void take_over(NodeId n, const std::vector<Change>& changes, const std::vector<Projection>& operands,
                 const std::vector<Projection>& results) {
    const FactorRule& rule = rules_[std::size_t(n)];
    int operand_count = int(operands.size()), tensor_count = operand_count + int(results.size());
    for (int tensor = 0; tensor < tensor_count; ++tensor) {
      auto change = std::find_if(changes.begin(), changes.end(), [&](const Change& c) { return c.tensor == tensor; });
      if (change == changes.end()) continue;
      bool is_operand = tensor < operand_count;
      std::size_t i = std::size_t(is_operand ? tensor : tensor - operand_count);
      ValueId id = is_operand ? node(n).operands[i] : node(n).results[i];
      auto dims = unproject(is_operand ? operands[i] : results[i], is_operand ? rule.operands[i] : rule.results[i], rule.factors);
      if (assign(id, std::move(dims), origin(n, *change))) revisit_neighbours(id, n);
    }
  }

  Origin origin(NodeId n, const Change& change) const {
    const Node& from = node(n);
    int operand_count = int(from.operands.size());
    ValueId source = change.source < operand_count ? from.operands[std::size_t(change.source)]
                                                   : from.results[std::size_t(change.source - operand_count)];
    return {.kind = Origin::Kind::kRule, .node = n, .from = source};
  }

  // Who makes the value, who uses it, and who uses it by other names.
  void revisit_neighbours(ValueId id, NodeId except) {
    for (ValueId name : sharing_[place(id)]) revisit_users(name, except);
    NodeId producer = flat_.graph.values[place(id)].producer;
    if (producer != except) add_pending(producer);
    revisit_users(ValueId(place(id)), except);
  }

  void revisit_users(ValueId id, NodeId except) {
    const auto& uses = uses_[std::size_t(id)];
    for (auto use = uses.rbegin(); use != uses.rend(); ++use)
      if (use->node != except) add_pending(use->node);
  }

  bool assign(ValueId id, std::vector<DimSharding> dims, const Origin& why) {
    if (is_empty(id) || same(value(id), dims)) return false;
    ValueSharding before = std::exchange(value(id), std::move(dims));
    ++changes_;
    note(id, dims_of(before), why);
    return true;
  }

  // Records why the value holds the pieces that it did not hold before.
  void note(ValueId id, const std::vector<DimSharding>& before, const Origin& why) {
    const auto& after = dims_of(value(id));
    for (std::size_t d = 0; d < after.size(); ++d) {
      for (const AxisPiece& piece : after[d].axes) {
        auto holds = [&](const AxisPiece& old_piece) { return contains(old_piece, piece); };
        if (!before.empty() && std::any_of(before[d].axes.begin(), before[d].axes.end(), holds)) continue;
        auto& origins = origins_[place(id)];
        std::erase_if(origins,
                      [&](const Origin& old_origin) { return old_origin.dimension == int(d) && contains(piece, old_origin.piece); });
        Origin origin = why;
        origin.dimension = int(d);
        origin.piece = piece;
        origin.step = changes_;
        origin.level = level_;
        origins.push_back(origin);
      }
    }
  }

  const PropagationInput& input_;
  Mesh mesh_;
  Graph graph_;
  FlatGraph flat_;                     // values and nodes are its own, all below is by them
  std::vector<ValueSharding> values_;  // of those that have shardings of their own
  std::vector<std::vector<Origin>> origins_;
  std::vector<ValueSharding> results_;  // of the function
  std::vector<Axes> barred_;            // per value the axes that none of its dimensions takes; or empty
  Uses uses_;
  std::vector<std::vector<ValueId>> sharing_;  // who else has the value's sharding
  std::vector<FactorRule> rules_;              // per node
  std::vector<bool> used_once_;                // per node: every non-scalar operand has one use
  int level_ = 0;
  int changes_ = 0;  // made so far
  std::vector<NodeId> pending_;
  std::vector<bool> is_pending_;
};

}  // namespace

Propagation propagate(const PropagationInput& input) { return Propagator(input).run(); }

}  // namespace shardlab::spmd
