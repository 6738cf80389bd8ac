#include "runtime/exec/foreign_meshes.h"

#include <algorithm>

#include "runtime/core/mesh_change.h"
#include "runtime/exec/whole_slices.h"
#include "runtime/spmd/partial_manual.h"

namespace shardlab {

bool is_wholly_manual(const Node& node, const Mesh& mesh) {
  return node.op->region == RegionKind::kManual && int(node.attrs.strings("axis_names").size()) == mesh.axis_count();
}

std::optional<Spec> spec_of(const Sharding& sharding, const Mesh& mesh, int rank) {
  Spec spec;
  spec.resize(std::size_t(rank));
  if (sharding.mesh().axis_count() == 0) return spec;
  return spec_on(sharding.spec(rank), sharding.mesh(), mesh);
}

bool says_all_of(const Mesh& mesh, const Mesh& other) {
  Spec axes(std::size_t(other.axis_count()));
  for (int axis = 0; axis < other.axis_count(); ++axis) axes[std::size_t(axis)] = {other.whole_axis(axis)};
  return spec_on(axes, other, mesh).has_value();
}

namespace {

bool nests(const Sharding& sharding, const Mesh& mesh, int rank) {
  return !sharding.mesh().same_devices(mesh) || spec_of(sharding, mesh, rank).has_value();
}

// Visits how per-device code takes and gives its values, in bodies too.
void visit_code(const Graph& graph, const std::function<void(const Sharding&, int rank)>& visit) {
  for (const Node& node : graph.nodes) {
    for (const GraphRef& body : node.attrs.bodies()) visit_code(*body, visit);
    if (node.op->region != RegionKind::kManual) continue;
    const std::vector<Sharding>&in = node.attrs.shardings("in_specs"), &out = node.attrs.shardings("out_specs");
    for (std::size_t i = 0; i < in.size(); ++i)
      if (is_wholly_manual(node, in[i].mesh())) visit(in[i], graph.type(node.operands[i]).rank());
    for (std::size_t i = 0; i < out.size(); ++i)
      if (is_wholly_manual(node, out[i].mesh())) visit(out[i], graph.type(node.results[i]).rank());
  }
}

}  // namespace

std::optional<Mesh> mesh_of_code(const Graph& graph, const Mesh& mesh) {
  std::optional<Mesh> found;
  visit_code(graph, [&](const Sharding& sharding, int rank) {
    if (!found && !nests(sharding, mesh, rank)) found = sharding.mesh();
  });
  if (found)
    visit_code(graph, [&](const Sharding& sharding, int rank) {
      if (found && !nests(sharding, *found, rank)) found.reset();
    });
  return found;
}

namespace {

// Code over some axes of a mesh.
void visit_partial_code(const Graph& graph, const Mesh& mesh, const std::function<void(const Node&, const Mesh& own)>& visit) {
  for (const Node& node : graph.nodes) {
    for (const GraphRef& body : node.attrs.bodies()) visit_partial_code(*body, mesh, visit);
    if (spmd::is_partial_manual(node, mesh)) visit(node, spmd::mesh_of_code(node, mesh));
  }
}

void visit_constraints(const Graph& graph, const std::function<void(const Sharding&)>& visit) {
  for (const Node& node : graph.nodes) {
    for (const GraphRef& body : node.attrs.bodies()) visit_constraints(*body, visit);
    if (node.op->is_constraint) visit(node.attrs.sharding("sharding"));
  }
}

}  // namespace

Mesh planning_mesh(const Graph& graph, const Mesh& mesh, const std::vector<std::optional<Sharding>>& arguments,
                   const std::vector<std::optional<Sharding>>& results) {
  Mesh finest = mesh;
  auto consider = [&](const Sharding& sharding) {
    const Mesh& other = sharding.mesh();
    if (other.same_devices(mesh) && other.axis_count() > finest.axis_count() && says_all_of(other, mesh)) finest = other;
  };
  for (const auto* shardings : {&arguments, &results})
    for (const auto& each : *shardings)
      if (each) consider(*each);
  visit_constraints(graph, consider);
  visit_code(graph, [&](const Sharding& sharding, int) { consider(sharding); });
  std::optional<Mesh> of_code;
  visit_partial_code(graph, mesh, [&](const Node& node, const Mesh& own) {
    const bool is_of_types_alone = of_code && own.axis_names() == of_code->axis_names() && own.shape() == of_code->shape();
    if (of_code && !is_of_types_alone)
      throw_user_error(
          "{} over some axes of {} and other such code on {} in one computation: the same devices under other axes are not supported "
          "there; "
          "write both for one mesh [{}]",
          node.op->name, own.text(), of_code->text(), node.where.text());
    if (!of_code || own == mesh) of_code = own;
  });
  return of_code.value_or(finest);
}

std::optional<Sharding> constrained_elsewhere(const Graph& graph, ValueId result, const Mesh& mesh) {
  const Value& value = graph.values[std::size_t(result)];
  if (value.producer < 0) return std::nullopt;
  const Node& node = graph.nodes[std::size_t(value.producer)];
  if (!node.op->is_constraint && node.op->region != RegionKind::kManual) return std::nullopt;
  const Sharding& wanted =
      node.op->is_constraint ? node.attrs.sharding("sharding") : node.attrs.shardings("out_specs")[std::size_t(value.result_index)];
  const bool is_there = node.attrs.flag(spmd::kPlanned) || !nests(wanted, mesh, graph.type(result).rank());
  return is_there ? std::optional(wanted) : std::nullopt;
}

namespace {

bool is_constrained_elsewhere(const Graph& graph, const Node& node, const Mesh& mesh) {
  return node.op->is_constraint && !nests(node.attrs.sharding("sharding"), mesh, graph.type(node.results[0]).rank());
}

// In the bodies of its loops and branches, too. Other graphs stay what they are: some are known by where they lie in memory.
bool has_constraints_elsewhere(const Graph& graph, const Mesh& mesh) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    const Bodies& bodies = node.attrs.bodies();
    return is_constrained_elsewhere(graph, node, mesh) ||
           (node.op->region != RegionKind::kManual &&
            std::any_of(bodies.begin(), bodies.end(), [&](const GraphRef& body) { return has_constraints_elsewhere(*body, mesh); }));
  });
}

}  // namespace

