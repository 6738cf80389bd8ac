#include "runtime/spmd/partial_manual.h"

#include <algorithm>
#include <numeric>

#include "runtime/core/mesh_change.h"
#include "runtime/spmd/layout.h"
#include "runtime/spmd/region_bodies.h"

namespace shardlab::spmd {

std::vector<bool> manual_axes(const Node& node, const Mesh& mesh) {
  if (!node.attrs.has("axis_names")) return std::vector<bool>(std::size_t(mesh.axis_count()), true);
  const auto& names = node.attrs.strings("axis_names");
  std::vector<bool> manual;
  for (const std::string& name : mesh.axis_names()) manual.push_back(std::find(names.begin(), names.end(), name) != names.end());
  return manual;
}

Mesh mesh_of_code(const Node& node, const Mesh& mesh) {
  for (std::string_view specs : {"in_specs", "out_specs"})
    if (node.attrs.has(specs) && !node.attrs.shardings(specs).empty()) {
      const Mesh& own = node.attrs.shardings(specs).front().mesh();
      return own.same_devices(mesh) ? own : mesh;
    }
  return mesh;
}

Axes axes_on(const std::vector<std::string>& names, const Mesh& named, const Mesh& mesh) {
  Axes axes;
  for (const std::string& name : names) axes.push_back(named.whole_axis(*named.axis_index(name)));
  const std::optional<Spec> here = spec_on({axes}, named, mesh);
  return here ? here->at(0) : Axes{};
}

Axes axes_whole_at_edges(const Node& node, const Mesh& mesh) {
  return node.attrs.has(kWholeAtEdges) ? axes_on(node.attrs.strings(kWholeAtEdges), mesh_of_code(node, mesh), mesh) : Axes{};
}

bool is_partial_manual(const Node& node, const Mesh& mesh) {
  if (node.op->region != RegionKind::kManual) return false;
  const Mesh own = mesh_of_code(node, mesh);
  std::vector<bool> manual = manual_axes(node, own);
  return !std::all_of(manual.begin(), manual.end(), [](bool each) { return each; });
}

Spec inner_part(const Spec& around, const Spec& manual_part, const std::vector<bool>& ends) {
  Spec inside(around.size());
  for (std::size_t d = 0; d < around.size(); ++d) {
    const Axes own = d < manual_part.size() ? manual_part[d] : Axes{};
    if (own.size() > around[d].size() || !std::equal(own.begin(), own.end(), around[d].begin())) continue;
    const auto behind = around[d].begin() + std::ptrdiff_t(own.size());
    inside[d].assign(behind, std::find_if(behind, around[d].end(), [&](const AxisPiece& piece) { return ends[std::size_t(piece.axis)]; }));
  }
  return inside;
}

std::vector<bool> ends_at_edges(const Node& node, const Mesh& mesh) {
  std::vector<bool> ends = manual_axes(node, mesh);
  for (const AxisPiece& piece : axes_whole_at_edges(node, mesh)) ends[std::size_t(piece.axis)] = true;
  return ends;
}

Spec passing(Spec spec, const std::vector<bool>& ends) {
  for (Axes& axes : spec)
    axes.erase(std::find_if(axes.begin(), axes.end(), [&](const AxisPiece& piece) { return ends[std::size_t(piece.axis)]; }), axes.end());
  return spec;
}

Spec with_manual_part(const Spec& manual_part, const Spec& inside) {
  Spec spec = manual_part;
  spec.resize(std::max(spec.size(), inside.size()));
  for (std::size_t d = 0; d < inside.size(); ++d) spec[d].insert(spec[d].end(), inside[d].begin(), inside[d].end());
  return spec;
}

namespace {

// The pieces of automatic axes alone, dimension by dimension, in their order.
Spec automatic_part(Spec spec, const std::vector<bool>& manual) {
  for (Axes& axes : spec)
    axes.erase(std::remove_if(axes.begin(), axes.end(), [&](const AxisPiece& piece) { return manual[std::size_t(piece.axis)]; }),
               axes.end());
  return spec;
}

// The mesh of the automatic axes, and how its axes and positions are those of the whole one.
class SubMesh {
 public:
  SubMesh(const Mesh& whole, const std::vector<bool>& manual) : whole_(whole), manual_(manual), mesh_(Mesh::single(0)) {
    Shape shape;
    std::vector<std::string> names;
    sub_axis_.assign(manual.size(), -1);
    for (int axis = 0; axis < whole.axis_count(); ++axis) {
      if (manual[std::size_t(axis)]) continue;
      sub_axis_[std::size_t(axis)] = int(axes_.size());
      axes_.push_back(axis);
      shape.push_back(whole.axis_size(axis));
      names.push_back(whole.axis_names()[std::size_t(axis)]);
    }
    std::vector<int> positions(std::size_t(element_count(shape)));
    std::iota(positions.begin(), positions.end(), 0);
    mesh_ = Mesh(shape, names, positions);
    number_places();
  }

