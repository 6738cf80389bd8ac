#include "runtime/spmd/prepare.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "runtime/core/mesh_change.h"
#include "runtime/spmd/flat_graph.h"
#include "runtime/spmd/partial_manual.h"

namespace shardlab::spmd {

Axes without_axes_of_one(Axes axes) {
  std::erase_if(axes, [](const AxisPiece& piece) { return piece.size == 1; });
  return axes;
}

Uses uses_of(const Graph& graph) {
  Uses uses(graph.values.size());
  for (NodeId n = 0; n < NodeId(graph.nodes.size()); ++n) {
    const Node& node = graph.nodes[std::size_t(n)];
    if (node.results.empty()) continue;  // who only looks at a value does not change how it is cut
    for (std::size_t i = 0; i < node.operands.size(); ++i) uses[std::size_t(node.operands[i])].push_back({n, int(i)});
  }
  for (std::size_t i = 0; i < graph.results.size(); ++i) uses[std::size_t(graph.results[i])].push_back({-1, int(i)});
  return uses;
}

std::vector<bool> constant_expressions(const Graph& graph) {
  std::vector<bool> constant(graph.nodes.size(), false);
  auto is_constant = [&](ValueId value) {
    NodeId producer = graph.values[std::size_t(value)].producer;
    return producer >= 0 && constant[std::size_t(producer)];
  };
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    bool folds = (node.op->elementwise || node.op->folds) && !node.op->is_constraint && !node.operands.empty();
    // XLA has folded what is computed from values without elements alone before it propagates.
    auto is_empty = [&](ValueId value) { return graph.type(value).elements() == 0; };
    bool of_nothing = node.op->region == RegionKind::kNone && !node.operands.empty() && node.results.size() == 1 &&
                      !is_empty(node.results[0]) && std::all_of(node.operands.begin(), node.operands.end(), is_empty);
    constant[n] = node.op->constant || of_nothing || (folds && std::all_of(node.operands.begin(), node.operands.end(), is_constant));
  }
  return constant;
}

bool is_scalar_broadcast(const Graph& graph, const Node& node) {
  return node.op->backward_first && node.operands.size() == 1 && graph.type(node.operands[0]).rank() == 0;
}

namespace {

// Which call of the user's a node is of.
std::string call_of(const Node& node) { return fmt::format("{} {}", node.user_op, node.where.text()); }

// Per node whether it holds the broadcast of a number to its type, for steps of the op alone that makes it. JAX has both for each step.
std::vector<bool> types_of_own_numbers(const Graph& graph) {
  std::vector<bool> found(graph.nodes.size(), false);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const NodeId producer = node.op->is_constraint ? graph.values[std::size_t(node.operands[0])].producer : -1;
    if (producer < 0) continue;
    const Node& made = graph.nodes[std::size_t(producer)];
    found[n] = is_scalar_broadcast(graph, made) && call_of(made) == call_of(node);
  }
  for (const Node& node : graph.nodes)
    for (ValueId id : node.operands)
      if (const NodeId producer = graph.values[std::size_t(id)].producer; producer >= 0 && found[std::size_t(producer)])
        found[std::size_t(producer)] = call_of(graph.nodes[std::size_t(producer)]) == call_of(node);
  return found;
}

}  // namespace

std::vector<bool> cloned_nodes(const Graph& graph) {
  std::vector<bool> constant = constant_expressions(graph), cloned;
  const std::vector<bool> of_numbers = types_of_own_numbers(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    bool scalar = std::all_of(node.results.begin(), node.results.end(), [&](ValueId v) { return graph.type(v).rank() == 0; });
    cloned.push_back(!scalar && (constant[n] || is_scalar_broadcast(graph, node) || of_numbers[n] || node.attrs.has("implicit")));
  }
  return cloned;
}

