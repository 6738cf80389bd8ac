#include "runtime/spmd/flat_graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/graph/barrier.h"
#include "runtime/spmd/outlines.h"
#include "runtime/spmd/partial_manual.h"

namespace shardlab::spmd {
namespace {

using Types = std::vector<TensorType>;

// All tensors share every dimension.
FactorRule identity_rule(const Types& operands, const Types& results, const Attrs&) {
  FactorRule rule(operands, results);
  for (int d = 0; d < results[0].rank(); ++d)
    rule.add(results[0].shape[std::size_t(d)], std::vector<int>(operands.size(), d), std::vector<int>(results.size(), d));
  return rule;
}

// Of the whole one slice along its leading dimension, along which nothing propagates. Source: the rule of a dynamic slice, and that of a
// reshape, by which dimensions of size 1 have nothing to do with each other.
FactorRule slice_rule(const Types& operands, const Types& results, const Attrs&) {
  FactorRule rule(operands, results);
  rule.add(operands[0].shape[0], {0}, {-1}, FactorKind::kReplicate, true);
  for (int d = 0; d < results[0].rank(); ++d) {
    const std::int64_t size = results[0].shape[std::size_t(d)];
    rule.add(size, {d + 1}, {size == 1 ? -1 : d});
    if (size == 1) rule.add(size, {-1}, {d});
  }
  return rule;
}

// The whole so far and one slice of it. Source: the rule of a dynamic update slice.
FactorRule update_rule(const Types& operands, const Types& results, const Attrs&) {
  FactorRule rule(operands, results);
  rule.add(results[0].shape[0], {0, -1}, {0});
  for (int d = 1; d < results[0].rank(); ++d) {
    const std::int64_t size = results[0].shape[std::size_t(d)];
    rule.add(size, {d, size == 1 ? -1 : d - 1}, {d});
    if (size == 1) rule.add(size, {-1, d - 1}, {-1});
  }
  return rule;
}

const OpDef kEdge = {.name = "data_flow_edge",
                     .doc = "What may come to one value.",
                     .operands_max = -1,
                     .rule = identity_rule,
                     .copies = true,
                     .pass_through = true};
const OpDef kCodeEdge = {.name = "edge_of_per_device_code", .doc = "What it takes or gives, on the other side of its edge."};
const OpDef kOpened = {.name = "opened", .doc = "A value whose sharding may be extended.", .rule = identity_rule, .elementwise = true};
const OpDef kOutlined = {.name = "outlined", .doc = "In whose place its outline stands."};
const OpDef kStep = {
    .name = "outline_step", .doc = "Values that meet in an outline.", .operands_max = -1, .rule = identity_rule, .elementwise = true};
const OpDef kLateStep = {.name = "late_outline_step", .doc = "The same later.", .operands_max = -1, .rule = identity_rule};
const OpDef kSliceOf = {.name = "slice_of_iteration", .doc = "What one iteration reads.", .rule = slice_rule, .forward_first = true};
const OpDef kUpdateOf = {
    .name = "update_by_iteration", .doc = "What one iteration writes.", .operands_max = 2, .rule = update_rule, .forward_first = true};

// What a body's parameter is outside it.
struct Outside {
  enum class Kind : std::uint8_t { kOperand, kCarried, kBranchOperand };
  Kind kind = Kind::kOperand;
  int index = 0;  // of the node's operand or result
};

// A body as its loop runs it: a scan's reads its slices from the whole and gives the whole.
struct LoopBody {
  Graph graph;
  std::vector<Outside> params;
  Graph plain;  // before that
};

class Explicit {
 public:
  Explicit(const Node& node, const GraphRef& body, Clone clone) : node_(node), is_loop_(node.op->region != RegionKind::kBranch) {
    for (std::size_t i = 0; i < body->params.size(); ++i) out_.params.push_back(outside(i));
    std::vector<bool> carried;
    for (const Outside& each : out_.params) carried.push_back(each.kind == Outside::Kind::kCarried);
    out_.graph = with_cloned_constants(*body, carried, clone);
    out_.plain = out_.graph;
    if (node.op->region == RegionKind::kScan) read_and_write();
  }

