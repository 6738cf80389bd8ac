#include "runtime/exec/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "runtime/base/text.h"
#include "runtime/exec/checksums.h"
#include "runtime/exec/context.h"
#include "runtime/exec/flush_denormals.h"
#include "runtime/exec/launch_aware.h"

namespace shardlab {
namespace {

std::uint64_t hash_devices(const std::vector<int>& devices) {
  return hash_bytes({reinterpret_cast<const char*>(devices.data()), devices.size() * sizeof(int)});
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

std::vector<comm::TakenArray> taken(const std::vector<Array>& args, const std::vector<bool>& donated) {
  std::vector<comm::TakenArray> takes(args.size());
  for (std::size_t i = 0; i < args.size(); ++i) takes[i] = {args[i].impl()->id, i < donated.size() && donated[i]};
  return takes;
}

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

Executor::Executor(Context& context) : context_(context), queue_(std::min(context.local_count(), kRunnersMax)) {}

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
  task.launch = {next_launch_++, group->second.seq++, task.executable->info, where, comm::now_ns(), nullptr, nullptr, {}};
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
    impl->result = int(i);
    impl->id = context_.new_array_id();
    impl->where = where;
    task.results.push_back(impl);
    results.emplace_back(std::move(impl));
  }
  if (context_.is_recorded()) task.launch.takes = taken(args, donated);
  // A statement has no functions above it but the interpreter's.
  if (context_.is_recorded() && where.statement < 0) task.launch.stack = stacks_.here(where);
  record_host_operands(args);
  context_.announce(task.launch);
  record_results(task);

  const bool is_local = !info.spans_processes(), beside = is_local && context_.runs_launches_beside();
  const bool here = is_local && !(beside && task.executable->runs_beside);
  if (here && queue_.is_empty()) {
    run(task);
    return results;
  }
  QueuedLaunch launch = queued(task);
  launch.in_order = !beside || task.executable->calls_back;
  if (here && !launch.in_order && queue_.may_begin(launch)) {
    run(task);
    return results;
  }
  launch.run = [this, kept = std::make_shared<Task>(std::move(task))] {
    run(*kept);
    *kept = Task();
  };
  queue_.add(std::move(launch));
  return results;
}

QueuedLaunch Executor::queued(const Task& task) const {
  QueuedLaunch launch{task.launch.number, task.executable->devices, {}, false, task.state, {}};
  for (const auto& arg : task.args) {
    if (arg->launch && !arg->launch->finished()) launch.operands.push_back(arg->launch_number);
    // An uncommitted argument is read where it lies: nothing that lets go of it may run meanwhile. The others lie on the program's devices.
    const Mesh& mesh = arg->sharding.mesh();
    if (mesh.size() == 1 && context_.is_local(mesh.devices()[0])) launch.devices.push_back(mesh.devices()[0]);
  }
  std::sort(launch.devices.begin(), launch.devices.end());
  launch.devices.erase(std::unique(launch.devices.begin(), launch.devices.end()), launch.devices.end());
  return launch;
}

void Executor::record_results(const Task& task) {
  if (!context_.is_recorded()) return;
  for (const auto& impl : task.results) context_.record_array(*impl, task.launch.program->name);
}

// With checksums the values that come from the host are told of, too, so that a difference is found where it comes in.
void Executor::record_host_operands(const std::vector<Array>& args) {
  if (!context_.records_checksums()) return;
  for (const Array& arg : args)
    if (arg.impl()->launch_number < 0 && !arg.impl()->observer) context_.record_array(*arg.impl(), "");
}

void Executor::record_values(const Task& task, const std::vector<std::shared_ptr<ArrayImpl>>& arrays) {
  if (context_.records_checksums()) record_checksums(context_, task.launch, arrays);
}

void Executor::drain() {
  queue_.wait_until_empty();
  std::unique_lock lock(mutex_);
  std::vector<std::shared_ptr<LaunchFailure>> untold = std::exchange(failures_, {});
  std::erase_if(untold, [](const auto& failure) { return failure->told(); });
  lock.unlock();
  if (!untold.empty()) untold.front()->raise_unused(untold.size() - 1);
}

bool Executor::has_failed() const {
  std::lock_guard lock(mutex_);
  return !failures_.empty();
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
  const FlushDenormals flush;
  try {
    if (spans && !context_.control().may_run(task.launch.number))
      throw TransportError("not run: the processes no longer agree on what they run");
    LaunchScope scope(aware_of(*task.executable->backend), *task.launch.program);
    context_.observer().on_launch_started(task.launch, comm::now_ns());
    record_values(task, task.args);
    if (task.executable->transfer)
      run_transfer(task);
    else
      run_steps(task);
    if (context_.is_recorded()) task.executable->backend->synchronize();
    record_values(task, task.results);
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

}  // namespace shardlab
