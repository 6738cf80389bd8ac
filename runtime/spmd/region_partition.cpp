// The forms of a region's values, and its bodies partitioned.
#include <algorithm>

#include "runtime/core/mesh_change.h"
#include "runtime/graph/partition_callback.h"
#include "runtime/spmd/body_plans.h"
#include "runtime/spmd/foreign.h"
#include "runtime/spmd/layout.h"
#include "runtime/spmd/partial_manual.h"
#include "runtime/spmd/region_bodies.h"

namespace shardlab::spmd {
namespace {

ValueSharding closed(const Spec& spec) {
  std::vector<DimSharding> dims;
  for (const Axes& axes : spec) dims.push_back({axes, true});
  return dims;
}

std::shared_ptr<const PartitionedProgram> shared(PartitionedProgram program) {
  return std::make_shared<const PartitionedProgram>(std::move(program));
}

}  // namespace

Propagation propagated_body(const BodyPropagation& found, const std::vector<Spec>& params, const std::vector<Spec>& results) {
  Propagation propagated{
      .graph = found.graph, .values = found.values, .results = results, .origins = found.origins, .bodies = found.bodies};
  for (std::size_t i = 0; i < params.size(); ++i) propagated.values[std::size_t(found.graph.params[i])] = closed(params[i]);
  return propagated;
}

std::shared_ptr<const PartitionedProgram> partition_body(const RegionContext& context, const Node& node, std::size_t number,
                                                         const std::vector<Spec>& params, const std::vector<Spec>& results) {
  const PartitionOptions& options = context.for_bodies;
  PropagationInput input{node.attrs.bodies()[number].get(), context.mesh, {params.begin(), params.end()}, {results.begin(), results.end()}};
  if (context.bodies == nullptr) return shared(partition(input, options));
  const BodyPropagation& found = context.bodies->at(number);
  input.graph = &found.graph;
  auto plan = [&] { return shared(partition(input, propagated_body(found, params, results), options)); };
  return options.body_plans == nullptr ? plan() : options.body_plans->planned({context.bodies, number, params, results}, plan);
}

namespace {

RegionPlan plan_branch(const RegionContext& context, const Node& node) {
  RegionPlan plan{context.operands, context.results, {}};
  std::vector<Spec> params(context.operands.begin() + 1, context.operands.end());
  for (std::size_t b = 0; b < node.attrs.bodies().size(); ++b)
    plan.bodies.push_back(partition_body(context, node, b, params, context.results));
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
std::shared_ptr<const PartitionedProgram> partition_manual(const RegionContext& context, const Graph& body, const Mesh& mesh) {
  Mesh alone = Mesh::single(0);
  std::vector<Spec> params, results;
  for (ValueId id : body.params) params.emplace_back(body.type(id).shape.size());
  for (ValueId id : body.results) results.emplace_back(body.type(id).shape.size());
  PropagationInput input{&body, alone, {params.begin(), params.end()}, {results.begin(), results.end()}};
  PartitionedProgram program = partition(input, {.lighten = context.for_bodies.lighten});
  set_mesh(program, mesh);
  return std::make_shared<const PartitionedProgram>(std::move(program));
}

// A part of the program that is planned on a mesh of its own.
std::shared_ptr<const PartitionedProgram> partition_there(const RegionContext& context, const Node& node) {
  const Graph& body = *node.attrs.bodies()[0];
  PropagationInput input{&body, mesh_of_code(node, context.mesh), {}, {}};
  const std::vector<Sharding>&in = node.attrs.shardings("in_specs"), &out = node.attrs.shardings("out_specs");
  for (std::size_t i = 0; i < in.size(); ++i) input.params.emplace_back(in[i].spec(body.type(body.params[i]).rank()));
  for (std::size_t i = 0; i < out.size(); ++i) input.results.emplace_back(out[i].spec(body.type(body.results[i]).rank()));
  return shared(partition(input, context.for_bodies));
}

RegionPlan plan_manual(const RegionContext& context, const Node& node) {
  RegionPlan plan;
  std::vector<Spec> operands = specs_on(node, "in_specs", node.operands, context.graph, context.mesh);
  std::vector<Spec> results = specs_on(node, "out_specs", node.results, context.graph, context.mesh);
  if (is_partial_manual(node, context.mesh)) return plan_partial_manual(context, node, operands, results);
  for (Spec& spec : operands) plan.operands.push_back(normalised(spec));
  for (Spec& spec : results) plan.results.push_back(normalised(spec));
  if (node.attrs.flag(kPlanned)) {
    plan.bodies.push_back(partition_there(context, node));
    return plan;
  }
  plan.bodies.push_back(partition_manual(context, *node.attrs.bodies()[0], mesh_of_code(node, context.mesh)));
  return plan;
}

// The node's callback says the shardings around the devices' code; on one device there is nothing to say.
RegionPlan plan_call(const RegionContext& context, const Node& node) {
  const GraphRef& body = node.attrs.bodies()[0];
  const PartitionCallback* callback = partition_of(body);
  if (callback == nullptr || context.mesh.size() == 1) {
    RegionPlan plan{context.operands, context.results, {}};
    plan.bodies.push_back(partition_body(context, node, 0, context.operands, context.results));
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
  plan.bodies.push_back(partition_manual(context, *answer.body, context.mesh));
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
    case RegionKind::kScan:
      return plan_loop(context, node);
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
