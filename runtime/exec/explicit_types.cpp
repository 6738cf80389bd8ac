#include "runtime/exec/explicit_types.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "runtime/exec/explicit_asked.h"
#include "runtime/exec/explicit_cotangents.h"
#include "runtime/exec/explicit_equals.h"
#include "runtime/exec/explicit_marks.h"
#include "runtime/exec/explicit_node.h"
#include "runtime/graph/unjitted.h"
#include "runtime/ops/calls.h"
#include "runtime/ops/primitives.h"
#include "runtime/ops/region_types.h"
#include "runtime/ops/registry.h"
#include "runtime/ops/unary.h"
#include "runtime/spmd/partial_manual.h"

namespace shardlab {
namespace {

// Attributes of a constraint to a type: closed where all axes are typed, else open to the other axes.
Attrs type_attrs(const Spec& spec, const Mesh& mesh, AxisSet typed, AxisSet manual) {
  Attrs attrs{{"sharding", Sharding(mesh, spec)}};
  if ((typed | manual) == all_axes_of(mesh)) return attrs;
  std::vector<std::int64_t> dims(spec.size());
  std::iota(dims.begin(), dims.end(), 0);
  return attrs.set("unconstrained", dims).set("replicated", names_in(typed & ~axes_in(spec), mesh));
}

// Whether JAX leaves a result to propagation, though its type says where it lies. Source: the lowerings in jax/_src/lax/lax.py and
// linalg.py that do not call lower_with_sharding_in_types, and shard_map's.
bool is_left_open(const Node& node) {
  static constexpr std::array kOpen = {&ops::kEqual,        &ops::kNotEqual, &ops::kLess,  &ops::kLessEqual, &ops::kGreater,
                                       &ops::kGreaterEqual, &ops::kExp2,     &ops::kRound, &ops::kSign,      &ops::kSquare};
  return node.op->region == RegionKind::kManual || node.op->name == "triangular_solve" ||
         std::find(kOpen.begin(), kOpen.end(), node.op) != kOpen.end();
}

// A graph being typed, and the bodies of its nodes. Invariant: a value's spec may hold cuts by axes that are not typed where it is used;
// whoever uses it sees those within his own typed axes.
class GraphTyping {
 public:
  using Told = std::vector<std::optional<Spec>>;

  // `told`: the types of results, as who uses them outside tells. `manual`: the axes over which this is per-device code.
  GraphTyping(const Graph& graph, const Mesh& mesh, AxisSet around, Told told = {}, AxisSet manual = 0)
      : graph_(graph), mesh_(mesh), around_(around), manual_(manual), cotangents_(graph, std::move(told)), typed_(graph) {
    constraint_ = find_op("with_sharding_constraint");
    SL_CHECK(constraint_ != nullptr);
    typed_.nodes.clear();
    is_constant_.resize(graph.values.size(), false);
    specs_.resize(graph.values.size());
    for (std::size_t v = 0; v < specs_.size(); ++v) {
      specs_[v].resize(std::size_t(graph.values[v].type.rank()));
      now_.push_back(ValueId(v));
    }
  }

  // What the body of a scan takes slice by slice, and what it gives to be stacked: the parameters and the results from these on.
  struct Scanned {
    const Node& scan;
    std::size_t params, results;
  };

  ExplicitTypes run(const std::vector<Spec>& params, const std::vector<bool>& params_on_mesh, MeshSource source,
                    const std::vector<bool>& has_out_sharding, const std::optional<Scanned>& scanned = std::nullopt) {
    source_ = source;
    on_mesh_ = values_on_mesh(graph_, params_on_mesh, source);
    asked_ = asked_for(graph_, has_out_sharding);
    find_repeated();
    for (std::size_t i = 0; i < graph_.params.size(); ++i) specs_[std::size_t(graph_.params[i])] = params[i];
    if (scanned) hold_slices(*scanned);
    for (const Node& node : graph_.nodes) {
      add(node);
      ++typed_count_;
    }
    ExplicitTypes out;
    for (ValueId id : graph_.results) out.results.push_back(spec(id, around_));
    for (ValueId& id : typed_.results) id = now_[std::size_t(id)];
    if (scanned) hold_stacked(*scanned);
    verify(typed_);
    out.graph = std::move(typed_);
    return out;
  }