Graph with_constraints_on(const Graph& graph, const Mesh& mesh) {
  Graph result = graph;
  for (Node& node : result.nodes) {
    if (is_constrained_elsewhere(graph, node, mesh)) {
      const Sharding wanted = node.attrs.sharding("sharding");
      node.attrs.set("sharding", Sharding(mesh, spmd::like_parts(wanted.spec(graph.type(node.results[0]).rank()), mesh)));
    }
    Bodies bodies = node.attrs.bodies();
    if (node.op->region == RegionKind::kManual || bodies.empty()) continue;
    bool has_changed = false;
    for (GraphRef& body : bodies) {
      if (!has_constraints_elsewhere(*body, mesh)) continue;
      body = std::make_shared<const Graph>(with_constraints_on(*body, mesh));
      has_changed = true;
    }
    if (has_changed) node.attrs.set("bodies", bodies);
  }
  return result;
}

namespace {

std::int64_t parts_of(const spmd::ValueSharding& value) {
  std::int64_t parts = 1;
  for (std::size_t d = 0; value && d < value->size(); ++d) parts *= part_count((*value)[d].axes);
  return parts;
}

}  // namespace

void settle_foreign_params(spmd::PropagationInput& input, const spmd::ForeignLayouts& foreign) {
  const spmd::Propagation found = spmd::propagate(input);
  for (std::size_t i = 0; i < foreign.params.size(); ++i) {
    if (!foreign.params[i]) continue;
    const ValueId param = input.graph->params[i];
    const Spec own = foreign.params[i]->spec(input.graph->type(param).rank());
    std::int64_t parts = 1;
    for (const Axes& axes : own) parts *= part_count(axes);
    if (parts_of(found.values[std::size_t(found.graph.params[i])]) < parts) input.params[i] = spmd::like_parts(own, input.mesh);
  }
}

spmd::PartitionedProgram planned(spmd::PropagationInput input, const spmd::ForeignLayouts& foreign, const spmd::PartitionOptions& options) {
  auto plan = [&] {
    spmd::Propagation propagated = spmd::propagate(input);
    replace_whole_slices(propagated);
    spmd::PartitionedProgram program = spmd::partition(input, std::move(propagated), options);
    return foreign.any() ? spmd::with_foreign(std::move(program), foreign) : program;
  };
  spmd::PartitionedProgram program = plan();
  if (program.wire_bytes > 0 &&
      std::any_of(foreign.params.begin(), foreign.params.end(), [](const auto& each) { return each.has_value(); })) {
    const spmd::PropagationInput as_propagated = input;
    for (std::size_t i = 0; i < foreign.params.size(); ++i)
      if (foreign.params[i]) input.params[i] = Spec(std::size_t(input.graph->type(input.graph->params[i]).rank()));
    for (std::size_t i = 0; i < foreign.results.size(); ++i)
      if (!input.results[i]) input.results[i] = program.slots[std::size_t(program.results[i])].spec;
    if (spmd::PartitionedProgram gathered = plan(); gathered.wire_bytes < program.wire_bytes) program = std::move(gathered);
    input = as_propagated;
  }
  if (program.wire_bytes == 0 ||
      std::none_of(foreign.results.begin(), foreign.results.end(), [](const auto& each) { return each.has_value(); }))
    return program;
  Graph open = *input.graph;
  for (std::size_t i = 0; i < foreign.results.size(); ++i) {
    if (!foreign.results[i]) continue;
    input.results[i] = std::nullopt;
    const NodeId producer = open.values[std::size_t(open.results[i])].producer;
    if (producer >= 0 && open.nodes[std::size_t(producer)].op->is_constraint)
      open.results[i] = open.nodes[std::size_t(producer)].operands[0];
  }
  input.graph = &open;
  spmd::PartitionedProgram other = plan();
  return other.wire_bytes < program.wire_bytes ? other : program;
}

}  // namespace shardlab
