#include "runtime/spmd/explain.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/spmd/layout.h"

namespace shardlab::spmd {
namespace {

constexpr std::size_t kChainMax = 32;  // origins followed for one piece

using Purpose = CollectiveReason::Purpose;

Purpose purpose_of(const PartitionedProgram& program, const MoveStep& step) {
  if (step.node < 0) return Purpose::kResult;
  if (step.reduction) return Purpose::kReduction;
  if (program.graph.nodes[std::size_t(step.node)].op->is_constraint) return Purpose::kConstraint;
  return step.operand >= 0 ? Purpose::kOperand : Purpose::kForm;
}

// The origin of the part of a value's sharding that the piece came from, if propagation noted one.
const Origin* origin_of(const PartitionedProgram& program, ValueId value, const AxisPiece& piece) {
  const Origin* found = nullptr;
  for (const Origin& origin : program.origins[std::size_t(value)])
    if (overlaps(origin.piece, piece) && (found == nullptr || contains(origin.piece, piece))) found = &origin;
  return found;
}

PieceReason reason_of(const PartitionedProgram& program, const Origin& first) {
  PieceReason reason{first.dimension, first.piece, {first}};
  for (const Origin* at = &first; at->kind == Origin::Kind::kRule && reason.chain.size() < kChainMax;) {
    const Origin* next = origin_of(program, at->from, first.piece);
    // Only what was known before can be a reason.
    if (next == nullptr || next->step >= at->step) break;
    reason.chain.push_back(*next);
    at = next;
  }
  return reason;
}

ValueReason reason_of(const PartitionedProgram& program, ValueId value) {
  ValueReason reason{value, program.graph.values[std::size_t(value)].producer, program.propagated[std::size_t(value)], {}, {}};
  for (const Slot& slot : program.slots)
    if (slot.value == value && slot.partial.empty() && slot.windows.empty() &&
        std::find(reason.held.begin(), reason.held.end(), slot.spec) == reason.held.end())
      reason.held.push_back(slot.spec);
  for (const Origin& origin : program.origins[std::size_t(value)]) reason.pieces.push_back(reason_of(program, origin));
  return reason;
}

std::string form_text(const Slot& slot, const Mesh& mesh) {
  if (!slot.windows.empty()) return "windows";
  std::string text = text_of(slot.spec, mesh);
  if (slot.partial.empty()) return text;
  std::vector<std::string> axes;
  for (const AxisPiece& piece : slot.partial) axes.push_back(mesh.text_of(piece));
  return fmt::format("{} partial over {}", text, fmt::join(axes, ", "));
}

std::string node_text(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[std::size_t(id)];
  std::string name(node.op->name);
  if (!node.user_op.empty() && node.user_op != name) name += fmt::format(" of {}", node.user_op);
  return node.where.known() ? fmt::format("{} at {}", name, node.where.text()) : name;
}

std::string value_name(const PartitionedProgram& program, ValueId value, ValueNames names) {
  if (names == ValueNames::kNumbers) return fmt::format("%{}", value);
  const NodeId producer = program.graph.values[std::size_t(value)].producer;
  if (producer < 0) return fmt::format("argument {}", program.graph.values[std::size_t(value)].result_index);
  return fmt::format("the result of {}", node_text(program.graph, producer));
}

// The operands of the step that made a partial result, without the pieces that make it partial.
std::string whole_operands(const PartitionedProgram& program, const MoveStep& step, ValueNames names) {
  SlotId made = step.from;
  const ComputeStep* producer = nullptr;
  for (const Step& each : program.steps) {
    if (const auto* move = std::get_if<MoveStep>(&each); move != nullptr && move->to == made && move->reduction) made = move->from;
    if (const auto* compute = std::get_if<ComputeStep>(&each))
      if (std::find(compute->results.begin(), compute->results.end(), made) != compute->results.end()) producer = compute;
  }
  if (producer == nullptr) return "operands that are whole along the reduced dimensions";
  std::vector<std::string> texts;
  for (SlotId id : producer->operands) {
    const Slot& slot = program.slots[std::size_t(id)];
    Spec spec(slot.spec.size());
    for (std::size_t d = 0; d < spec.size(); ++d)
      for (const AxisPiece& piece : slot.spec[d])
        if (auto kept = cut(piece, program.slots[std::size_t(made)].partial)) push(spec[d], *kept);
    if (spec != slot.spec) texts.push_back(fmt::format("{} as {}", value_name(program, slot.value, names), text_of(spec, program.mesh)));
  }
  return fmt::format("{}", fmt::join(texts, " and "));
}

std::string origin_text(const PartitionedProgram& program, const Origin& origin) {
  switch (origin.kind) {
    case Origin::Kind::kParameter:
      return fmt::format("parameter {}", origin.index);
    case Origin::Kind::kConstraint:
      return "a constraint";
    case Origin::Kind::kResult:
      return fmt::format("result {} of the function", origin.index);
    case Origin::Kind::kBody:
      return fmt::format("the body of {}", node_text(program.graph, origin.node));
    case Origin::Kind::kRule:
      break;
  }
  return fmt::format("%{} through {} (step {})", origin.from, node_text(program.graph, origin.node), origin.step);
}

}  // namespace

std::string avoided_by(const PartitionedProgram& program, const MoveStep& step, ValueNames names) {
  const Slot &from = program.slots[std::size_t(step.from)], &to = program.slots[std::size_t(step.to)];
  std::string before = form_text(from, program.mesh);
  if (step.node < 0 && !from.windows.empty()) return fmt::format("an argument that lies on {}", program.mesh.text());
  switch (purpose_of(program, step)) {
    case Purpose::kReduction:
      return whole_operands(program, step, names);
    case Purpose::kResult:
      return fmt::format("an out_sharding {} of this result", before);
    case Purpose::kConstraint:
      return fmt::format("a constraint to {}, or none", before);
    case Purpose::kForm:
      return fmt::format("a constraint of {} to {}", value_name(program, from.value, names), before);
    case Purpose::kOperand:
      break;
  }
  if (!to.windows.empty())
    return fmt::format("{} whole along the dimensions that {} shifts", value_name(program, from.value, names),
                       program.graph.nodes[std::size_t(step.node)].op->name);
  return fmt::format("{} as {}", value_name(program, from.value, names), form_text(to, program.mesh));
}

Explanation explain(const PartitionedProgram& program) {
  Explanation explanation;
  for (ValueId id = 0; id < ValueId(program.graph.values.size()); ++id) explanation.values.push_back(reason_of(program, id));
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (const auto* region = std::get_if<RegionStep>(&program.steps[i]))
      for (const auto& body : region->bodies) explanation.bodies.push_back({region->node, body});
    const auto* step = std::get_if<MoveStep>(&program.steps[i]);
    if (step == nullptr || step->kind == "slice") continue;
    const Slot &from = program.slots[std::size_t(step->from)], &to = program.slots[std::size_t(step->to)];
    CollectiveReason reason{.purpose = purpose_of(program, *step), .step = i, .kind = step->kind, .value = from.value};
    reason.node = step->node;
    reason.operand = step->operand;
    reason.before = form_text(from, program.mesh);
    reason.after = form_text(to, program.mesh);
    for (const Box& box : boxes_of(to, program.mesh)) reason.bytes = std::max(reason.bytes, element_count(box) * size_of(to.type.dtype));
    reason.wire_bytes = wire_bytes_of(program, *step);
    reason.calls = step->calls;
    reason.cause = step->cause;
    reason.avoided_by = avoided_by(program, *step);
    explanation.collectives.push_back(std::move(reason));
  }
  return explanation;
}

