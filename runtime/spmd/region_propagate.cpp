// Propagation through nodes with bodies.
#include <algorithm>

#include "runtime/spmd/partial_manual.h"
#include "runtime/spmd/visit.h"

namespace shardlab::spmd {
namespace {

using Values = std::vector<ValueSharding>;

std::vector<DimSharding> dims_of(const ValueSharding& value, std::size_t rank) { return value ? *value : std::vector<DimSharding>(rank); }

// The rule's operand and result take each other's pieces. Whether either changed.
bool link_by(const FactorRule& rule, ValueSharding& a, std::size_t rank_a, ValueSharding& b, std::size_t rank_b) {
  std::vector<DimSharding> dims_a = dims_of(a, rank_a), dims_b = dims_of(b, rank_b);
  std::vector<Projection> first{project(dims_a, rule.operands[0], rule.factors)};
  std::vector<Projection> second{project(dims_b, rule.results[0], rule.factors)};
  auto changes = extend_factors({rule, first, second, std::vector<Direction>(rule.factors.size(), Direction::kBoth), true});
  if (changes.empty()) return false;
  std::vector<DimSharding> new_a = unproject(first[0], rule.operands[0], rule.factors);
  std::vector<DimSharding> new_b = unproject(second[0], rule.results[0], rule.factors);
  bool changed = new_a != dims_a || new_b != dims_b;
  if (new_a != dims_a) a = std::move(new_a);
  if (new_b != dims_b) b = std::move(new_b);
  return changed;
}

// Two names of one value.
bool link(ValueSharding& a, ValueSharding& b, const Shape& shape) {
  TensorType type{DType::kFloat32, shape};
  FactorRule rule({type}, {type});
  for (int d = 0; d < int(shape.size()); ++d) rule.add(shape[std::size_t(d)], {d}, {d});
  return link_by(rule, a, shape.size(), b, shape.size());
}

// What enters a loop and what its body makes, both of which its next iteration may get: where they disagree the first one has its way.
bool join(ValueSharding& init, ValueSharding& next, ValueSharding& carried, const Shape& shape) {
  TensorType type{DType::kFloat32, shape};
  FactorRule rule({type, type}, {type});
  for (int d = 0; d < int(shape.size()); ++d) rule.add(shape[std::size_t(d)], {d, d}, {d});
  std::vector<Projection> sources{project(dims_of(init, shape.size()), rule.operands[0], rule.factors),
                                  project(dims_of(next, shape.size()), rule.operands[1], rule.factors)};
  std::vector<Projection> target{project(dims_of(carried, shape.size()), rule.results[0], rule.factors)};
  extend_factors({rule, sources, target, std::vector<Direction>(rule.factors.size(), Direction::kBoth)});
  bool changed = false;
  auto take = [&](ValueSharding& value, std::vector<DimSharding> dims) {
    if (dims == dims_of(value, shape.size())) return;
    value = std::move(dims);
    changed = true;
  };
  take(init, unproject(sources[0], rule.operands[0], rule.factors));
  take(next, unproject(sources[1], rule.operands[1], rule.factors));
  take(carried, unproject(target[0], rule.results[0], rule.factors));
  return changed;
}

ValueSharding slice_of(const ValueSharding& value) {
  if (!value) return value;
  return std::vector<DimSharding>(value->begin() + 1, value->end());
}

// What the slices learned, for the whole: its leading dimension stays as it is, and what cuts that cuts no other.
bool link_slice(ValueSharding& whole, ValueSharding& slice, const Shape& whole_shape) {
  Shape slice_shape(whole_shape.begin() + 1, whole_shape.end());
  FactorRule rule({TensorType{DType::kFloat32, whole_shape}}, {TensorType{DType::kFloat32, slice_shape}});
  rule.add(whole_shape[0], {0}, {-1});
  for (int d = 0; d < int(slice_shape.size()); ++d) rule.add(slice_shape[std::size_t(d)], {d + 1}, {d});
  return link_by(rule, whole, whole_shape.size(), slice, slice_shape.size());
}

struct BodyState {
  Values params, results;
};

Propagation propagated(const GraphRef& body, const Mesh& mesh, int level, BodyState state) {
  PropagationInput input{body.get(), mesh, {}, {}};
  input.params.resize(body->params.size());
  input.results.resize(body->results.size());
  input.open_params = std::move(state.params);
  input.open_results = std::move(state.results);
  input.last_level = level;
  return propagate(input);
}

BodyState run_body(const GraphRef& body, const Mesh& mesh, int level, BodyState state) {
  Propagation inner = propagated(body, mesh, level, std::move(state));
  BodyState after;
  for (ValueId id : inner.graph.params) after.params.push_back(inner.values[std::size_t(id)]);
  after.results = std::move(inner.open_results);
  return after;
}

// Runs the body, and links its parameters and results to the node's values, until nothing changes. `offset`: the operand that is parameter
// 0; the results of a loop's carried values are the parameters of its next iteration. A carried value is one of its own, which the body
// decides before the operand has a say, and which may be cut where a closed operand is not. Source: Shardy's data flow edges, which stand
// behind the loop and join what enters it, what its body makes, and what the next iteration gets.
class RegionPropagator {
 public:
  RegionPropagator(const Graph& graph, const Node& node, const Mesh& mesh, int level, Boundary& boundary)
      : graph_(graph), node_(node), mesh_(mesh), level_(level), boundary_(boundary) {
    for (std::size_t i = 0; i < carried(); ++i) carried_.push_back(open(boundary_.results[i]));
    next_.resize(carried());
  }

