// How a launch runs: its operands as its devices want them, then its steps in order.
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/exec/compute.h"
#include "runtime/exec/context.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/launch_aware.h"
#include "runtime/graph/host_callback.h"

namespace shardlab {
namespace {

comm::CallStatus status_of(const comm::ExchangeResult& result) {
  return result.status == comm::ExchangeStatus::kDone ? comm::CallStatus::kOk : comm::CallStatus::kPoisoned;
}

bool contains(const std::vector<int>& positions, int position) {
  return std::find(positions.begin(), positions.end(), position) != positions.end();
}

// Devices that took another branch, or left the loop, cannot take part in a collective of those that did not.
[[noreturn]] void refuse_diverged(const Executable& executable, const Executable::Move& step, const std::vector<int>& active,
                                  const std::vector<int>& members) {
  auto ordinals = [&](bool wanted) {
    std::vector<int> result;
    for (int position : members)
      if (contains(active, position) == wanted) result.push_back(executable.program.mesh.devices()[std::size_t(position)]);
    return result;
  };
  std::string what = step.node == nullptr ? "a collective" : fmt::format("{} at {}", step.node->user_op, step.node->where.text());
  throw_user_error(
      "{} stands where devices go different ways: devices [{}] came to it, devices [{}] took another branch or left the loop. The "
      "predicate differs between devices; reduce it over the mesh axes (pmax, psum) so that all devices agree",
      what, fmt::join(ordinals(true), ", "), fmt::join(ordinals(false), ", "));
}

}  // namespace

std::vector<BufferRef> Executor::load(const Task& task, std::size_t param) const {
  const Executable& executable = *task.executable;
  const ArrayImpl& arg = *task.args[param];
  Backend& backend = *executable.backend;
  const auto& boxes = executable.slot_boxes[std::size_t(executable.program.params[param])];
  if (arg.sharding.mesh().size() == executable.program.mesh.size() && arg.sharding.mesh().same_devices(executable.program.mesh))
    return arg.shards;
  // Uncommitted: the whole value is on this process's default device; each device takes its part.
  std::vector<BufferRef> shards(boxes.size());
  Box all = whole(arg.type.shape);
  Backend& from = context_.backend_of(arg.sharding.mesh());
  BufferRef source = arg.shards.at(0);
  if (&from != &backend && !executable.local.empty())
    source = backend.upload(from.to_host(source), executable.program.mesh.devices()[std::size_t(executable.local[0])]);
  std::map<std::vector<std::int64_t>, BufferRef> made;
  for (int position : executable.local) {
    const Box& box = boxes[std::size_t(position)];
    int ordinal = executable.program.mesh.devices()[std::size_t(position)];
    if (box == all) {
      shards[std::size_t(position)] = backend.place(source, ordinal);
      continue;
    }
    std::vector<std::int64_t> key{backend.memory_of(ordinal)};
    for (const Interval& interval : box) key.push_back(interval.start);
    BufferRef& part = made[key];
    if (!part) {
      auto buffer = backend.allocate(std::size_t(element_count(box) * size_of(arg.type.dtype)), ordinal);
      backend.copy_box(*backend.place(source, ordinal), 0, all, *buffer, box, box, size_of(arg.type.dtype));
      part = buffer;
    }
    shards[std::size_t(position)] = part;
  }
  return shards;
}

void Executor::run_steps(Task& task) {
  const Executable& executable = *task.executable;
  Slots params;
  for (std::size_t i = 0; i < executable.program.params.size(); ++i) {
    params.push_back(load(task, i));
    if (i < task.donated.size() && task.donated[i]) task.args[i]->shards.clear();
  }
  if (executable.checks.any()) task.no_number = std::make_unique<std::string>();
  LaunchAware* aware = aware_of(*executable.backend);
  const bool may_repeat =
      aware != nullptr && !context_.is_recorded() && !executable.checks.any() && !task.launch.program->spans_processes();
  auto give = [&](Slots results) {
    for (std::size_t i = 0; i < task.results.size(); ++i) task.results[i]->shards = std::move(results[i]);
  };
  if (may_repeat)
    if (auto results = aware->repeat(executable.number, params, task.launch.program->name, task.launch.where))
      return give(std::move(*results));
  if (aware != nullptr) aware->begin_steps(&executable);
  Slots results;
  try {
    results = run_program(task, executable, std::move(params), Scope{.active = &executable.local});
  } catch (const std::exception&) {
    try {
      if (aware != nullptr) aware->end_steps();
    } catch (const std::exception&) {  // the first failure is the one to tell
    }
    throw;
  }
  if (aware != nullptr) aware->end_steps();
  if (may_repeat) aware->remember(results);
  check_results(task, executable, results);
  give(std::move(results));
}

Executor::Slots Executor::run_program(const Task& task, const Executable& executable, Slots params, const Scope& scope) {
  Slots slots(executable.program.slots.size());
  for (std::size_t i = 0; i < params.size(); ++i) slots[std::size_t(executable.program.params[i])] = std::move(params[i]);
  for (const auto& [slot, buffers] : executable.presets) slots[std::size_t(slot)] = buffers;
  for (int i = 0; i < int(executable.steps.size()); ++i) {
    const auto& step = executable.steps[std::size_t(i)];
    auto release = [&](int slot) {
      if (executable.last_use[std::size_t(slot)] == i) slots[std::size_t(slot)].clear();
    };
    if (auto* compute = std::get_if<Executable::Compute>(&step)) {
      if (callback_of(*compute->node))
        run_callback(task, executable, *compute, slots, scope);
      else
        run_compute(task, executable, *compute, slots, scope);
      check_step(task, executable, compute->node, compute->results, slots);
      for (int slot : compute->operands) release(slot);
    } else if (auto* fused = std::get_if<FusedStep>(&step)) {
      if (!fused->ops.empty()) run_fused(task, executable, *fused, slots, scope);
      for (int slot : fused->inputs) release(slot);
    } else if (auto* region = std::get_if<Executable::Region>(&step)) {
      run_region(task, executable, *region, slots, scope);
      for (int slot : region->operands) release(slot);
    } else {
      const auto& move = std::get<Executable::Move>(step);
      run_move(task, executable, move, slots, scope);
      if (move.node != nullptr) check_step(task, executable, move.node, {move.to}, slots);
      release(move.from);
    }
  }
  Slots results;
  for (int slot : executable.program.results) results.push_back(slots[std::size_t(slot)]);
  return results;
}

void Executor::run_fused(const Task& task, const Executable& executable, const FusedStep& step, Slots& slots, const Scope& scope) {
  Where where = executable.program.graph.nodes[std::size_t(step.first_node)].where;
  Backend::Step told{step.name, where, report(task, step.name, where)};
  executable.backend->begin_step(told);
  executable.backend->run_fused(step, *scope.active, executable.slot_boxes, slots, executable.program.mesh.devices());
  executable.backend->end_step(told);
}

void Executor::run_compute(const Task& task, const Executable& executable, const Executable::Compute& step, Slots& slots,
                           const Scope& scope) {
  ComputeCall call{step.step, *step.node, executable.program.graph, *scope.active, {}, {}, {}, {}};
  for (int slot : step.operands) {
    call.operands.push_back(&slots[std::size_t(slot)]);
    call.operand_boxes.push_back(&executable.slot_boxes[std::size_t(slot)]);
  }
  for (int slot : step.results) {
    slots[std::size_t(slot)].resize(std::size_t(executable.program.mesh.size()));
    call.results.push_back(&slots[std::size_t(slot)]);
    call.result_boxes.push_back(&executable.slot_boxes[std::size_t(slot)]);
  }
  if (step.epilogue) call.epilogue = &*step.epilogue;
  const std::string_view name = step.epilogue ? std::string_view(step.epilogue->name) : step.node->op->name;
  Backend::Step told{name, step.node->where, report(task, name, step.node->where)};
  executable.backend->begin_step(told);
  executable.backend->compute(call, executable.program.mesh.devices());
  executable.backend->end_step(told);
}

// A GPU's work may end, and be told of, when this executor is gone: that of a launch which failed is waited for by the backend's end.
Backend::Report Executor::report(const Task& task, std::string_view op, Where where) const {
  if (!context_.is_recorded()) return {};
  return [observer = context_.shared_observer(), launch = task.launch, op = std::string(op), where,
          aware = aware_of(*task.executable->backend)](comm::Ns begin, comm::Ns end) {
    std::string_view how = aware == nullptr ? "" : aware->reported_how();
    observer->on_compute(launch, how.empty() ? op : fmt::format("{} ({})", op, how), where, begin, end);
  };
}

template <typename Plan>
void Executor::run_plan(const Task& task, Backend& backend, const Plan& plan, int first_call, int calls,
                        const std::vector<BufferRef>& sources, std::vector<BufferRef>& targets) {
  comm::Observer& observer = context_.observer();
  for (int c = 0; c < calls; ++c) observer.on_call_started(task.launch, first_call + c, comm::now_ns());
  LinkContext link;
  link.transport = context_.transport();
  link.backend = &backend;
  link.header = {task.launch.program->fingerprint, task.history, task.group, task.launch.seq, first_call, 0, 0};
  bool waited = false;
  link.on_wait = [&](const std::vector<int>& peers) {
    waited = true;
    observer.on_call_waiting(task.launch, first_call, comm::now_ns(), peers);
    context_.control().waiting(task.launch, first_call, peers);
  };
  // A device that works on by itself has times of its own for what it does of a collective.
  Backend::Step told;
  bool is_step = calls > 0 && aware_of(backend) != nullptr;
  if (is_step) {
    const comm::CollectiveInfo& call = task.launch.program->collectives.at(std::size_t(first_call));
    told = {call.kind, call.where, report(task, call.kind, call.where)};
    backend.begin_step(told);
  }
  MoveStatus status = plan.run(sources, targets, link);
  if (is_step) backend.end_step(told);
  if (waited) context_.control().waiting(task.launch, first_call, {});
  if (status.exchange.status == comm::ExchangeStatus::kDone && context_.transport() != nullptr) count_planned(plan);
  comm::Ns end = comm::now_ns();
  for (int c = 0; c < calls; ++c)
    observer.on_call_done(task.launch, first_call + c, end, status_of(status.exchange), c == 0 ? status.bytes_sent : 0);
  for (const auto& mismatch : status.exchange.mismatches) context_.control().wire_mismatch(task.launch, first_call, mismatch);
  if (status.exchange.status == comm::ExchangeStatus::kMismatch)
    throw TransportError("another message arrived than the one expected: the processes run different programs");
  if (status.exchange.status == comm::ExchangeStatus::kAborted) throw TransportError("the exchange was aborted");
}

template <typename Plan>
void Executor::count_planned(const Plan& plan) {
  std::lock_guard lock(mutex_);
  plan.add_sent(planned_bytes_);
}

std::map<int, std::int64_t> Executor::planned_bytes() const {
  std::lock_guard lock(mutex_);
  return planned_bytes_;
}

void Executor::run_move(const Task& task, const Executable& executable, const Executable::Move& step, Slots& slots, const Scope& scope) {
  auto& targets = slots[std::size_t(step.to)];
  const auto& sources = slots[std::size_t(step.from)];
  targets.resize(std::size_t(executable.program.mesh.size()));
  const bool is_part = !step.members.empty();
  if (step.calls > 0 && (scope.diverged || is_part)) {
    std::vector<int> members = executable.local;
    if (is_part) std::erase_if(members, [&](int position) { return !contains(step.members, position); });
    auto comes = [&](int position) { return contains(*scope.active, position); };
    if (std::none_of(members.begin(), members.end(), comes)) return;
    if (!std::all_of(members.begin(), members.end(), comes)) refuse_diverged(executable, step, *scope.active, members);
  }
  Backend& backend = *executable.backend;
  std::vector<BufferRef> parts(is_part ? targets.size() : 0);
  auto& into = is_part ? parts : targets;
  if (auto* move = std::get_if<MovePlan>(&step.plan))
    run_plan(task, backend, *move, step.first_call, step.calls, sources, into);
  else if (auto* reduce = std::get_if<ReducePlan>(&step.plan))
    run_plan(task, backend, *reduce, step.first_call, step.calls, sources, into);
  else
    into = sources;
  for (int position : step.members) targets[std::size_t(position)] = std::move(parts[std::size_t(position)]);
  for (const ZeroFill& padding : step.paddings) {
    if (!contains(*scope.active, padding.position)) continue;
    auto padded = backend.allocate(std::size_t(padding.bytes), executable.program.mesh.devices()[std::size_t(padding.position)]);
    backend.clear(*padded);
    BufferRef& target = targets[std::size_t(padding.position)];
    if (!padding.received.empty()) backend.copy_box(*target, 0, padding.box, *padded, padding.box, padding.received, padding.element_bytes);
    target = std::move(padded);
  }
}

// Between devices of two platforms by way of this process's memory.
void Executor::run_transfer(Task& task) {
  const Executable& executable = *task.executable;
  const ArrayImpl& arg = *task.args[0];
  ArrayImpl& result = *task.results[0];
  Backend& from = context_.backend_of(arg.sharding.mesh());
  if (&from == executable.backend) {
    run_plan(task, *executable.backend, *executable.transfer, 0, 1, arg.shards, result.shards);
    return;
  }
  std::map<BufferRef, BufferRef> copies;
  std::vector<BufferRef> sources = arg.shards;
  for (BufferRef& source : sources) {
    BufferRef& copy = copies[source];
    if (source && !copy) copy = from.to_host(source);
    source = copy;
  }
  run_plan(task, context_.cpu(), *executable.transfer, 0, 1, sources, result.shards);
  result.shards = placed(*executable.backend, std::move(result.shards), result.sharding.mesh().devices());
}

}  // namespace shardlab
