#include "tests/virtualdev/cuda/recording_gpu.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <regex>

namespace shardlab::testing {

using cuda::Event;
using cuda::Kernel;
using cuda::Stream;

namespace {

std::uintptr_t id_of(Stream stream) { return std::uintptr_t(stream); }
std::uintptr_t id_of(Event event) { return std::uintptr_t(event); }

}  // namespace

RecordingGpu::~RecordingGpu() = default;

HostKernels& RecordingGpu::kernels_of_all() {
  static HostKernels kernels;
  return kernels;
}

std::vector<std::string> RecordingGpu::faults() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> all = faults_, of_nccl = nccl_.faults();
  all.insert(all.end(), of_nccl.begin(), of_nccl.end());
  return all;
}
void RecordingGpu::forget_faults() {
  std::lock_guard lock(mutex_);
  faults_.clear();
}
int RecordingGpu::calls(const std::string& kind) const {
  std::lock_guard lock(mutex_);
  auto found = calls_.find(kind);
  return found == calls_.end() ? 0 : found->second;
}
std::vector<std::string> RecordingGpu::ranges() const {
  std::lock_guard lock(mutex_);
  return ranges_;
}
std::size_t RecordingGpu::bytes_allocated() const {
  std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& [data, allocation] : allocations_)
    if (allocation.is_alive) bytes += allocation.data.size();
  return bytes;
}

void RecordingGpu::count(const std::string& kind) {
  if (in_graph_) return;
  ++calls_[kind];
  if (failing_.erase(kind) > 0) throw cuda::GpuError(fmt::format("{}: an illegal memory access was encountered (stand-in)", kind));
}

void RecordingGpu::merge(Clock& into, const Clock& from) {
  for (const auto& [stream, done] : from) into[stream] = std::max(into[stream], done);
}

RecordingGpu::StreamState* RecordingGpu::stream_of(Stream stream, const std::string& what) {
  auto found = streams_.find(id_of(stream));
  if (found == streams_.end() || !found->second.is_alive) {
    fault(fmt::format("{} on a stream that is not there", what));
    return nullptr;
  }
  return &found->second;
}

// A new piece of work of the stream, which knows all that the host has seen.
std::int64_t RecordingGpu::tick(Stream stream) {
  StreamState& state = streams_[id_of(stream)];
  merge(state.clock, host_);
  return state.clock[id_of(stream)] = ++ticks_;
}

RecordingGpu::Allocation* RecordingGpu::access(const std::byte* data, std::size_t bytes, bool writes, Stream stream,
                                               const std::string& what) {
  auto found = allocations_.upper_bound(data);
  if (found == allocations_.begin()) {
    fault(fmt::format("{} of memory that nobody allocated", what));
    return nullptr;
  }
  --found;
  Allocation& allocation = found->second;
  std::size_t offset = std::size_t(data - found->first);
  if (offset + bytes > allocation.data.size() && bytes > 0)
    fault(fmt::format("{} of {} bytes at {} of an allocation of {}", what, bytes, offset, allocation.data.size()));
  if (!allocation.is_alive) fault(fmt::format("{} of memory that was released by {}", what, allocation.freed.what));
  StreamState* state = stream_of(stream, what);
  if (state == nullptr) return &allocation;
  auto ordered_behind = [&](const Access& other) {
    auto known = state->clock.find(other.stream);
    return known != state->clock.end() && known->second >= other.tick;
  };
  if (!ordered_behind(allocation.made)) fault(fmt::format("{} is not ordered behind the allocation", what));
  if (allocation.is_written && !ordered_behind(allocation.last_write))
    fault(fmt::format("{} is not ordered behind {}", what, allocation.last_write.what));
  if (!writes && !allocation.is_written) fault(fmt::format("{} of memory that nobody wrote", what));
  Access own{id_of(stream), state->clock[id_of(stream)], what};
  if (writes) {
    for (const Access& read : allocation.reads)
      if (!ordered_behind(read)) fault(fmt::format("{} is not ordered behind {}", what, read.what));
    allocation.reads.clear();
    allocation.last_write = own;
    allocation.is_written = true;
  } else {
    allocation.reads.push_back(own);
  }
  return &allocation;
}