  bool run() {
    bool any = is_manual() && link_manual();
    constexpr int kRoundsMax = 64;  // pieces are only added, so this is never reached
    for (int round = 0; round < kRoundsMax; ++round) {
      bool changed = false;
      for (std::size_t b = 0; b < node_.attrs.bodies().size(); ++b) changed |= through_body(b);
      changed |= link_carried();
      if (!changed) return any;
      any = true;
    }
    return any;
  }

  // Once all is decided: what the body makes for its next iteration lies as that gets it.
  Propagation inside(std::size_t b) {
    next_ = carried_;
    return propagated(node_.attrs.bodies()[b], mesh_, level_, state_of(b));
  }

 private:
  bool is_loop() const { return node_.op->region == RegionKind::kWhile || node_.op->region == RegionKind::kScan; }
  std::size_t consts() const { return std::size_t(node_.attrs.integer("num_consts", 0)); }
  std::size_t carried() const {
    if (node_.op->region == RegionKind::kWhile) return node_.results.size();
    return node_.op->region == RegionKind::kScan ? std::size_t(node_.attrs.integer("num_carry", 0)) : 0;
  }
  std::size_t offset() const { return node_.op->region == RegionKind::kBranch ? 1 : 0; }

  bool link_carried() {
    bool changed = false;
    for (std::size_t i = 0; i < carried(); ++i) {
      const Shape& shape = graph_.type(node_.results[i]).shape;
      changed |= join(boundary_.operands[consts() + i], next_[i], carried_[i], shape);
      changed |= link(carried_[i], boundary_.results[i], shape);
    }
    return changed;
  }

  bool is_manual() const { return node_.op->region == RegionKind::kManual; }

  // Around per-device code values are cut by its manual axes first.
  bool link_manual() {
    manual_ = manual_axes(node_, mesh_);
    specs_ = manual_specs(node_, graph_, mesh_);
    bool changed = false;
    auto link_all = [&](Values& values, const std::vector<Spec>& specs, const std::vector<ValueId>& ids) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        ValueSharding wanted = open_dims(specs[i]);
        changed |= extends(values[i], [&] { link(values[i], wanted, graph_.type(ids[i]).shape); });
      }
    };
    link_all(boundary_.operands, specs_.operands, node_.operands);
    link_all(boundary_.results, specs_.results, node_.results);
    return changed;
  }

  static ValueSharding open_dims(const Spec& spec) {
    std::vector<DimSharding> dims;
    for (const Axes& axes : spec) dims.push_back({axes, false});
    return dims;
  }

  // What the code's own values see of one around it.
  ValueSharding inside_of(const ValueSharding& outer) const {
    if (!outer) return outer;
    std::vector<DimSharding> dims;
    for (const DimSharding& dim : *outer) dims.push_back({automatic_part({dim.axes}, manual_)[0], false});
    return dims;
  }
  bool link_inside(ValueSharding& outer, const ValueSharding& inner, const Spec& manual_spec, const Shape& shape) {
    Spec spec;
    for (std::size_t d = 0; d < shape.size(); ++d) spec.push_back(inner ? (*inner)[d].axes : Axes{});
    ValueSharding wanted = open_dims(with_manual_part(manual_spec, spec));
    return extends(outer, [&] { link(outer, wanted, shape); });
  }