 private:
  Attrs type_attrs(const Spec& spec, AxisSet typed) const { return shardlab::type_attrs(spec, mesh_, typed, manual_); }
  Spec spec(ValueId id, AxisSet typed) const { return within(specs_[std::size_t(id)], typed); }
  std::vector<Spec> operand_specs(const Node& node, std::size_t first, std::size_t end, AxisSet typed) const {
    std::vector<Spec> all;
    for (std::size_t i = first; i < end; ++i) all.push_back(spec(node.operands[i], typed));
    return all;
  }

  void add(const Node& node) {
    const AxisSet typed = typed_axes(node, mesh_, around_);
    if (const bool is_taken_as = is_mark(node) && node.attrs.flag("taken_as"); is_taken_as || is_same_type(node, typed)) {
      specs_[std::size_t(node.results[0])] = specs_[std::size_t(node.operands[is_taken_as ? 1 : 0])];
      // What is inlined moves an operand by the type that it has, what is traced apart by the one that it is taken to have.
      if (is_taken_as && !is_traced_apart(node.user_op)) actual_[node.results[0]] = specs_[std::size_t(node.operands[0])];
      is_constant_[std::size_t(node.results[0])] = is_constant_[std::size_t(node.operands[0])];
      now_[std::size_t(node.results[0])] = now_[std::size_t(node.operands[0])];
      return;
    }
    Node copy = node;
    std::vector<Spec> results;
    if (node.op->is_constraint) {
      results = {constrained(copy, typed)};
    } else if (node.op == &ops::kEnterAutoAxes) {  // its first operand, lying as the second does; what the second is, is of no account
      results = {spec(node.operands[1], typed)};
      copy.op = constraint_;
      copy.operands.resize(1);
      copy.attrs = type_attrs(results[0], typed);
    } else if (node.op == &ops::kCutAsBatch) {
      results = {cut_as_batch(node, typed)};
      copy.op = constraint_;
      copy.operands.resize(1);
      copy.attrs = type_attrs(results[0], typed);
    } else if (typed != 0 && node.op->region != RegionKind::kNone && node.op->region != RegionKind::kCall) {
      results = region_results(copy, typed);
    } else if (typed != 0 && !node.op->constant && node.op->rule != nullptr) {
      results = results_of_op(node, typed);
    }
    for (ValueId result : node.results)
      is_constant_[std::size_t(result)] =
          node.op->constant || (!node.operands.empty() && std::all_of(node.operands.begin(), node.operands.end(),
                                                                      [&](ValueId id) { return is_constant_[std::size_t(id)]; }));
    const bool is_held = copy.op->is_constraint;
    if (copy.op == &ops::kClamp && typed != 0)
      emit_moved(std::move(copy), spec(node.operands[1], typed), typed);
    else if (copy.op->elementwise && (copy.op != &ops::kSelect || takes_repeated(node)) && !results.empty() &&
             !asked_[std::size_t(node.results[0])])
      emit_moved(std::move(copy), results[0], typed);
    else
      emit(std::move(copy));
    for (std::size_t r = 0; r < results.size(); ++r) {
      const ValueId value = node.results[r];
      results[r].resize(std::size_t(graph_.type(value).rank()));
      specs_[std::size_t(value)] = results[r];
      if (is_held || is_left_open(node) || repeated_[std::size_t(value)] || asked_[std::size_t(value)]) continue;
      hold(node, value, type_attrs(results[r], typed));
    }
  }

  static bool is_mark(const Node& node) { return node.op == &ops::kEnterAutoAxes && node.attrs.flag("if_other"); }

  bool is_gradient_of_code(const Node& node) const {
    if (node.op != &ops::kEnterAutoAxes || !node.attrs.flag("is_gradient")) return false;
    const NodeId producer = graph_.values[std::size_t(node.operands[0])].producer;
    return producer >= 0 && graph_.nodes[std::size_t(producer)].op->region == RegionKind::kManual;
  }

  // A mark that moves nothing; of what is asked for in a type it is what holds it. A gradient that per-device code gives is left open, too.
  bool is_same_type(const Node& node, AxisSet typed) const {
    const bool is_of_code = is_gradient_of_code(node);
    if (!is_mark(node) && !is_of_code) return false;
    const ValueId value = node.operands[0], like = node.operands[1];
    return value == like || ((is_of_code || !asked_[std::size_t(value)]) && spec(value, typed) == spec(like, typed));
  }

