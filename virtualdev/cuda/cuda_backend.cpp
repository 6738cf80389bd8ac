#include "virtualdev/cuda/cuda_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <set>

#include "virtualdev/cuda/codegen/combine_kernel.h"
#include "virtualdev/cuda/link_exchange.h"

namespace shardlab::cuda {
namespace {

constexpr std::size_t kStepsMax = 1024;  // issued and not ended
constexpr std::size_t kProgramsMax = 2048;
constexpr std::int64_t kNoLaunch = -1, kAllLaunches = std::numeric_limits<std::int64_t>::max();
constexpr int kMembersMax = 64;  // combined by one kernel

// A buffered message is over when it is sent, before its receiver is there to meet: it goes by way of the host, and so do programs in which
// nothing is exchanged.
bool meets(const comm::ProgramInfo& program) { return !program.collectives.empty() && !(program.channel && program.channel->buffered); }

}  // namespace

std::shared_ptr<Buffer> allocate_on(const std::shared_ptr<Gpu>& gpu, std::size_t bytes) {
  return buffer_on(gpu, gpu->api->allocate(bytes == 0 ? 1 : bytes, gpu->stream), bytes);
}

std::shared_ptr<Buffer> buffer_on(const std::shared_ptr<Gpu>& gpu, std::byte* data, std::size_t bytes) {
  Block block{data, bytes, gpu.get()};
  auto release = [gpu](Buffer* buffer) {
    if (std::byte* own = block_of(*buffer).data) gpu->api->release(own, gpu->stream);
    delete buffer;
  };
  std::shared_ptr<Buffer> buffer(new Buffer(sizeof(Block)), release);
  *buffer->as<Block>() = block;
  return buffer;
}

std::byte* take_over(const Buffer& buffer) { return std::exchange(const_cast<Buffer&>(buffer).as<Block>()->data, nullptr); }

CudaBackend::CudaBackend(std::shared_ptr<GpuApi> api, std::shared_ptr<KernelCompiler> compiler, CudaOptions options)
    : api_(std::make_shared<GraphedGpu>(std::move(api), options.with_graphs)),
      options_(std::move(options)),
      kernels_(api_, std::move(compiler), options_.kernel_folder),
      plan_runner_(*api_, kernels_, true) {
  api_->set_kernels([this](std::span<Kernel*> kernels) { kernels_.make_real(kernels); });
  api_->set_batcher([this](int gpu, const auto& wanted) { return kernels_.batched(gpu, wanted); });
  int present = api_->gpu_count();
  std::map<int, int> opened;
  for (std::size_t local = 0; local < options_.ordinals.size(); ++local) {
    int number = options_.first_gpu + int(local) / std::max(options_.devices_per_gpu, 1);
    if (number >= present)
      throw_user_error(
          "{} devices with {} on each GPU need GPU {}, but there are {} (0 to {}); put more of them on one with --devices-per-gpu",
          options_.ordinals.size(), options_.devices_per_gpu, number, present, present - 1);
    auto [found, is_new] = opened.try_emplace(number, int(gpus_.size()));
    if (is_new) gpus_.push_back(std::make_shared<Gpu>(api_, number));
    gpu_index_[options_.ordinals[local]] = found->second;
  }
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    progress_.push_back(std::make_unique<Pinned>(*api_, sizeof(steps_)));
    std::memset(progress_.back()->data(), 0, sizeof(steps_));
  }
  std::vector<int> numbers;
  for (const auto& gpu : gpus_) numbers.push_back(gpu->number);
  communicators_ = std::make_unique<Communicators>(
      api_, Communicators::Options{.process = options_.process, .gpus = std::move(numbers), .rendezvous = options_.rendezvous});
  kind_ = present > 0 ? api_->info(options_.first_gpu).name : "none";
}

CudaBackend::~CudaBackend() {
  try {
    synchronize();
  } catch (const std::exception&) {  // who wanted the results was told
  }
  for (const Clock& clock : clocks_) api_->destroy(clock.event);
  for (Event event : last_) api_->destroy(event);
  for (const auto& [of, events] : spare_)
    for (Event event : events) api_->destroy(event);
  forget_events();
  repeats_.forget();
  plan_runner_.forget_constants();
  communicators_.reset();  // before the streams that its work is on
  progress_.clear();
}

int CudaBackend::memory_of(int ordinal) const {
  auto found = gpu_index_.find(ordinal);
  return found == gpu_index_.end() ? -1 : found->second;
}

