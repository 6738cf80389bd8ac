#include "runtime/spmd/foreign.h"

#include <algorithm>

#include "runtime/spmd/exchange.h"
#include "runtime/spmd/layout.h"

namespace shardlab::spmd {
namespace {

bool is_any(const std::vector<std::optional<Sharding>>& shardings) {
  return std::any_of(shardings.begin(), shardings.end(), [](const auto& each) { return each.has_value(); });
}

// A form of the value as a sharding of another mesh has it.
SlotId add_slot(PartitionedProgram& program, SlotId like, const Sharding& foreign) {
  Slot slot = program.slots[std::size_t(like)];
  slot.spec.assign(slot.type.shape.size(), Axes{});
  slot.windows = foreign.boxes(slot.type.shape);
  program.slots.push_back(std::move(slot));
  return SlotId(program.slots.size()) - 1;
}

MoveStep exchange(PartitionedProgram& program, SlotId from, SlotId to, std::string cause) {
  MoveStep step;
  step.kind = "collective-permute";
  step.from = from;
  step.to = to;
  step.cause = std::move(cause);
  auto found =
      plan_exchange(boxes_of(program.slots[std::size_t(from)], program.mesh), boxes_of(program.slots[std::size_t(to)], program.mesh));
  if (!found)
    throw_user_error("{} has too many parts to be moved between two meshes whose axes do not nest; place it on the mesh of the computation",
                     program.slots[std::size_t(from)].type.text());
  step.transfers = std::move(found->transfers);
  step.calls = found->calls;
  if (found->calls == 0) {  // each device has what it needs
    step.kind = "slice";
    step.transfers.clear();
    step.calls = 1;
  }
  program.wire_bytes += wire_bytes_of(program, step);
  return step;
}

}  // namespace

bool ForeignLayouts::any() const { return is_any(params) || is_any(results); }

Spec like_parts(const Spec& foreign, const Mesh& mesh) {
  Axes free = AtomTable(mesh).prime_atoms();
  Spec spec;
  for (const Axes& axes : foreign) {
    std::int64_t parts = part_count(axes);
    Axes& dim = spec.emplace_back();
    for (auto atom = free.begin(); atom != free.end() && parts > 1;) {
      if (parts % atom->size != 0) {
        ++atom;
        continue;
      }
      parts /= atom->size;
      push(dim, *atom);
      atom = free.erase(atom);
    }
    SL_CHECK(parts == 1, "{} has no axes for {} parts", mesh.text(), part_count(axes));
  }
  return spec;
}

PartitionedProgram with_foreign(PartitionedProgram program, const ForeignLayouts& foreign) {
  std::vector<Step> first;
  for (std::size_t i = 0; i < foreign.params.size(); ++i) {
    if (!foreign.params[i]) continue;
    SlotId inner = program.params[i];
    program.params[i] = add_slot(program, inner, *foreign.params[i]);
    first.emplace_back(
        exchange(program, program.params[i], inner, fmt::format("argument {} lies on {}", i, foreign.params[i]->mesh().text())));
  }
  program.steps.insert(program.steps.begin(), first.begin(), first.end());
  for (std::size_t i = 0; i < foreign.results.size(); ++i) {
    if (!foreign.results[i]) continue;
    SlotId inner = program.results[i];
    program.results[i] = add_slot(program, inner, *foreign.results[i]);
    program.steps.emplace_back(
        exchange(program, inner, program.results[i], fmt::format("result {} is wanted on {}", i, foreign.results[i]->mesh().text())));
  }
  verify(program);
  return program;
}

}  // namespace shardlab::spmd