  std::vector<Spec> results_of_op(const Node& node, AxisSet typed) {
    if (node.attrs.flag("is_cotangent")) {
      if (const std::optional<Spec> type = cotangents_.type_of(node.results[0], [&](ValueId id) { return known_type(id, typed); }))
        return {within(*type, typed)};
      asked_[std::size_t(node.results[0])] = true;
    }
    const bool is_asked =
        std::any_of(node.results.begin(), node.results.end(), [&](ValueId result) { return asked_[std::size_t(result)]; });
    const std::vector<Spec> operands = operand_specs(node, 0, node.operands.size(), typed);
    const std::optional<Spec> alike = type_of_equals({graph_, mesh_, is_constant_, on_mesh_}, node, operands, is_asked);
    return alike ? std::vector<Spec>{*alike} : typed_results(graph_, node, mesh_, operands, is_asked);
  }

  std::optional<Spec> known_type(ValueId id, AxisSet typed) const {
    const NodeId producer = graph_.values[std::size_t(id)].producer;
    const bool is_typed = producer < NodeId(typed_count_);
    return is_typed && !is_constant_[std::size_t(id)] ? std::optional(spec(id, typed)) : std::nullopt;
  }

  // In a scan's body at the scan's line, but not in the call that the scan is in: the body is no part of that.
  static Node place_in_body(const Node& scan) {
    Node place;
    place.where = scan.where;
    place.user_op = scan.user_op;
    return place;
  }

  // As JAX's slices of what it scans are.
  void hold_slices(const Scanned& scanned) {
    const Node place = place_in_body(scanned.scan);
    for (std::size_t i = scanned.params; i < graph_.params.size(); ++i)
      hold(place, graph_.params[i], type_attrs(spec(graph_.params[i], around_), around_));
  }

  // Rows of stacks that are not held yet. JAX reshapes each first, and holds that: what it is made of lies by itself.
  void hold_stacked(const Scanned& scanned) {
    const Node place = place_in_body(scanned.scan);
    for (std::size_t i = scanned.results; i < graph_.results.size(); ++i) {
      const ValueId made = graph_.results[i];
      if (typed_.results[i] != made) continue;
      const ValueId row = add_node(place, &ops::kReshape, made, Attrs{{"shape", graph_.type(made).shape}});
      typed_.results[i] = add_node(place, constraint_, row, type_attrs(spec(made, around_), around_));
    }
  }

  // What vmap repeats of what is on the mesh, over the axes that cut the batch. Source: broadcast and _check_ema_unmapped_args in JAX.
  Spec cut_as_batch(const Node& node, AxisSet typed) const {
    Spec result = spec(node.operands[0], typed);
    if (!on_mesh_[std::size_t(node.operands[0])]) return result;
    const Axes batch = spec(node.operands[1], typed)[std::size_t(node.attrs.integer("like_dim"))];
    if ((axes_in(result) & axes_in({batch})) != 0)
      throw_user_error(
          "Unmapped values passed to vmap cannot be sharded along the mesh axis you are vmapping over. Got type: {} and vmapped mesh axis: "
          "{}; reshard the value [{}]",
          typed_text(graph_.type(node.operands[0]), result, mesh_), axes_text(batch, mesh_), node.where.text());
    result[std::size_t(node.attrs.integer("dim"))] = batch;
    return result;
  }

  // A node whose operands are moved to one type, those as well that have none. Source: clamp and _nary_lower_hlo in jax/_src/lax/lax.py,
  // and multi_broadcast_in_dim in jax/_src/interpreters/mlir.py.
  void emit_moved(Node node, const Spec& wanted, AxisSet typed) {
    const std::vector<ValueId> before = now_;
    for (ValueId operand : node.operands)
      if (graph_.type(operand).rank() > 0 && has_other_type(operand, wanted, typed))
        now_[std::size_t(operand)] = add_node(node, constraint_, before[std::size_t(operand)], type_attrs(wanted, typed));
    emit(std::move(node));
    now_ = before;
  }