// Not where devices share a GPU: there their products are one call, which the library does without them.
bool CudaBackend::does_epilogues(const std::vector<int>& ordinals) const {
  std::set<int> gpus;
  return std::all_of(ordinals.begin(), ordinals.end(), [&](int ordinal) { return gpus.insert(memory_of(ordinal)).second; });
}

std::shared_ptr<Buffer> CudaBackend::allocate(std::size_t bytes, int ordinal) {
  return allocate_on(gpus_[std::size_t(memory_of(ordinal))], bytes);
}

// ---- between this process's memory and the GPUs', and between GPUs

BufferRef CudaBackend::upload(const BufferRef& host, int ordinal) {
  const Settling settling(*this);
  if (memory_of(ordinal) < 0) return host;  // another process's device
  auto buffer = allocate(host->size(), ordinal);
  upload_to(*api_, host->bytes(), block_of(*buffer));
  return buffer;
}

BufferRef CudaBackend::to_host(const BufferRef& buffer) {
  if (!buffer) return buffer;
  const Block& block = block_of(*buffer);
  auto copy = std::make_shared<Buffer>(block.bytes);
  if (block.bytes == 0) return copy;
  try {
    Pinned pinned(*api_, block.bytes);
    const Settling settling(*this);
    api_->copy(pinned.data(), block.data, block.bytes, block.gpu->stream);
    api_->synchronize(Mark(*api_, block.gpu->number, block.gpu->stream).event());
    settling.ended();
    std::memcpy(copy->data(), pinned.data(), block.bytes);
  } catch (const GpuError& error) { throw_attributed(error); }
  return copy;
}

// The other GPU's stream waits for the elements, and theirs for the copy before they may be released.
BufferRef CudaBackend::moved(const BufferRef& buffer, Gpu& to) {
  const Block& block = block_of(*buffer);
  if (block.gpu == &to) return buffer;
  auto owner = std::find_if(gpus_.begin(), gpus_.end(), [&](const auto& gpu) { return gpu.get() == &to; });
  auto copy = allocate_on(*owner, block.bytes);
  if (block.bytes == 0) return copy;
  api_->wait(to.stream, Mark(*api_, block.gpu->number, block.gpu->stream).event());
  api_->copy(block_of(*copy).data, block.data, block.bytes, to.stream);
  api_->wait(block.gpu->stream, Mark(*api_, to.number, to.stream).event());
  return copy;
}

BufferRef CudaBackend::place(const BufferRef& buffer, int ordinal) { return moved(buffer, gpu_of(ordinal)); }

void CudaBackend::clear(Buffer& buffer) {
  const Block& block = block_of(buffer);
  if (block.bytes == 0) return;
  const Task task(*api_, block.gpu->stream, {}, {block.data});
  api_->fill(block.data, 0, block.bytes, block.gpu->stream);
}

void CudaBackend::copy_bytes(const Buffer& from, std::size_t from_offset, Buffer& to, std::size_t to_offset, std::size_t bytes) {
  if (bytes == 0) return;
  const Block &source = block_of(from), &target = block_of(to);
  bool is_near = source.gpu == target.gpu;
  if (is_near && is_beside_) {
    Attrs attrs;
    Planner planner({{}, {}, attrs});
    planner.use_kernels_alone();
    planner.copy_region({std::int64_t(bytes)}, {0, std::int64_t(from_offset), {1}}, {1, std::int64_t(to_offset), {1}}, 1);
    run_copies(planner.take(), {source.data}, target);
    return;
  }
  if (!is_near) api_->wait(target.gpu->stream, Mark(*api_, source.gpu->number, source.gpu->stream).event());
  {
    const Task task(*api_, target.gpu->stream, {source.data}, {target.data});
    api_->copy(target.data + to_offset, source.data + from_offset, bytes, target.gpu->stream);
  }
  if (!is_near) api_->wait(source.gpu->stream, Mark(*api_, target.gpu->number, target.gpu->stream).event());
}

// From another GPU the elements are packed there first: they cross once, and no more of them than wanted.
void CudaBackend::copy_box(const Buffer& from, std::size_t from_offset, const Box& from_box, Buffer& to, const Box& to_box, const Box& box,
                           std::int64_t element_bytes) {
  if (element_count(box) == 0) return;
  const Block &source = block_of(from), &target = block_of(to);
  if (source.gpu != target.gpu) {
    auto owner = std::find_if(gpus_.begin(), gpus_.end(), [&](const auto& gpu) { return gpu.get() == source.gpu; });
    auto packed = allocate_on(*owner, std::size_t(element_count(box) * element_bytes));
    copy_box(from, from_offset, from_box, *packed, box, box, element_bytes);
    copy_box(*moved(packed, *target.gpu), 0, box, to, to_box, box, element_bytes);
    return;
  }
  const BoxCopy one[] = {{&from, from_offset, &from_box, &box}};
  copy_near(one, target, to_box, element_bytes);
}