namespace {

bool has_edges(const Node& node) {
  const RegionKind kind = node.op->region;
  return kind == RegionKind::kWhile || kind == RegionKind::kScan || kind == RegionKind::kBranch;
}

// Values at edges, what a body's loop carries and what loops and branches give, that others use beside a constraint: that constraint,
// where there is no other.
std::vector<const Node*> constraints_of_edges(const Graph& graph, const std::vector<bool>& carried) {
  const Uses uses = uses_of(graph);
  std::vector<const Node*> found(graph.values.size(), nullptr);
  auto look_for = [&](ValueId id) {
    if (uses[std::size_t(id)].size() < 2) return;
    const Node*& constraint = found[std::size_t(id)];
    for (const Use& use : uses[std::size_t(id)]) {
      const Node* user = use.node < 0 ? nullptr : &graph.nodes[std::size_t(use.node)];
      if (user == nullptr || !user->op->is_constraint) continue;
      if (constraint != nullptr && constraint->attrs != user->attrs) {
        constraint = nullptr;
        break;
      }
      constraint = user;
    }
  };
  for (std::size_t i = 0; i < carried.size(); ++i)
    if (carried[i]) look_for(graph.params[i]);
  for (const Node& node : graph.nodes)
    if (has_edges(node)) std::for_each(node.results.begin(), node.results.end(), look_for);
  return found;
}

Graph with_constrained_edges(const Graph& graph, const std::vector<bool>& carried) {
  const std::vector<const Node*> constraints = constraints_of_edges(graph, carried);
  if (std::all_of(constraints.begin(), constraints.end(), [](const Node* each) { return each == nullptr; })) return graph;
  Graph out;
  out.name = graph.name;
  std::vector<ValueId> renamed(graph.values.size(), -1);
  auto add_value = [&](ValueId id, NodeId producer, int index) {
    out.values.push_back({graph.type(id), producer, index});
    return renamed[std::size_t(id)] = ValueId(out.values.size()) - 1;
  };
  auto constrain = [&](ValueId id) {
    const Node* constraint = constraints[std::size_t(id)];
    if (constraint == nullptr) return;
    Node edge = *constraint;
    edge.operands = {renamed[std::size_t(id)]};
    edge.results = {add_value(id, NodeId(out.nodes.size()), 0)};
    out.nodes.push_back(std::move(edge));
  };
  for (ValueId id : graph.params) out.params.push_back(add_value(id, -1, int(out.params.size())));
  std::for_each(graph.params.begin(), graph.params.end(), constrain);
  for (const Node& node : graph.nodes) {
    if (node.op->is_constraint && constraints[std::size_t(node.operands[0])] != nullptr) {  // it stands at the edge
      renamed[std::size_t(node.results[0])] = renamed[std::size_t(node.operands[0])];
      continue;
    }
    Node copy = node;
    for (ValueId& id : copy.operands) id = renamed[std::size_t(id)];
    for (std::size_t i = 0; i < node.results.size(); ++i) copy.results[i] = add_value(node.results[i], NodeId(out.nodes.size()), int(i));
    out.nodes.push_back(std::move(copy));
    std::for_each(node.results.begin(), node.results.end(), constrain);
  }
  for (ValueId id : graph.results) out.results.push_back(renamed[std::size_t(id)]);
  return out;
}

// Nodes in order, but for chains of constraints, which stand right behind what they are put on: whoever uses that may come to use what they
// give (redirect_chain).
std::vector<NodeId> with_chains_first(const Graph& graph) {
  const Uses uses = uses_of(graph);
  auto only_user = [&](ValueId id) { return uses[std::size_t(id)].size() == 1 ? uses[std::size_t(id)][0].node : -1; };
  auto is_constraint = [&](NodeId n) { return n >= 0 && graph.nodes[std::size_t(n)].op->is_constraint; };
  std::vector<NodeId> order;
  std::vector<bool> stands(graph.nodes.size(), false);
  auto place = [&](NodeId n) {
    order.push_back(n);
    stands[std::size_t(n)] = true;
  };
  auto place_chains_on = [&](ValueId id) {
    if (uses[std::size_t(id)].size() < 2) return;
    for (const Use& use : uses[std::size_t(id)]) {
      if (!is_constraint(use.node)) continue;
      NodeId next = only_user(graph.nodes[std::size_t(use.node)].results[0]);
      if (!is_constraint(next)) continue;
      place(use.node);
      for (; is_constraint(next); next = only_user(graph.nodes[std::size_t(next)].results[0])) place(next);
    }
  };
  std::for_each(graph.params.begin(), graph.params.end(), place_chains_on);
  for (NodeId n = 0; n < NodeId(graph.nodes.size()); ++n) {
    if (stands[std::size_t(n)]) continue;
    place(n);
    const std::vector<ValueId>& results = graph.nodes[std::size_t(n)].results;
    std::for_each(results.begin(), results.end(), place_chains_on);
  }
  return order;
}

// Copies a graph's nodes in order; cloneable ones only where a user needs them.
class ConstantCloner {
 public:
  ConstantCloner(const Graph& source, Clone clone) : source_(source), clone_(clone), renamed_(source.values.size(), -1) {
    cloneable_ = cloned_nodes(source);
  }

