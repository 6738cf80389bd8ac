#include "runtime/spmd/code_part.h"

#include <algorithm>

#include "runtime/core/mesh_change.h"
#include "runtime/graph/host_callback.h"
#include "runtime/spmd/layout.h"
#include "runtime/spmd/partial_manual.h"
#include "runtime/spmd/work.h"

namespace shardlab::spmd {

bool communicates(const Node& node) {
  if (!node.op->collective.empty()) return true;
  const Bodies& bodies = node.attrs.bodies();
  return std::any_of(bodies.begin(), bodies.end(),
                     [](const GraphRef& body) { return std::any_of(body->nodes.begin(), body->nodes.end(), communicates); });
}

Code::Code(const Graph& around, const std::vector<ValueSharding>& values_around, const BodyPropagations& bodies, NodeId node,
           const Mesh& mesh)
    : around_(around), values_around_(values_around), node_(&around.nodes[std::size_t(node)]), own_(mesh_of_code(*node_, mesh)) {
  if (auto found = bodies.find(node); found != bodies.end()) propagated_ = &found->second->at(0);
  graph_ = propagated_ != nullptr ? &propagated_->graph : node_->attrs.bodies()[0].get();
  values_ = propagated_ != nullptr ? propagated_->values : std::vector<ValueSharding>(graph_->values.size());
  const std::vector<bool> manual = manual_axes(*node_, own_);
  own_axes_.emplace_back();
  for (int axis = 0; axis < own_.axis_count(); ++axis)
    if (manual[std::size_t(axis)]) own_axes_[0].push_back(own_.whole_axis(axis));
  if (own_.same_devices(mesh)) axes_ = spec_on(own_axes_, own_, mesh);
  is_same_everywhere_ = same_everywhere();
  is_of_place_ = known_values(*graph_, std::vector<bool>(graph_->params.size(), false));
}

// Per value whether all places along the code's axes have the same.
std::vector<bool> Code::same_everywhere() const {
  std::vector<bool> same(graph_->values.size(), false);
  for (std::size_t i = 0; i < graph_->params.size(); ++i) {
    const Spec& in = node_->attrs.shardings("in_specs")[i].entries();
    same[std::size_t(graph_->params[i])] = std::all_of(in.begin(), in.end(), [](const Axes& axes) { return axes.empty(); });
  }
  for (const Node& node : graph_->nodes) {
    const bool comes_of_all = (node.op->collective == "all-reduce" || node.op->collective == "all-gather") &&
                              node.attrs.integer("axis_size", 0) == part_count(own_axes_);
    const bool follows = !node.op->member && node.attrs.bodies().empty() && !has_effects(node) &&
                         std::all_of(node.operands.begin(), node.operands.end(), [&](ValueId id) { return same[std::size_t(id)]; });
    for (ValueId id : node.results) same[std::size_t(id)] = comes_of_all || follows;
  }
  return same;
}

bool Code::can_hand_over() const { return axes_ && !node_->attrs.flag(kPlanned); }

std::vector<bool> Code::needed_for(std::vector<bool> wanted, const std::vector<bool>& given) const {
  for (auto node = graph_->nodes.rbegin(); node != graph_->nodes.rend(); ++node)
    if (std::any_of(node->results.begin(), node->results.end(),
                    [&](ValueId id) { return wanted[std::size_t(id)] && !given[std::size_t(id)]; }))
      for (ValueId id : node->operands) wanted[std::size_t(id)] = true;
  return wanted;
}

std::vector<bool> Code::needed_by_effects() const {
  std::vector<bool> needed(graph_->values.size(), false);
  for (const Node& node : graph_->nodes) {
    if (!has_effects(node)) continue;
    for (ValueId id : node.operands) needed[std::size_t(id)] = true;
    for (ValueId id : node.results) needed[std::size_t(id)] = true;
  }
  return needed;
}

bool Code::is_scalar_step(const Node& node) const {
  auto is_scalar = [&](ValueId id) { return graph_->type(id).rank() == 0; };
  return std::all_of(node.results.begin(), node.results.end(), is_scalar) &&
         std::all_of(node.operands.begin(), node.operands.end(), is_scalar);
}

bool Code::is_of_place(const Node& node) const {
  return !node.results.empty() && is_scalar_step(node) && is_of_place_[std::size_t(node.results[0])];
}

TensorType Code::type_at_edge(ValueId inside) const {
  TensorType type = graph_->type(inside);
  if (is_boxed(inside)) type.shape = {1};
  return type;
}

ValueSharding Code::form_at_edge(ValueId inside) const {
  ValueSharding form = values_[std::size_t(inside)];
  if (form && is_boxed(inside)) form->resize(1);
  return form;
}

// What each device has, side by side along its first dimension.
Sharding Code::spec_around(ValueId inside) const { return Sharding(own_, is_cut(inside) ? own_axes_ : Spec{}); }

TensorType Code::type_around(ValueId inside) const {
  TensorType type = type_at_edge(inside);
  if (is_cut(inside)) type.shape[0] *= part_count(own_axes_);
  return type;
}

ValueSharding Code::form_around(ValueId inside) const {
  std::vector<DimSharding> dims(type_at_edge(inside).shape.size());
  if (const ValueSharding& sharding = form_at_edge(inside)) dims = *sharding;
  if (is_cut(inside)) dims[0].axes.insert(dims[0].axes.begin(), axes_->at(0).begin(), axes_->at(0).end());
  return dims;
}

ValueId Code::reshaped(PropagationCopy& copy, ValueId id, const TensorType& type, const ValueSharding& form) const {
  const ValueId result = copy.add_value(type, form);
  copy.add_node({node_->op->reshape, {id}, {result}, Attrs{{"shape", type.shape}}, node_->where, node_->user_op});
  return result;
}

std::vector<ValueId> Code::add(PropagationCopy& around, BodyPropagations& bodies, const CodePart& part) const {
  static const std::vector<std::vector<Origin>> kNone;
  PropagationCopy copy(*graph_, values_, propagated_ != nullptr ? propagated_->origins : kNone);
  Node node = *node_;
  node.operands.clear();
  node.results.clear();
  std::vector<Sharding> in, out;
  for (std::size_t i = 0; i < graph_->params.size(); ++i) {
    if (!part.needed[std::size_t(graph_->params[i])]) continue;
    copy.copy_param(graph_->params[i]);
    node.operands.push_back(around.now(node_->operands[i]));
    in.push_back(node_->attrs.shardings("in_specs")[i]);
  }
  std::vector<bool> is_taken(graph_->values.size(), false);
  for (const CodePart::Taken& taken : part.taken) {
    copy.now(taken.inside) = copy.add_param(type_at_edge(taken.inside), form_at_edge(taken.inside));
    is_taken[std::size_t(taken.inside)] = true;
    node.operands.push_back(taken.around);
    in.push_back(spec_around(taken.inside));
  }
  for (const CodePart::Taken& taken : part.taken)
    if (is_boxed(taken.inside))
      copy.now(taken.inside) = reshaped(copy, copy.now(taken.inside), graph_->type(taken.inside), sharding(taken.inside));
  BodyPropagations inner;
  for (NodeId n = 0; n < NodeId(graph_->nodes.size()); ++n) {
    const Node& each = graph_->nodes[std::size_t(n)];
    const bool is_here = std::any_of(each.results.begin(), each.results.end(),
                                     [&](ValueId id) { return part.needed[std::size_t(id)] && !is_taken[std::size_t(id)]; });
    if (!is_here && !(part.has_effects && has_effects(each))) continue;
    copy.copy_node(n, each);
    if (propagated_ == nullptr) continue;
    if (auto found = propagated_->bodies.find(n); found != propagated_->bodies.end()) inner[copy.node_now(n)] = found->second;
  }
  const std::size_t handed_before = std::size_t(node.attrs.integer(kHandedOver, 0));
  auto handed = std::int64_t(part.handed.size());
  for (std::size_t r = 0; r < graph_->results.size(); ++r) {
    if (!part.results[r]) continue;
    if (r + handed_before >= graph_->results.size()) ++handed;
    copy.graph.results.push_back(copy.now(graph_->results[r]));
    out.push_back(node_->attrs.shardings("out_specs")[r]);
    const ValueId outside = node_->results[r];
    around.now(outside) = around.add_value(around_.type(outside), values_around_[std::size_t(outside)]);
    node.results.push_back(around.now(outside));
  }
  std::vector<ValueId> names;
  for (ValueId inside : part.handed) {
    const ValueId now = copy.now(inside);
    copy.graph.results.push_back(is_boxed(inside) ? reshaped(copy, now, type_at_edge(inside), form_at_edge(inside)) : now);
    out.push_back(spec_around(inside));
    names.push_back(around.add_value(type_around(inside), form_around(inside)));
    node.results.push_back(names.back());
  }
  BodyPropagation code = copy.as_body(std::move(inner));
  if (node.results.empty() && std::none_of(code.graph.nodes.begin(), code.graph.nodes.end(), has_effects)) return names;
  node.attrs.set("bodies", Bodies{std::make_shared<const Graph>(code.graph)})
      .set("in_specs", in)
      .set("out_specs", out)
      .set(kHandedOver, handed);
  const NodeId added = around.add_node(std::move(node));
  if (propagated_ != nullptr) bodies[added] = std::make_shared<const std::vector<BodyPropagation>>(1, std::move(code));
  return names;
}

}  // namespace shardlab::spmd