  LoopBody take() { return std::move(out_); }

 private:
  std::size_t consts() const { return std::size_t(node_.attrs.integer("num_consts", 0)); }
  std::size_t carried() const {
    return node_.op->region == RegionKind::kScan ? std::size_t(node_.attrs.integer("num_carry", 0)) : node_.results.size();
  }

  Outside outside(std::size_t i) const {
    if (!is_loop_) return {Outside::Kind::kBranchOperand, int(i) + 1};
    const bool is_carried = i >= consts() && i < consts() + carried();
    return is_carried ? Outside{Outside::Kind::kCarried, int(i - consts())} : Outside{Outside::Kind::kOperand, int(i)};
  }

  ValueId add_value(const DType& dtype, Shape shape) {
    out_.graph.values.push_back({TensorType{dtype, std::move(shape)}});
    return ValueId(out_.graph.values.size()) - 1;
  }
  void add_node(const OpDef& op, std::vector<ValueId> operands, ValueId result) {
    out_.graph.values[std::size_t(result)].producer = NodeId(out_.graph.nodes.size());
    Node made;
    made.op = &op;
    made.operands = std::move(operands);
    made.results = {result};
    out_.graph.nodes.push_back(std::move(made));
  }
  Shape whole_shape(ValueId slice) const {
    Shape shape = out_.graph.type(slice).shape;
    shape.insert(shape.begin(), node_.attrs.integer("length"));
    return shape;
  }

  void read_and_write() {
    Graph& graph = out_.graph;
    for (std::size_t i = consts() + carried(); i < graph.params.size(); ++i) {
      const ValueId slice = graph.params[i];
      const ValueId whole = add_value(graph.type(slice).dtype, whole_shape(slice));
      add_node(kSliceOf, {whole}, slice);
      graph.params[i] = whole;
    }
    for (std::size_t i = carried(); i < graph.results.size(); ++i) {
      const ValueId slice = graph.results[i];
      const ValueId before = add_value(graph.type(slice).dtype, whole_shape(slice));
      const ValueId after = add_value(graph.type(slice).dtype, whole_shape(slice));
      add_node(kUpdateOf, {before, slice}, after);
      graph.params.push_back(before);
      graph.results[i] = after;
      out_.params.push_back({Outside::Kind::kCarried, int(i)});
    }
  }

  const Node& node_;
  bool is_loop_;
  LoopBody out_;
};

// As with_cloned_constants puts it between a constraint and who takes what it gives.
bool is_open_constraint(const Node& node) { return node.op->is_constraint && node.attrs.flag(kOpensConstraint); }

bool is_laid_out(const Node& node) {
  const RegionKind kind = node.op->region;
  return kind == RegionKind::kWhile || kind == RegionKind::kScan || kind == RegionKind::kBranch;
}

class Flattener {
 public:
  Flattener(const Graph& graph, const std::vector<bool>& is_given, const Mesh& mesh) : mesh_(mesh) {
    out_.graph = graph;
    out_.sharers.resize(graph.values.size());
    std::iota(out_.sharers.begin(), out_.sharers.end(), 0);
    out_.blocks.assign(graph.nodes.size(), 0);
    out_.places.resize(graph.nodes.size());
    std::iota(out_.places.begin(), out_.places.end(), 0);
    out_.regions = out_.places;
    out_.in_code.assign(graph.nodes.size(), false);
    given_.assign(graph.values.size(), false);
    manual_.assign(std::size_t(mesh.axis_count()), false);
    for (std::size_t i = 0; i < graph.params.size(); ++i) given_[std::size_t(graph.params[i])] = is_given[i];
  }

  FlatGraph run() {
    for (NodeId n : nodes_by_result(out_.graph)) visit(n, out_.bodies, n);
    return std::move(out_);
  }

 private:
  const Node& node(NodeId n) const { return out_.graph.nodes[std::size_t(n)]; }

