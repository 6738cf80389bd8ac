// The forms of a region's values, and its bodies partitioned.
#include <algorithm>

#include "runtime/core/mesh_change.h"
#include "runtime/graph/partition_callback.h"
#include "runtime/spmd/foreign.h"
#include "runtime/spmd/layout.h"
#include "runtime/spmd/partial_manual.h"

namespace shardlab::spmd {
namespace {

Spec without_leading(const Spec& spec) { return {spec.begin() + 1, spec.end()}; }

Spec with_leading(Spec spec) {
  spec.insert(spec.begin(), Axes{});
  return spec;
}

std::shared_ptr<const PartitionedProgram> partition_body(const GraphRef& body, const Mesh& mesh, const std::vector<Spec>& params,
                                                         const std::vector<Spec>& results) {
  PropagationInput input{body.get(), mesh, {params.begin(), params.end()}, {results.begin(), results.end()}};
  return std::make_shared<const PartitionedProgram>(partition(input));
}

template <typename T>
std::vector<T> joined(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// How the body of a loop gets its parameter `i` if the loop does not change it.
Spec unchanged_form(const RegionContext& context, const Node& node, std::size_t i, const Spec& outside) {
  if (context.bodies == nullptr) return outside;
  const BodyPropagation& body = context.bodies->back();
  return normalised(even_prefix(body.params[i], node.attrs.bodies().back()->type(node.attrs.bodies().back()->params[i]).shape));
}

// A carried value keeps one form from the first iteration to the last.
RegionPlan plan_while(const RegionContext& context, const Node& node) {
  std::size_t consts = std::size_t(node.attrs.integer("num_consts", 0));
  RegionPlan plan;
  plan.results = context.results;
  for (std::size_t i = 0; i < consts; ++i) plan.operands.push_back(unchanged_form(context, node, i, context.operands[i]));
  plan.operands = joined(plan.operands, plan.results);
  const Bodies& bodies = node.attrs.bodies();
  plan.bodies.push_back(partition_body(bodies[0], context.mesh, plan.operands, {Spec{}}));
  plan.bodies.push_back(partition_body(bodies[1], context.mesh, plan.operands, plan.results));
  return plan;
}

// The dimension that is scanned over is whole on each device.
RegionPlan plan_scan(const RegionContext& context, const Node& node) {
  std::size_t consts = std::size_t(node.attrs.integer("num_consts", 0)), carried = std::size_t(node.attrs.integer("num_carry", 0));
  RegionPlan plan;
  std::vector<Spec> params, results;
  for (std::size_t i = 0; i < context.operands.size(); ++i) {
    if (i < consts + carried) {
      plan.operands.push_back(i < consts ? unchanged_form(context, node, i, context.operands[i]) : context.results[i - consts]);
      params.push_back(plan.operands.back());
    } else {
      params.push_back(unchanged_form(context, node, i, without_leading(context.operands[i])));
      plan.operands.push_back(with_leading(params.back()));
    }
  }
  for (std::size_t i = 0; i < context.results.size(); ++i) {
    results.push_back(i < carried ? context.results[i] : without_leading(context.results[i]));
    plan.results.push_back(i < carried ? context.results[i] : with_leading(results.back()));
  }
  plan.bodies.push_back(partition_body(node.attrs.bodies()[0], context.mesh, params, results));
  return plan;
}

RegionPlan plan_branch(const RegionContext& context, const Node& node) {
  RegionPlan plan{context.operands, context.results, {}};
  std::vector<Spec> params(context.operands.begin() + 1, context.operands.end());
  for (const GraphRef& body : node.attrs.bodies()) plan.bodies.push_back(partition_body(body, context.mesh, params, context.results));
  return plan;
}

// A sharding's spec in the axes of the program's mesh: of one of the same devices by what tells them apart, of another by name.
Spec spec_on(const Sharding& sharding, int rank, const Mesh& mesh, std::string_view who) {
  Spec spec = sharding.spec(rank);
  if (sharding.mesh() == mesh) return spec;
  if (sharding.mesh().same_devices(mesh) && mesh.size() > 1) {
    auto found = shardlab::spec_on(spec, sharding.mesh(), mesh);
    if (!found)
      throw_user_error("{} over {} stands in a program on {}: the axes of the two meshes do not nest; use the program's mesh", who,
                       sharding.mesh().text(), mesh.text());
    return *std::move(found);
  }
  for (Axes& axes : spec)
    for (AxisPiece& piece : axes) {
      const std::string& name = sharding.mesh().axis_names()[std::size_t(piece.axis)];
      auto axis = mesh.axis_index(name);
      if (!axis) throw_user_error("{} over axis '{}' stands in a program on {}", who, name, mesh.text());
      piece.axis = *axis;
    }
  return spec;
}

// How per-device code takes or gives values. What lies on a mesh whose axes do not nest with the program's is cut into as many parts here,
// and exchanged around the code.
std::vector<Spec> specs_on(const Node& node, std::string_view name, const std::vector<ValueId>& values, const Graph& graph,
                           const Mesh& mesh) {
  const std::vector<Sharding>& shardings = node.attrs.shardings(name);
  const bool is_partial = is_partial_manual(node, mesh);
  std::vector<Spec> specs;
  for (std::size_t i = 0; i < shardings.size(); ++i) {
    const int rank = graph.type(values[i]).rank();
    specs.push_back(!is_partial && is_foreign(shardings[i], rank, mesh) ? like_parts(shardings[i].spec(rank), mesh)
                                                                        : spec_on(shardings[i], rank, mesh, "shard_map"));
  }
  return specs;
}

// Every device runs the body by itself: as a program for one device, in which all that crosses devices is said by its user.
std::shared_ptr<const PartitionedProgram> partition_manual(const Graph& body, const Mesh& mesh) {
  Mesh alone = Mesh::single(0);
  std::vector<Spec> params, results;
  for (ValueId id : body.params) params.emplace_back(body.type(id).shape.size());
  for (ValueId id : body.results) results.emplace_back(body.type(id).shape.size());
  PropagationInput input{&body, alone, {params.begin(), params.end()}, {results.begin(), results.end()}};
  PartitionedProgram program = partition(input);
  set_mesh(program, mesh);
  return std::make_shared<const PartitionedProgram>(std::move(program));
}

RegionPlan plan_manual(const RegionContext& context, const Node& node) {
  RegionPlan plan;
  std::vector<Spec> operands = specs_on(node, "in_specs", node.operands, context.graph, context.mesh);
  std::vector<Spec> results = specs_on(node, "out_specs", node.results, context.graph, context.mesh);
  if (is_partial_manual(node, context.mesh)) return plan_partial_manual(context, node, operands, results);
  for (Spec& spec : operands) plan.operands.push_back(normalised(spec));
  for (Spec& spec : results) plan.results.push_back(normalised(spec));
  plan.bodies.push_back(partition_manual(*node.attrs.bodies()[0], mesh_of_code(node, context.mesh)));
  return plan;
}

// The node's callback says the shardings around the devices' code; on one device there is nothing to say.
RegionPlan plan_call(const RegionContext& context, const Node& node) {
  const GraphRef& body = node.attrs.bodies()[0];
  const PartitionCallback* callback = partition_of(body);
  if (callback == nullptr || context.mesh.size() == 1) {
    RegionPlan plan{context.operands, context.results, {}};
    plan.bodies.push_back(partition_body(body, context.mesh, context.operands, context.results));
    return plan;
  }
  PartitionRequest request{context.mesh, context.graph.types(node.operands), context.graph.types(node.results), {}, {}};
  for (const Spec& spec : context.operands) request.arg_shardings.emplace_back(context.mesh, spec);
  for (const Spec& spec : context.results) request.result_shardings.emplace_back(context.mesh, spec);
  PartitionAnswer answer = (*callback)(request);
  RegionPlan plan;
  for (std::size_t i = 0; i < request.args.size(); ++i)
    plan.operands.push_back(normalised(spec_on(answer.arg_shardings.at(i), request.args[i].rank(), context.mesh, node.op->name)));
  for (std::size_t i = 0; i < request.results.size(); ++i)
    plan.results.push_back(normalised(spec_on(answer.result_shardings.at(i), request.results[i].rank(), context.mesh, node.op->name)));
  plan.bodies.push_back(partition_manual(*answer.body, context.mesh));
  return plan;
}

}  // namespace

void set_mesh(PartitionedProgram& program, const Mesh& mesh) {
  program.mesh = mesh;
  program.is_manual = true;
  for (Slot& slot : program.slots)
    if (!slot.windows.empty()) slot.windows.assign(std::size_t(mesh.size()), Box(slot.windows[0]));
  for (Step& step : program.steps)
    if (auto* region = std::get_if<RegionStep>(&step))
      for (auto& body : region->bodies) {
        PartitionedProgram inner = *body;
        set_mesh(inner, mesh);
        body = std::make_shared<const PartitionedProgram>(std::move(inner));
      }
}

std::optional<std::vector<Spec>> demanded_results(const Node& node, const Graph& graph, const Mesh& mesh) {
  if (node.op->region != RegionKind::kManual || is_partial_manual(node, mesh)) return std::nullopt;
  return specs_on(node, "out_specs", node.results, graph, mesh);
}

ManualSpecs manual_specs(const Node& node, const Graph& graph, const Mesh& mesh) {
  return {specs_on(node, "in_specs", node.operands, graph, mesh), specs_on(node, "out_specs", node.results, graph, mesh)};
}

RegionPlan plan_region(const RegionContext& context, const Node& node) {
  switch (node.op->region) {
    case RegionKind::kManual:
      return plan_manual(context, node);
    case RegionKind::kWhile:
      return plan_while(context, node);
    case RegionKind::kScan:
      return plan_scan(context, node);
    case RegionKind::kBranch:
      return plan_branch(context, node);
    case RegionKind::kCall:
      return plan_call(context, node);
    case RegionKind::kNone:
      break;
  }
  throw InternalError(fmt::format("{} has no bodies", node.op->name));
}

}  // namespace shardlab::spmd
