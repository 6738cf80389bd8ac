// Runs nodes with bodies: loops and branches in lockstep over this process's devices.
//
// Devices whose predicates differ (per-device code alone has such) run apart, the others waiting; they rejoin after it.
#include <algorithm>
#include <map>

#include "runtime/exec/choices.h"
#include "runtime/exec/context.h"
#include "runtime/exec/executor.h"

namespace shardlab {
namespace {

using Buffers = std::vector<BufferRef>;
using Slots = std::vector<Buffers>;

// Takes the values at these positions over.
void take(Slots& into, const Slots& from, const std::vector<int>& positions) {
  into.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (into[i].size() < from[i].size()) into[i].resize(from[i].size());
    for (int position : positions) into[i][std::size_t(position)] = from[i][std::size_t(position)];
  }
}

std::vector<int> where_true(Backend& backend, const Buffers& predicate, const std::vector<int>& positions) {
  std::vector<int> result;
  for (int position : positions)
    if (*backend.to_host(predicate.at(std::size_t(position)))->as<bool>()) result.push_back(position);
  return result;
}

// Slice `index` of `count` along the leading dimension; replicas share it.
Buffers slice_of(const Executable& body, const Buffers& whole, std::int64_t index, std::int64_t count, const std::vector<int>& positions) {
  Buffers result(whole.size());
  std::map<const Buffer*, BufferRef> made;
  for (int position : positions) {
    const BufferRef& source = whole.at(std::size_t(position));
    BufferRef& slice = made[source.get()];
    if (!slice) {
      std::size_t bytes = body.backend->bytes_of(*source) / std::size_t(count);
      auto buffer = body.backend->allocate(bytes, body.program.mesh.devices()[std::size_t(position)]);
      body.backend->copy_bytes(*source, bytes * std::size_t(index), *buffer, 0, bytes);
      slice = std::move(buffer);
    }
    result[std::size_t(position)] = slice;
  }
  return result;
}

// The iterations' results in a slot of the body, one after another; devices that had the same ones share it. Parts may be of unequal size.
Buffers stacked(const Executable& body, int slot, const std::vector<Buffers>& slices, const std::vector<int>& positions) {
  const std::vector<Box>& boxes = body.slot_boxes[std::size_t(slot)];
  const auto size_of_all = std::int64_t(size_of(body.program.slots[std::size_t(slot)].type.dtype) * slices.size());
  Buffers result(std::size_t(body.program.mesh.size()));
  std::map<std::vector<const Buffer*>, BufferRef> made;
  for (int position : positions) {
    std::vector<const Buffer*> key;
    for (const Buffers& each : slices) key.push_back(each.at(std::size_t(position)).get());
    BufferRef& whole = made[key];
    if (!whole) {
      const std::int64_t bytes = element_count(boxes[std::size_t(position)]) * size_of_all;
      auto buffer = body.backend->allocate(std::size_t(bytes), body.program.mesh.devices()[std::size_t(position)]);
      std::size_t at = 0;
      for (const Buffer* slice : key) {
        std::size_t size = body.backend->bytes_of(*slice);
        body.backend->copy_bytes(*slice, 0, *buffer, at, size);
        at += size;
      }
      whole = std::move(buffer);
    }
    result[std::size_t(position)] = whole;
  }
  return result;
}

}  // namespace

void Executor::run_region(const Task& task, const Executable& executable, const Executable::Region& region, Slots& slots,
                          const Scope& scope) {
  Slots operands;
  for (int slot : region.operands) operands.push_back(slots[std::size_t(slot)]);
  Slots results;
  if (!executable.local.empty() && !scope.active->empty()) {
    switch (region.node->op->region) {
      case RegionKind::kWhile:
        results = run_while(task, executable, region, std::move(operands), scope);
        break;
      case RegionKind::kScan:
        results = run_scan(task, executable, region, std::move(operands), scope);
        break;
      case RegionKind::kBranch:
        results = run_branch(task, executable, region, std::move(operands), scope);
        break;
      case RegionKind::kManual:
      case RegionKind::kCall:
        results = run_program(task, *region.bodies[0], std::move(operands), inside_of(task, executable, region, scope, 0));
        break;
      case RegionKind::kNone:
        throw InternalError(fmt::format("{} has no bodies", region.node->op->name));
    }
  }
  results.resize(region.results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].resize(std::size_t(executable.program.mesh.size()));
    slots[std::size_t(region.results[i])] = std::move(results[i]);
  }
}

