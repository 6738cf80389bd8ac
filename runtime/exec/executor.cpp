#include "runtime/exec/executor.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <new>
#include <utility>

#include "runtime/base/text.h"
#include "runtime/exec/compute.h"
#include "runtime/exec/context.h"
#include "runtime/exec/launch_aware.h"

namespace shardlab {
namespace {

comm::CallStatus status_of(const comm::ExchangeResult& result) {
  return result.status == comm::ExchangeStatus::kDone ? comm::CallStatus::kOk : comm::CallStatus::kPoisoned;
}

std::uint64_t hash_devices(const std::vector<int>& devices) {
  return hash_bytes({reinterpret_cast<const char*>(devices.data()), devices.size() * sizeof(int)});
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
      "predicate "
      "differs between devices; reduce it over the mesh axes (pmax, psum) so that all devices agree",
      what, fmt::join(ordinals(true), ", "), fmt::join(ordinals(false), ", "));
}

// The digest of a value that this process has whole. It waits until the value is there, as a copy from the host would.
std::shared_ptr<const comm::ValueDigest> host_value(Context& context, const ArrayImpl& array) {
  if (array.launch) array.launch->wait();
  if ((array.launch && array.launch->failure()) || array.shards.empty() || !array.shards[0]) return nullptr;
  return std::make_shared<comm::ValueDigest>(
      comm::digest_of(array.type, context.backend_of(array.sharding.mesh()).to_host(array.shards[0])->bytes()));
}

// Of several, by operand; their elements are told with it: "operand 1, element 2: 0.5".
std::shared_ptr<const comm::ValueDigest> digest_of_all(const std::vector<std::shared_ptr<const comm::ValueDigest>>& operands,
                                                       std::size_t count) {
  auto all = std::make_shared<comm::ValueDigest>();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i]) continue;
    all->hash = hash_bytes({reinterpret_cast<const char*>(&operands[i]->hash), 8}, all->hash + i + 1);
    const std::size_t shown = std::min(operands[i]->head.size(), std::size_t(comm::ValueDigest::kHeadMax) / count);
    for (std::size_t at = 0; at < shown; ++at) all->head.push_back(fmt::format("operand {}, element {}: {}", i, at, operands[i]->head[at]));
  }
  return all;
}

// Of all that a launch over several processes takes to be the same on them, for each has it whole for itself. nullptr: there is none.
std::shared_ptr<const comm::ValueDigest> host_values(Context& context, const std::vector<Array>& args) {
  auto is_own = [](const Array& arg) { return !arg.impl()->committed && arg.sharding().is_single_device(); };
  const auto count = std::count_if(args.begin(), args.end(), is_own);
  if (count == 0) return nullptr;
  if (count == 1) return host_value(context, *std::find_if(args.begin(), args.end(), is_own)->impl());
  std::vector<std::shared_ptr<const comm::ValueDigest>> digests(args.size());
  for (std::size_t i = 0; i < args.size(); ++i)
    if (is_own(args[i])) digests[i] = host_value(context, *args[i].impl());
  return digest_of_all(digests, std::size_t(count));
}

LaunchAware* aware_of(Backend& backend) { return dynamic_cast<LaunchAware*>(&backend); }

// A launch, as the backend is told of it.
class LaunchScope {
 public:
  LaunchScope(LaunchAware* aware, const comm::ProgramInfo& program) : aware_(aware) {
    if (aware_ != nullptr) aware_->begin_launch(program);
  }
  ~LaunchScope() {
    if (aware_ != nullptr) aware_->end_launch();
  }
  LaunchScope(const LaunchScope&) = delete;
  LaunchScope& operator=(const LaunchScope&) = delete;

 private:
  LaunchAware* aware_;
};

}  // namespace

Executor::Executor(Context& context) : context_(context) {}

Executor::~Executor() {
  if (thread_.joinable()) {
    thread_.request_stop();
    changed_.notify_all();
    thread_.join();
  }
}