void CudaBackend::copy_boxes(std::span<const BoxCopy> copies, Buffer& to, const Box& to_box, std::int64_t element_bytes) {
  std::vector<BoxCopy> near;
  for (const BoxCopy& copy : copies) {
    if (block_of(*copy.from).gpu == block_of(to).gpu)
      near.push_back(copy);
    else
      copy_box(*copy.from, copy.from_offset, *copy.from_box, to, to_box, *copy.box, element_bytes);
  }
  copy_near(near, block_of(to), to_box, element_bytes);
}

// Of one GPU's memory: a task, whose copies need no order.
void CudaBackend::copy_near(std::span<const BoxCopy> copies, const Block& target, const Box& to_box, std::int64_t element_bytes) {
  Attrs attrs;
  Planner planner({{}, {}, attrs});
  if (is_beside_) planner.use_kernels_alone();
  planner.need_no_order();
  const int to = int(copies.size());
  const Shape to_strides = strides_of(shape_of(to_box));
  std::vector<std::byte*> buffers;
  for (const auto& [from, from_offset, from_box, box] : copies) {
    SL_CHECK(std::int64_t(from_offset) % element_bytes == 0, "elements of {} bytes at {}", element_bytes, from_offset);
    const Shape from_strides = strides_of(shape_of(*from_box));
    std::int64_t from_at = std::int64_t(from_offset) / element_bytes, to_at = 0;
    for (std::size_t d = 0; d < box->size(); ++d) {
      from_at += ((*box)[d].start - (*from_box)[d].start) * from_strides[d];
      to_at += ((*box)[d].start - to_box[d].start) * to_strides[d];
    }
    planner.copy_region(shape_of(*box), {int(buffers.size()), from_at, from_strides}, {to, to_at, to_strides}, element_bytes);
    buffers.push_back(block_of(*from).data);
  }
  run_copies(planner.take(), std::move(buffers), target);
}

void CudaBackend::run_copies(const NodePlan& plan, std::vector<std::byte*> buffers, const Block& target) {
  if (plan.calls.empty()) return;
  auto owner = std::find_if(gpus_.begin(), gpus_.end(), [&](const auto& gpu) { return gpu.get() == target.gpu; });
  const std::size_t sources = buffers.size();
  buffers.push_back(target.data);
  plan_runner_.run(plan, *owner, std::move(buffers), sources);
}

BufferRef CudaBackend::combine(Reduction reduction, DType dtype, std::span<const Stretch> values, std::int64_t count, int ordinal) {
  Gpu& gpu = gpu_of(ordinal);
  const std::size_t bytes = std::size_t(count * size_of(dtype));
  if (values.size() == 1 && bytes_of(*values[0].buffer) == bytes) return moved(values[0].buffer, gpu);
  if (int(values.size()) > kMembersMax) {
    std::size_t middle = std::size_t(tree_split(int(values.size())));
    const Stretch halves[] = {{combine(reduction, dtype, values.first(middle), count, ordinal)},
                              {combine(reduction, dtype, values.subspan(middle), count, ordinal)}};
    return combine(reduction, dtype, halves, count, ordinal);
  }
  auto result = allocate(bytes, ordinal);
  if (count == 0) return result;
  if (values.size() == 1) {
    copy_bytes(*values[0].buffer, values[0].offset, *result, 0, bytes);
    return result;
  }
  std::vector<BufferRef> near;
  std::vector<const std::byte*> buffers, read;
  for (const Stretch& value : values) {
    near.push_back(moved(value.buffer, gpu));
    read.push_back(block_of(*near.back()).data);
    buffers.push_back(read.back() + value.offset);
  }
  buffers.push_back(block_of(*result).data);
  const Task task(*api_, gpu.stream, std::move(read), {block_of(*result).data});
  const std::int64_t numbers[] = {count};
  plan_runner_.launch(gpu, combine_kernel(reduction, dtype, int(values.size())), buffers, numbers, count, false);
  return result;
}

void CudaBackend::parallel_for(std::int64_t count, std::int64_t, const std::function<void(std::int64_t)>& f) {
  Beside beside(*this);
  for (std::int64_t i = 0; i < count; ++i) f(i);  // what it issues is done by the GPU in its own time
}

// ---- between processes