cuda::GpuInfo RecordingGpu::info(int gpu) { return {"Stand-in GPU", 90, 4, std::size_t(1) << 30, fmt::format("{:032x}", gpu)}; }

Stream RecordingGpu::create_stream(int gpu) {
  std::lock_guard lock(mutex_);
  count("create_stream");
  streams_[next_].gpu = gpu;
  return Stream(next_++);
}
void RecordingGpu::destroy(Stream stream) noexcept {
  std::lock_guard lock(mutex_);
  if (StreamState* state = stream_of(stream, "destroy")) state->is_alive = false;
}
Event RecordingGpu::create_event(int gpu, bool is_timed) {
  std::lock_guard lock(mutex_);
  count("create_event");
  events_[next_] = {gpu, is_timed, false, true, {}, 0, 0};
  return Event(next_++);
}
void RecordingGpu::destroy(Event event) noexcept {
  std::lock_guard lock(mutex_);
  EventState& state = events_[id_of(event)];
  if (!state.is_alive) fault("an event is destroyed twice");
  state.is_alive = false;
}
void RecordingGpu::record(Event event, Stream stream) {
  std::lock_guard lock(mutex_);
  count("record");
  StreamState* on = stream_of(stream, "record");
  EventState& state = events_[id_of(event)];
  if (!state.is_alive) fault("an event is recorded that was destroyed");
  if (on == nullptr) return;
  if (on->gpu != state.gpu) fault("an event of one GPU is recorded on a stream of another");
  state.at = tick(stream);
  state.stream = id_of(stream);
  state.clock = on->clock;
  state.looks = 0;
  std::erase_if(on->exchanges, [&](auto transfer) { return nccl_.is_done(transfer); });
  state.exchanges = on->exchanges;
  state.is_recorded = true;
}
void RecordingGpu::wait(Stream stream, Event event) {
  std::lock_guard lock(mutex_);
  count("wait");
  EventState& state = events_[id_of(event)];
  if (!state.is_recorded || !state.is_alive) fault("a stream waits for an event that was not recorded");
  if (StreamState* on = stream_of(stream, "wait")) merge(on->clock, state.clock);
}
// As late as can be: what nobody has waited for is done when it has been asked for often, and never before its exchanges are.
bool RecordingGpu::is_done(Event event) {
  constexpr int kLooks = 20;
  std::lock_guard lock(mutex_);
  count("is_done");
  EventState& state = events_[id_of(event)];
  if (!state.is_recorded || !state.is_alive) return false;
  if (host_[state.stream] >= state.at) return true;
  for (auto transfer : state.exchanges)
    if (!nccl_.is_done(transfer)) return false;
  if (++state.looks < kLooks) return false;
  merge(host_, state.clock);
  return true;
}
void RecordingGpu::synchronize(Event event) {
  std::set<RecordingNccl::Transfer> exchanges;
  {
    std::lock_guard lock(mutex_);
    count("synchronize");
    EventState& state = events_[id_of(event)];
    if (!state.is_recorded || !state.is_alive) fault("the host waits for an event that was not recorded");
    exchanges = state.exchanges;
  }
  bool came = nccl_.wait(exchanges);
  std::lock_guard lock(mutex_);
  if (!came) fault("the host waits for an exchange that never ends");
  merge(host_, events_[id_of(event)].clock);
}
double RecordingGpu::milliseconds_between(Event begin, Event end) {
  std::lock_guard lock(mutex_);
  const EventState &first = events_[id_of(begin)], &last = events_[id_of(end)];
  if (!first.is_timed || !last.is_timed) fault("the time between events that are not timed");
  return double(last.at - first.at) * 1e-3;
}