  const Mesh& mesh() const { return mesh_; }
  const Mesh& whole() const { return whole_; }
  std::vector<std::string> manual_names() const {
    std::vector<std::string> names;
    for (int axis = 0; axis < whole_.axis_count(); ++axis)
      if (manual_[std::size_t(axis)]) names.push_back(whole_.axis_names()[std::size_t(axis)]);
    return names;
  }
  int sub_position(int position) const { return sub_position_[std::size_t(position)]; }
  // Per place along the manual axes, the positions of the whole mesh by those of this one.
  const std::vector<std::vector<int>>& places() const { return places_; }

  Spec down(Spec spec) const { return renamed(automatic_part(std::move(spec), manual_), sub_axis_); }
  Spec up(Spec spec) const { return renamed(std::move(spec), axes_); }
  Axes up(Axes axes) const {
    for (AxisPiece& piece : axes) piece.axis = axes_[std::size_t(piece.axis)];
    return axes;
  }

 private:
  static Spec renamed(Spec spec, const std::vector<int>& axes) {
    for (Axes& each : spec)
      for (AxisPiece& piece : each) piece.axis = axes[std::size_t(piece.axis)];
    return spec;
  }

  void number_places() {
    std::vector<std::vector<std::int64_t>> manual_coordinates;
    for (int p = 0; p < whole_.size(); ++p) {
      int sub = 0;
      std::vector<std::int64_t> coordinates;
      for (int axis = 0; axis < whole_.axis_count(); ++axis) {
        if (manual_[std::size_t(axis)])
          coordinates.push_back(whole_.coordinate(p, axis));
        else
          sub = sub * int(whole_.axis_size(axis)) + int(whole_.coordinate(p, axis));
      }
      sub_position_.push_back(sub);
      auto found = std::find(manual_coordinates.begin(), manual_coordinates.end(), coordinates);
      if (found == manual_coordinates.end()) {
        manual_coordinates.push_back(coordinates);
        places_.emplace_back(std::size_t(mesh_.size()));
        found = manual_coordinates.end() - 1;
      }
      places_[std::size_t(found - manual_coordinates.begin())][std::size_t(sub)] = p;
    }
  }