  // What an op repeats for another one of the same call has the type of that one's result.
  void find_repeated() {
    repeated_.resize(graph_.values.size(), false);
    for (const Node& node : graph_.nodes) {
      if (ops::is_implicit_broadcast(node)) repeated_[std::size_t(node.results[0])] = true;
      if (node.op != &ops::kSelect) continue;
      for (ValueId operand : node.operands)
        if (const Node* made = producer_of(graph_, operand); made != nullptr && is_broadcast_for(*made, node))
          repeated_[std::size_t(operand)] = true;
    }
  }

  bool takes_repeated(const Node& node) const {
    return std::any_of(node.operands.begin(), node.operands.end(), [&](ValueId id) { return repeated_[std::size_t(id)]; });
  }

  bool has_other_type(ValueId value, const Spec& wanted, AxisSet typed) const {
    const auto actual = actual_.find(value);
    return within(actual == actual_.end() ? specs_[std::size_t(value)] : actual->second, typed) != wanted || repeated_[std::size_t(value)];
  }

  void emit(Node node) {
    for (ValueId& operand : node.operands) operand = now_[std::size_t(operand)];
    for (ValueId result : node.results) typed_.values[std::size_t(result)].producer = NodeId(typed_.nodes.size());
    typed_.nodes.push_back(std::move(node));
  }

  void hold(const Node& node, ValueId value, Attrs attrs) {
    now_[std::size_t(value)] = add_node(node, constraint_, value, std::move(attrs));
  }

  // An op at a node's place, whose result has its operand's type.
  ValueId add_node(const Node& place, const OpDef* op, ValueId operand, Attrs attrs) {
    Node node;
    node.op = op;
    node.operands = {operand};
    node.results = {ValueId(typed_.values.size())};
    node.attrs = std::move(attrs);
    node.where = place.where;
    node.user_op = place.user_op;
    node.call = place.call;
    node.call_result = place.call_result;
    typed_.values.push_back({typed_.type(operand), NodeId(typed_.nodes.size()), 0});
    typed_.nodes.push_back(std::move(node));
    return ValueId(typed_.values.size()) - 1;
  }

  std::string names_of(AxisSet axes) const { return fmt::format("{}", fmt::join(names_in(axes, mesh_), ", ")); }

  // How a constraint's result lies; the node becomes what holds it there.
  Spec constrained(Node& node, AxisSet typed) const {
    const bool is_whole = typed == all_axes_of(mesh_);
    const Spec has = spec(node.operands[0], typed);
    Spec wanted = node.attrs.sharding("sharding").spec(graph_.type(node.results[0]).rank());
    const std::vector<std::int64_t> open =
        node.attrs.has("unconstrained") ? node.attrs.integers("unconstrained") : std::vector<std::int64_t>();
    if (!node.attrs.flag("assertion") || is_whole)
      for (std::int64_t d : open) wanted[std::size_t(d)] = has[std::size_t(d)];
    if (typed == 0) return wanted;
    if (node.attrs.has("reshards")) return resharded(node, wanted, typed);
    if (!node.attrs.flag("assertion")) return wanted;
    if (is_whole) {
      if (has != wanted) throw_user_error("{} [{}]", failed_assertion_text(text_of(has, mesh_), text_of(wanted, mesh_)), node.where.text());
      return wanted;
    }
    if ((axes_in(wanted) & typed) != 0)
      throw_user_error("{} [{}]", explicit_constraint_text(text_of(wanted, mesh_), mesh_, names_of(axes_in(wanted) & typed)),
                       node.where.text());
    std::vector<std::int64_t> still_open;  // what is cut in types is said
    for (std::int64_t d : open)
      if (has[std::size_t(d)].empty()) still_open.push_back(d);
    for (std::size_t d = 0; d < wanted.size(); ++d) wanted[d].insert(wanted[d].begin(), has[d].begin(), has[d].end());
    node.attrs = Attrs{{"sharding", Sharding(mesh_, wanted)}};
    if (!still_open.empty()) node.attrs.set("unconstrained", still_open);
    return has;
  }