  // `bodies`: of the graph in which the node is `number`.
  void visit(NodeId n, FlatGraph::Bodies& bodies, NodeId number) {
    if (node(n).op->is_constraint || node(n).op->region == RegionKind::kManual)
      for (ValueId id : node(n).results) given_[std::size_t(id)] = true;
    if (is_laid_out(node(n)))
      bodies[number] = lay_out(n);
    else if (is_partial_manual(node(n), mesh_))
      bodies[number] = lay_out_code(n);
    else if (is_barrier(*node(n).op))
      lay_out_barrier(n);
    else if (node(n).op->elementwise && !outline_of(node(n)).empty() && out_.graph.type(node(n).results[0]).rank() > 0)
      lay_out_outline(n);
    else if (has_hidden_first_step(node(n).op->name))
      lay_out_first_step(n);
    else
      out_.order.push_back(n);
  }

  std::string_view outline_of(const Node& node) const {
    return spmd::outline_of(node.op->name, !node.operands.empty() && is_integer(out_.graph.type(node.operands[0]).dtype));
  }

  // One data-flow edge a result.
  void lay_out_barrier(NodeId n) {
    const Node original = node(n);
    out_.graph.nodes[std::size_t(n)].operands.clear();
    for (std::size_t i = 0; i < original.results.size(); ++i) add_edge({original.operands[i]}, original.results[i], n);
  }

  bool is_made_for_each_user(ValueId id) const {
    const NodeId producer = out_.graph.values[std::size_t(id)].producer;
    return producer >= 0 && (node(producer).op->constant || is_scalar_broadcast(out_.graph, node(producer)));
  }

  // Scalars, which every element takes, have no say.
  void lay_out_outline(NodeId n) {
    using Kind = OutlineStep::Kind;
    const Node original = node(n);
    const TensorType type = out_.graph.type(original.results[0]);
    const int operands = int(original.operands.size());
    const Outline outline = read_outline(outline_of(original), operands);
    out_.graph.nodes[std::size_t(n)].op = &kOutlined;
    out_.graph.nodes[std::size_t(n)].operands.clear();
    std::vector<ValueId> values = original.operands;
    for (ValueId& id : values)
      if (out_.graph.type(id).rank() == 0) id = -1;
    for (const OutlineStep& step : outline.steps) {
      if (step.kind != Kind::kLoopEnd) values.push_back(step.made == outline.result ? original.results[0] : add_value(type));
      if (step.kind == Kind::kCarried) continue;
      std::vector<ValueId> from;
      std::vector<FlatGraph::OutlineUse> uses;
      for (int value : step.from) {
        if (values[std::size_t(value)] < 0) continue;
        if (value < operands) uses.push_back({NodeId(out_.graph.nodes.size()), int(from.size()), n, value});
        from.push_back(values[std::size_t(value)]);
      }
      for (int value : step.from)  // the others have one of their own
        if (value < operands && is_made_for_each_user(original.operands[std::size_t(value)])) values[std::size_t(value)] = -1;
      if (from.empty() && step.kind != Kind::kLoopEnd && step.made != outline.result) {
        values.back() = -1;
        continue;
      }
      out_.outline_uses.insert(out_.outline_uses.end(), uses.begin(), uses.end());
      add_in_place(step.kind == Kind::kMeet        ? kStep
                   : step.kind == Kind::kMeetLater ? kLateStep
                                                   : kEdge,
                   std::move(from), values[std::size_t(step.made)], n);
    }
  }

  // The op itself makes a value like its operand, and of that each result.
  void lay_out_first_step(NodeId n) {
    const Node original = node(n);
    out_.graph.nodes[std::size_t(n)].op = &kOutlined;
    out_.graph.nodes[std::size_t(n)].operands.clear();
    const ValueId first = add_value(out_.graph.type(original.operands[0]));
    out_.outline_uses.push_back({add_in_place(*original.op, original.operands, first, n), 0, n, 0});
    for (ValueId result : original.results) add_in_place(*original.op, {first}, result, n);
  }

  void add_edge(std::vector<ValueId> sources, ValueId result, NodeId at) {
    if (out_.graph.type(result).rank() > 0) add_in_place(kEdge, std::move(sources), result, at);
  }