  const Mesh& whole_;
  const std::vector<bool>& manual_;
  Mesh mesh_;
  std::vector<int> axes_, sub_axis_, sub_position_;
  std::vector<std::vector<int>> places_;
};

// Source of the text: add_manual_axes in jax/_src/interpreters/mlir.py.
void check_names_no_manual_axis(const Node& constraint, const Spec& spec, const SubMesh& sub) {
  if (sub.up(sub.down(spec)) == spec) return;
  throw_user_error(
      "pspec {} contains a manual axes ({}) of mesh which is not allowed. If you are using a with_sharding_constraint under a "
      "shard_map, only use the mesh axis in PartitionSpec which are not manual: in its code values lie over those as in_specs and "
      "out_specs say; leave them out of the constraint, or put it outside shard_map. [{}]",
      text_of(spec, sub.whole()), fmt::join(sub.manual_names(), ", "), constraint.where.text());
}

// Constraints of the body, in the sub-mesh's axes. Throws UserError where one names a manual axis.
Graph with_sub_constraints(Graph graph, const SubMesh& sub) {
  for (Node& node : graph.nodes) {
    if (node.op->is_constraint) {
      const Spec spec = node.attrs.sharding("sharding").spec(graph.type(node.results[0]).rank());
      check_names_no_manual_axis(node, spec, sub);
      node.attrs.set("sharding", Sharding(sub.mesh(), sub.down(spec)));
    }
    bool has_constraints = false;  // in its bodies
    for (const GraphRef& each : node.attrs.bodies())
      visit_nodes(*each, [&](const Node& inner) { has_constraints |= inner.op->is_constraint; });
    if (!has_constraints || node.op->region == RegionKind::kManual) continue;
    Bodies bodies;
    for (const GraphRef& each : node.attrs.bodies()) bodies.push_back(std::make_shared<const Graph>(with_sub_constraints(*each, sub)));
    node.attrs.set("bodies", bodies);
  }
  return graph;
}

// A body as propagation left it on the whole mesh, in the sub-mesh's axes.
BodyPropagation with_sub_axes(BodyPropagation body, const SubMesh& sub) {
  body.graph = with_sub_constraints(std::move(body.graph), sub);
  for (ValueSharding& value : body.values)
    for (std::size_t d = 0; value && d < value->size(); ++d) (*value)[d].axes = sub.down(Spec{(*value)[d].axes})[0];
  for (std::vector<Origin>& origins : body.origins) {
    std::erase_if(origins, [&](const Origin& origin) { return sub.down(Spec{{origin.piece}})[0].empty(); });
    for (Origin& origin : origins) origin.piece = sub.down(Spec{{origin.piece}})[0][0];
  }
  for (auto& [node, bodies] : body.bodies) {
    std::vector<BodyPropagation> inner;
    for (const BodyPropagation& each : *bodies) inner.push_back(with_sub_axes(each, sub));
    bodies = std::make_shared<const std::vector<BodyPropagation>>(std::move(inner));
  }
  return body;
}

// The program of one place along the manual axes as that of all places, side by side.
PartitionedProgram lifted(const PartitionedProgram& program, const Mesh& whole, const SubMesh& sub) {
  PartitionedProgram all = program;
  all.mesh = whole;
  all.is_manual = true;
  for (Slot& slot : all.slots) {
    slot.spec = sub.up(std::move(slot.spec));
    slot.partial = sub.up(std::move(slot.partial));
    if (slot.windows.empty()) continue;
    std::vector<Box> windows;
    for (int p = 0; p < whole.size(); ++p) windows.push_back(slot.windows[std::size_t(sub.sub_position(p))]);
    slot.windows = std::move(windows);
  }
  for (Step& step : all.steps) {
    if (auto* move = std::get_if<MoveStep>(&step)) {
      std::vector<std::vector<int>> groups;
      std::vector<Transfer> transfers;
      for (const std::vector<int>& place : sub.places()) {
        for (std::vector<int> group : move->groups) {
          for (int& position : group) position = place[std::size_t(position)];
          groups.push_back(std::move(group));
        }
        for (Transfer transfer : move->transfers) {
          transfer.source = place[std::size_t(transfer.source)];
          transfer.target = place[std::size_t(transfer.target)];
          transfers.push_back(std::move(transfer));
        }
      }
      move->axes = sub.up(std::move(move->axes));
      move->groups = std::move(groups);
      move->transfers = std::move(transfers);
    }
    if (auto* region = std::get_if<RegionStep>(&step))
      for (auto& body : region->bodies) body = std::make_shared<const PartitionedProgram>(lifted(*body, whole, sub));
  }
  for (Spec& spec : all.propagated) spec = sub.up(std::move(spec));
  for (auto& origins : all.origins)
    for (Origin& origin : origins) origin.piece = sub.up(Axes{origin.piece})[0];
  all.wire_bytes *= std::int64_t(sub.places().size());
  return all;
}

// A parameter that the code moves to one other form before all else comes to it in that form: what brings it there is the program's around
// the code, which may move it once for several iterations of a loop. Gives the form's spec, nothing where the code uses it as it is, too.
std::optional<Spec> take_as_moved(PartitionedProgram& program, std::size_t param) {
  const SlotId slot = program.params[param];
  if (std::find(program.results.begin(), program.results.end(), slot) != program.results.end()) return std::nullopt;
  auto is_used = [&](const Step& step) {
    auto has = [&](const std::vector<SlotId>& slots) { return std::find(slots.begin(), slots.end(), slot) != slots.end(); };
    if (auto* move = std::get_if<MoveStep>(&step)) return move->from == slot;
    if (auto* compute = std::get_if<ComputeStep>(&step)) return has(compute->operands);
    return has(std::get<RegionStep>(step).operands);
  };
  const auto first = std::find_if(program.steps.begin(), program.steps.end(), is_used);
  if (first == program.steps.end() || std::any_of(first + 1, program.steps.end(), is_used)) return std::nullopt;
  const auto* move = std::get_if<MoveStep>(&*first);
  if (move == nullptr || move->reduction || move->kind == "slice") return std::nullopt;
  const Slot& moved = program.slots[std::size_t(move->to)];
  if (!moved.windows.empty() || !moved.partial.empty()) return std::nullopt;
  for (std::size_t d = 0; d < moved.spec.size(); ++d)
    if (moved.type.shape[d] % part_count(moved.spec[d]) != 0) return std::nullopt;
  program.wire_bytes -= wire_bytes_of(program, *move);
  program.params[param] = move->to;
  program.steps.erase(first);
  return moved.spec;
}

}  // namespace

RegionPlan plan_partial_manual(const RegionContext& context, const Node& node, const std::vector<Spec>& manual_operands,
                               const std::vector<Spec>& manual_results) {
  const std::vector<bool> manual = manual_axes(node, context.mesh), ends = ends_at_edges(node, context.mesh);
  SubMesh sub(context.mesh, manual);
  const GraphRef& body = node.attrs.bodies()[0];
  std::vector<Spec> params, results;
  RegionPlan plan;
  const BodyPropagation* found = context.bodies == nullptr ? nullptr : &context.bodies->at(0);
  // What a value is cut by inside: as propagation found it there, which may be further than its form outside lets its parts be cut, or
  // else by what cuts it outside.
  const Graph& code = found == nullptr ? *body : found->graph;
  auto inside = [&](ValueId value, const Spec& outside, const Spec& manual_part) {
    const Shape& shape = code.type(value).shape;
    if (found != nullptr) return even_prefix(found->values[std::size_t(value)], shape);
    std::vector<DimSharding> dims;
    for (Axes& axes : inner_part(outside, manual_part, ends)) dims.push_back({std::move(axes)});
    return even_prefix(ValueSharding(std::move(dims)), shape);
  };
  for (std::size_t i = 0; i < context.operands.size(); ++i) {
    Spec spec = inside(code.params[i], context.operands[i], manual_operands[i]);
    params.push_back(sub.down(spec));
    plan.operands.push_back(normalised(with_manual_part(manual_operands[i], spec)));
  }
  for (std::size_t i = 0; i < context.results.size(); ++i) {
    const bool is_handed = std::int64_t(i) >= std::int64_t(context.results.size()) - node.attrs.integer(kHandedOver, 0);
    Spec spec = inside(code.results[i], context.results[i], manual_results[i]);
    if (!is_handed) spec = passing(std::move(spec), ends);
    results.push_back(sub.down(spec));
    plan.results.push_back(normalised(with_manual_part(manual_results[i], spec)));
  }
  PropagationInput input{nullptr, sub.mesh(), {params.begin(), params.end()}, {results.begin(), results.end()}};
  const PartitionOptions options{.lighten = context.for_bodies.lighten, .scatters_whole = true};
  auto planned = [&] {
    if (found == nullptr) {
      const Graph graph = with_sub_constraints(*body, sub);
      input.graph = &graph;
      return partition(input, options);
    }
    const BodyPropagation lowered = with_sub_axes(*found, sub);
    input.graph = &lowered.graph;
    return partition(input, propagated_body(lowered, params, results), options);
  };
  PartitionedProgram program = planned();
  for (std::size_t i = 0; i < params.size(); ++i)
    if (std::optional<Spec> spec = take_as_moved(program, i))
      plan.operands[i] = normalised(with_manual_part(manual_operands[i], sub.up(*std::move(spec))));
  plan.bodies.push_back(std::make_shared<const PartitionedProgram>(lifted(program, context.mesh, sub)));
  return plan;
}

}  // namespace shardlab::spmd