std::string text_of(const Explanation& explanation, const PartitionedProgram& program) {
  std::string text;
  for (const ValueReason& value : explanation.values) {
    const TensorType& type = program.graph.type(value.value);
    std::string made_by = value.producer < 0 ? fmt::format("parameter {}", program.graph.values[std::size_t(value.value)].result_index)
                                             : node_text(program.graph, value.producer);
    text += fmt::format("%{} {} {}, {}\n", value.value, type.text(), text_of(value.propagated, program.mesh), made_by);
    for (const PieceReason& piece : value.pieces) {
      std::vector<std::string> origins;
      for (const Origin& origin : piece.chain) origins.push_back(origin_text(program, origin));
      text += fmt::format("    dimension {} is cut by '{}': from {}\n", piece.dimension, program.mesh.text_of(piece.piece),
                          fmt::join(origins, ", from "));
    }
    for (const Spec& held : value.held)
      if (normalised(held) != normalised(value.propagated)) text += fmt::format("    also held as {}\n", text_of(held, program.mesh));
  }
  for (const CollectiveReason& each : explanation.collectives) {
    std::string asked = each.node < 0 ? "the function's result" : node_text(program.graph, each.node);
    std::string calls = each.calls > 1 ? fmt::format("{} calls, ", each.calls) : "";
    text += fmt::format("{} of %{} for {}: {}{} bytes a device, {} on the wire\n", each.kind, each.value, asked, calls, each.bytes,
                        each.wire_bytes);
    text += fmt::format("    {} becomes {}: {}\n    avoided by {}\n", each.before, each.after, each.cause, each.avoided_by);
  }
  for (const BodyReason& body : explanation.bodies)
    text += fmt::format("in a body of {}:\n{}", node_text(program.graph, body.node), text_of(explain(*body.program), *body.program));
  return text;
}

}  // namespace shardlab::spmd
