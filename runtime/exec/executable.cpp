#include "runtime/exec/executable.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <span>

#include "runtime/base/number_list.h"
#include "runtime/base/sha256.h"
#include "runtime/exec/compute.h"
#include "runtime/exec/context.h"
#include "runtime/exec/transfer.h"
#include "runtime/spmd/explain.h"

namespace shardlab {
namespace {

using spmd::ComputeStep;
using spmd::MoveStep;
using spmd::PartitionedProgram;

Ownership ownership_of(Context& context) {
  Ownership ownership{[&context](int ordinal) { return context.device(ordinal).process_index; }, context.process_index(), {}};
  if (!context.hosts().empty()) ownership.host_of = [&context](int process) { return context.hosts()[std::size_t(process)]; };
  return ownership;
}

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

// The records of one move: one collective, or one for each of its permutes.
std::vector<comm::CollectiveInfo> describe(const PartitionedProgram& program, const MoveStep& step) {
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
  info.cause = fmt::format("{}; avoided by {}", step.cause, spmd::avoided_by(program, step));
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

// The slots that a step reads and writes.
struct SlotUse {
  std::vector<int> reads, writes;
};

SlotUse use_of(const spmd::Step& step) {
  if (auto* compute = std::get_if<ComputeStep>(&step)) return {compute->operands, compute->results};
  if (auto* region = std::get_if<spmd::RegionStep>(&step)) return {region->operands, region->results};
  const auto& move = std::get<MoveStep>(step);
  return {{move.from}, {move.to}};
}

SlotUse use_of(const Executable::Step& step) {
  if (auto* compute = std::get_if<Executable::Compute>(&step)) return {compute->operands, compute->results};
  if (auto* fused = std::get_if<FusedStep>(&step)) return {fused->inputs, fused->outputs};
  if (auto* region = std::get_if<Executable::Region>(&step)) return {region->operands, region->results};
  const auto& move = std::get<Executable::Move>(step);
  return {{move.from}, {move.to}};
}

// Per slot the last of the steps that uses it; results are used by the end.
template <typename Step>
std::vector<int> last_uses(const PartitionedProgram& program, const std::vector<Step>& steps) {
  std::vector<int> last(program.slots.size(), -1);
  for (int i = 0; i < int(steps.size()); ++i) {
    SlotUse use = use_of(steps[std::size_t(i)]);
    for (int slot : use.writes) last[std::size_t(slot)] = std::max(last[std::size_t(slot)], i);
    for (int slot : use.reads) last[std::size_t(slot)] = i;
  }
  for (int slot : program.results) last[std::size_t(slot)] = int(steps.size());
  return last;
}

// Computes a constant now, where it is small on each device.
bool preset(Executable& executable, const Executable::Compute& step) {
  constexpr std::int64_t kPresetBytesMax = 64 * 1024;
  if (!step.operands.empty() || step.results.size() != 1 || executable.local.empty()) return false;
  int slot = step.results[0];
  const auto& boxes = executable.slot_boxes[std::size_t(slot)];
  std::int64_t element_bytes = size_of(executable.program.slots[std::size_t(slot)].type.dtype);
  if (element_count(boxes[std::size_t(executable.local[0])]) * element_bytes > kPresetBytesMax) return false;
  std::vector<BufferRef> buffers(boxes.size());
  ComputeCall call{step.step, *step.node, executable.program.graph, executable.local, {}, {}, {&buffers}, {&boxes}};
  ThreadPool alone(1);
  compute(call, alone);
  buffers = placed(*executable.backend, std::move(buffers), executable.program.mesh.devices());
  executable.presets.emplace_back(slot, std::move(buffers));
  return true;
}

// Where a body stands.
struct Surroundings {
  bool is_per_device = false;  // code that each device runs for itself
  bool may_part = false;       // devices may come to a step without the others: it is planned for each group alone
};

using Groups = std::vector<std::vector<int>>;

// Plans one move, and adds its collectives to what the world is told.
void plan_move(Executable& executable, const MoveStep& move, const Ownership& ownership, const Surroundings& surroundings,
               comm::ProgramInfo& info) {
  const PartitionedProgram& p = executable.program;
  int first_call = -1, calls = 0;
  if (move.kind != "slice") {
    first_call = int(info.collectives.size());
    for (auto& collective : describe(p, move)) info.collectives.push_back(std::move(collective));
    calls = int(info.collectives.size()) - first_call;
  }
  Layout from{p.mesh.devices(), executable.slot_boxes[std::size_t(move.from)]};
  Layout to{p.mesh.devices(), executable.slot_boxes[std::size_t(move.to)]};
  DType dtype = p.slots[std::size_t(move.to)].type.dtype;
  auto add = [&](const Groups& groups, std::vector<int> members) {
    Executable::Move result{move.from, move.to, {}, first_call, calls, {}, nullptr, std::move(members)};
    if (move.reduction) {
      result.plan = ReducePlan(from, to, groups, *move.reduction, dtype, ownership);
    } else {
      auto transfers = move.transfers.empty() ? transfers_within(from, to, groups, ownership) : move.transfers;
      result.plan = MovePlan(from, to, std::move(transfers), dtype, ownership);
    }
    executable.steps.push_back(std::move(result));
  };
  if (!surroundings.may_part || move.groups.size() < 2 || !move.transfers.empty()) return add(move.groups, {});
  for (const auto& group : move.groups) add({group}, group);
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

// Appends what is not among them yet.
void add_missing(const std::vector<int>& devices, std::vector<int>& known) {
  std::set<int> seen(known.begin(), known.end());
  for (int device : devices)
    if (seen.insert(device).second) known.push_back(device);
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
  inside.is_per_device |= kind == RegionKind::kManual;
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

// What the world is told of the steps of a program or of a body, without anything of one process's own.
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
      for (auto& collective : describe(p, move)) info.collectives.push_back(std::move(collective));
    }
  }
}

// The steps of a program or of a body; the collectives of both go to one record.
std::shared_ptr<Executable> compile_steps(Context& context, PartitionedProgram program, const Surroundings& surroundings,
                                          comm::ProgramInfo& info) {
  auto result = std::make_shared<Executable>();
  Executable& executable = *result;
  executable.program = std::move(program);
  const PartitionedProgram& p = executable.program;
  Ownership ownership = ownership_of(context);

  for (const spmd::Slot& slot : p.slots) executable.slot_boxes.push_back(boxes_of(slot, p.mesh));
  for (int position = 0; position < p.mesh.size(); ++position)
    if (context.is_local(p.mesh.devices()[std::size_t(position)])) executable.local.push_back(position);
  executable.backend = &context.backend_of(p.mesh);

  FusionInput fusion{&p, last_uses(p, p.steps)};
  for (int i = 0; i < int(p.steps.size());) {
    if (int end = fusable_until(fusion, i); end > i) {
      FusedStep fused = fuse(fusion, i, end);
      fused.step = context.new_step();
      executable.steps.push_back(std::move(fused));
      i = end;
      continue;
    }
    const spmd::Step& step = p.steps[std::size_t(i++)];
    if (auto* region = std::get_if<spmd::RegionStep>(&step)) {
      executable.steps.push_back(compile_region(context, p, *region, surroundings, info));
    } else if (auto* computed = std::get_if<ComputeStep>(&step)) {
      const Node& node = p.graph.nodes[std::size_t(computed->node)];
      if (!node.op->collective.empty()) {
        plan_member(executable, *computed, ownership, surroundings, info);
        continue;
      }
      if (node.op->member && node.operands.empty()) {
        preset_ranks(executable, *computed);
        continue;
      }
      Executable::Compute compute{&p.graph.nodes[std::size_t(computed->node)], computed->operands, computed->results, context.new_step()};
      if (!preset(executable, compute)) executable.steps.push_back(std::move(compute));
    } else {
      plan_move(executable, std::get<MoveStep>(step), ownership, surroundings, info);
    }
  }
  executable.last_use = last_uses(p, executable.steps);
  return result;
}

}  // namespace

std::shared_ptr<const Executable> compile(Context& context, PartitionedProgram program, std::string name,
                                          const spmd::ForeignLayouts& foreign, std::vector<bool> weak_results) {
  auto info = std::make_shared<comm::ProgramInfo>();
  std::shared_ptr<Executable> result;
  if (context.only_describes()) {
    result = std::make_shared<Executable>();
    result->program = std::move(program);
    describe_steps(result->program, ownership_of(context), *info);
  } else {
    result = compile_steps(context, std::move(program), {}, *info);
  }
  Executable& executable = *result;
  const PartitionedProgram& p = executable.program;

  auto shardings = [&](const std::vector<spmd::SlotId>& slots, const std::vector<std::optional<Sharding>>& elsewhere) {
    std::vector<Sharding> all;
    for (std::size_t i = 0; i < slots.size(); ++i)
      all.push_back(i < elsewhere.size() && elsewhere[i] ? *elsewhere[i] : Sharding(p.mesh, p.slots[std::size_t(slots[i])].spec));
    return all;
  };
  executable.param_shardings = shardings(p.params, foreign.params);
  executable.result_shardings = shardings(p.results, foreign.results);
  executable.weak_results = std::move(weak_results);

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
  return result;
}

std::shared_ptr<const Executable> compile_transfer(Context& context, const TensorType& type, const Sharding& from, const Sharding& to,
                                                   bool from_host) {
  return compile_transfer(context, type, from, to, from_host, TransferName());
}

std::shared_ptr<const Executable> compile_transfer(Context& context, const TensorType& type, const Sharding& from_sharding,
                                                   const Sharding& to_sharding, bool from_host, const TransferName& name) {
  auto result = std::make_shared<Executable>();
  Executable& executable = *result;
  Ownership ownership = ownership_of(context);
  Layout from{from_sharding.mesh().devices(), from_sharding.boxes(type.shape)};
  Layout to{to_sharding.mesh().devices(), to_sharding.boxes(type.shape)};
  for (int position = 0; position < to_sharding.mesh().size(); ++position)
    if (context.is_local(to.devices[std::size_t(position)])) executable.local.push_back(position);
  executable.backend = &context.backend_of(to_sharding.mesh());

  std::vector<spmd::Transfer> transfers;
  if (from_host)
    for (int position : executable.local) transfers.push_back({0, position, to.boxes[std::size_t(position)], 0});
  else
    transfers = transfers_between(from, to, ownership);

  auto info = std::make_shared<comm::ProgramInfo>();
  info->name = name.name;
  // However it is written: a spec's trailing entries may be left out.
  auto canonical = [&](const Sharding& sharding) {
    if (sharding.is_single_device()) return sharding.text();
    return fmt::format("{} of {}", describe_value(type, sharding.spec(type.rank()), sharding.mesh(), "").sharding, sharding.mesh().text());
  };
  std::string source = from_host ? "host" : canonical(from_sharding) + " " + list_text(from.devices);
  // The two sides of a send call it differently and issue the same.
  info->text = fmt::format("{} {}{}{} from {} to {} {}", name.kind == "transfer" ? name.name : name.kind, name.detail,
                           name.detail.empty() ? "" : " ", type.text(), source, canonical(to_sharding), list_text(to.devices));
  if (name.is_async) info->text += ", is_async";  // traces/checks/wording.cpp reads this
  info->fingerprint = sha256_prefix(info->text);
  info->mesh = to_sharding.mesh().text();
  info->devices = to.devices;
  if (!from_host) add_missing(from.devices, info->devices);
  info->processes = context.owners(info->devices);
  info->operands.push_back(describe_value(type, from_sharding.spec(type.rank()), from_sharding.mesh(), "x"));
  if (from_host) info->operands[0].sharding = "host";
  info->results.push_back(describe_value(type, to_sharding.spec(type.rank()), to_sharding.mesh(), "result"));

  comm::CollectiveInfo collective;
  collective.kind = name.kind;
  collective.op = name.kind == "transfer" ? name.name : name.kind;
  collective.dtype = name_of(type.dtype);
  collective.shape = to.boxes.empty() ? Shape{} : shape_of(to.boxes[0]);
  collective.bytes = element_count(collective.shape) * size_of(type.dtype);
  collective.sharding_before = info->operands[0].sharding;
  collective.sharding_after = info->results[0].sharding;
  collective.cause = name.detail.empty() ? name.name : name.detail;
  if (!from_host) {
    std::set<std::pair<int, int>> pairs;
    for (const auto& transfer : transfers) {
      int source_device = from.devices[std::size_t(transfer.source)], target_device = to.devices[std::size_t(transfer.target)];
      if (source_device == target_device) continue;
      std::pair<int, int> pair{source_device, target_device};
      if (pairs.insert(pair).second) collective.pairs.push_back(pair);
      if (name.kind == "transfer") collective.wire_bytes += element_count(transfer.box) * size_of(type.dtype);
    }
  }
  info->collectives.push_back(std::move(collective));
  if (!context.only_describes()) executable.transfer.emplace(from, to, std::move(transfers), type.dtype, ownership);
  executable.result_shardings.push_back(to_sharding);
  executable.info = std::move(info);
  return result;
}

}  // namespace shardlab