std::vector<Array> Executor::submit(std::shared_ptr<const Executable> executable, const std::vector<Array>& args, bool committed,
                                    Where where, const std::vector<bool>& donated) {
  Task task;
  task.donated = donated;
  task.executable = std::move(executable);
  const comm::ProgramInfo& info = *task.executable->info;
  // What is sent is for another process: there is nothing here to look at.
  bool is_send = info.channel && !info.channel->receives;
  task.state = task.executable->result_shardings.empty() || is_send ? std::make_shared<LaunchState>()
                                                                    : std::make_shared<LaunchState>(unused_, task.executable->info, where);
  for (const Array& arg : args) {
    task.args.push_back(arg.impl());
    if (arg.impl()->launch) arg.impl()->launch->use();
  }

  auto [group, is_new] = groups_.try_emplace(info.devices);
  task.group = hash_devices(info.devices);
  task.history = group->second.history;
  group->second.history = hash_bytes({reinterpret_cast<const char*>(&info.fingerprint), 8}, group->second.history + 1);
  task.launch = {next_launch_++, group->second.seq++, task.executable->info, where, comm::now_ns(), nullptr};
  if (info.spans_processes() && !info.channel) task.launch.value = host_values(context_, args);

  std::int64_t agreement = info.spans_processes() ? task.launch.number : -1;
  last_spanning_launch_ = std::max(last_spanning_launch_, agreement);
  if (agreement < 0)
    for (const auto& arg : task.args) agreement = std::max(agreement, arg->agreement);
  std::vector<Array> results;
  for (std::size_t i = 0; i < task.executable->result_shardings.size(); ++i) {
    auto impl = std::make_shared<ArrayImpl>();
    const comm::ValueInfo& value = info.results[i];
    impl->type = {*dtype_from_name(value.dtype), value.shape};
    impl->weak = i < task.executable->weak_results.size() && task.executable->weak_results[i] && impl->type.dtype != DType::kBool;
    impl->sharding = task.executable->result_shardings[i];
    impl->committed = committed;
    impl->shards.resize(std::size_t(impl->sharding.mesh().size()));
    impl->launch = task.state;
    impl->agreement = agreement;
    impl->launch_number = task.launch.number;
    impl->id = context_.new_array_id();
    impl->where = where;
    task.results.push_back(impl);
    results.emplace_back(std::move(impl));
  }
  context_.announce(task.launch);
  record_results(task);

  bool inline_possible = !info.spans_processes();
  {
    std::lock_guard lock(mutex_);
    inline_possible &= queue_.empty() && !running_;
    if (!inline_possible) queue_.push_back(std::move(task));
  }
  if (inline_possible) {
    run(task);
    return results;
  }
  if (!thread_.joinable()) thread_ = std::jthread([this](std::stop_token stop) { work(stop); });
  changed_.notify_all();
  return results;
}

void Executor::record_results(const Task& task) {
  if (!context_.is_recorded()) return;
  for (const auto& impl : task.results) context_.record_array(*impl, task.launch.program->name);
}

void Executor::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && !running_; });
  std::vector<std::shared_ptr<LaunchFailure>> untold = std::exchange(failures_, {});
  std::erase_if(untold, [](const auto& failure) { return failure->told(); });
  lock.unlock();
  if (!untold.empty()) untold.front()->raise_unused(untold.size() - 1);
}

bool Executor::has_failed() const {
  std::lock_guard lock(mutex_);
  return !failures_.empty();
}

void Executor::work(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return !queue_.empty(); })) {
    Task task = std::move(queue_.front());
    queue_.pop_front();
    running_ = true;
    lock.unlock();
    run(task);
    task = Task();
    lock.lock();
    running_ = false;
    changed_.notify_all();
  }
}

void Executor::run(Task& task) {
  std::shared_ptr<LaunchFailure> failure = try_run(task);
  bool poisoned = failure && failure->is_transport();
  context_.observer().on_launch_done(task.launch, comm::now_ns(),
                                     !failure   ? comm::CallStatus::kOk
                                     : poisoned ? comm::CallStatus::kPoisoned
                                                : comm::CallStatus::kFailed);
  task.state->finish(failure);
  // The peers of a launch that fails here must not wait for it.
  if (failure && !poisoned && task.launch.program->spans_processes())
    context_.control().failed(task.launch, failure->text(), failure->where());
}

