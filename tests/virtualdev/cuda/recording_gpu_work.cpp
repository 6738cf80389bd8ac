// What the stand-in's streams do beside copies: kernels, products, transforms, graphs.
#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <tuple>

#include "tests/virtualdev/cuda/recording_gpu.h"
#include "virtualdev/cuda/graph_tasks.h"

namespace shardlab::testing {

using cuda::Kernel;
using cuda::Stream;

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
  if (texts_.count(name) == 0) compiled(kernels_in(binary));
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
  // But for slices at computed places, whose starts come last.
  const int written = text.body.starts_with("dynamic_slice<") ? 1 : text.body.starts_with("dynamic_update_slice<") ? 2 : text.buffers - 1;
  for (int b = 0; b < text.buffers; ++b) {
    const std::byte* data = nullptr;
    std::memcpy(&data, arguments.data() + 8 * b, 8);
    // Neighbours are moved at once, but by what combines devices' parts.
    if (reinterpret_cast<std::uintptr_t>(data) % 16 != 0 && !text.body.starts_with("combine_members"))
      fault(fmt::format("buffer {} of {} does not lie at a multiple of 16 bytes", b, text.body.substr(0, 60)));
    auto at = allocations_.upper_bound(data);
    bool is_written = at != allocations_.begin() && std::prev(at)->second.is_written;
    access(data, 0, !is_written || b == written, stream, fmt::format("buffer {} of {}", b, text.body.substr(0, 60)));
  }
  // Fewer blocks and threads do the same work: threads go round.
  host_kernels_.launch(text, arguments.data(), std::min(grid, 3u), has_barriers ? 16 : 4, has_barriers);
}

bool RecordingGpu::has_end(const cuda::MatrixProduct& p) {
  return p.scale != 1 || p.bias != nullptr || p.addend != nullptr || p.activation != Epilogue::Activation::kNone;
}
bool RecordingGpu::has_product(int, const cuda::MatrixProduct& product) {
  std::lock_guard lock(mutex_);
  count("has_product");
  return has_end(product) ? !refuses_epilogues_ : !refuses_products_;
}
std::vector<cuda::MatrixProduct> RecordingGpu::ended_products() const {
  std::lock_guard lock(mutex_);
  return ended_products_;
}

void RecordingGpu::multiply(int gpu, const cuda::MatrixProduct& p, Stream stream) {
  std::lock_guard lock(mutex_);
  count("multiply");
  if (refuses_products_) fault("a product that the library has no way to do");
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
  multiply_others(gpu, p, stream);
}

// Those of the same call.
void RecordingGpu::multiply_others(int gpu, const cuda::MatrixProduct& p, Stream stream) {
  if (p.together > 0 && (p.batch != 1 || p.bias != nullptr || p.addend != nullptr || p.activation != Epilogue::Activation::kNone))
    fault("a product of many with a batch, or with what follows it");
  if (p.others.empty()) return;
  together_ += 1;
  if (!in_graph_) fault("several products in one call outside of a graph");
  if (p.others.size() + 1 != std::size_t(p.together))
    fault(fmt::format("{} products in a call that was to be of {}", p.others.size() + 1, p.together));
  for (const cuda::MatrixProduct::Matrices& other : p.others) {
    cuda::MatrixProduct one = p;
    one.others.clear();
    std::tie(one.left, one.right, one.result) = std::tie(other.left, other.right, other.result);
    multiply(gpu, one, stream);
  }
}
int RecordingGpu::products_together() const {
  std::lock_guard lock(mutex_);
  return together_;
}