  // reshard and out_sharding speak of typed axes alone, and leave the others as they come to lie.
  Spec resharded(Node& node, const Spec& wanted, AxisSet typed) const {
    if (const AxisSet others = axes_in(wanted) & ~typed; others != 0)
      throw_user_error("{} [{}]", reshard_axes_text(node.attrs.string("reshards"), text_of(wanted, mesh_), names_of(others)),
                       node.where.text());
    AxisSet used = 0;
    for (const Axes& axes : wanted) {
      if ((used & axes_in({axes})) != 0)
        throw_user_error(
            "A single NamedSharding spec specification can map every mesh axis to at most one positional dimension, but {} has duplicate "
            "entries for `{}`: the batch of a vmap around it is cut by it already [{}]",
            text_of(wanted, mesh_), names_of(used & axes_in({axes})), node.where.text());
      used |= axes_in({axes});
    }
    if (const std::string why = uneven_text(wanted, graph_.type(node.results[0]).shape, mesh_); !why.empty())
      throw_user_error("{} [{}]", why, node.where.text());
    node.attrs = type_attrs(wanted, typed);
    return wanted;
  }

  // --- Nodes with bodies.

  std::vector<Spec> region_results(Node& node, AxisSet typed) {
    switch (node.op->region) {
      case RegionKind::kManual:
        return manual_results(node, typed);
      case RegionKind::kWhile:
        return while_results(node, typed);
      case RegionKind::kScan:
        return scan_results(node, typed);
      default:
        return branch_results(node, typed);
    }
  }

  // Types body number `b` on these parameters, which are the node's last operands. It is traced, also outside of jit.
  std::vector<Spec> type_body(const Node& node, Bodies& bodies, std::size_t b, const std::vector<Spec>& params, AxisSet axes,
                              Told told = {}, const std::optional<Scanned>& scanned = std::nullopt, AxisSet manual = 0) const {
    std::vector<bool> on_mesh;
    for (std::size_t i = node.operands.size() - params.size(); i < node.operands.size(); ++i)
      on_mesh.push_back(on_mesh_[std::size_t(node.operands[i])]);
    const MeshSource source = source_ == MeshSource::kOperands ? source_ : MeshSource::kTracedOps;
    ExplicitTypes typed = GraphTyping(*bodies[b], mesh_, axes, std::move(told), manual_ | manual).run(params, on_mesh, source, {}, scanned);
    bodies[b] = std::make_shared<const Graph>(std::move(typed.graph));
    return typed.results;
  }

  // Of code over some axes the others stay in types, inside and outside, but nothing that enters or leaves the code is cut by them.
  std::vector<Spec> manual_results(Node& node, AxisSet typed) const {
    const auto &in = node.attrs.shardings("in_specs"), &out = node.attrs.shardings("out_specs");
    AxisSet manual = 0;
    for (const std::string& name : node.attrs.strings("axis_names")) manual |= AxisSet(1) << *mesh_.axis_index(name);
    if (manual == typed && typed == all_axes_of(mesh_)) check_in_specs(node, in, manual);
    std::vector<Spec> results;
    for (std::size_t i = 0; i < out.size(); ++i) results.push_back(within(out[i].spec(graph_.type(node.results[i]).rank()), typed));
    if ((typed & ~manual) == 0) return results;
    Bodies bodies = node.attrs.bodies();
    const std::vector<Spec> inner =
        type_body(node, bodies, 0, operand_specs(node, 0, node.operands.size(), typed & ~manual), typed & ~manual, {}, {}, manual);
    node.attrs.set("bodies", bodies).set(spmd::kWholeAtEdges, names_in(typed & ~manual, mesh_));
    for (std::size_t i = 0; i < results.size(); ++i)
      for (std::size_t d = 0; d < results[i].size(); ++d) results[i][d].insert(results[i][d].end(), inner[i][d].begin(), inner[i][d].end());
    return results;
  }

  // The operands are constraints to in_specs: what they hold must lie so already.
  void check_in_specs(const Node& node, const std::vector<Sharding>& in, AxisSet manual) const {
    for (std::size_t i = 0; i < in.size(); ++i) {
      const TensorType& type = graph_.type(node.operands[i]);
      const NodeId producer = graph_.values[std::size_t(node.operands[i])].producer;
      if (producer < 0 || !graph_.nodes[std::size_t(producer)].op->is_constraint) continue;
      const ValueId given = graph_.nodes[std::size_t(producer)].operands[0];
      const Spec has = spec(given, manual), wanted = in[i].spec(type.rank());
      if (has != wanted)
        throw_user_error(
            "in_specs passed to shard_map: {} does not match the specs of the input: {} for arg: {}. `in_specs` is an optional argument so "
            "you can omit "
            "specifying it and shard_map will infer the in_specs from the arguments. If you want to reshard your inputs, "
            "you can use `jax.reshard` (here `reshard`) on the arguments and then pass those args to shard_map. (argument {}) [{}]",
            text_of(wanted, mesh_), text_of(has, mesh_), typed_text(type, has, mesh_), i, node.where.text());
    }
  }