std::byte* RecordingGpu::allocate(std::size_t bytes, Stream stream) {
  std::lock_guard lock(mutex_);
  count("allocate");
  if (bytes == 0) fault("an allocation of no bytes");
  Allocation allocation;
  if (auto& list = reusable_[{stream, bytes}]; !list.empty()) {
    allocation.data = std::move(allocations_[*list.begin()].data);
    list.erase(list.begin());
  }
  allocation.data.assign(bytes, std::byte{0xcd});
  StreamState* on = stream_of(stream, "allocate");
  allocation.gpu = on == nullptr ? 0 : on->gpu;
  allocation.made = {id_of(stream), tick(stream), "allocate"};
  std::byte* data = allocation.data.data();
  allocations_[data] = std::move(allocation);
  return data;
}
void RecordingGpu::release(std::byte* data, Stream stream) noexcept {
  std::lock_guard lock(mutex_);
  ++calls_["release"];
  auto found = allocations_.find(data);
  if (found == allocations_.end() || !found->second.is_alive) return fault("memory is released twice, or was never allocated");
  tick(stream);
  Allocation& allocation = found->second;
  StreamState* on = stream_of(stream, "release");
  if (on != nullptr)
    for (const Access& read : allocation.reads)
      if (on->clock[read.stream] < read.tick) fault(fmt::format("a release is not ordered behind {}", read.what));
  if (reuses_memory_) reusable_[{stream, allocation.data.size()}].insert(data);
  allocation.is_alive = false;  // its bytes stay: nobody else gets the address, so that a later access is found
  allocation.freed = {id_of(stream), ticks_, "release"};
}
std::byte* RecordingGpu::allocate_pinned(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  count("allocate_pinned");
  Allocation allocation;
  allocation.data.assign(std::max<std::size_t>(bytes, 1), std::byte{0xcd});
  allocation.made = {0, ++ticks_, "allocate_pinned"};
  allocation.is_written = true;  // by the host, who may at any time that it knows of no work
  allocation.last_write = allocation.made;
  host_[0] = ticks_;
  std::byte* data = allocation.data.data();
  allocations_[data] = std::move(allocation);
  return data;
}
void RecordingGpu::release_pinned(std::byte* data) noexcept {
  std::lock_guard lock(mutex_);
  auto found = allocations_.find(data);
  if (found == allocations_.end() || !found->second.is_alive) return fault("pinned memory is released twice");
  Allocation& allocation = found->second;
  auto seen = [&](const Access& other) { return other.stream == 0 || host_[other.stream] >= other.tick; };
  if (!seen(allocation.last_write)) fault(fmt::format("pinned memory is let go before {} is known to be done", allocation.last_write.what));
  for (const Access& read : allocation.reads)
    if (!seen(read)) fault(fmt::format("pinned memory is let go before {} is known to be done", read.what));
  allocation.is_alive = false;
}

void RecordingGpu::copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
  std::lock_guard lock(mutex_);
  count("copy");
  if (bytes == 0) fault("a copy of no bytes");
  tick(stream);
  access(from, bytes, false, stream, "copy from");
  access(to, bytes, true, stream, "copy to");
  std::memcpy(to, from, bytes);
}
void RecordingGpu::fill(std::byte* to, int byte, std::size_t bytes, Stream stream) {
  std::lock_guard lock(mutex_);
  count("fill");
  tick(stream);
  access(to, bytes, true, stream, "fill");
  std::memset(to, byte, bytes);
}

void RecordingGpu::compiled(const std::vector<cuda::KernelText>& kernels) {
  std::lock_guard lock(mutex_);
  for (const cuda::KernelText& kernel : kernels) texts_[kernel.name()] = kernel;
  host_kernels_.compile(kernels);
}

// The binary lists what was compiled; a kernel that nobody announced is compiled from it.
Kernel RecordingGpu::load(int gpu, const std::string& binary, const std::string& name) {
  std::lock_guard lock(mutex_);
  count("load");
  if (binary.find(name) == std::string::npos) fault(fmt::format("kernel {} is not in the code that is loaded", name));
  if (texts_.count(name) == 0) {
    static const std::regex kForm(R"(KERNEL (k[0-9a-f]{16})\(const Arguments<(\d+), (\d+)> a\) \{ (.*); \})");
    std::vector<cuda::KernelText> found;
    for (std::sregex_iterator i(binary.begin(), binary.end(), kForm), end; i != end; ++i)
      found.push_back({(*i)[4].str(), std::stoi((*i)[2].str()), std::stoi((*i)[3].str())});
    compiled(found);
  }
  kernels_[next_] = {gpu, name};
  return Kernel(next_++);
}