  Graph run() {
    out_.name = source_.name;
    for (ValueId id : source_.params) {
      out_.params.push_back(renamed_[std::size_t(id)] = ValueId(out_.values.size()));
      out_.values.push_back(source_.values[std::size_t(id)]);
    }
    for (NodeId n : with_chains_first(source_)) {
      if (cloneable_[std::size_t(n)]) continue;
      Clones clones;
      copy_node(n, clones);
      const std::vector<ValueId>& results = source_.nodes[std::size_t(n)].results;
      for (std::size_t r = 0; r < results.size(); ++r) renamed_[std::size_t(results[r])] = out_.nodes.back().results[r];
    }
    for (ValueId id : source_.results) {
      Clones clones;
      out_.results.push_back(for_user(id, clones));
    }
    return std::move(out_);
  }

 private:
  using Clones = std::map<ValueId, ValueId>;  // of one user

  ValueId for_user(ValueId id, Clones& clones) {
    NodeId producer = source_.values[std::size_t(id)].producer;
    if (producer < 0 || !cloneable_[std::size_t(producer)]) return renamed_[std::size_t(id)];
    if (auto found = clones.find(id); found != clones.end()) return found->second;
    copy_node(producer, clones);
    std::vector<ValueId> results = out_.nodes.back().results;
    for (std::size_t r = 0; r < results.size(); ++r) clones[source_.nodes[std::size_t(producer)].results[r]] = results[r];
    return clones[id];
  }

  void copy_node(NodeId id, Clones& clones) {
    Node node = source_.nodes[std::size_t(id)];
    const bool is_shared = !cloneable_[std::size_t(id)] && node.op->elementwise;  // with what else its call computes
    for (ValueId& operand : node.operands) {
      Clones own;
      Clones& for_use = is_shared && is_computed(operand) ? of_calls_[call_of(node)] : own;
      const NodeId producer = source_.values[std::size_t(operand)].producer;
      operand = for_user(operand, clone_ == Clone::kForEachUser ? clones : for_use);
      if (clone_ == Clone::kForEachUse && producer >= 0 && is_closed_constraint(source_.nodes[std::size_t(producer)]))
        operand = opened(operand);
    }
    for (ValueId& result : node.results) {
      Value value = source_.values[std::size_t(result)];
      value.producer = NodeId(out_.nodes.size());
      result = ValueId(out_.values.size());
      out_.values.push_back(std::move(value));
    }
    out_.nodes.push_back(std::move(node));
  }

  // A constant that is no number and no broadcast of one.
  bool is_computed(ValueId id) const {
    const NodeId producer = source_.values[std::size_t(id)].producer;
    if (producer < 0) return false;
    const Node& node = source_.nodes[std::size_t(producer)];
    const bool is_number = (node.op->constant && !node.op->uses_position) || is_scalar_broadcast(source_, node);
    return !is_number && !node.attrs.has("implicit");
  }

  // One that leaves not all dimensions open, as those to types do.
  bool is_closed_constraint(const Node& node) const {
    return node.op->is_constraint &&
           !(node.attrs.has("unconstrained") && int(node.attrs.integers("unconstrained").size()) == source_.type(node.results[0]).rank());
  }

  // What a constraint gives, behind an open one.
  ValueId opened(ValueId constrained) {
    Value value = out_.values[std::size_t(constrained)];
    Node open = out_.nodes[std::size_t(value.producer)];
    std::vector<std::int64_t> dims(value.type.shape.size());
    std::iota(dims.begin(), dims.end(), 0);
    open.attrs = Attrs{{"sharding", Sharding(open.attrs.sharding("sharding").mesh(), PartitionSpec{})},
                       {"unconstrained", std::move(dims)},
                       {kOpensConstraint, true}};
    open.operands = open.results;
    value.producer = NodeId(out_.nodes.size());
    const auto made = ValueId(out_.values.size());
    open.results = {made};
    out_.values.push_back(std::move(value));
    out_.nodes.push_back(std::move(open));
    return made;
  }