void CudaBackend::begin_launch(const comm::ProgramInfo& program) {
  launch_ = &program;
  const std::vector<int>& processes = program.processes;
  if (processes.size() > 1 && meets(program) && std::binary_search(processes.begin(), processes.end(), options_.process))
    communicators_->prepare(processes);
}

comm::ExchangeResult CudaBackend::exchange(const LinkContext& link, std::span<const comm::Send> sends,
                                           std::span<const comm::Receive> receives) {
  try {
    if (launch_ == nullptr || !meets(*launch_)) return exchange_by_host(*api_, link, sends, receives);
    api_->issue_queued();  // it is done while the processes meet
    ++exchanges_;
    return NcclExchange(*api_, *communicators_, gpus_, link, launch_->processes).run(sends, receives);
  } catch (const GpuError& error) { throw_attributed(error); }
}

// ---- times and failures

void CudaBackend::begin_steps(const void* program) {
  const Settling settling(*this);
  std::lock_guard lock(mutex_);
  try {
    if (program_events_.size() >= kProgramsMax) {
      retire_steps(kAllLaunches);
      forget_events();
    }
    program_ = program;
    ++launches_;
    for (bool is_timed : {false, true}) {
      ProgramEvents& list = program_events_[{program, is_timed}];
      list.next = 0;
      ProgramEvents::Set& set = list.set(is_timed, launches_);
      if (is_timed && !set.events.empty()) retire_steps(set.launch);  // these times are read before they are recorded anew
      set.launch = launches_;
    }
    api_->begin();
  } catch (const GpuError& error) { throw_attributed(error); }
}

// One step for failures, at the launch's line.
std::optional<Backend::Slots> CudaBackend::repeat(std::int64_t program, Slots& params, std::string_view name, Where where) {
  if (gpus_.size() != 1) return std::nullopt;
  std::lock_guard lock(mutex_);
  try {
    if (repeats_since_ != plan_runner_.constants_forgotten()) repeats_.forget();
    repeats_since_ = plan_runner_.constants_forgotten();
    auto wrap = [&](std::byte* data, std::size_t bytes) { return buffer_on(gpus_[0], data, bytes); };
    auto results = repeats_.find(*api_, program, params, std::string(name), wrap);
    if (!results) return std::nullopt;
    Backend::Step told{name, where, {}};
    begin_step(told);
    end_step(told);
    return results;
  } catch (const GpuError& error) { throw_attributed(error); }
}

void CudaBackend::remember(const Slots& results) {
  if (gpus_.size() == 1 && repeats_since_ == plan_runner_.constants_forgotten()) repeats_.remember(*api_, results);
}

void CudaBackend::forget_events() {
  for (const auto& [key, list] : program_events_)
    for (const ProgramEvents::Set& set : list.sets)
      for (Event event : set.events) api_->destroy(event);
  program_events_.clear();
}

void CudaBackend::end_steps() {
  const Settling settling(*this);
  std::lock_guard lock(mutex_);
  drop_step();
  program_ = nullptr;
  try {
    api_->end();
    retire_steps(kNoLaunch);
  } catch (const GpuError& error) { throw_attributed(error); }
}

Event CudaBackend::event_for(const Gpu& gpu, bool is_timed) {
  if (program_ == nullptr) {
    std::vector<Event>& spare = spare_[{gpu.number, is_timed}];
    if (spare.empty()) return api_->create_event(gpu.number, is_timed);
    const Event event = spare.back();
    spare.pop_back();
    return event;
  }
  ProgramEvents& list = program_events_[{program_, is_timed}];
  std::vector<Event>& events = list.set(is_timed, launches_).events;
  if (list.next == events.size()) events.push_back(api_->create_event(gpu.number, is_timed));
  return events[list.next++];
}

// What a step of no program was timed by, for another one. They are of all GPUs, in order.
void CudaBackend::give_back(const Step& step) {
  if (!step.owns_events) return;
  for (std::size_t i = 0; i < step.begins.size(); ++i) spare_[{gpus_[i]->number, true}].push_back(step.begins[i]);
  for (std::size_t i = 0; i < step.ends.size(); ++i) spare_[{gpus_[i]->number, bool(step.report)}].push_back(step.ends[i]);
}

// One that failed before its end.
void CudaBackend::drop_step() {
  if (!step_) return;
  give_back(*step_);
  step_.reset();
  api_->pop_range();
}

void CudaBackend::begin_step(Backend::Step& step) {
  std::lock_guard lock(mutex_);
  drop_step();
  api_->push_range(std::string(step.op));
  step_ = Step{std::string(step.op), step.where, std::move(step.report), {}, {}, program_ == nullptr, launches_};
  if (!step_->report) return;
  if (clocks_.empty()) set_clocks();
  for (const auto& gpu : gpus_) {
    step_->begins.push_back(event_for(*gpu, true));
    api_->record(step_->begins.back(), gpu->stream);
  }
}