void RecordingGpu::launch(Kernel kernel, unsigned grid, unsigned block, bool has_barriers, std::span<const std::byte> arguments,
                          Stream stream) {
  std::lock_guard lock(mutex_);
  count("launch");
  tick(stream);
  auto found = kernels_.find(std::uintptr_t(kernel));
  if (found == kernels_.end()) return fault("a kernel is launched that was not loaded");
  const cuda::KernelText& text = texts_.at(found->second.second);
  StreamState* on = stream_of(stream, "launch");
  if (on != nullptr && on->gpu != found->second.first) fault("a kernel of one GPU is launched on a stream of another");
  if (grid == 0 || block == 0 || block > 1024) fault(fmt::format("a launch of {} blocks of {} threads", grid, block));
  std::size_t wanted = std::size_t(text.buffers + text.numbers) * 8;
  if (arguments.size() != wanted) fault(fmt::format("{} bytes of arguments for a kernel that takes {}", arguments.size(), wanted));
  if (arguments.size() > 4096) fault("more arguments than a kernel may have");
  // The last buffers are written: nothing says which, so all but those that were written by nobody yet count as read as well.
  for (int b = 0; b < text.buffers; ++b) {
    const std::byte* data = nullptr;
    std::memcpy(&data, arguments.data() + 8 * b, 8);
    auto at = allocations_.upper_bound(data);
    bool is_written = at != allocations_.begin() && std::prev(at)->second.is_written;
    access(data, 0, !is_written || b + 1 == text.buffers, stream, fmt::format("buffer {} of {}", b, text.body.substr(0, 60)));
  }
  // Fewer blocks and threads do the same work: threads go round.
  launched_.insert(kernel);
  host_kernels_.launch(text, arguments.data(), std::min(grid, 3u), has_barriers ? 16 : 4, has_barriers);
}

bool RecordingGpu::has_end(const cuda::MatrixProduct& p) {
  return p.scale != 1 || p.bias != nullptr || p.activation != Epilogue::Activation::kNone;
}
bool RecordingGpu::has_product(int, const cuda::MatrixProduct& product) {
  std::lock_guard lock(mutex_);
  count("has_product");
  return !has_end(product) || !refuses_epilogues_;
}
std::vector<cuda::MatrixProduct> RecordingGpu::ended_products() const {
  std::lock_guard lock(mutex_);
  return ended_products_;
}

void RecordingGpu::multiply(int gpu, const cuda::MatrixProduct& p, Stream stream) {
  std::lock_guard lock(mutex_);
  count("multiply");
  multiplied_.insert(gpu);
  tick(stream);
  access(p.left, 1, false, stream, "left of a product");
  access(p.right, 1, false, stream, "right of a product");
  access(p.result, std::size_t(p.batch * p.m * p.n * size_of(p.dtype)), true, stream, "result of a product");
  if (p.left_m != 1 && p.left_k != 1 && p.m > 1 && p.k > 1) fault("the left matrix has neighbours in neither direction");
  if (p.right_k != 1 && p.right_n != 1 && p.k > 1 && p.n > 1) fault("the right matrix has neighbours in neither direction");
  cuda::KernelText text{fmt::format("matrix_product<{}>(a)", cuda::type_name(p.dtype)), 3, 10};
  host_kernels_.compile({text});
  std::int64_t arguments[13] = {reinterpret_cast<std::int64_t>(p.left),
                                reinterpret_cast<std::int64_t>(p.right),
                                reinterpret_cast<std::int64_t>(p.result),
                                p.batch * p.m * p.n,
                                p.n,
                                p.k,
                                p.m,
                                p.left_batch,
                                p.left_m,
                                p.left_k,
                                p.right_batch,
                                p.right_k,
                                p.right_n};
  host_kernels_.launch(text, arguments, 1, 1, false);
  if (has_end(p)) finish(p, stream);
}

