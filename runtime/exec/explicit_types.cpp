#include "runtime/exec/explicit_types.h"
#include "runtime/exec/array_impl.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/exec/explicit_node.h"
#include "runtime/ops/region_types.h"
#include "runtime/ops/registry.h"

namespace shardlab {
namespace {

// Marks of the nodes of auto_axes and explicit_axes, before the names of the ops that their user called: copies keep them, and so do
// derivatives and batches.
constexpr std::string_view kAutoMark = "auto_axes.", kExplicitMark = "explicit_axes.";

// The innermost mark counts.
bool is_typed(const Node& node, bool otherwise) {
  const std::size_t in_auto = node.user_op.rfind(kAutoMark), in_explicit = node.user_op.rfind(kExplicitMark);
  if (in_auto == std::string::npos && in_explicit == std::string::npos) return otherwise;
  return in_auto == std::string::npos || (in_explicit != std::string::npos && in_explicit > in_auto);
}

struct TypedGraph {
  Graph graph;
  std::vector<Spec> results;
};

// Values that are asked for in some sharding: wanted results, and operands of constraints.
std::vector<bool> asked_for(const Graph& graph, const std::vector<bool>& has_out_sharding) {
  std::vector<bool> asked(graph.values.size(), false);
  for (std::size_t i = 0; i < graph.results.size() && i < has_out_sharding.size(); ++i)
    if (has_out_sharding[i]) asked[std::size_t(graph.results[i])] = true;
  for (const Node& node : graph.nodes)
    if (node.op->is_constraint) asked[std::size_t(node.operands[0])] = true;
  return asked;
}

// A graph being typed, and the bodies of its nodes.
class GraphTyping {
 public:
  GraphTyping(const Graph& graph, const Mesh& mesh, bool is_explicit)
      : graph_(graph), mesh_(mesh), is_explicit_(is_explicit), typed_(graph) {
    constraint_ = find_op("with_sharding_constraint");
    SL_CHECK(constraint_ != nullptr);
    typed_.nodes.clear();
    specs_.resize(graph.values.size());
    for (std::size_t v = 0; v < specs_.size(); ++v) {
      specs_[v].resize(std::size_t(graph.values[v].type.rank()));
      now_.push_back(ValueId(v));
    }
  }

  TypedGraph run(const std::vector<Spec>& params, const std::vector<bool>& has_out_sharding) {
    asked_ = asked_for(graph_, has_out_sharding);
    for (std::size_t i = 0; i < graph_.params.size(); ++i) spec(graph_.params[i]) = params[i];
    for (const Node& node : graph_.nodes) add(node);
    TypedGraph out;
    for (ValueId id : graph_.results) out.results.push_back(spec(id));
    for (ValueId& id : typed_.results) id = now_[std::size_t(id)];
    verify(typed_);
    out.graph = std::move(typed_);
    return out;
  }

 private:
  Spec& spec(ValueId id) { return specs_[std::size_t(id)]; }
  const Spec& spec(ValueId id) const { return specs_[std::size_t(id)]; }

  void add(const Node& node) {
    const bool typed = is_typed(node, is_explicit_);
    Node copy = node;
    std::vector<Spec> results;
    if (node.op->is_constraint) {
      results = {constrained(node, typed)};
    } else if (node.op == &ops::kEnterAutoAxes) {
      results = {spec(node.operands[1])};
    } else if (typed && node.op->region != RegionKind::kNone && node.op->region != RegionKind::kCall) {
      results = region_results(copy);
    } else if (typed && !node.op->constant && node.op->rule != nullptr) {
      const bool is_asked =
          std::any_of(node.results.begin(), node.results.end(), [&](ValueId result) { return asked_[std::size_t(result)]; });
      results = typed_results(graph_, node, mesh_, specs_, is_asked);
    }
    if (node.op == &ops::kEnterAutoAxes) {
      keep_as_constraint(node, results[0]);
      return;
    }
    for (ValueId& operand : copy.operands) operand = now_[std::size_t(operand)];
    typed_.nodes.push_back(std::move(copy));
    for (ValueId result : node.results) typed_.values[std::size_t(result)].producer = NodeId(typed_.nodes.size() - 1);
    for (std::size_t r = 0; r < results.size(); ++r) {
      const ValueId value = node.results[r];
      results[r].resize(std::size_t(graph_.type(value).rank()));
      spec(value) = results[r];
      if (node.op->is_constraint || node.op->elementwise || asked_[std::size_t(value)]) continue;
      hold(node, value, results[r]);
    }
  }

