#include "runtime/exec/executable.h"
#include "runtime/exec/compute_at_use.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

#include "runtime/base/number_list.h"
#include "runtime/base/sha256.h"
#include "runtime/core/mesh_change.h"
#include "runtime/exec/add_epilogues.h"
#include "runtime/exec/beside.h"
#include "runtime/exec/compute.h"
#include "runtime/exec/context.h"
#include "runtime/exec/flush_denormals.h"
#include "runtime/exec/intermediates.h"
#include "runtime/exec/program_info.h"
#include "runtime/exec/slot_use.h"
#include "runtime/graph/host_callback.h"
#include "runtime/graph/known_numbers.h"

namespace shardlab {
namespace {

using spmd::ComputeStep;
using spmd::MoveStep;
using spmd::PartitionedProgram;
using spmd::Transfer;

// Small constants, and the numbers that are made of them, by slot as the CPU computed them.
using Presets = std::map<int, std::vector<BufferRef>>;

// Computes a constant or a known number now, where it is small on each device.
bool preset(Executable& executable, const Executable::Compute& step, bool is_known, Presets& before) {
  constexpr std::int64_t kPresetBytesMax = 64 * 1024;
  if ((!step.operands.empty() && !is_known) || step.results.size() != 1 || executable.local.empty()) return false;
  int slot = step.results[0];
  const auto& boxes = executable.slot_boxes[std::size_t(slot)];
  std::int64_t element_bytes = size_of(executable.program.slots[std::size_t(slot)].type.dtype);
  if (element_count(boxes[std::size_t(executable.local[0])]) * element_bytes > kPresetBytesMax) return false;
  std::vector<BufferRef> buffers(boxes.size());
  ComputeCall call{step.step, *step.node, executable.program.graph, executable.local, {}, {}, {&buffers}, {&boxes}};
  for (int operand : step.operands) {
    const auto known = before.find(operand);
    if (known == before.end()) return false;
    call.operands.push_back(&known->second);
    call.operand_boxes.push_back(&executable.slot_boxes[std::size_t(operand)]);
  }
  ThreadPool alone(1);
  const FlushDenormals flush;
  compute(call, alone);
  executable.presets.emplace_back(slot, placed(*executable.backend, buffers, executable.program.mesh.devices()));
  before.emplace(slot, std::move(buffers));
  return true;
}

// Where a body stands.
struct Surroundings {
  bool is_per_device = false;  // code that each device runs for itself
  bool may_part = false;       // devices may come to a step without the others: it is planned for each group alone
};

using Groups = std::vector<std::vector<int>>;

// How many groups this process has a device in.
int local_groups(const Executable& executable, const Groups& groups) {
  auto is_local = [&](int position) {
    return std::find(executable.local.begin(), executable.local.end(), position) != executable.local.end();
  };
  return int(std::count_if(groups.begin(), groups.end(),
                           [&](const std::vector<int>& group) { return std::any_of(group.begin(), group.end(), is_local); }));
}

// Devices that come to a move together, and what moves directly among them.
struct Part {
  std::vector<int> members;
  std::vector<Transfer> transfers;
};

// Transfers that have no position in common with the others, each with its positions.
std::vector<Part> independent(const std::vector<Transfer>& transfers, int positions) {
  std::vector<int> first(std::size_t(positions), 0);  // per position the first one that it is connected with
  std::iota(first.begin(), first.end(), 0);
  for (const Transfer& transfer : transfers) {
    const auto [to, from] = std::minmax({first[std::size_t(transfer.source)], first[std::size_t(transfer.target)]});
    std::replace(first.begin(), first.end(), int(from), int(to));
  }
  std::map<int, Part> by_first;
  for (int position = 0; position < positions; ++position) by_first[first[std::size_t(position)]].members.push_back(position);
  for (const Transfer& transfer : transfers) by_first[first[std::size_t(transfer.source)]].transfers.push_back(transfer);
  std::vector<Part> parts;
  for (auto& [position, part] : by_first) parts.push_back(std::move(part));
  return parts;
}

// Plans one move, and adds its collectives to what the world is told.
void plan_move(Executable& executable, const MoveStep& move, const Ownership& ownership, const Surroundings& surroundings,
               comm::ProgramInfo& info) {
  const PartitionedProgram& p = executable.program;
  int first_call = -1, calls = 0;
  if (move.kind != "slice") {
    first_call = int(info.collectives.size());
    for (auto& collective : collectives_of(p, move)) info.collectives.push_back(std::move(collective));
    calls = int(info.collectives.size()) - first_call;
  }
  Layout from{p.mesh.devices(), executable.slot_boxes[std::size_t(move.from)]};
  Layout to{p.mesh.devices(), executable.slot_boxes[std::size_t(move.to)]};
  DType dtype = p.slots[std::size_t(move.to)].type.dtype;
  auto add = [&](const Groups& groups, std::vector<int> members, std::vector<Transfer> transfers) {
    Executable::Move result{move.from, move.to, {}, first_call, calls, {}, nullptr, std::move(members)};
    if (move.reduction) {
      result.plan = ReducePlan(from, to, groups, *move.reduction, dtype, ownership);
    } else {
      if (transfers.empty()) transfers = transfers_within(from, to, groups, ownership);
      result.plan = MovePlan(from, to, std::move(transfers), dtype, ownership, p.is_manual ? SameBoxes::kMayDiffer : SameBoxes::kAreEqual);
    }
    executable.steps.push_back(std::move(result));
  };
  std::vector<Part> parts;
  if (surroundings.may_part && move.transfers.empty())
    for (const auto& group : move.groups) parts.push_back({group, {}});
  else if (surroundings.may_part)
    parts = independent(move.transfers, p.mesh.size());
  const bool is_left_out = std::any_of(parts.begin(), parts.end(), [&](const Part& part) { return part.transfers.empty(); });
  if (parts.size() < 2 || (is_left_out && !move.transfers.empty())) return add(move.groups, {}, move.transfers);
  Groups members;
  for (const Part& part : parts) members.push_back(part.members);
  for (int call = first_call; call < first_call + calls; ++call)
    info.collectives[std::size_t(call)].begun_per_run = std::max(local_groups(executable, members), 1);
  for (Part& part : parts) add({part.members}, part.members, std::move(part.transfers));
}

// A collective in per-device code.
void plan_member(Executable& executable, const ComputeStep& step, const Ownership& ownership, const Surroundings& surroundings,
                 comm::ProgramInfo& info) {
  const PartitionedProgram& p = executable.program;
  const Node& node = p.graph.nodes[std::size_t(step.node)];
  const MemberParts parts{executable.slot_boxes[std::size_t(step.operands.at(0))], executable.slot_boxes[std::size_t(step.results.at(0))]};
  const Groups groups = member_groups(node, p.mesh);
  MemberMove whole = plan_member_move(p.graph, node, p.mesh, parts, ownership, groups);
  int first_call = -1;
  auto add = [&](MemberMove&& member, std::vector<int> members) {
    executable.steps.push_back(Executable::Move{step.operands.at(0), step.results.at(0), std::move(member.plan), first_call,
                                                first_call >= 0, std::move(member.paddings), &node, std::move(members)});
  };
  if (!whole.info) return add(std::move(whole), {});
  first_call = int(info.collectives.size());
  info.collectives.push_back(std::move(*whole.info));
  if (!surroundings.may_part || groups.size() < 2) return add(std::move(whole), {});
  info.collectives.back().begun_per_run = std::max(local_groups(executable, groups), 1);
  for (const auto& group : groups) add(plan_member_move(p.graph, node, p.mesh, parts, ownership, {group}), group);
}

// The devices' places along named axes, known beforehand.
void preset_ranks(Executable& executable, const ComputeStep& step) {
  const PartitionedProgram& p = executable.program;
  std::vector<std::int32_t> ranks = member_ranks(p.graph.nodes[std::size_t(step.node)], p.mesh);
  std::vector<BufferRef> buffers(ranks.size());
  std::map<std::int32_t, BufferRef> made;
  for (int position : executable.local) {
    BufferRef& buffer = made[ranks[std::size_t(position)]];
    if (!buffer) {
      auto scalar = std::make_shared<Buffer>(sizeof(std::int32_t));
      *scalar->as<std::int32_t>() = ranks[std::size_t(position)];
      buffer = scalar;
    }
    buffers[std::size_t(position)] = buffer;
  }
  buffers = placed(*executable.backend, std::move(buffers), executable.program.mesh.devices());
  executable.presets.emplace_back(step.results.at(0), std::move(buffers));
}

// Mesh positions that these collectives join, directly or by way of others; no more than one of them: nobody else.
Groups joined_by(std::span<const comm::CollectiveInfo> collectives, const Mesh& mesh) {
  std::map<int, int> position_of;
  for (int position = 0; position < mesh.size(); ++position) position_of[mesh.devices()[std::size_t(position)]] = position;
  std::vector<int> leader(std::size_t(mesh.size()));
  std::iota(leader.begin(), leader.end(), 0);
  auto leader_of = [&](int position) {
    while (leader[std::size_t(position)] != position) position = leader[std::size_t(position)];
    return position;
  };
  auto join = [&](int a, int b) {
    a = leader_of(position_of.at(a)), b = leader_of(position_of.at(b));
    leader[std::size_t(std::max(a, b))] = std::min(a, b);
  };
  for (const comm::CollectiveInfo& call : collectives) {
    for (const auto& group : call.groups)
      for (int device : group) join(group.front(), device);
    for (const auto& [source, target] : call.pairs) join(source, target);
  }
  std::map<int, std::vector<int>> by_leader;
  for (int position = 0; position < mesh.size(); ++position) by_leader[leader_of(position)].push_back(position);
  Groups joined;
  for (auto& [first, positions] : by_leader)
    if (positions.size() > 1) joined.push_back(std::move(positions));
  return joined;
}

std::shared_ptr<Executable> compile_steps(Context& context, PartitionedProgram program, const Surroundings& surroundings,
                                          comm::ProgramInfo& info);

Executable::Region compile_region(Context& context, const PartitionedProgram& p, const spmd::RegionStep& step,
                                  const Surroundings& surroundings, comm::ProgramInfo& info) {
  Executable::Region region{&p.graph.nodes[std::size_t(step.node)], step.operands, step.results, {}};
  RegionKind kind = region.node->op->region;
  Surroundings inside = surroundings;
  inside.is_per_device |= kind == RegionKind::kManual && step.bodies[0]->is_manual;
  inside.may_part |= surroundings.is_per_device && (kind == RegionKind::kWhile || kind == RegionKind::kBranch);
  std::size_t first_call = info.collectives.size();
  for (const auto& body : step.bodies) region.bodies.push_back(compile_steps(context, *body, inside, info));
  if (surroundings.is_per_device) {
    region.together = joined_by(std::span(info.collectives).subspan(first_call), p.mesh);
  } else {
    region.together.emplace_back(std::size_t(p.mesh.size()));
    std::iota(region.together[0].begin(), region.together[0].end(), 0);
  }
  return region;
}

// The steps of the program that something is left to do for: without the constants and numbers that are computed now.
std::vector<const spmd::Step*> preset_constants(Context& context, Executable& executable) {
  const PartitionedProgram& p = executable.program;
  const std::vector<bool> is_known = known_numbers(p.graph);
  Presets before;
  std::vector<const spmd::Step*> left;
  for (const spmd::Step& step : p.steps) {
    auto* computed = std::get_if<ComputeStep>(&step);
    const Node* node = computed ? &p.graph.nodes[std::size_t(computed->node)] : nullptr;
    const bool is_plain = node && node->op->collective.empty() && !node->op->member;
    if (!is_plain || !preset(executable, {node, computed->operands, computed->results, context.new_step()},
                             is_known[std::size_t(node->results[0])], before))
      left.push_back(&step);
  }
  return left;
}

// The steps of a program or of a body; the collectives of both go to one record.
std::shared_ptr<Executable> compile_steps(Context& context, PartitionedProgram program, const Surroundings& surroundings,
                                          comm::ProgramInfo& info) {
  auto result = std::make_shared<Executable>();
  result->number = context.new_step();
  Executable& executable = *result;
  executable.program = std::move(program);
  const PartitionedProgram& p = executable.program;
  Ownership ownership = ownership_of(context);

  executable.checks = {context.config().debug_nans, context.config().debug_infs};
  for (const spmd::Slot& slot : p.slots) executable.slot_boxes.push_back(boxes_of(slot, p.mesh));
  for (int position = 0; position < p.mesh.size(); ++position)
    if (context.is_local(p.mesh.devices()[std::size_t(position)])) executable.local.push_back(position);
  executable.backend = &context.backend_of(p.mesh);

  FusionInput fusion{&p, preset_constants(context, executable), {}, executable.backend->fuses()};
  ProductsWithEpilogues products;
  std::vector<int> ordinals;
  for (int position : executable.local) ordinals.push_back(p.mesh.devices()[std::size_t(position)]);
  if (executable.backend->does_epilogues(ordinals)) products = add_epilogues(p, fusion.steps);
  std::deque<spmd::Step> again;
  if (fusion.kinds.at_use) {
    compute_at_use(executable.program, fusion.steps, again);
    for (std::size_t slot = executable.slot_boxes.size(); slot < p.slots.size(); ++slot)
      executable.slot_boxes.push_back(boxes_of(p.slots[slot], p.mesh));
  }
  fusion.last_use = last_uses(p, fusion.steps);
  for (int i = 0; i < int(fusion.steps.size());) {
    if (auto fused = executable.checks.any() ? std::nullopt : fuse(fusion, i)) {
      i += fused->steps;
      fused->step = context.new_step();
      executable.steps.push_back(std::move(*fused));
      continue;
    }
    const spmd::Step& step = *fusion.steps[std::size_t(i++)];
    if (auto* region = std::get_if<spmd::RegionStep>(&step)) {
      executable.steps.push_back(compile_region(context, p, *region, surroundings, info));
    } else if (auto* computed = std::get_if<ComputeStep>(&step)) {
      const Node& node = p.graph.nodes[std::size_t(computed->node)];
      if (!node.op->collective.empty()) {
        plan_member(executable, *computed, ownership, surroundings, info);
        continue;
      }
      if (node.op->member && node.operands.empty() && !callback_of(node)) {
        preset_ranks(executable, *computed);
        continue;
      }
      executable.steps.push_back(Executable::Compute{&node, computed->operands, computed->results, context.new_step()});
      if (auto found = products.epilogues.find(&step); found != products.epilogues.end())
        std::get<Executable::Compute>(executable.steps.back()).epilogue = found->second;
    } else {
      plan_move(executable, std::get<MoveStep>(step), ownership, surroundings, info);
    }
  }
  executable.last_use = last_uses(p, executable.steps);
  executable.intermediate_bytes = intermediate_bytes(executable);
  return result;
}

bool has_whole_axes(const Spec& spec, const Mesh& mesh) {
  return std::all_of(spec.begin(), spec.end(), [&](const Axes& axes) {
    return std::all_of(axes.begin(), axes.end(), [&](const AxisPiece& piece) { return piece == mesh.whole_axis(piece.axis); });
  });
}

}  // namespace

std::shared_ptr<const Executable> compile(Context& context, PartitionedProgram program, std::string name,
                                          const spmd::ForeignLayouts& foreign, std::vector<bool> weak_results, std::vector<bool> takes,
                                          const std::optional<Mesh>& told_on) {
  auto info = std::make_shared<comm::ProgramInfo>();
  std::shared_ptr<Executable> result;
  if (context.only_describes()) {
    result = std::make_shared<Executable>();
    result->program = std::move(program);
    describe_steps(result->program, ownership_of(context), *info);
    result->intermediate_bytes = intermediate_bytes(result->program);
  } else {
    result = compile_steps(context, std::move(program), {}, *info);
  }
  Executable& executable = *result;
  executable.takes = std::move(takes);
  const PartitionedProgram& p = executable.program;

  auto on_mesh = [&](const Spec& spec) {
    const bool is_elsewhere = told_on && !(*told_on == p.mesh) && told_on->same_devices(p.mesh);
    const std::optional<Spec> told = is_elsewhere ? spec_on(spec, p.mesh, *told_on) : std::nullopt;
    return told && has_whole_axes(*told, *told_on) ? Sharding(*told_on, *told) : Sharding(p.mesh, spec);
  };
  auto shardings = [&](const std::vector<spmd::SlotId>& slots, const std::vector<std::optional<Sharding>>& elsewhere) {
    std::vector<Sharding> all;
    for (std::size_t i = 0; i < slots.size(); ++i)
      all.push_back(i < elsewhere.size() && elsewhere[i] ? *elsewhere[i] : on_mesh(p.slots[std::size_t(slots[i])].spec));
    return all;
  };
  executable.param_shardings = shardings(p.params, foreign.params);
  executable.result_shardings = shardings(p.results, foreign.results);
  executable.weak_results = std::move(weak_results);

  info->intermediate_bytes = executable.intermediate_bytes;
  info->name = std::move(name);
  info->text = fmt::format("devices {}\n{}", list_text(p.mesh.devices()), spmd::print(p));
  info->fingerprint = sha256_prefix(info->text);
  info->mesh = p.mesh.text();
  info->devices = p.mesh.devices();
  info->processes = context.owners(info->devices);
  for (std::size_t i = 0; i < p.params.size(); ++i) {
    const spmd::Slot& slot = p.slots[std::size_t(p.params[i])];
    const Sharding& sharding = executable.param_shardings[i];
    info->operands.push_back(describe_value(slot.type, sharding.spec(slot.type.rank()), sharding.mesh(), fmt::format("%{}", i)));
  }
  for (std::size_t i = 0; i < p.results.size(); ++i) {
    const spmd::Slot& slot = p.slots[std::size_t(p.results[i])];
    const Sharding& sharding = executable.result_shardings[i];
    info->results.push_back(describe_value(slot.type, sharding.spec(slot.type.rank()), sharding.mesh(), fmt::format("result {}", i)));
  }
  executable.info = std::move(info);
  executable.calls_back = has_callbacks(p.graph);
  if (!context.only_describes()) plan_beside(context, executable);
  return result;
}

}  // namespace shardlab
