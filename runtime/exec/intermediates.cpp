#include "runtime/exec/intermediates.h"

#include <algorithm>

#include "runtime/exec/slot_use.h"

namespace shardlab {
namespace {

using spmd::PartitionedProgram;

// The largest part of a value. Of what a spec cuts it is the first position's.
Box largest_box(const spmd::Slot& slot, const Mesh& mesh) {
  if (slot.windows.empty()) return box_of(slot.type.shape, slot.spec, mesh, 0);
  return *std::max_element(slot.windows.begin(), slot.windows.end(),
                           [](const Box& a, const Box& b) { return element_count(a) < element_count(b); });
}

std::int64_t results_bytes(const PartitionedProgram& body) {
  std::int64_t bytes = 0;
  for (const int id : body.results) {
    const spmd::Slot& slot = body.slots[std::size_t(id)];
    bytes += element_count(largest_box(slot, body.mesh)) * size_of(slot.type.dtype);
  }
  return bytes;
}

// What the bodies of a step hold while it runs: one of them runs at a time.
std::int64_t inside(const spmd::Step& step) {
  std::int64_t most = 0;
  if (auto* region = std::get_if<spmd::RegionStep>(&step))
    for (const auto& body : region->bodies) most = std::max(most, intermediate_bytes(*body) + results_bytes(*body));
  return most;
}

std::int64_t inside(const Executable::Step& step) {
  std::int64_t most = 0;
  if (auto* region = std::get_if<Executable::Region>(&step))
    for (const auto& body : region->bodies) most = std::max(most, body->intermediate_bytes + results_bytes(body->program));
  return most;
}

bool makes_nothing(const spmd::Step&) { return false; }
bool makes_nothing(const Executable::Step& step) {
  auto* move = std::get_if<Executable::Move>(&step);
  return move != nullptr && std::holds_alternative<std::monostate>(move->plan);
}

// `boxes`: per slot what each position holds, or just the largest.
template <typename Step>
std::int64_t most_at_once(const PartitionedProgram& program, const std::vector<Step>& steps, const std::vector<std::vector<Box>>& boxes) {
  const std::vector<int> last = last_uses(program, steps);
  std::vector<bool> is_array(program.slots.size(), false);
  for (const int slot : program.params) is_array[std::size_t(slot)] = true;
  for (const int slot : program.results) is_array[std::size_t(slot)] = true;
  std::vector<std::vector<int>> ending(steps.size());
  std::vector<std::int64_t> held(boxes.empty() ? 0 : boxes.front().size(), 0);
  const auto change = [&](int slot, int sign) {
    const auto& of_slot = boxes[std::size_t(slot)];
    const std::int64_t element_bytes = size_of(program.slots[std::size_t(slot)].type.dtype);
    for (std::size_t p = 0; p < held.size(); ++p) held[p] += sign * element_count(of_slot[p]) * element_bytes;
  };
  std::int64_t most = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!makes_nothing(steps[i]))
      for (const int slot : use_of(steps[i]).writes)
        if (!is_array[std::size_t(slot)]) {
          change(slot, 1);
          ending[std::size_t(std::clamp(last[std::size_t(slot)], int(i), int(steps.size()) - 1))].push_back(slot);
        }
    for (const std::int64_t bytes : held) most = std::max(most, bytes + inside(steps[i]));
    for (const int slot : ending[i]) change(slot, -1);
  }
  return most;
}

}  // namespace

std::int64_t intermediate_bytes(const Executable& executable) {
  return most_at_once(executable.program, executable.steps, executable.slot_boxes);
}

std::int64_t intermediate_bytes(const PartitionedProgram& program) {
  std::vector<std::vector<Box>> boxes;
  for (const spmd::Slot& slot : program.slots) boxes.push_back({largest_box(slot, program.mesh)});
  return most_at_once(program, program.steps, boxes);
}

}  // namespace shardlab