  void check_carry(std::string_view name, const Node& node, const std::vector<Spec>& in, const std::vector<Spec>& out) const {
    for (std::size_t i = 0; i < in.size(); ++i)
      if (in[i] != out[i])
        throw_user_error(
            "{} function carry input and carry output must have equal types, but they differ:\n\nthe input carry component carry[{}] has "
            "type {} but the corresponding output carry component has type {}, so the shardings do not match.\n\nRevise the function so "
            "that all output types match the corresponding input types, with `reshard` where it ends or around what goes in. [{}]",
            name, i, typed_text(graph_.type(node.results[i]), in[i], mesh_), typed_text(graph_.type(node.results[i]), out[i], mesh_),
            node.where.text());
  }

  // Made with the node, not by the user: zeros that derivatives are added to.
  bool is_own_constant(const Node& node, ValueId value) const {
    const NodeId producer = graph_.values[std::size_t(value)].producer;
    return is_constant_[std::size_t(value)] && producer >= 0 && graph_.nodes[std::size_t(producer)].user_op == node.user_op;
  }

  void cut(const Node& node, ValueId value, const Spec& spec, AxisSet typed) {
    specs_[std::size_t(value)] = spec;
    hold(node, value, type_attrs(spec, typed));
  }

  // The types of a node's results, as cotangents, where those who use them tell.
  Told told_results(const Node& node, AxisSet typed) const {
    Told told;
    for (ValueId result : node.results) {
      told.push_back(cotangents_.type_of(result, [&](ValueId id) { return known_type(id, typed); }));
      if (told.back()) told.back() = within(*told.back(), typed);
    }
    return told;
  }

  // What vmap repeats and a loop carries, from its operand `first` on, is cut along the batch as what its body makes; constants of its own
  // are cut as that. Whether any was not.
  bool cut_repeated(const Node& node, std::size_t first, const std::vector<Spec>& made, AxisSet typed) {
    bool any = false;
    for (std::size_t i = 0; i < made.size(); ++i) {
      const ValueId value = node.operands[first + i];
      if (is_own_constant(node, value) && axes_in(spec(value, typed)) == 0 && axes_in(made[i]) != 0) {
        cut(node, value, made[i], typed);
        any = true;
        continue;
      }
      const std::int64_t dim = repeated_dim(graph_, value);
      if (dim < 0 || made[i][std::size_t(dim)].empty() || !spec(value, typed)[std::size_t(dim)].empty()) continue;
      specs_[std::size_t(value)][std::size_t(dim)] = made[i][std::size_t(dim)];
      hold(node, value, type_attrs(spec(value, typed), typed));
      any = true;
    }
    return any;
  }

  std::vector<Spec> while_results(Node& node, AxisSet typed) {
    const auto consts = std::size_t(node.attrs.integer("num_consts", 0));
    std::vector<Spec> params = operand_specs(node, 0, node.operands.size(), typed),
                      carry(params.begin() + std::ptrdiff_t(consts), params.end());
    Bodies bodies = node.attrs.bodies();
    type_body(node, bodies, 0, params, typed);
    const std::vector<Spec> made = type_body(node, bodies, 1, params, typed);
    if (cut_repeated(node, consts, made, typed)) return while_results(node, typed);
    check_carry("body_fun", node, carry, made);
    node.attrs.set("bodies", bodies);
    return carry;
  }