  const Graph& source_;
  Clone clone_;
  Graph out_;
  std::vector<ValueId> renamed_;
  std::vector<bool> cloneable_;
  std::map<std::string, Clones> of_calls_;
};

// The calls of a graph that give several values, each with those: what its function returns first, then what is for its backward pass
// alone.
class CallResults {
 public:
  explicit CallResults(const Graph& graph) {
    const Uses uses = uses_of(graph);
    for (ValueId id = 0; id < ValueId(graph.values.size()); ++id) {
      const NodeId producer = graph.values[std::size_t(id)].producer;
      if (producer < 0) continue;
      for (const Call* call = graph.nodes[std::size_t(producer)].call.get(); call != nullptr; call = call->around.get()) {
        bool is_result = false, is_residual = true;
        for (const Use& use : uses[std::size_t(id)]) {
          const Call* user = use.node < 0 ? nullptr : graph.nodes[std::size_t(use.node)].call.get();
          if (is_within(user, [&](const Call* each) { return each == call; })) continue;
          is_result = true;
          is_residual &= is_within(user, [&](const Call* each) { return each->forward.get() == call; });
        }
        if (is_result) (is_residual ? residuals_ : returned_)[call].push_back(id);
      }
    }
    for (auto& [call, ids] : returned_) sort_as_given(graph, ids);
    for (auto& [call, ids] : residuals_) {
      sort_by_tangents(uses, ids);
      returned_[call].insert(returned_[call].end(), ids.begin(), ids.end());
    }
    std::erase_if(returned_, [](const auto& each) { return each.second.size() < 2; });
  }

  // Nothing: it gives one value.
  const std::vector<ValueId>* of(const Call* call) const {
    const auto found = returned_.find(call);
    return found == returned_.end() ? nullptr : &found->second;
  }

 private:
  template <typename Test>
  static bool is_within(const Call* call, const Test& test) {
    while (call != nullptr && !test(call)) call = call->around.get();
    return call != nullptr;
  }

  // What a backward pass needs stands in the order in which tangents use it first: the backward pass, which goes through the function from
  // its end, uses it last.
  static void sort_by_tangents(const Uses& uses, std::vector<ValueId>& residuals) {
    auto last_use = [&](ValueId id) {
      NodeId last = -1;
      for (const Use& use : uses[std::size_t(id)]) last = std::max(last, use.node);
      return last;
    };
    std::stable_sort(residuals.begin(), residuals.end(), [&](ValueId a, ValueId b) { return last_use(a) > last_use(b); });
  }

  // What a call gives in an order that is known comes first, and in it.
  static void sort_as_given(const Graph& graph, std::vector<ValueId>& ids) {
    auto place = [&](ValueId id) {
      const int number = graph.nodes[std::size_t(graph.values[std::size_t(id)].producer)].call_result;
      return number == 0 ? std::numeric_limits<int>::max() : number;
    };
    std::stable_sort(ids.begin(), ids.end(), [&](ValueId a, ValueId b) { return place(a) < place(b); });
  }

  std::map<const Call*, std::vector<ValueId>> returned_, residuals_;
};

// Depth first, operands before who uses them. XLA makes a tuple of what a call gives, so that a walk to one of it passes through all of it.
class ByResult {
 public:
  explicit ByResult(const Graph& graph) : graph_(graph), results_(graph), nodes_(graph.nodes.size(), State::kNew) {}

  std::vector<NodeId> run() {
    for (ValueId result : graph_.results) {
      visit(result);
      walk();
    }
    for (NodeId n = 0; n < NodeId(nodes_.size()); ++n) {  // what is there for its effect
      if (nodes_[std::size_t(n)] == State::kNew) stack_.push_back({n, nullptr});
      walk();
    }
    return std::move(order_);
  }

 private:
  enum class State : std::uint8_t { kNew, kOpen, kDone };
  struct Item {
    NodeId node;
    const Call* call;  // of which it is the tuple; null: it is the node
  };

  State& state_of(const Item& item) { return item.call != nullptr ? calls_[item.call] : nodes_[std::size_t(item.node)]; }

  // The outermost call that has not been come to, or the node.
  void visit(ValueId value) {
    const NodeId producer = graph_.values[std::size_t(value)].producer;
    if (producer < 0) return;
    Item item{producer, nullptr};
    for (const Call* call = graph_.nodes[std::size_t(producer)].call.get(); call != nullptr; call = call->around.get())
      if (results_.of(call) != nullptr && state_of({producer, call}) == State::kNew) item.call = call;
    if (state_of(item) == State::kNew) stack_.push_back(item);
  }

  void walk() {
    while (!stack_.empty()) {
      const Item top = stack_.back();
      State& state = state_of(top);
      if (state == State::kNew) {
        state = State::kOpen;
        const auto& needed = top.call != nullptr ? *results_.of(top.call) : graph_.nodes[std::size_t(top.node)].operands;
        for (auto value = needed.rbegin(); value != needed.rend(); ++value) visit(*value);
        continue;
      }
      stack_.pop_back();
      if (state == State::kOpen && top.call == nullptr) order_.push_back(top.node);
      state = State::kDone;
    }
  }

