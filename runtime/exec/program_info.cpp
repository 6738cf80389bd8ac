#include "runtime/exec/program_info.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/exec/context.h"
#include "runtime/exec/member_moves.h"
#include "runtime/spmd/explain.h"

namespace shardlab {
namespace {

using spmd::ComputeStep;
using spmd::MoveStep;
using spmd::PartitionedProgram;

std::vector<int> ordinals_of(const Mesh& mesh, const std::vector<int>& positions) {
  std::vector<int> ordinals;
  for (int position : positions) ordinals.push_back(mesh.devices()[std::size_t(position)]);
  return ordinals;
}

std::string slot_text(const PartitionedProgram& program, const spmd::Slot& slot) {
  std::string text = text_of(slot.spec, program.mesh);
  if (slot.partial.empty()) return text;
  std::vector<std::string> axes;
  for (const AxisPiece& piece : slot.partial) axes.push_back(program.mesh.text_of(piece));
  return fmt::format("{} partial over {}", text, fmt::join(axes, ", "));
}

Box first_box(const spmd::Slot& slot, const Mesh& mesh) {
  return slot.windows.empty() ? box_of(slot.type.shape, slot.spec, mesh, 0) : slot.windows.front();
}

}  // namespace

Ownership ownership_of(Context& context) {
  Ownership ownership{[&context](int ordinal) { return context.device(ordinal).process_index; }, context.process_index(), {}};
  if (!context.hosts().empty()) ownership.host_of = [&context](int process) { return context.hosts()[std::size_t(process)]; };
  return ownership;
}

std::vector<comm::CollectiveInfo> collectives_of(const PartitionedProgram& program, const MoveStep& step) {
  const spmd::Slot &from = program.slots[std::size_t(step.from)], &to = program.slots[std::size_t(step.to)];
  comm::CollectiveInfo info;
  info.kind = step.kind;
  for (const auto& group : step.groups) info.groups.push_back(ordinals_of(program.mesh, group));
  for (const AxisPiece& piece : step.axes) info.axes.push_back(program.mesh.text_of(piece));
  info.dtype = name_of(to.type.dtype);
  info.shape = shape_of(first_box(to, program.mesh));
  info.bytes = element_count(info.shape) * size_of(to.type.dtype);
  info.wire_bytes = spmd::wire_bytes_of(program, step);
  if (step.reduction) info.reduction = name_of(*step.reduction);
  if (step.node >= 0) {
    const Node& node = program.graph.nodes[std::size_t(step.node)];
    info.op = node.user_op;
    info.where = node.where;
  } else {
    info.op = program.graph.name;
  }
  info.cause = fmt::format("{}; avoided by {}", step.cause, spmd::avoided_by(program, step, spmd::ValueNames::kOrigins));
  info.sharding_before = slot_text(program, from);
  info.sharding_after = slot_text(program, to);
  if (step.transfers.empty()) return {info};

  std::vector<comm::CollectiveInfo> calls(std::size_t(std::max(step.calls, 1)), info);
  for (auto& call : calls) call.wire_bytes = call.bytes = 0;
  for (const spmd::Transfer& transfer : step.transfers) {
    if (transfer.source == transfer.target) continue;
    comm::CollectiveInfo& call = calls.at(std::size_t(transfer.call));
    std::int64_t bytes = element_count(transfer.box) * size_of(to.type.dtype);
    call.pairs.emplace_back(program.mesh.devices()[std::size_t(transfer.source)], program.mesh.devices()[std::size_t(transfer.target)]);
    call.shape = shape_of(transfer.box);
    call.bytes = std::max(call.bytes, bytes);
    call.wire_bytes += bytes;
  }
  return calls;
}

comm::ValueInfo describe_value(const TensorType& type, const Spec& spec, const Mesh& mesh, std::string name) {
  return {std::move(name), std::string(name_of(type.dtype)), type.shape, text_of(spec, mesh)};
}

void describe_steps(const PartitionedProgram& p, const Ownership& ownership, comm::ProgramInfo& info) {
  for (const spmd::Step& step : p.steps) {
    if (auto* region = std::get_if<spmd::RegionStep>(&step)) {
      for (const auto& body : region->bodies) describe_steps(*body, ownership, info);
    } else if (auto* computed = std::get_if<ComputeStep>(&step)) {
      const Node& node = p.graph.nodes[std::size_t(computed->node)];
      if (node.op->collective.empty()) continue;
      const std::vector<Box> operand = boxes_of(p.slots[std::size_t(computed->operands.at(0))], p.mesh);
      const std::vector<Box> result = boxes_of(p.slots[std::size_t(computed->results.at(0))], p.mesh);
      MemberMove member = plan_member_move(p.graph, node, p.mesh, {operand, result}, ownership, member_groups(node, p.mesh));
      if (member.info) info.collectives.push_back(std::move(*member.info));
    } else if (const auto& move = std::get<MoveStep>(step); move.kind != "slice") {
      for (auto& collective : collectives_of(p, move)) info.collectives.push_back(std::move(collective));
    }
  }
}

}  // namespace shardlab
