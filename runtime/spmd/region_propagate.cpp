// Propagation through per-device code over some axes of the mesh.
#include <algorithm>

#include "runtime/spmd/partial_manual.h"
#include "runtime/spmd/visit.h"

namespace shardlab::spmd {
namespace {

using Values = std::vector<ValueSharding>;

std::vector<DimSharding> dims_of(const ValueSharding& value, std::size_t rank) { return value ? *value : std::vector<DimSharding>(rank); }

// Two names of one value take each other's pieces.
void link(ValueSharding& a, ValueSharding& b, const Shape& shape) {
  TensorType type{DType::kFloat32, shape};
  FactorRule rule({type}, {type});
  for (int d = 0; d < int(shape.size()); ++d) rule.add(shape[std::size_t(d)], {d}, {d});
  std::vector<DimSharding> dims_a = dims_of(a, shape.size()), dims_b = dims_of(b, shape.size());
  std::vector<Projection> first{project(dims_a, rule.operands[0], rule.factors)};
  std::vector<Projection> second{project(dims_b, rule.results[0], rule.factors)};
  auto changes = extend_factors({rule, first, second, std::vector<Direction>(rule.factors.size(), Direction::kBoth), true});
  if (changes.empty()) return;
  std::vector<DimSharding> new_a = unproject(first[0], rule.operands[0], rule.factors);
  std::vector<DimSharding> new_b = unproject(second[0], rule.results[0], rule.factors);
  if (new_a != dims_a) a = std::move(new_a);
  if (new_b != dims_b) b = std::move(new_b);
}

struct BodyState {
  Values params, results;
};

BodyState run_body(const GraphRef& body, const Mesh& mesh, int level, BodyState state) {
  PropagationInput input{body.get(), mesh, {}, {}};
  input.params.resize(body->params.size());
  input.results.resize(body->results.size());
  input.open_params = std::move(state.params);
  input.open_results = std::move(state.results);
  input.last_level = level;
  Propagation inner = propagate(input);
  BodyState after;
  for (ValueId id : inner.graph.params) after.params.push_back(inner.values[std::size_t(id)]);
  after.results = std::move(inner.open_results);
  return after;
}

// Runs the code, and links its parameters and results to the node's values, until nothing changes.
class ManualPropagator {
 public:
  ManualPropagator(const Graph& graph, const Node& node, const Mesh& mesh, int level, Boundary& boundary)
      : graph_(graph),
        node_(node),
        mesh_(mesh),
        level_(level),
        boundary_(boundary),
        manual_(manual_axes(node, mesh)),
        specs_(manual_specs(node, graph, mesh)) {}

  bool run() {
    bool any = link_manual();
    constexpr int kRoundsMax = 64;  // pieces are only added, so this is never reached
    for (int round = 0; round < kRoundsMax && through_code(); ++round) any = true;
    return any;
  }

 private:
  // Around per-device code values are cut by its manual axes first.
  bool link_manual() {
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
  ValueSharding inside_of(const ValueSharding& outer, const Spec& manual_spec) const {
    if (!outer) return outer;
    Spec around;
    for (const DimSharding& dim : *outer) around.push_back(dim.axes);
    return open_dims(inner_part(around, manual_spec, manual_));
  }
  bool link_inside(ValueSharding& outer, const ValueSharding& inner, const Spec& manual_spec, const Shape& shape) {
    Spec spec;
    for (std::size_t d = 0; d < shape.size(); ++d) spec.push_back(inner ? (*inner)[d].axes : Axes{});
    ValueSharding wanted = open_dims(with_manual_part(manual_spec, spec));
    return extends(outer, [&] { link(outer, wanted, shape); });
  }

  bool through_code() {
    const GraphRef& body = node_.attrs.bodies()[0];
    BodyState state;
    for (std::size_t i = 0; i < boundary_.operands.size(); ++i)
      state.params.push_back(inside_of(boundary_.operands[i], specs_.operands[i]));
    for (std::size_t i = 0; i < boundary_.results.size(); ++i) state.results.push_back(inside_of(boundary_.results[i], specs_.results[i]));
    BodyState after = run_body(body, mesh_, level_, std::move(state));
    bool changed = false;
    for (std::size_t i = 0; i < after.params.size(); ++i)
      changed |= link_inside(boundary_.operands[i], after.params[i], specs_.operands[i], graph_.type(node_.operands[i]).shape);
    for (std::size_t i = 0; i < after.results.size(); ++i)
      changed |= link_inside(boundary_.results[i], after.results[i], specs_.results[i], graph_.type(node_.results[i]).shape);
    return changed;
  }

  // Whether the node's own value changed.
  template <typename F>
  static bool extends(ValueSharding& outer, F&& run) {
    ValueSharding before = outer;
    run();
    return outer != before;
  }

  const Graph& graph_;
  const Node& node_;
  const Mesh& mesh_;
  int level_;
  Boundary& boundary_;
  std::vector<bool> manual_;  // which axes are
  ManualSpecs specs_;
};

}  // namespace

bool propagate_manual(const Graph& graph, const Node& node, const Mesh& mesh, int level, Boundary& boundary) {
  if (!is_partial_manual(node, mesh)) return false;
  return ManualPropagator(graph, node, mesh, level, boundary).run();
}

}  // namespace shardlab::spmd