  const Graph& graph_;
  const CallResults results_;
  std::vector<State> nodes_;
  std::map<const Call*, State> calls_;  // kNew where there is none
  std::vector<Item> stack_;
  std::vector<NodeId> order_;
};

}  // namespace

std::vector<NodeId> nodes_by_result(const Graph& graph) { return ByResult(graph).run(); }

Graph with_cloned_constants(const Graph& graph, const std::vector<bool>& carried, Clone clone) {
  Graph live = without_dead_nodes(graph);
  if (clone == Clone::kForEachUser) live = with_constrained_edges(std::move(live), carried);
  return ConstantCloner(live, clone).run();
}

namespace {

class ConstraintSeeder {
 public:
  ConstraintSeeder(FlatGraph& flat, const Mesh& mesh, std::vector<ValueSharding>& values)
      : flat_(flat), graph_(flat.graph), mesh_(mesh), values_(values), uses_(uses_of(flat.graph)), visited_(flat.graph.nodes.size(), -1) {
    for (std::size_t i = 0; i < flat.order.size(); ++i) visited_[std::size_t(flat.order[i])] = int(i);
  }

  void run() {
    std::vector<NodeId> constraints;
    std::copy_if(flat_.order.begin(), flat_.order.end(), std::back_inserter(constraints), [&](NodeId n) { return is_constraint(n); });
    for (NodeId n : flat_.order)
      if (flat_.is_opened(n)) sharding(result_of(n)).emplace(std::size_t(graph_.type(result_of(n)).rank()));
    for (NodeId n : constraints) values_[std::size_t(result_of(n))] = wanted(n);
    for (NodeId n : constraints) {
      if (flat_.in_code[std::size_t(n)]) continue;  // what it is put on has an open one of JAX's
      redirect_chain(n);
      push_back(n);
    }
  }

 private:
  bool is_constraint(NodeId n) const { return n >= 0 && graph_.nodes[std::size_t(n)].op->is_constraint; }
  // In Shardy what per-device code takes is no constraint of its own.
  bool is_in_chain(NodeId n) const { return is_constraint(n) && !graph_.nodes[std::size_t(n)].attrs.flag("of_operand"); }
  ValueId result_of(NodeId n) const { return graph_.nodes[std::size_t(n)].results[0]; }
  ValueId input_of(NodeId n) const { return graph_.nodes[std::size_t(n)].operands[0]; }
  std::vector<Use>& uses(ValueId value) { return uses_[std::size_t(value)]; }
  ValueSharding& sharding(ValueId value) { return values_[std::size_t(flat_.sharers[std::size_t(value)])]; }

  // In the same body, behind the node as JAX's module has them (with_chains_first). What a body's end gives to an edge stays.
  bool is_later(const Use& use, NodeId node) const {
    if (use.node < 0 || (use.operand > 0 && flat_.is_edge(use.node))) return false;
    return flat_.blocks[std::size_t(use.node)] == flat_.blocks[std::size_t(node)] &&
           visited_[std::size_t(use.node)] > visited_[std::size_t(node)];
  }

  // As the graph is written: no node may come to use what is made behind it.
  bool is_before(NodeId node, NodeId other) const {
    return flat_.blocks[std::size_t(node)] == flat_.blocks[std::size_t(other)] &&
           flat_.places[std::size_t(node)] < flat_.places[std::size_t(other)];
  }

  std::vector<DimSharding> wanted(NodeId n) const {
    const Node& node = graph_.nodes[std::size_t(n)];
    const Sharding& sharding = node.attrs.sharding("sharding");
    const Mesh& mesh = sharding.mesh();
    int rank = graph_.type(node.results[0]).rank();
    auto spec = mesh.same_devices(mesh_) ? spec_on(sharding.spec(rank), mesh, mesh_) : std::nullopt;
    if (!spec && mesh_.axis_names().empty())
      throw_user_error(
          "with_sharding_constraint at {}: the axes of {} are Manual here: in per-device code values lie as in_specs and out_specs say, "
          "got spec={}; put the constraint outside shard_map, or leave axes out of its axis_names",
          node.where.text(), mesh.text(), sharding.spec_text());
    if (!spec)
      throw_user_error("with_sharding_constraint at {}: got a sharding on {}, the program runs on {}; use one mesh, or one whose axes nest",
                       node.where.text(), mesh.text(), mesh_.text());
    std::vector<DimSharding> dims;
    for (const Axes& axes : *spec) dims.push_back({without_axes_of_one(axes), true});
    if (node.attrs.has("unconstrained"))
      for (std::int64_t d : node.attrs.integers("unconstrained")) dims[std::size_t(d)].closed = false;
    return dims;
  }