// As the library: of floats alone, the bias as long as a row of the product.
void RecordingGpu::finish(const cuda::MatrixProduct& p, Stream stream) {
  ended_products_.push_back(p);
  if (refuses_epilogues_) fault("a product is done with what follows it, which the library cannot");
  if (p.dtype != DType::kFloat32 && p.dtype != DType::kBfloat16 && p.dtype != DType::kFloat16)
    fault(fmt::format("what follows a product of {}", name_of(p.dtype)));
  if (p.bias != nullptr) access(p.bias, std::size_t(p.n * size_of(p.dtype)), false, stream, "bias of a product");
  if (reinterpret_cast<std::uintptr_t>(p.bias) % 16 != 0) fault("the bias of a product does not lie at a multiple of 16 bytes");
  cuda::KernelText text{fmt::format("finish_product<{}, {}, {}>(a)", cuda::type_name(p.dtype), p.bias != nullptr, int(p.activation)), 2, 3};
  host_kernels_.compile({text});
  std::int64_t arguments[5] = {reinterpret_cast<std::int64_t>(p.bias), reinterpret_cast<std::int64_t>(p.result), p.batch * p.m * p.n, p.n,
                               std::bit_cast<std::int64_t>(p.scale)};
  host_kernels_.launch(text, arguments, 1, 1, false);
}

void RecordingGpu::transform(int gpu, const cuda::RowTransforms& t, Stream stream) {
  std::lock_guard lock(mutex_);
  count("transform");
  transformed_.insert(gpu);
  tick(stream);
  access(t.from, 1, false, stream, "rows to transform");
  access(t.to, 1, true, stream, "transformed rows");
  cuda::NodePlan plan;
  cuda::Call call;
  call.kind = cuda::Call::Kind::kFourier;
  call.dtype = t.is_double ? DType::kFloat64 : DType::kFloat32;
  call.buffers = {0, 1};
  call.numbers = {t.kind, t.length, t.rows};
  plan.calls.push_back(std::move(call));
  host_kernels_.run(plan, {const_cast<std::byte*>(t.from), t.to});
}

