#include <fmt/ranges.h>

#include <map>

#include "runtime/base/number_list.h"
#include "runtime/spmd/program.h"

namespace shardlab::spmd {
namespace {

std::string axes_text(const Axes& axes, const Mesh& mesh) {
  std::vector<std::string> names;
  for (const AxisPiece& piece : axes) names.push_back(fmt::format("'{}'", mesh.text_of(piece)));
  return fmt::format("({})", fmt::join(names, ", "));
}

std::string box_text(const Box& box) {
  std::vector<std::string> bounds;
  for (const Interval& interval : box) bounds.push_back(fmt::format("{}:{}", interval.start, interval.stop));
  return fmt::format("[{}]", fmt::join(bounds, ","));
}

std::string slot_text(const PartitionedProgram& program, SlotId id) {
  const Slot& slot = program.slots[std::size_t(id)];
  std::string text = fmt::format("%{} {} {}", slot.value, slot.type.text(), text_of(slot.spec, program.mesh));
  if (!slot.windows.empty()) {
    text += " windows";
    for (const Box& box : slot.windows) text += fmt::format(" {}", box_text(box));
  }
  if (!slot.partial.empty()) text += fmt::format(" partial over {}", axes_text(slot.partial, program.mesh));
  return text;
}

std::string slot_list(const std::vector<SlotId>& slots) {
  std::vector<std::string> names;
  for (SlotId id : slots) names.push_back(fmt::format("s{}", id));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string step_text(const PartitionedProgram& program, const ComputeStep& step) {
  std::string text =
      fmt::format("  {} = {}({})", slot_list(step.results), program.graph.nodes[std::size_t(step.node)].op->name, slot_list(step.operands));
  for (std::size_t i = 0; i < step.results.size(); ++i) text += (i ? "; " : " : ") + slot_text(program, step.results[i]);
  return text + "\n";
}

std::string step_text(const PartitionedProgram& program, const RegionStep& step) {
  std::string text =
      fmt::format("  {} = {}({})", slot_list(step.results), program.graph.nodes[std::size_t(step.node)].op->name, slot_list(step.operands));
  for (std::size_t i = 0; i < step.results.size(); ++i) text += (i ? "; " : " : ") + slot_text(program, step.results[i]);
  text += "\n";
  for (const auto& body : step.bodies) {
    std::string inside = print(*body);
    text += "    ";
    for (std::size_t i = 0; i < inside.size(); ++i) {
      text += inside[i];
      if (inside[i] == '\n' && i + 1 < inside.size()) text += "    ";
    }
  }
  return text;
}

std::string pairs_text(const MoveStep& step) {
  std::map<int, std::vector<std::string>> calls;
  for (const Transfer& transfer : step.transfers)
    if (transfer.source != transfer.target) calls[transfer.call].push_back(fmt::format("{}>{}", transfer.source, transfer.target));
  std::vector<std::string> texts;
  for (const auto& [call, pairs] : calls) texts.push_back(fmt::format("[{}]", fmt::join(pairs, ",")));
  return fmt::format("{}", fmt::join(texts, " "));
}

std::string step_text(const PartitionedProgram& program, const MoveStep& step) {
  std::string text = fmt::format("  s{} = {}", step.to, step.kind);
  if (step.reduction) text += fmt::format(" {}", name_of(*step.reduction));
  text += fmt::format("(s{})", step.from);
  if (!step.groups.empty()) text += fmt::format(" over {} groups {}", axes_text(step.axes, program.mesh), lists_text(step.groups));
  if (!step.transfers.empty()) text += fmt::format(" pairs {}", pairs_text(step));
  return text + fmt::format(" : {}\n", slot_text(program, step.to));
}

}  // namespace

std::string print(const PartitionedProgram& program) {
  std::string text = print(program.graph) + fmt::format("on {} {{\n", program.mesh.text());
  for (std::size_t i = 0; i < program.params.size(); ++i)
    text += fmt::format("  s{} = parameter {} : {}\n", program.params[i], i, slot_text(program, program.params[i]));
  for (const Step& step : program.steps) text += std::visit([&](const auto& each) { return step_text(program, each); }, step);
  return text + fmt::format("  return {}\n}}\n", slot_list(program.results));
}

}  // namespace shardlab::spmd