void CudaBackend::end_step(Backend::Step&) {
  std::lock_guard lock(mutex_);
  for (const auto& gpu : gpus_) {
    step_->ends.push_back(event_for(*gpu, bool(step_->report)));
    api_->record(step_->ends.back(), gpu->stream);
  }
  step_->number = ++steps_;
  for (std::size_t i = 0; i < gpus_.size(); ++i) api_->set_word(progress_[i]->data(), steps_, gpus_[i]->stream);
  running_.push_back(std::move(*step_));
  step_.reset();
  api_->pop_range();
  // Looking at an event would have what is queued issued.
  if (program_ == nullptr || running_.size() > 2 * kStepsMax) retire_steps(kNoLaunch);
}

// Events tell how long after the clock's own event they came, and of that the host's time is known.
void CudaBackend::retire_steps(std::int64_t through, bool have_all_ended) {
  while (!running_.empty()) {
    Step& step = running_.front();
    bool must_wait = step.launch <= through || running_.size() > kStepsMax;
    if (!have_all_ended)
      for (Event event : step.ends) {
        if (must_wait) api_->synchronize(event);
        if (!api_->is_done(event)) return;
      }
    if (step.report) {
      comm::Ns begin = comm::now_ns(), end = 0;  // over all GPUs
      for (std::size_t i = 0; i < step.ends.size(); ++i) {
        begin = std::min(begin, host_time(i, step.begins[i]));
        end = std::max(end, host_time(i, step.ends[i]));
      }
      reported_how_ = !step.ends.empty() && api_->is_of_graph(step.ends[0]) ? "graph" : "";
      step.report(begin, std::max(begin, end));
    }
    give_back(step);
    running_.pop_front();
  }
}

comm::Ns CudaBackend::host_time(std::size_t gpu, Event event) {
  return clocks_[gpu].at + comm::Ns(api_->milliseconds_between(clocks_[gpu].event, event) * 1e6);
}

// Set anew whenever everything has ended, as the distances between events are floats.
void CudaBackend::set_clocks() {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    if (clocks_.size() <= i) clocks_.push_back({api_->create_event(gpus_[i]->number, true), 0});
    api_->record(clocks_[i].event, gpus_[i]->stream);
    api_->synchronize(clocks_[i].event);
    clocks_[i].at = comm::now_ns();
  }
}

void CudaBackend::synchronize() {
  std::lock_guard lock(mutex_);
  const Settling settling(*this);
  try {
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      if (last_.size() <= i) last_.push_back(api_->create_event(gpus_[i]->number, false));
      api_->record(last_[i], gpus_[i]->stream);
    }
    for (Event event : last_) api_->synchronize(event);
    settling.ended();
    retire_steps(kAllLaunches, true);
    if (!clocks_.empty()) set_clocks();
  } catch (const GpuError& error) { throw_attributed(error); }
}

bool CudaBackend::has_surely_ended(const Step& step) const {
  return std::all_of(progress_.begin(), progress_.end(), [&](const auto& word) {
    const std::uint32_t reached = std::atomic_ref(*reinterpret_cast<std::uint32_t*>(word->data())).load();
    return std::int32_t(reached - step.number) >= 0;  // numbers begin anew
  });
}

void CudaBackend::throw_attributed(const GpuError& error) {
  std::lock_guard lock(mutex_);
  Event failed = api_->take_failed();
  auto has = [](const std::vector<Event>& events, Event event) { return std::find(events.begin(), events.end(), event) != events.end(); };
  for (auto step = running_.begin(); step != running_.end(); ++step) {
    bool has_ended = failed == Event{} || !(has(step->begins, failed) || has(step->ends, failed));
    try {
      if (failed == Event{} && !has_surely_ended(*step))
        for (Event event : step->ends) has_ended = has_ended && api_->is_done(event);
    } catch (const GpuError&) { has_ended = false; }
    if (has_ended) continue;
    std::string text = fmt::format("{}; the first step that did not end is {} at {}", error.what(), step->op, step->where.text());
    if (failed == Event{} && !step->ends.empty() && api_->is_of_graph(step->ends[0]))
      text += ", or one behind it in the same CUDA graph; SHARDLAB_CUDA_GRAPHS=0 tells which";
    if (failed != Event{}) running_.erase(step, running_.end());  // what was queued behind it was never issued
    throw GpuError(text);
  }
  throw error;
}

}  // namespace shardlab::cuda