// What a capture could not do for the first time: load a kernel, open a library.
void RecordingGpu::check_graph(int gpu, std::span<const cuda::Work> work) {
  if (work.empty()) fault("a graph of nothing");
  for (const cuda::Work& each : work) {
    if (auto* kernel = std::get_if<cuda::KernelWork>(&each); kernel != nullptr && launched_.count(kernel->kernel) == 0)
      fault("a kernel is captured that was never launched");
    if (std::holds_alternative<cuda::MatrixProduct>(each) && multiplied_.count(gpu) == 0)
      fault("a product is captured before cuBLASLt was used");
    if (std::holds_alternative<cuda::RowTransforms>(each) && transformed_.count(gpu) == 0)
      fault("transforms are captured before cuFFT was used");
    if (auto* record = std::get_if<cuda::RecordWork>(&each); record != nullptr && events_[id_of(record->event)].gpu != gpu)
      fault("an event of another GPU is captured");
  }
}
cuda::Graph RecordingGpu::make_graph(int gpu, std::span<const cuda::Work> work) {
  std::lock_guard lock(mutex_);
  count("make_graph");
  check_graph(gpu, work);
  graphs_[next_] = {gpu, {work.begin(), work.end()}, true};
  return cuda::Graph(next_++);
}
// As CUDA: the same kinds of nodes in the same order.
bool RecordingGpu::update(cuda::Graph graph, std::span<const cuda::Work> work) {
  std::lock_guard lock(mutex_);
  count("update");
  GraphState& state = graphs_[std::uintptr_t(graph)];
  if (!state.is_alive) fault("a graph is changed that was destroyed");
  check_graph(state.gpu, work);
  bool is_alike = state.work.size() == work.size();
  for (std::size_t i = 0; is_alike && i < work.size(); ++i) is_alike = state.work[i].index() == work[i].index();
  if (is_alike) state.work.assign(work.begin(), work.end());
  return is_alike;
}
void RecordingGpu::launch(cuda::Graph graph, Stream stream) {
  std::lock_guard lock(mutex_);
  count("launch_graph");
  GraphState& state = graphs_[std::uintptr_t(graph)];
  if (!state.is_alive) fault("a graph is launched that was destroyed");
  if (StreamState* on = stream_of(stream, "a graph's launch"); on == nullptr || on->gpu != state.gpu)
    fault("a graph of one GPU is launched on a stream of another");
  in_graph_ = true;
  for (const cuda::Work& each : state.work) {
    if (auto* kernel = std::get_if<cuda::KernelWork>(&each))
      launch(kernel->kernel, kernel->grid, kernel->block, kernel->has_barriers, kernel->arguments, stream);
    else if (auto* copied = std::get_if<cuda::CopyWork>(&each))
      copy(copied->to, copied->from, copied->bytes, stream);
    else if (auto* filled = std::get_if<cuda::FillWork>(&each))
      fill(filled->to, filled->byte, filled->bytes, stream);
    else if (auto* product = std::get_if<cuda::MatrixProduct>(&each))
      multiply(state.gpu, *product, stream);
    else if (auto* rows = std::get_if<cuda::RowTransforms>(&each))
      transform(state.gpu, *rows, stream);
    else
      record(std::get<cuda::RecordWork>(each).event, stream);
  }
  in_graph_ = false;
}
void RecordingGpu::destroy(cuda::Graph graph) noexcept {
  std::lock_guard lock(mutex_);
  GraphState& state = graphs_[std::uintptr_t(graph)];
  if (!state.is_alive) fault("a graph is destroyed twice");
  state.is_alive = false;
}

std::vector<cuda::Communicator> RecordingGpu::join(const std::string& id, std::span<const cuda::CommunicatorMember> own, int size) {
  {
    std::lock_guard lock(mutex_);
    count("join");
  }
  return nccl_.join(id, own, size);
}
void RecordingGpu::group_end() {
  std::lock_guard lock(mutex_);
  count("group_end");
  for (const auto& [stream, transfer] : nccl_.group_end()) streams_[id_of(stream)].exchanges.insert(transfer);
}
void RecordingGpu::send(const std::byte* data, std::size_t bytes, int to, cuda::Communicator communicator, Stream stream) {
  std::lock_guard lock(mutex_);
  count("send");
  tick(stream);
  access(data, bytes, false, stream, "send");
  nccl_.send(data, bytes, to, communicator, stream);
}
void RecordingGpu::receive(std::byte* data, std::size_t bytes, int from, cuda::Communicator communicator, Stream stream) {
  std::lock_guard lock(mutex_);
  count("receive");
  tick(stream);
  access(data, bytes, true, stream, "receive");
  nccl_.receive(data, bytes, from, communicator, stream);
}
void RecordingGpu::abort(cuda::Communicator communicator) noexcept {
  {
    std::lock_guard lock(mutex_);
    ++calls_["abort"];
  }
  nccl_.abort(communicator);
}

void RecordingGpu::push_range(const std::string& name) {
  std::lock_guard lock(mutex_);
  ranges_.push_back(name);
  ++open_ranges_;
}
void RecordingGpu::pop_range() {
  std::lock_guard lock(mutex_);
  if (--open_ranges_ < 0) fault("a range ends that did not begin");
}

// The kernels' own lines are the code: the stand-in compiles them as C++ when they are loaded.
std::string RecordingCompiler::compile(const std::string& text, int arch) {
  ++compilations_;
  std::string lines;
  for (std::size_t at = text.find("\nKERNEL "); at != std::string::npos; at = text.find("\nKERNEL ", at + 1))
    lines += text.substr(at, text.find('\n', at + 1) - at);
  return fmt::format("sm_{}{}\n", arch, lines);
}

}  // namespace shardlab::testing