  Spec constrained(const Node& node, bool typed) const {
    Spec wanted = node.attrs.sharding("sharding").spec(graph_.type(node.results[0]).rank());
    const Spec& has = spec(node.operands[0]);
    if (node.attrs.has("unconstrained"))
      for (std::int64_t d : node.attrs.integers("unconstrained")) wanted[std::size_t(d)] = has[std::size_t(d)];
    if (typed && node.attrs.flag("assertion") && has != wanted)
      throw_user_error("{} [{}]", failed_assertion_text(text_of(has, mesh_), text_of(wanted, mesh_)), node.where.text());
    return wanted;
  }

  // Its first operand, lying as the second does; what the second is, is of no account.
  void keep_as_constraint(const Node& node, const Spec& wanted) {
    const ValueId result = node.results[0];
    Node hold = node;
    hold.op = constraint_;
    hold.operands = {now_[std::size_t(node.operands[0])]};
    hold.attrs = Attrs{{"sharding", Sharding(mesh_, wanted)}};
    typed_.nodes.push_back(std::move(hold));
    typed_.values[std::size_t(result)].producer = NodeId(typed_.nodes.size() - 1);
    spec(result) = wanted;
  }

  void hold(const Node& node, ValueId value, const Spec& wanted) {
    Node held;
    held.op = constraint_;
    held.operands = {value};
    held.results = {ValueId(typed_.values.size())};
    held.attrs = Attrs{{"sharding", Sharding(mesh_, wanted)}};
    held.where = node.where;
    held.user_op = node.user_op;
    typed_.values.push_back({graph_.type(value), NodeId(typed_.nodes.size()), 0});
    now_[std::size_t(value)] = held.results[0];
    typed_.nodes.push_back(std::move(held));
  }

  // --- Nodes with bodies.

  std::vector<Spec> region_results(Node& node) {
    switch (node.op->region) {
      case RegionKind::kManual:
        return manual_results(node);
      case RegionKind::kWhile:
        return while_results(node);
      case RegionKind::kScan:
        return scan_results(node);
      default:
        return branch_results(node);
    }
  }

  std::vector<Spec> operand_specs(const Node& node, std::size_t first, std::size_t end) const {
    std::vector<Spec> all;
    for (std::size_t i = first; i < end; ++i) all.push_back(spec(node.operands[i]));
    return all;
  }

  // Types body number `b` on these parameters.
  std::vector<Spec> type_body(Bodies& bodies, std::size_t b, const std::vector<Spec>& params) const {
    TypedGraph typed = GraphTyping(*bodies[b], mesh_, true).run(params, {});
    bodies[b] = std::make_shared<const Graph>(std::move(typed.graph));
    return typed.results;
  }

  // The operands are constraints to in_specs: what they hold must lie so already.
  std::vector<Spec> manual_results(const Node& node) const {
    const auto &in = node.attrs.shardings("in_specs"), &out = node.attrs.shardings("out_specs");
    for (std::size_t i = 0; i < in.size(); ++i) {
      const TensorType& type = graph_.type(node.operands[i]);
      const NodeId producer = graph_.values[std::size_t(node.operands[i])].producer;
      if (producer < 0 || !graph_.nodes[std::size_t(producer)].op->is_constraint) continue;
      const Spec &has = spec(graph_.nodes[std::size_t(producer)].operands[0]), wanted = in[i].spec(type.rank());
      if (has != wanted)
        throw_user_error(
            "in_specs passed to shard_map: {} does not match the specs of the input: {} for arg: {}. If you want to reshard your inputs, "
            "you can "
            "use `jax.reshard` (here `reshard`) on the arguments and then pass those args to shard_map. (argument {}) [{}]",
            text_of(wanted, mesh_), text_of(has, mesh_), typed_text(type, has, mesh_), i, node.where.text());
    }
    std::vector<Spec> results;
    for (std::size_t i = 0; i < out.size(); ++i) results.push_back(out[i].spec(graph_.type(node.results[i]).rank()));
    return results;
  }