  NodeId add_in_place(const OpDef& op, std::vector<ValueId> operands, ValueId result, NodeId at) {
    const NodeId made = add_identity(op, std::move(operands), result, out_.blocks[std::size_t(at)], out_.regions[std::size_t(at)]);
    out_.places[std::size_t(made)] = at;
    out_.order.push_back(made);
    return made;
  }

  ValueId add_value(const TensorType& type) {
    const ValueId id = ValueId(out_.graph.values.size());
    out_.graph.values.push_back({type});
    out_.sharers.push_back(id);
    given_.push_back(false);
    return id;
  }

  NodeId add_node(Node made, int block, NodeId region) {
    const NodeId n = NodeId(out_.graph.nodes.size());
    for (std::size_t r = 0; r < made.results.size(); ++r) {
      Value& value = out_.graph.values[std::size_t(made.results[r])];
      value.producer = n;
      value.result_index = int(r);
    }
    out_.graph.nodes.push_back(std::move(made));
    out_.blocks.push_back(block);
    out_.places.push_back(n);
    out_.regions.push_back(region);
    out_.in_code.push_back(clone_ == Clone::kForEachUse);
    return n;
  }

  NodeId add_identity(const OpDef& op, std::vector<ValueId> operands, ValueId result, int block, NodeId region) {
    Node made;
    made.op = &op;
    made.operands = std::move(operands);
    made.results = {result};
    return add_node(std::move(made), block, region);
  }

  struct Loop {
    NodeId node;
    Node original;
    std::size_t first_in_order;                   // where what it opens is visited
    std::vector<std::pair<int, ValueId>> opened;  // by operand
  };

  // A value that a loop does not change, in its body.
  ValueId captured(Loop& loop, int operand) {
    const ValueId outer = behind_open(loop.original.operands[std::size_t(operand)]);
    const TensorType type = out_.graph.type(outer);
    if (!given_[std::size_t(outer)] || type.rank() == 0) return outer;
    for (const auto& [index, value] : loop.opened)
      if (behind_open(loop.original.operands[std::size_t(index)]) == outer) return value;
    const ValueId inner = add_value(type);
    const NodeId n = add_identity(kOpened, {outer}, inner, out_.blocks[std::size_t(loop.node)], out_.regions[std::size_t(loop.node)]);
    given_[std::size_t(inner)] = true;
    out_.order.insert(out_.order.begin() + std::ptrdiff_t(loop.first_in_order++), n);
    loop.opened.emplace_back(operand, inner);
    return inner;
  }

  // In code over some axes a body reads what a constraint gives through an open one of its own.
  ValueId behind_open(ValueId id) const {
    const NodeId producer = clone_ == Clone::kForEachUse ? out_.graph.values[std::size_t(id)].producer : -1;
    return producer >= 0 && is_open_constraint(node(producer)) ? node(producer).operands[0] : id;
  }
  ValueId in_branch(const Loop& branch, int operand) {
    const ValueId outer = branch.original.operands[std::size_t(operand)], constrained = behind_open(outer);
    if (constrained == outer) return outer;
    const ValueId inner = add_value(out_.graph.type(outer));
    add_in_place(kOpened, {constrained}, inner, branch.node);
    return inner;
  }

  // Carried values that the body gives back as it got them do not change.
  static bool is_invariant(const LoopBody& body, std::size_t param) {
    const Outside& outside = body.params[param];
    return outside.kind == Outside::Kind::kCarried && std::size_t(outside.index) < body.graph.results.size() &&
           body.graph.results[std::size_t(outside.index)] == body.graph.params[param];
  }