std::shared_ptr<LaunchFailure> Executor::try_run(Task& task) {
  for (const auto& arg : task.args)
    if (arg->launch) {
      arg->launch->wait();
      if (arg->launch->failure()) return arg->launch->failure();
    }
  const std::string& name = task.launch.program->name;
  const bool spans = task.launch.program->spans_processes();
  // The others wait for the messages of that one, and would take these for them.
  if (spans && broken_) return broken_;
  std::shared_ptr<LaunchFailure> failure;
  try {
    if (spans && !context_.control().may_run(task.launch.number))
      throw TransportError("not run: the processes no longer agree on what they run");
    LaunchScope scope(aware_of(*task.executable->backend), *task.launch.program);
    context_.observer().on_launch_started(task.launch, comm::now_ns());
    if (task.executable->transfer)
      run_transfer(task);
    else
      run_steps(task);
    if (context_.is_recorded()) task.executable->backend->synchronize();
    return nullptr;
  } catch (const std::bad_alloc&) {
    std::int64_t bytes = 0;
    for (const auto& result : task.results) {
      std::vector<Box> boxes = result->sharding.boxes(result->type.shape);
      for (std::size_t p = 0; p < boxes.size(); ++p)
        if (context_.is_local(result->sharding.mesh().devices()[p])) bytes += element_count(boxes[p]) * size_of(result->type.dtype);
    }
    failure = LaunchFailure::out_of_memory(name, task.launch.where, bytes);
  } catch (...) { failure = LaunchFailure::caught(name, task.launch.where); }
  if (failure->is_transport()) return failure;
  if (spans) broken_ = failure;
  std::lock_guard lock(mutex_);
  if (failures_.size() < kFailuresKept) failures_.push_back(failure);
  return failure;
}

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
  LaunchAware* aware = aware_of(*executable.backend);
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
  for (std::size_t i = 0; i < task.results.size(); ++i) task.results[i]->shards = std::move(results[i]);
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
      run_compute(task, executable, *compute, slots, scope);
      for (int slot : compute->operands) release(slot);
    } else if (auto* fused = std::get_if<FusedStep>(&step)) {
      Where where = executable.program.graph.nodes[std::size_t(fused->first_node)].where;
      executable.backend->begin_step(fused->name, where, report(task, fused->name, where));
      executable.backend->run_fused(*fused, *scope.active, executable.slot_boxes, slots, executable.program.mesh.devices());
      executable.backend->end_step();
      for (int slot : fused->inputs) release(slot);
    } else if (auto* region = std::get_if<Executable::Region>(&step)) {
      run_region(task, executable, *region, slots, scope);
      for (int slot : region->operands) release(slot);
    } else {
      const auto& move = std::get<Executable::Move>(step);
      run_move(task, executable, move, slots, scope);
      release(move.from);
    }
  }
  Slots results;
  for (int slot : executable.program.results) results.push_back(slots[std::size_t(slot)]);
  return results;
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
  executable.backend->begin_step(step.node->op->name, step.node->where, report(task, step.node->op->name, step.node->where));
  executable.backend->compute(call, executable.program.mesh.devices());
  executable.backend->end_step();
}

Backend::Report Executor::report(const Task& task, std::string_view op, Where where) const {
  if (!context_.is_recorded()) return {};
  return
      [this, launch = task.launch, op = std::string(op), where, aware = aware_of(*task.executable->backend)](comm::Ns begin, comm::Ns end) {
        std::string_view how = aware == nullptr ? "" : aware->reported_how();
        context_.observer().on_compute(launch, how.empty() ? op : fmt::format("{} ({})", op, how), where, begin, end);
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
  bool is_step = calls > 0 && aware_of(backend) != nullptr;
  if (is_step) {
    const comm::CollectiveInfo& call = task.launch.program->collectives.at(std::size_t(first_call));
    backend.begin_step(call.kind, call.where, report(task, call.kind, call.where));
  }
  MoveStatus status = plan.run(sources, targets, link);
  if (is_step) backend.end_step();
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