  void check_carry(std::string_view name, const Node& node, const std::vector<Spec>& in, const std::vector<Spec>& out) const {
    for (std::size_t i = 0; i < in.size(); ++i)
      if (in[i] != out[i])
        throw_user_error(
            "{} function carry input and carry output must have equal types, but they differ:\n\nthe input carry component carry[{}] has "
            "type "
            "{} but the corresponding output carry component has type {}, so the shardings do not match.\n\nRevise the function so that "
            "all "
            "output types match the corresponding input types, with `reshard` where it ends or around what goes in. [{}]",
            name, i, typed_text(graph_.type(node.results[i]), in[i], mesh_), typed_text(graph_.type(node.results[i]), out[i], mesh_),
            node.where.text());
  }

  std::vector<Spec> while_results(Node& node) {
    const auto consts = std::size_t(node.attrs.integer("num_consts", 0));
    std::vector<Spec> params = operand_specs(node, 0, node.operands.size()), carry(params.begin() + std::ptrdiff_t(consts), params.end());
    Bodies bodies = node.attrs.bodies();
    type_body(bodies, 0, params);
    check_carry("body_fun", node, carry, type_body(bodies, 1, params));
    node.attrs.set("bodies", bodies);
    return carry;
  }

  std::vector<Spec> scan_results(Node& node) {
    const auto consts = std::size_t(node.attrs.integer("num_consts", 0)), carried = std::size_t(node.attrs.integer("num_carry", 0));
    std::vector<Spec> params = operand_specs(node, 0, node.operands.size());
    std::vector<Spec> carry(params.begin() + std::ptrdiff_t(consts), params.begin() + std::ptrdiff_t(consts + carried));
    for (std::size_t i = consts + carried; i < params.size(); ++i) {
      if (!params[i][0].empty())
        throw_user_error("0th dimension of all xs should be replicated. Got {} (xs[{}]); reshard it first [{}]", text_of(params[i], mesh_),
                         i - consts - carried, node.where.text());
      params[i].erase(params[i].begin());
    }
    Bodies bodies = node.attrs.bodies();
    std::vector<Spec> results = type_body(bodies, 0, params);
    node.attrs.set("bodies", bodies);
    check_carry("scan body", node, carry, {results.begin(), results.begin() + std::ptrdiff_t(carried)});
    for (std::size_t i = carried; i < results.size(); ++i) results[i].insert(results[i].begin(), Axes{});
    return results;
  }

  std::vector<Spec> branch_results(Node& node) {
    Bodies bodies = node.attrs.bodies();
    std::vector<Spec> params = operand_specs(node, 1, node.operands.size()), first = type_body(bodies, 0, params);
    for (std::size_t b = 1; b < bodies.size(); ++b) {
      std::vector<Spec> other = type_body(bodies, b, params);
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
  const bool is_explicit_;
  const OpDef* constraint_ = nullptr;
  Graph typed_;
  std::vector<Spec> specs_;   // per value
  std::vector<ValueId> now_;  // which value stands for one of `graph_`
  std::vector<bool> asked_;
};

}  // namespace

std::string typed_text(const TensorType& type, const Spec& spec, const Mesh& mesh) {
  std::vector<std::string> dims;
  for (std::size_t d = 0; d < type.shape.size(); ++d)
    dims.push_back(d < spec.size() && !spec[d].empty() ? fmt::format("{}@{}", type.shape[d], axes_text(spec[d], mesh))
                                                       : fmt::format("{}", type.shape[d]));
  return fmt::format("{}[{}]", name_of(type.dtype), fmt::join(dims, ","));
}

std::string failed_assertion_text(std::string_view has, std::string_view wanted) {
  return fmt::format(
      "`with_sharding_constraint` acts as an assert when all axes of mesh are of type `Explicit`. The array sharding: {} did not match the "
      "sharding provided: {}. Please use `jax.sharding.reshard` (here `reshard`) to shard your input to the sharding you want",
      has, wanted);
}

std::string marked(std::string_view user_op, AxisType type) {
  return fmt::format("{}{}", type == AxisType::kExplicit ? kExplicitMark : kAutoMark, user_op);
}

bool has_explicit_nodes(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) { return is_typed(node, false); });
}

Graph with_explicit_types(const Graph& graph, const Mesh& mesh, const std::vector<std::optional<Spec>>& params,
                          const std::vector<bool>& has_out_sharding) {
  std::vector<Spec> specs;
  for (std::size_t i = 0; i < graph.params.size(); ++i)
    specs.push_back(params[i] ? *params[i] : Spec(std::size_t(graph.type(graph.params[i]).rank())));
  return GraphTyping(graph, mesh, mesh.has_explicit_axes()).run(specs, has_out_sharding).graph;
}

}  // namespace shardlab