  bool has_other_constraint(ValueId value, NodeId except) {
    return std::any_of(uses(value).begin(), uses(value).end(),
                       [&](const Use& use) { return use.node != except && is_constraint(use.node); });
  }

  void redirect_chain(NodeId head) {
    ValueId input = input_of(head);
    if (is_constraint(graph_.values[std::size_t(input)].producer) || sharding(input)) return;
    if (has_other_constraint(input, head)) return;
    NodeId tail = head;
    while (uses(result_of(tail)).size() == 1 && is_in_chain(uses(result_of(tail))[0].node)) tail = uses(result_of(tail))[0].node;
    if (tail == head || has_other_constraint(result_of(tail), -1)) return;
    std::vector<Use> kept;
    for (const Use& use : uses(input)) {
      if (!is_later(use, tail)) {
        kept.push_back(use);
      } else {
        graph_.nodes[std::size_t(use.node)].operands[std::size_t(use.operand)] = result_of(tail);
        uses(result_of(tail)).push_back(use);
      }
    }
    uses(input) = std::move(kept);
  }

  void push_back(NodeId n) {
    const ValueId id = input_of(n);
    if (sharding(id)) return;
    const ValueSharding spec = wanted(n);
    if (std::any_of(spec->begin(), spec->end(), [](const DimSharding& dim) { return !dim.closed; })) return;
    for (const Use& use : uses(id))
      if (is_constraint(use.node) && wanted(use.node) != spec) return;
    if (flat_.is_edge(graph_.values[std::size_t(flat_.sharers[std::size_t(id)])].producer))
      use_instead(id, n);
    else
      sharding(id) = spec;
  }

  // What comes to an edge is free in its sharding: all that use the value use its constraint, but for those that stand before it beside it.
  void use_instead(ValueId id, NodeId constraint) {
    std::vector<Use> kept;
    for (const Use& use : uses(id)) {
      if (use.node == constraint || use.node < 0 || is_before(use.node, constraint)) {
        kept.push_back(use);
        continue;
      }
      graph_.nodes[std::size_t(use.node)].operands[std::size_t(use.operand)] = result_of(constraint);
      uses(result_of(constraint)).push_back(use);
    }
    uses(id) = std::move(kept);
  }

  FlatGraph& flat_;
  Graph& graph_;
  const Mesh& mesh_;
  std::vector<ValueSharding>& values_;
  Uses uses_;
  std::vector<int> visited_;  // per node, when; -1: it is not
};

}  // namespace

void apply_constraints(FlatGraph& flat, const Mesh& mesh, std::vector<ValueSharding>& values) {
  ConstraintSeeder(flat, mesh, values).run();
}

namespace {

Axes replicated_axes(const Node& constraint, const Mesh& mesh) {
  if (!constraint.attrs.has("replicated")) return {};
  return axes_on(constraint.attrs.strings("replicated"), constraint.attrs.sharding("sharding").mesh(), mesh);
}

}  // namespace

std::vector<Axes> barred_axes(const Graph& graph, const Mesh& mesh) {
  std::vector<Axes> barred;
  for (const Node& node : graph.nodes) {
    const Axes axes = node.op->is_constraint ? replicated_axes(node, mesh) : axes_whole_at_edges(node, mesh);
    if (axes.empty()) continue;
    barred.resize(graph.values.size());
    for (ValueId result : node.results) barred[std::size_t(result)] = axes;
  }
  return barred;
}

FactorRule rule_of(const Graph& graph, const Node& node) {
  if (node.op->rule == nullptr) return {};
  std::vector<TensorType> operands = graph.types(node.operands), results = graph.types(node.results);
  FactorRule rule = node.op->rule(operands, results, node.attrs);
  if (rule.present) rule.fill(operands, results);
  return rule;
}

FactorRule propagation_rule_of(const Graph& graph, const Node& node) {
  if (node.attrs.has(kMeetsMeshes)) return {};
  if (!node.op->propagates) return {};
  if (node.op->needs == nullptr || !node.op->reduction) return rule_of(graph, node);
  Node asked = node;
  asked.attrs.set("rule_for_propagation", true);
  return rule_of(graph, asked);
}

}  // namespace shardlab::spmd