  std::vector<Spec> scan_results(Node& node, AxisSet typed) {
    const auto consts = std::size_t(node.attrs.integer("num_consts", 0)), carried = std::size_t(node.attrs.integer("num_carry", 0));
    Told told = told_results(node, typed);
    for (std::size_t i = 0; i < carried; ++i) {
      const ValueId value = node.operands[consts + i];
      if (!is_own_constant(node, value))
        told[i] = spec(value, typed);
      else if (told[i] && axes_in(spec(value, typed)) == 0)  // zeros that derivatives are added to
        cut(node, value, *told[i], typed);
    }
    for (std::size_t i = carried; i < told.size(); ++i)
      if (told[i]) told[i]->erase(told[i]->begin());
    std::vector<Spec> params = operand_specs(node, 0, node.operands.size(), typed);
    std::vector<Spec> carry(params.begin() + std::ptrdiff_t(consts), params.begin() + std::ptrdiff_t(consts + carried));
    for (std::size_t i = consts + carried; i < params.size(); ++i) {
      if (!params[i][0].empty())
        throw_user_error("0th dimension of all xs should be replicated. Got {} (xs[{}]); reshard it first [{}]", text_of(params[i], mesh_),
                         i - consts - carried, node.where.text());
      params[i].erase(params[i].begin());
    }
    Bodies bodies = node.attrs.bodies();
    std::vector<Spec> results = type_body(node, bodies, 0, params, typed, std::move(told), Scanned{node, consts + carried, carried});
    if (cut_repeated(node, consts, {results.begin(), results.begin() + std::ptrdiff_t(carried)}, typed)) return scan_results(node, typed);
    node.attrs.set("bodies", bodies);
    check_carry("scan body", node, carry, {results.begin(), results.begin() + std::ptrdiff_t(carried)});
    for (std::size_t i = carried; i < results.size(); ++i) results[i].insert(results[i].begin(), Axes{});
    return results;
  }

  std::vector<Spec> branch_results(Node& node, AxisSet typed) {
    Bodies bodies = node.attrs.bodies();
    const Told told = told_results(node, typed);
    std::vector<Spec> params = operand_specs(node, 1, node.operands.size(), typed), first = type_body(node, bodies, 0, params, typed, told);
    for (std::size_t b = 1; b < bodies.size(); ++b) {
      std::vector<Spec> other = type_body(node, bodies, b, params, typed, told);
      for (std::size_t r = 0; r < first.size(); ++r)
        if (first[r] != other[r])
          throw_user_error(
              "cond branches must have equal output types but they differ.\n\nThe output of branch 0 at index {} has type {} but the "
              "corresponding output of branch {} has type {}.\n\nRevise the branches so that all output types match. [{}]",
              r, typed_text(graph_.type(node.results[r]), first[r], mesh_), b, typed_text(graph_.type(node.results[r]), other[r], mesh_),
              node.where.text());
    }
    node.attrs.set("bodies", bodies);
    return first;
  }

  const Graph& graph_;
  const Mesh& mesh_;
  const AxisSet around_, manual_;
  const CotangentTypes cotangents_;
  std::size_t typed_count_ = 0;  // of the graph's nodes
  const OpDef* constraint_ = nullptr;
  Graph typed_;
  std::vector<Spec> specs_;                                     // per value
  std::map<ValueId, Spec> actual_;                              // of values that are taken to have another type
  std::vector<ValueId> now_;                                    // which value stands for one of `graph_`
  std::vector<bool> asked_, is_constant_, on_mesh_, repeated_;  // per value
  MeshSource source_ = MeshSource::kOperands;
};

}  // namespace

bool has_explicit_nodes(const Graph& graph, const Mesh& mesh) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const Node& node) { return typed_axes(node, mesh, 0) != 0 || node.op == &ops::kCutAsBatch; });
}

static ExplicitTypes typed_graph(const Graph& graph, const Mesh& mesh, AxisSet typed, const std::vector<std::optional<Spec>>& params,
                                 MeshSource source, const std::vector<bool>& has_out_sharding) {
  std::vector<bool> on_mesh;
  std::vector<Spec> specs;
  for (std::size_t i = 0; i < graph.params.size(); ++i) {
    on_mesh.push_back(params[i].has_value());
    specs.push_back(params[i].value_or(Spec(std::size_t(graph.type(graph.params[i]).rank()))));
  }
  return GraphTyping(graph, mesh, typed).run(specs, on_mesh, source, has_out_sharding);
}

ExplicitTypes with_explicit_types(const Graph& graph, const Mesh& mesh, const std::vector<std::optional<Spec>>& params, MeshSource source,
                                  const std::vector<bool>& has_out_sharding) {
  return typed_graph(graph, mesh, explicit_axes_of(mesh), params, source, has_out_sharding);
}

std::vector<Spec> types_of_results(const Graph& graph, const Mesh& mesh, AxisSet typed, const std::vector<std::optional<Spec>>& params,
                                   MeshSource source) {
  return typed_graph(graph, mesh, typed, params, source, {}).results;
}

}  // namespace shardlab