  bool through_manual() {
    const GraphRef& body = node_.attrs.bodies()[0];
    BodyState state;
    for (const ValueSharding& outer : boundary_.operands) state.params.push_back(inside_of(outer));
    for (const ValueSharding& outer : boundary_.results) state.results.push_back(inside_of(outer));
    BodyState after = run_body(body, mesh_, level_, std::move(state));
    bool changed = false;
    for (std::size_t i = 0; i < after.params.size(); ++i)
      changed |= link_inside(boundary_.operands[i], after.params[i], specs_.operands[i], graph_.type(node_.operands[i]).shape);
    for (std::size_t i = 0; i < after.results.size(); ++i)
      changed |= link_inside(boundary_.results[i], after.results[i], specs_.results[i], graph_.type(node_.results[i]).shape);
    return changed;
  }

  bool is_carried_param(std::size_t i) const { return is_loop() && i >= consts() && i < consts() + carried(); }
  bool is_sliced_param(std::size_t i) const { return node_.op->region == RegionKind::kScan && i >= consts() + carried(); }
  bool is_stacked_result(std::size_t i) const { return node_.op->region == RegionKind::kScan && i >= carried(); }
  bool is_predicate(std::size_t body) const { return node_.op->region == RegionKind::kWhile && body == 0; }

  // What a body's result is outside it: of a loop's carry what the next iteration may get, else the node's result.
  ValueSharding& made_by_body(std::size_t i) { return i < carried() ? next_[i] : boundary_.results[i]; }
  const ValueSharding& made_by_body(std::size_t i) const { return i < carried() ? next_[i] : boundary_.results[i]; }

  // What the boundary says of a body's parameters and results.
  BodyState state_of(std::size_t b) const {
    const GraphRef& body = node_.attrs.bodies()[b];
    BodyState state;
    for (std::size_t i = 0; i < body->params.size(); ++i) {
      const ValueSharding& outer = is_carried_param(i) ? carried_[i - consts()] : boundary_.operands[offset() + i];
      state.params.push_back(open(is_sliced_param(i) ? slice_of(outer) : outer));
    }
    for (std::size_t i = 0; i < body->results.size(); ++i) {
      if (is_predicate(b))
        state.results.emplace_back();
      else
        state.results.push_back(open(is_stacked_result(i) ? slice_of(boundary_.results[i]) : made_by_body(i)));
    }
    return state;
  }

  bool through_body(std::size_t b) {
    if (is_manual()) return through_manual();
    const GraphRef& body = node_.attrs.bodies()[b];
    BodyState after = run_body(body, mesh_, level_, state_of(b));
    bool changed = false;
    for (std::size_t i = 0; i < after.params.size(); ++i) {
      ValueSharding& outer = is_carried_param(i) ? carried_[i - consts()] : boundary_.operands[offset() + i];
      const Shape& shape = graph_.type(node_.operands[offset() + i]).shape;
      changed |=
          extends(outer, [&] { is_sliced_param(i) ? link_slice(outer, after.params[i], shape) : link(outer, after.params[i], shape); });
    }
    for (std::size_t i = 0; i < after.results.size() && !is_predicate(b); ++i) {
      ValueSharding& outer = made_by_body(i);
      const Shape& shape = graph_.type(node_.results[i]).shape;
      changed |=
          extends(outer, [&] { is_stacked_result(i) ? link_slice(outer, after.results[i], shape) : link(outer, after.results[i], shape); });
    }
    return changed;
  }

  // Whether the node's own value changed.
  template <typename F>
  static bool extends(ValueSharding& outer, F&& run) {
    ValueSharding before = outer;
    run();
    return outer != before;
  }

  // Inside, what was closed outside may be extended: the link says what of it comes out.
  static ValueSharding open(ValueSharding value) {
    if (value)
      for (DimSharding& dim : *value) dim.closed = false;
    return value;
  }

  const Graph& graph_;
  const Node& node_;
  const Mesh& mesh_;
  int level_;
  Boundary& boundary_;
  Values carried_, next_;     // a loop's, inside: what an iteration gets, what it makes
  std::vector<bool> manual_;  // of manual regions: which axes are
  ManualSpecs specs_;
};

}  // namespace

bool propagate_region(const Graph& graph, const Node& node, const Mesh& mesh, int level, Boundary& boundary) {
  if (node.op->region == RegionKind::kNone || (node.op->region == RegionKind::kManual && !is_partial_manual(node, mesh))) return false;
  return RegionPropagator(graph, node, mesh, level, boundary).run();
}

Propagation propagate_body(const Graph& graph, const Node& node, std::size_t body, const Mesh& mesh, Boundary boundary) {
  return RegionPropagator(graph, node, mesh, PropagationInput{}.last_level, boundary).inside(body);
}

}  // namespace shardlab::spmd