// As the library: of floats alone, the bias as long as a row of the product.
void RecordingGpu::finish(const cuda::MatrixProduct& p, Stream stream) {
  ended_products_.push_back(p);
  if (refuses_epilogues_) fault("a product is done with what follows it, which the library cannot");
  if (p.dtype != DType::kFloat32 && p.dtype != DType::kBfloat16 && p.dtype != DType::kFloat16)
    fault(fmt::format("what follows a product of {}", name_of(p.dtype)));
  const std::int64_t elements = p.batch * p.m * p.n, count = p.addend != nullptr ? elements : p.n;
  const std::byte* added = p.addend != nullptr ? p.addend : p.bias;
  if (p.addend != nullptr && p.bias != nullptr) fault("a product with a bias and an addend");
  if (added != nullptr) access(added, std::size_t(count * size_of(p.dtype)), false, stream, "what is added to a product");
  if (reinterpret_cast<std::uintptr_t>(added) % 16 != 0) fault("what is added to a product does not lie at a multiple of 16 bytes");
  cuda::KernelText text{fmt::format("finish_product<{}, {}, {}>(a)", cuda::type_name(p.dtype), added != nullptr, int(p.activation)), 2, 3};
  host_kernels_.compile({text});
  std::int64_t arguments[5] = {reinterpret_cast<std::int64_t>(added), reinterpret_cast<std::int64_t>(p.result), elements, count,
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

std::size_t RecordingGpu::sort_room(int, const cuda::PlaceSort& sort) {
  std::lock_guard lock(mutex_);
  count("sort_room");
  return std::size_t(sort.count);
}
void RecordingGpu::sort(const cuda::PlaceSort& s, Stream stream) {
  std::lock_guard lock(mutex_);
  count("sort");
  if (!has_sorts_) fault("a sort that no library does");
  const StreamState* on = stream_of(stream, "sort");
  if (on != nullptr) sorted_.insert(on->gpu);
  tick(stream);
  if (s.bits < 1 || s.bits > 8 * s.word_bytes) fault(fmt::format("a sort by {} bits of {} bytes", s.bits, s.word_bytes));
  if (s.room == nullptr || s.room_bytes < std::size_t(s.count)) fault("a sort has too little room to work in");
  const std::size_t words = std::size_t(s.count * s.word_bytes), places = std::size_t(s.count) * 4;
  access(s.words, words, false, stream, "words of a sort");
  access(s.places, places, false, stream, "places of a sort");
  access(s.sorted_words, words, true, stream, "sorted words");
  access(s.sorted_places, places, true, stream, "sorted places");
  access(s.room, s.room_bytes, true, stream, "the room of a sort");
  if (s.words == s.sorted_words || s.places == s.sorted_places) fault("a sort in place");
  HostKernels::sort_places(s);
}

// What a capture could not do for the first time: load a kernel, open a library.
void RecordingGpu::check_graph(int gpu, std::span<const cuda::Work> work) {
  if (work.empty()) fault("a graph of nothing");
  for (const cuda::Work& each : work) {
    if (auto* kernel = std::get_if<cuda::KernelWork>(&each); kernel != nullptr && kernels_.count(std::uintptr_t(kernel->kernel)) == 0)
      fault("a kernel is captured that was not loaded");
    if (std::holds_alternative<cuda::MatrixProduct>(each) && multiplied_.count(gpu) == 0)
      fault("a product is captured before cuBLASLt was used");
    if (std::holds_alternative<cuda::RowTransforms>(each) && transformed_.count(gpu) == 0)
      fault("transforms are captured before cuFFT was used");
    if (std::holds_alternative<cuda::PlaceSort>(each) && sorted_.count(gpu) == 0) fault("a sort is captured before CUB was used");
    if (auto* record = std::get_if<cuda::RecordWork>(&each); record != nullptr && events_[id_of(record->event)].gpu != gpu)
      fault("an event of another GPU is captured");
  }
}
cuda::Graph RecordingGpu::make_graph(int gpu, std::span<const cuda::Work> work) {
  std::lock_guard lock(mutex_);
  count("make_graph");
  if (refuses_graphs_) throw cuda::NoGraph("operation not permitted when stream is capturing (stand-in)");
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
  // Each task is a stream of its own, behind those that it comes behind.
  const Stream whole = stream;
  const std::vector<cuda::GraphTask> tasks = cuda::tasks_of(state.work);
  std::vector<Clock> ends;
  for (const cuda::GraphTask& task : tasks) {
    stream = Stream(next_++);
    StreamState& own = streams_[id_of(stream)];
    own.gpu = state.gpu;
    own.clock = streams_[id_of(whole)].clock;
    for (std::size_t other : task.behind) merge(own.clock, ends[other]);
    for (std::size_t at : task.work) do_work(state.work[at], state.gpu, stream);
    ends.push_back(streams_[id_of(stream)].clock);
    streams_.erase(id_of(stream));
  }
  for (const Clock& end : ends) merge(streams_[id_of(whole)].clock, end);
  for (std::byte* data : borrowed_) {
    allocations_.at(data).is_alive = false;
    allocations_.at(data).freed = {id_of(whole), tick(whole), "the end of the graph that had taken it"};
  }
  borrowed_.clear();
  in_graph_ = false;
}
// Each set of arguments by itself.
void RecordingGpu::launch_all(const cuda::KernelWork& work, Stream stream) {
  auto found = kernels_.find(std::uintptr_t(work.kernel));
  if (found == kernels_.end()) return fault("a kernel is launched that was not loaded");
  const cuda::KernelText& text = texts_.at(found->second.second);
  const std::size_t one = work.arguments.size() / std::size_t(text.instances);
  if (work.instances > unsigned(text.instances)) fault("more sets of arguments than a kernel has");
  for (unsigned i = 0; i < work.instances; ++i)
    launch(work.kernel, work.grid, work.block, work.has_barriers, std::span(work.arguments).subspan(i * one, one), stream);
}
void RecordingGpu::do_work(const cuda::Work& each, int gpu, Stream stream) {
  if (auto* kernel = std::get_if<cuda::KernelWork>(&each))
    launch_all(*kernel, stream);
  else if (auto* copied = std::get_if<cuda::CopyWork>(&each))
    copy(copied->to, copied->from, copied->bytes, stream);
  else if (auto* filled = std::get_if<cuda::FillWork>(&each))
    fill(filled->to, filled->byte, filled->bytes, stream);
  else if (auto* product = std::get_if<cuda::MatrixProduct>(&each))
    multiply(gpu, *product, stream);
  else if (auto* rows = std::get_if<cuda::RowTransforms>(&each))
    transform(gpu, *rows, stream);
  else if (auto* placed = std::get_if<cuda::PlaceSort>(&each))
    sort(*placed, stream);
  else if (auto* recorded = std::get_if<cuda::RecordWork>(&each))
    record(recorded->event, stream);
}
void RecordingGpu::destroy(cuda::Graph graph) noexcept {
  std::lock_guard lock(mutex_);
  GraphState& state = graphs_[std::uintptr_t(graph)];
  if (!state.is_alive) fault("a graph is destroyed twice");
  state.is_alive = false;
}

}  // namespace shardlab::testing