  std::vector<FlatGraph::Body> lay_out(NodeId n) {
    Loop loop{n, node(n), out_.order.size(), {}};
    const Node& original = loop.original;
    out_.graph.nodes[std::size_t(n)].operands.clear();
    const bool is_branch = original.op->region == RegionKind::kBranch;
    const std::size_t consts = std::size_t(original.attrs.integer("num_consts", 0));
    std::vector<LoopBody> bodies;
    for (const GraphRef& body : original.attrs.bodies()) bodies.push_back(Explicit(original, body, clone_).take());
    std::vector<bool> invariant(original.results.size(), false);
    if (!is_branch)
      for (std::size_t p = 0; p < bodies.back().params.size(); ++p)
        if (is_invariant(bodies.back(), p)) invariant[std::size_t(bodies.back().params[p].index)] = true;
    for (std::size_t i = 0; i < invariant.size(); ++i)
      if (invariant[i]) out_.sharers[std::size_t(original.results[i])] = out_.sharers[std::size_t(original.operands[consts + i])];

    std::vector<std::vector<ValueId>> sources(original.results.size());
    std::vector<FlatGraph::Body> laid_out;
    for (LoopBody& body : bodies) {
      const bool is_predicate = original.op->region == RegionKind::kWhile && &body == &bodies.front();
      laid_out.push_back(lay_out_body(loop, body, invariant));
      for (std::size_t i = 0; i < body.graph.results.size() && !is_predicate; ++i)
        sources[i].push_back(laid_out.back().values[std::size_t(body.graph.results[i])]);
    }
    for (std::size_t b = 0; b < bodies.size(); ++b) name_params(loop, bodies[b], laid_out[b]);
    const std::size_t carried = is_branch                                   ? 0
                                : original.op->region == RegionKind::kWhile ? original.results.size()
                                                                            : std::size_t(original.attrs.integer("num_carry", 0));
    for (std::size_t i = 0; i < original.results.size(); ++i) {
      if (invariant[i]) continue;
      if (i < carried) sources[i].insert(sources[i].begin(), original.operands[consts + i]);
      add_edge(std::move(sources[i]), original.results[i], n);
    }
    return laid_out;
  }

  void add_code_edge(ValueId source, ValueId target, NodeId code, FlatGraph::CodeEdge edge) {
    const NodeId made = add_in_place(kCodeEdge, {source}, target, code);
    const AttrValue* whole = node(code).attrs.find(kWholeAtEdges);
    if (whole != nullptr) out_.graph.nodes[std::size_t(made)].attrs = Attrs{{kWholeAtEdges, *whole}};
    out_.code_edges.emplace(made, std::move(edge));
  }

  // Its values have no axis of the code's own.
  std::vector<FlatGraph::Body> lay_out_code(NodeId n) {
    const Node original = node(n);
    const ManualSpecs specs = manual_specs(original, out_.graph, mesh_);
    const std::vector<bool> ends = ends_at_edges(original, mesh_);
    out_.graph.nodes[std::size_t(n)].operands.clear();
    const int block = ++blocks_;
    FlatGraph::Body out;
    const std::vector<bool> manual_around = manual_, own = manual_axes(original, mesh_);
    bool is_typed = true;  // by all axes that are left
    for (std::size_t axis = 0; axis < ends.size(); ++axis) {
      manual_[axis] = manual_[axis] || own[axis];
      is_typed = is_typed && (manual_[axis] || ends[axis]);
    }
    const Clone around = std::exchange(clone_, is_typed ? Clone::kForEachTypedUse : Clone::kForEachUse);
    out.graph = with_cloned_constants(*original.attrs.bodies()[0], {}, clone_);
    out.values.assign(out.graph.values.size(), -1);
    out.nodes.assign(out.graph.nodes.size(), -1);
    for (std::size_t p = 0; p < out.graph.params.size(); ++p) {
      const ValueId inside = out.values[std::size_t(out.graph.params[p])] = add_value(out.graph.type(out.graph.params[p]));
      add_code_edge(original.operands[p], inside, n, {specs.operands[p], ends, int(p)});
      out.params.push_back(inside);
    }
    for (NodeId m : nodes_by_result(out.graph))
      copy_node(out, out.graph, m, block, out_.regions[std::size_t(n)], [&](ValueId id) { return out.values[std::size_t(id)]; });
    for (std::size_t r = 0; r < out.graph.results.size(); ++r)
      add_code_edge(out.values[std::size_t(out.graph.results[r])], original.results[r], n, {specs.results[r], ends});
    clone_ = around;
    manual_ = manual_around;
    std::vector<FlatGraph::Body> bodies;
    bodies.push_back(std::move(out));
    return bodies;
  }

