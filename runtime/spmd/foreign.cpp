#include "runtime/spmd/foreign.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "runtime/core/mesh_change.h"
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
  return step;
}

// The move among the steps that made a form.
const MoveStep* made_by(const std::vector<Step>& steps, SlotId id) {
  for (const Step& step : steps)
    if (const auto* move = std::get_if<MoveStep>(&step); move != nullptr && move->to == id) return move;
  return nullptr;
}

void visit_uses(PartitionedProgram& program, const std::function<void(SlotId&)>& visit) {
  for (Step& step : program.steps) {
    if (auto* move = std::get_if<MoveStep>(&step))
      visit(move->from);
    else if (auto* compute = std::get_if<ComputeStep>(&step))
      std::for_each(compute->operands.begin(), compute->operands.end(), visit);
    else
      std::for_each(std::get<RegionStep>(step).operands.begin(), std::get<RegionStep>(step).operands.end(), visit);
  }
  std::for_each(program.results.begin(), program.results.end(), visit);
}

// Windows that were given up and are wanted again are those that were there; moves to forms that nobody uses then are left out.
void leave_out_detours(PartitionedProgram& program) {
  visit_uses(program, [&](SlotId& id) {
    const MoveStep* last = made_by(program.steps, id);
    const MoveStep* first = last == nullptr ? nullptr : made_by(program.steps, last->from);
    if (first == nullptr) return;
    const Slot &before = program.slots[std::size_t(first->from)], &after = program.slots[std::size_t(id)];
    if (before.value == after.value && before.partial.empty() && boxes_of(before, program.mesh) == boxes_of(after, program.mesh))
      id = first->from;
  });
  for (bool has_changed = true; has_changed;) {
    std::vector<bool> is_used(program.slots.size(), false);
    visit_uses(program, [&](SlotId& id) { is_used[std::size_t(id)] = true; });
    auto is_idle = [&](const Step& step) {
      const auto* move = std::get_if<MoveStep>(&step);
      if (move == nullptr || is_used[std::size_t(move->to)]) return false;
      program.wire_bytes -= wire_bytes_of(program, *move);
      return true;
    };
    has_changed = std::erase_if(program.steps, is_idle) > 0;
  }
}

// From the form, or from one that it was moved from: whichever moves less.
MoveStep cheapest_exchange(PartitionedProgram& program, const std::vector<Step>& steps, SlotId from, SlotId to, const std::string& cause) {
  MoveStep best = exchange(program, from, to, cause);
  for (const MoveStep* move = made_by(steps, from); move != nullptr; move = made_by(steps, move->from)) {
    const Slot& earlier = program.slots[std::size_t(move->from)];
    if (earlier.value != program.slots[std::size_t(to)].value || !earlier.partial.empty()) break;
    MoveStep other = exchange(program, move->from, to, cause);
    if (wire_bytes_of(program, other) < wire_bytes_of(program, best)) best = std::move(other);
  }
  program.wire_bytes += wire_bytes_of(program, best);
  return best;
}

// One node's exchanges; `done`: the steps in front of it.
void exchange_around(PartitionedProgram& program, RegionStep& region, const std::vector<Step>& done, std::vector<Step>& before,
                     std::vector<Step>& after) {
  const Node& node = program.graph.nodes[std::size_t(region.node)];
  const auto swap = [&](SlotId& id, const Sharding& sharding, bool is_operand, std::size_t i) {
    if (!is_foreign(sharding, program.slots[std::size_t(id)].type.rank(), program.mesh)) return;
    const SlotId inner = std::exchange(id, add_slot(program, id, sharding));
    const std::string cause =
        fmt::format("{} {} of {} lies on {}", is_operand ? "operand" : "result", i, node.op->name, sharding.mesh().text());
    MoveStep step = is_operand ? cheapest_exchange(program, done, inner, id, cause) : cheapest_exchange(program, {}, id, inner, cause);
    step.node = region.node;
    if (is_operand) step.operand = int(i);
    (is_operand ? before : after).emplace_back(std::move(step));
  };
  const std::vector<Sharding>&in = node.attrs.shardings("in_specs"), &out = node.attrs.shardings("out_specs");
  for (std::size_t i = 0; i < region.operands.size(); ++i) swap(region.operands[i], in[i], true, i);
  for (std::size_t i = 0; i < region.results.size(); ++i) swap(region.results[i], out[i], false, i);
}

}  // namespace

bool is_foreign(const Sharding& sharding, int rank, const Mesh& mesh) {
  const Mesh& own = sharding.mesh();
  return !(own == mesh) && mesh.size() > 1 && own.axis_count() > 0 && own.same_devices(mesh) && !spec_on(sharding.spec(rank), own, mesh);
}

PartitionedProgram with_foreign_code(PartitionedProgram program) {
  std::vector<Step> steps;
  bool has_changed = false;
  for (Step& step : std::exchange(program.steps, {})) {
    auto* region = std::get_if<RegionStep>(&step);
    std::vector<Step> before, after;
    if (region != nullptr && program.graph.nodes[std::size_t(region->node)].op->region == RegionKind::kManual)
      exchange_around(program, *region, steps, before, after);
    has_changed |= !before.empty() || !after.empty();
    std::move(before.begin(), before.end(), std::back_inserter(steps));
    steps.push_back(std::move(step));
    std::move(after.begin(), after.end(), std::back_inserter(steps));
  }
  program.steps = std::move(steps);
  if (has_changed) leave_out_detours(program);
  return program;
}

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
    first.emplace_back(cheapest_exchange(program, {}, program.params[i], inner,
                                         fmt::format("argument {} lies on {}", i, foreign.params[i]->mesh().text())));
  }
  program.steps.insert(program.steps.begin(), first.begin(), first.end());
  for (std::size_t i = 0; i < foreign.results.size(); ++i) {
    if (!foreign.results[i]) continue;
    SlotId inner = program.results[i];
    program.results[i] = add_slot(program, inner, *foreign.results[i]);
    program.steps.emplace_back(cheapest_exchange(program, {}, inner, program.results[i],
                                                 fmt::format("result {} is wanted on {}", i, foreign.results[i]->mesh().text())));
  }
  leave_out_detours(program);
  verify(program);
  return program;
}

}  // namespace shardlab::spmd
