#include "runtime/spmd/program.h"

#include <algorithm>
#include <set>

#include "runtime/comm/collectives.h"
#include "runtime/spmd/layout.h"

namespace shardlab::spmd {
namespace {

// For one target: its box from itself, then from the others in the group's order, each block of the source's spec once.
void add_transfers(const std::vector<Box>& held, const Box& wanted, const std::vector<int>& group, int target,
                   std::vector<Transfer>& transfers) {
  std::vector<int> sources{target};
  for (int member : group)
    if (member != target) sources.push_back(member);
  std::int64_t left = element_count(wanted);
  std::vector<const Box*> taken;
  for (int source : sources) {
    if (left == 0) return;
    const Box& box = held[std::size_t(source)];
    if (std::any_of(taken.begin(), taken.end(), [&](const Box* other) { return *other == box; })) continue;
    Box part = intersect(box, wanted);
    std::int64_t count = element_count(part);
    if (count == 0) continue;
    taken.push_back(&box);
    transfers.push_back({source, target, std::move(part), 0});
    left -= count;
  }
  SL_CHECK(left == 0, "position {} lacks {} elements that nobody in its group holds", target, left);
}

// The same bounds where parts differ in size: what each member of a group receives.
std::int64_t uneven_wire_bytes(const PartitionedProgram& program, const MoveStep& step) {
  const Slot& to = program.slots[std::size_t(step.to)];
  std::vector<Box> held = boxes_of(program.slots[std::size_t(step.from)], program.mesh), wanted = boxes_of(to, program.mesh);
  std::int64_t elements = 0;
  for (const auto& group : step.groups) {
    std::int64_t others = std::int64_t(group.size()) - 1;
    if (step.kind == "all-reduce") elements += 2 * others * element_count(wanted[std::size_t(group[0])]);
    for (int member : group) {
      const Box& box = wanted[std::size_t(member)];
      if (!step.reduction)
        elements += element_count(box) - element_count(intersect(held[std::size_t(member)], box));
      else if (step.kind != "all-reduce")
        elements += others * element_count(box);
    }
  }
  return elements * size_of(to.type.dtype);
}

}  // namespace

std::vector<Box> boxes_of(const Slot& slot, const Mesh& mesh) {
  return slot.windows.empty() ? boxes_of(slot.type.shape, slot.spec, mesh) : slot.windows;
}

std::vector<Transfer> transfers_of(const PartitionedProgram& program, const MoveStep& step) {
  SL_CHECK(!step.reduction, "{} combines values: it has no transfers", step.kind);
  if (step.kind == "collective-permute") return step.transfers;
  const Slot &from = program.slots[std::size_t(step.from)], &to = program.slots[std::size_t(step.to)];
  std::vector<Box> held = boxes_of(from, program.mesh);
  std::vector<Box> wanted = boxes_of(to, program.mesh);
  std::vector<Transfer> transfers;
  if (step.groups.empty()) {
    for (int p = 0; p < program.mesh.size(); ++p) add_transfers(held, wanted[std::size_t(p)], {p}, p, transfers);
    return transfers;
  }
  for (const auto& group : step.groups)
    for (int target : group) add_transfers(held, wanted[std::size_t(target)], group, target, transfers);
  return transfers;
}

std::int64_t wire_bytes_of(const PartitionedProgram& program, const MoveStep& step) {
  if (step.kind == "slice") return 0;
  const comm::CollectiveDef* collective = comm::find_collective(step.kind);
  SL_CHECK(collective != nullptr, "no collective is called {}", step.kind);
  const Slot& to = program.slots[std::size_t(step.to)];
  std::int64_t bytes = 0, item = size_of(to.type.dtype);
  if (collective->by_pairs) {
    for (const Transfer& transfer : step.transfers)
      if (transfer.source != transfer.target) bytes += collective->wire_bytes(1, element_count(transfer.box) * item);
    return bytes;
  }
  if (!is_even(to.type.shape, to.spec) || !is_even(to.type.shape, program.slots[std::size_t(step.from)].spec))
    return uneven_wire_bytes(program, step);
  std::int64_t result_bytes = local_elements(to.type.shape, to.spec) * item;
  for (const auto& group : step.groups) bytes += collective->wire_bytes(std::int64_t(group.size()), result_bytes);
  return bytes;
}

}  // namespace shardlab::spmd