  // A node of a body among those of the flat graph.
  template <typename Here>
  void copy_node(FlatGraph::Body& out, const Graph& body, NodeId m, int block, NodeId region, Here&& here) {
    Node copy = body.nodes[std::size_t(m)];
    for (ValueId& id : copy.operands) id = here(id);
    for (ValueId& id : copy.results) {
      const ValueId made = add_value(body.type(id));
      out.values[std::size_t(id)] = made;
      id = made;
    }
    const NodeId made = add_node(std::move(copy), block, region);
    out.nodes[std::size_t(m)] = made;
    visit(made, out.bodies, m);
  }

  // Parameters that the body does not use as well.
  void name_params(const Loop& loop, const LoopBody& body, FlatGraph::Body& out) {
    const std::size_t consts = std::size_t(loop.original.attrs.integer("num_consts", 0));
    for (std::size_t p = 0; p < body.plain.params.size(); ++p) {
      ValueId value = out.values[std::size_t(body.plain.params[p])];
      const Outside& outside = body.params[p];
      const bool is_scanned = body.plain.params[p] != body.graph.params[p];
      if (value < 0 && !is_scanned) {
        const std::size_t operand = std::size_t(outside.index) + (outside.kind == Outside::Kind::kCarried ? consts : 0);
        value = loop.original.operands[operand];
        for (const auto& [index, inner] : loop.opened)
          if (std::size_t(index) == operand) value = inner;
      }
      out.params.push_back(value);
    }
  }

  FlatGraph::Body lay_out_body(Loop& loop, const LoopBody& body, const std::vector<bool>& invariant) {
    const int block = ++blocks_;
    const NodeId region = out_.regions[std::size_t(loop.node)];
    const std::size_t consts = std::size_t(loop.original.attrs.integer("num_consts", 0));
    FlatGraph::Body out;
    std::vector<ValueId>& values = out.values;
    values.assign(body.graph.values.size(), -1);
    out.nodes.assign(body.graph.nodes.size(), -1);
    for (std::size_t p = 0; p < body.params.size(); ++p) {
      if (body.params[p].kind != Outside::Kind::kCarried || invariant[std::size_t(body.params[p].index)]) continue;
      ValueId& value = values[std::size_t(body.graph.params[p])] = add_value(body.graph.type(body.graph.params[p]));
      out_.sharers[std::size_t(value)] = loop.original.results[std::size_t(body.params[p].index)];
    }
    auto here = [&](ValueId id) {
      ValueId& value = values[std::size_t(id)];
      if (value >= 0) return value;
      const std::size_t p = std::size_t(std::find(body.graph.params.begin(), body.graph.params.end(), id) - body.graph.params.begin());
      SL_CHECK(p < body.params.size(), "value {} of a body is made by none of its nodes", id);
      const Outside& outside = body.params[p];
      return value = outside.kind == Outside::Kind::kBranchOperand
                         ? in_branch(loop, outside.index)
                         : captured(loop, outside.kind == Outside::Kind::kCarried ? int(consts) + outside.index : outside.index);
    };
    for (NodeId m : nodes_by_result(body.graph)) copy_node(out, body.graph, m, block, region, here);
    for (ValueId id : body.graph.results) here(id);
    out.graph = body.plain;
    return out;
  }

  const Mesh& mesh_;
  FlatGraph out_;
  std::vector<bool> given_;  // per value: its sharding is the user's
  int blocks_ = 0;
  Clone clone_ = Clone::kForEachUser;  // in the body that is laid out
  std::vector<bool> manual_;           // per axis of the mesh whether it is one of the code around
};

}  // namespace

bool FlatGraph::is_edge(NodeId node) const { return node >= 0 && graph.nodes[std::size_t(node)].op == &kEdge; }
bool FlatGraph::is_in_outline(NodeId node) const {
  return node >= 0 && graph.nodes[std::size_t(places[std::size_t(node)])].op == &kOutlined;
}
bool FlatGraph::is_opened(NodeId node) const { return node >= 0 && graph.nodes[std::size_t(node)].op == &kOpened; }

FlatGraph flattened(const Graph& graph, const std::vector<bool>& is_given, const Mesh& mesh) {
  return Flattener(graph, is_given, mesh).run();
}

}  // namespace shardlab::spmd