// A body's scope in one of its rounds.
Executor::Scope Executor::inside_of(const Task& task, const Executable& executable, const Executable::Region& region, const Scope& scope,
                                    long round) {
  Scope inside = scope;
  if (task.launch.program->spans_processes()) inside.place += fmt::format("step {} round {}, ", index_of(executable, region), round);
  return inside;
}

Executor::Slots Executor::run_while(const Task& task, const Executable& executable, const Executable::Region& region, Slots operands,
                                    Scope scope) {
  std::size_t consts = std::size_t(region.node->attrs.integer("num_consts", 0));
  std::vector<int> active = *scope.active;
  Choices choices(context_.control(), task.launch, executable, region, {*scope.active, scope.place});
  for (long round = 0;; ++round) {
    if (task.launch.program->spans_processes() && !context_.control().may_run(task.launch.number))
      throw TransportError("the loop is left: the processes no longer agree on what they run");
    Scope now = inside_of(task, executable, region, scope, round);
    now.active = &active;
    Slots predicate = run_program(task, *region.bodies[0], operands, now);
    std::vector<int> going = where_true(*region.bodies[0]->backend, predicate.at(0), active);
    choices.round(going, operands);
    if (going.empty()) break;
    if (going.size() != active.size()) {
      scope.diverged = now.diverged = true;
      active = std::move(going);
    }
    Slots carried = run_program(task, *region.bodies[1], operands, now);
    for (std::size_t i = 0; i < carried.size(); ++i)
      for (int position : active) operands[consts + i][std::size_t(position)] = std::move(carried[i][std::size_t(position)]);
  }
  operands.erase(operands.begin(), operands.begin() + std::ptrdiff_t(consts));
  return operands;
}

Executor::Slots Executor::run_scan(const Task& task, const Executable& executable, const Executable::Region& region, Slots operands,
                                   Scope scope) {
  const Attrs& attrs = region.node->attrs;
  std::size_t consts = std::size_t(attrs.integer("num_consts", 0)), carried = std::size_t(attrs.integer("num_carry", 0));
  std::int64_t length = attrs.integer("length");
  bool reverse = attrs.flag("reverse");
  const Executable& body = *region.bodies[0];
  std::size_t stacks = body.program.results.size() - carried;
  std::vector<std::vector<Buffers>> slices(stacks, std::vector<Buffers>(std::size_t(length)));
  Slots params(operands.begin(), operands.begin() + std::ptrdiff_t(consts + carried));
  params.resize(operands.size());
  for (std::int64_t step = 0; step < length; ++step) {
    std::int64_t index = reverse ? length - 1 - step : step;
    for (std::size_t i = consts + carried; i < operands.size(); ++i) params[i] = slice_of(body, operands[i], index, length, *scope.active);
    Slots results = run_program(task, body, params, inside_of(task, executable, region, scope, step));
    for (std::size_t i = 0; i < carried; ++i) params[consts + i] = std::move(results[i]);
    for (std::size_t i = 0; i < stacks; ++i) slices[i][std::size_t(index)] = std::move(results[carried + i]);
  }
  Slots results(params.begin() + std::ptrdiff_t(consts), params.begin() + std::ptrdiff_t(consts + carried));
  for (std::size_t i = 0; i < stacks; ++i) {
    results.push_back(stacked(body, body.program.results[carried + i], slices[i], *scope.active));
    slices[i].clear();
  }
  return results;
}

Executor::Slots Executor::run_branch(const Task& task, const Executable& executable, const Executable::Region& region, Slots operands,
                                     const Scope& scope) {
  std::map<std::int32_t, std::vector<int>> ways;
  std::int32_t last = std::int32_t(region.bodies.size()) - 1;
  for (int position : *scope.active)
    ways[std::clamp(*region.bodies[0]->backend->to_host(operands[0].at(std::size_t(position)))->as<std::int32_t>(), 0, last)].push_back(
        position);
  Choices(context_.control(), task.launch, executable, region, {*scope.active, scope.place}).branch(ways);
  operands.erase(operands.begin());
  Slots results;
  for (const auto& [branch, positions] : ways) {
    Scope inside = inside_of(task, executable, region, scope, 0);
    inside.active = &positions;
    inside.diverged |= ways.size() > 1;
    take(results, run_program(task, *region.bodies[std::size_t(branch)], operands, inside), positions);
  }
  return results;
}

}  // namespace shardlab
