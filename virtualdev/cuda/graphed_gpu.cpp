#include "virtualdev/cuda/graphed_gpu.h"

#include <algorithm>
#include <utility>

#include "virtualdev/cuda/graph_tasks.h"

namespace shardlab::cuda {
namespace {

// What two stretches of one kind have in common: calls and sizes, not addresses.
std::string kind_of(const std::vector<Work>& work) {
  std::string kind;
  auto add = [&](auto value) { kind.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
  for (const Work& each : work) {
    add(std::uint8_t(each.index()));
    if (auto* kernel = std::get_if<KernelWork>(&each)) {
      add(kernel->kernel);
      add(kernel->grid);
      add(kernel->block);
      add(std::uint32_t(kernel->arguments.size()));
    } else if (auto* copy = std::get_if<CopyWork>(&each)) {
      add(copy->bytes);
    } else if (auto* fill = std::get_if<FillWork>(&each)) {
      add(fill->bytes);
    } else if (auto* product = std::get_if<MatrixProduct>(&each)) {
      for (std::int64_t size :
           {std::int64_t(product->dtype), product->batch, product->m, product->n, product->k, std::int64_t(product->activation),
            std::int64_t(product->bias != nullptr), std::int64_t(product->addend != nullptr), std::int64_t(product->together)})
        add(size);
      add(product->scale);
    } else if (auto* rows = std::get_if<RowTransforms>(&each)) {
      for (std::int64_t size : {std::int64_t(rows->kind), std::int64_t(rows->is_double), rows->length, rows->rows}) add(size);
    } else if (auto* sort = std::get_if<PlaceSort>(&each)) {
      for (std::int64_t size : {sort->count, std::int64_t(sort->word_bytes), std::int64_t(sort->bits)}) add(size);
    } else if (auto* task = std::get_if<TaskWork>(&each)) {
      for (std::size_t size : {task->reads, task->places.size()}) add(size);
    }
  }
  return kind;
}

// What a graph does, for profilers: they see none of its ranges.
std::string name_of_graph(const std::string& first, const std::string& last) {
  return first == last ? "graph: " + first : "graph: " + first + " to " + last;
}

bool is_record(const Work& work) { return std::holds_alternative<RecordWork>(work); }
// What the GPU has nothing to do for.
bool is_mark(const Work& work) { return is_record(work) || std::holds_alternative<TaskWork>(work); }

}  // namespace

GraphedGpu::~GraphedGpu() {
  for (auto& [key, kind] : kinds_)
    for (CapturedRef& captured : kind.graphs) drop(captured);
}

void GraphedGpu::drop(CapturedRef& captured) {
  captured->is_gone = true;
  captured->work.clear();  // who knows it still only asks whether it is gone
  inner_->destroy(captured->graph);
}

void GraphedGpu::begin() {
  std::lock_guard lock(mutex_);
  if (is_on_) ++open_;
  is_whole_ = open_ == 1;
  anew_.clear();
  reused_.clear();
  launched_ = nullptr;
  whole_ = nullptr;
}
void GraphedGpu::end() {
  std::lock_guard lock(mutex_);
  if (open_ > 0) --open_;
  flush_all();
  if (open_ > 0 || !is_whole_ || launched_ == nullptr) return;
  auto whole = std::make_shared<Whole>();
  whole->captured_ = launched_;
  whole->stream_ = launched_on_;
  whole->memory_ = std::move(anew_);
  whole->reused_ = std::move(reused_);
  whole_ = std::move(whole);
}

std::shared_ptr<const GraphedGpu::Whole> GraphedGpu::noted(const Whole& whole, std::span<std::byte* const> taken) {
  std::lock_guard lock(mutex_);
  auto made = std::make_shared<Whole>(whole);
  for (std::byte* data : taken) made->taken_.push_back({data, bytes_.at(data)});
  const std::vector<std::byte*> all(whole.memory_.begin(), whole.memory_.end());
  made->note_ = inner_->note_memory(all, taken, whole.stream_);
  return made->note_ == nullptr ? nullptr : made;
}

bool GraphedGpu::repeat(const Whole& whole, const std::string& name) {
  std::lock_guard lock(mutex_);
  if (open_ > 0 || whole.captured_->is_gone) return false;
  flush_all();
  if (!inner_->take(whole.note_.get())) return false;
  for (const auto& [data, bytes] : whole.taken_) bytes_[data] = bytes;
  const std::vector<RangeEdge> range{{0, "graph: " + name}};
  IssuedRanges ranges(*inner_, range);
  ranges.go_to(0);
  inner_->launch(whole.captured_->graph, whole.stream_);
  ++counts_.by_graph;
  ++counts_.repeated;
  return true;
}

void GraphedGpu::issue_queued() {
  std::lock_guard lock(mutex_);
  flush_all();
}

bool GraphedGpu::is_of_graph(Event event) const {
  std::lock_guard lock(mutex_);
  return of_graphs_.count(event) > 0;
}
GraphedGpu::Counts GraphedGpu::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

Event GraphedGpu::take_failed() {
  std::lock_guard lock(mutex_);
  return std::exchange(failed_, Event{});
}

Stream GraphedGpu::create_stream(int gpu) {
  std::lock_guard lock(mutex_);
  Stream stream = inner_->create_stream(gpu);
  Queue& queue = queues_[stream];
  queue.gpu = gpu;
  for (const std::string& name : ranges_) queue.ranges.push_back({0, name});
  return stream;
}
void GraphedGpu::destroy(Stream stream) noexcept {
  std::lock_guard lock(mutex_);
  queues_.erase(stream);
  inner_->destroy(stream);
}

void GraphedGpu::add(Work work, Stream stream) {
  Queue& queue = queues_.at(stream);
  if (auto* record = std::get_if<RecordWork>(&work)) queue.events.insert(record->event);
  queue.work.push_back(std::move(work));
  if (open_ == 0 || queue.work.size() >= kWorkMax) flush(stream, queue);
}

void GraphedGpu::begin_task(TaskWork task, Stream stream) {
  std::lock_guard lock(mutex_);
  if (open_ == 0 || !is_on_) return;
  Queue& queue = queues_.at(stream);
  const bool is_end = task.places.empty();
  if (is_end && !queue.is_in_task) return;
  queue.is_in_task = !is_end;
  if (!queue.work.empty() && std::holds_alternative<TaskWork>(queue.work.back())) queue.work.pop_back();  // of nothing
  add(std::move(task), stream);
}

void GraphedGpu::hold_memory() {
  std::lock_guard lock(mutex_);
  holds_memory_ = true;
}
void GraphedGpu::free_held() {
  std::lock_guard lock(mutex_);
  holds_memory_ = false;
  for (auto& [stream, queue] : queues_) {
    for (auto& [bytes, list] : queue.held) queue.kept[bytes].merge(list);
    queue.held.clear();
  }
}

void GraphedGpu::add_edge(const std::string& name) {
  for (auto& [stream, queue] : queues_) queue.ranges.push_back({queue.work.size(), name});
}
void GraphedGpu::push_range(const std::string& name) {
  std::lock_guard lock(mutex_);
  if (open_ == 0) return inner_->push_range(name);
  ranges_.push_back(name);
  add_edge(name);
}
void GraphedGpu::pop_range() {
  std::lock_guard lock(mutex_);
  if (ranges_.empty()) return inner_->pop_range();
  ranges_.pop_back();
  add_edge("");
}

void GraphedGpu::record(Event event, Stream stream) {
  std::lock_guard lock(mutex_);
  add(RecordWork{event}, stream);
}
void GraphedGpu::copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
  std::lock_guard lock(mutex_);
  add(CopyWork{to, from, bytes}, stream);
}
void GraphedGpu::fill(std::byte* to, int byte, std::size_t bytes, Stream stream) {
  std::lock_guard lock(mutex_);
  add(FillWork{to, byte, bytes}, stream);
}
void GraphedGpu::launch(Kernel kernel, unsigned grid, unsigned block, bool has_barriers, std::span<const std::byte> arguments,
                        Stream stream) {
  std::lock_guard lock(mutex_);
  add(KernelWork{kernel, grid, block, has_barriers, {arguments.begin(), arguments.end()}}, stream);
}
void GraphedGpu::multiply(int, const MatrixProduct& product, Stream stream) {
  std::lock_guard lock(mutex_);
  add(product, stream);
}
void GraphedGpu::transform(int, const RowTransforms& transforms, Stream stream) {
  std::lock_guard lock(mutex_);
  add(transforms, stream);
}

void GraphedGpu::sort(const PlaceSort& sort, Stream stream) {
  std::lock_guard lock(mutex_);
  add(sort, stream);
}

// Values differ from launch to launch: they are no part of graphs, after which the last of them is set.
void GraphedGpu::set_word(std::byte* word, std::uint32_t value, Stream stream) {
  std::lock_guard lock(mutex_);
  Queue& queue = queues_.at(stream);
  if (queue.work.empty()) return inner_->set_word(word, value, stream);
  queue.words.push_back({queue.work.size(), word, value});
}
void GraphedGpu::set_words(const Queue& queue, std::size_t at, Stream stream) {
  for (const WordEdge& edge : queue.words)
    if (edge.at == at) inner_->set_word(edge.word, edge.value, stream);
}

std::byte* GraphedGpu::allocate(std::size_t bytes, Stream stream) {
  std::lock_guard lock(mutex_);
  auto& kept = queues_.at(stream).kept;
  if (auto found = kept.find(bytes); found != kept.end() && !found->second.empty()) {
    std::byte* data = found->second.extract(found->second.begin()).value();
    if (open_ > 0 && anew_.count(data) == 0) reused_.insert(data);
    return data;
  }
  auto anew = [&] {
    std::byte* data = inner_->allocate(bytes, stream);
    bytes_[data] = bytes;
    if (open_ > 0) anew_.insert(data);
    return data;
  };
  try {
    return anew();
  } catch (const OutOfGpuMemory&) {
    auto keeps_nothing = [](const auto& each) { return each.second.kept.empty() && each.second.held.empty(); };
    if (std::all_of(queues_.begin(), queues_.end(), keeps_nothing)) throw;
  }
  flush_all();  // what is kept for queued work goes
  return anew();
}
void GraphedGpu::release(std::byte* data, Stream stream) noexcept {
  std::lock_guard lock(mutex_);
  auto found = queues_.find(stream);
  if (found != queues_.end() && !found->second.work.empty()) {
    Queue& queue = found->second;
    (holds_memory_ ? queue.held : queue.kept)[bytes_[data]].insert(data);
    return;
  }
  bytes_.erase(data);
  inner_->release(data, stream);
}

// ---- what must see queued work done

void GraphedGpu::wait(Stream stream, Event event) {
  std::lock_guard lock(mutex_);
  is_no_whole();
  flush_all();
  const Event last = behind(event);
  inner_->wait(stream, last == Event{} ? event : last);
}
bool GraphedGpu::is_done(Event event) {
  std::lock_guard lock(mutex_);
  is_no_whole();
  flush_all();
  if (Event last = behind(event); last != Event{}) {
    if (!inner_->is_done(last)) return false;
    if (timed_.count(event) == 0) return true;
  }
  return inner_->is_done(event);
}
// Others go on meanwhile, who may destroy what it waits for: the event behind a graph is somebody else's as a rule.
void GraphedGpu::synchronize(Event event) {
  std::vector<Event> waited;
  {
    std::lock_guard lock(mutex_);
    is_no_whole();
    flush_all();
    const Event last = behind(event);
    if (last != Event{}) waited.push_back(last);
    if (last == Event{} || timed_.count(event) > 0) waited.push_back(event);
    for (Event each : waited) ++waited_for_[each];
  }
  auto over = [&] {
    std::lock_guard lock(mutex_);
    for (Event each : waited) {
      if (--waited_for_[each] > 0) continue;
      waited_for_.erase(each);
      if (doomed_.erase(each) > 0) inner_->destroy(each);
    }
  };
  try {
    for (Event each : waited) inner_->synchronize(each);
  } catch (...) {
    over();
    throw;
  }
  over();
}
Event GraphedGpu::create_event(int gpu, bool is_timed) {
  const Event event = inner_->create_event(gpu, is_timed);
  std::lock_guard lock(mutex_);
  if (is_timed) timed_.insert(event);
  return event;
}
void GraphedGpu::destroy(Event event) noexcept {
  std::lock_guard lock(mutex_);
  for (auto& [stream, queue] : queues_) {
    if (queue.events.count(event) == 0) continue;
    try {
      flush(stream, queue);
    } catch (const std::exception&) {  // comes up again where somebody waits
    }
  }
  of_graphs_.erase(event);
  timed_.erase(event);
  if (behind_.erase(event) > 0)
    for (auto& [recorded, last] : of_graphs_)
      if (last == event) last = Event{};
  // Another event may get the same handle.
  if (captured_.erase(event) > 0)
    forget([&](const Captured& each) { return std::find(each.work.begin(), each.work.end(), Work(RecordWork{event})) != each.work.end(); });
  if (waited_for_.count(event) > 0)
    doomed_.insert(event);
  else
    inner_->destroy(event);
}
void GraphedGpu::launch(Graph graph, Stream stream) {
  std::lock_guard lock(mutex_);
  is_no_whole();
  flush_all();
  inner_->launch(graph, stream);
}
void GraphedGpu::group_start() {
  std::lock_guard lock(mutex_);
  is_no_whole();
  flush_all();
  inner_->group_start();
}

void GraphedGpu::flush_all() {
  for (auto& [stream, queue] : queues_) flush(stream, queue);
}

// What was released goes in any case; what failed is not issued again.
void GraphedGpu::flush(Stream stream, Queue& queue) {
  Queue now;
  now.gpu = queue.gpu;
  for (const std::string& name : ranges_) now.ranges.push_back({0, name});
  std::swap(now, queue);
  if (now.work.empty()) return;
  auto let_go = [&] {
    for (const auto* released : {&now.kept, &now.held})
      for (const auto& [bytes, list] : *released)
        for (std::byte* data : list) {
          bytes_.erase(data);
          inner_->release(data, stream);
        }
  };
  try {
    make_real(now);
    if (replay(now, stream)) {
      auto* last = std::get_if<RecordWork>(&now.work.back());
      note_records(now, last == nullptr ? Event{} : last->event);
      if (!now.words.empty()) inner_->set_word(now.words.back().word, now.words.back().value, stream);
      ++counts_.by_graph;
    } else {
      is_no_whole();
      issue(now, stream);
      for (Event event : now.events) of_graphs_.erase(event);
      if (open_ > 0 || now.work.size() > 1) ++counts_.by_call;
    }
  } catch (...) {
    let_go();
    throw;
  }
  let_go();
}

void GraphedGpu::make_real(Queue& queue) const {
  if (!make_real_) return;
  std::vector<Kernel*> kernels;
  for (Work& each : queue.work)
    if (auto* kernel = std::get_if<KernelWork>(&each)) kernels.push_back(&kernel->kernel);
  make_real_(kernels);
}

// Of what a graph did.
void GraphedGpu::note_records(const Queue& queue, Event last) {
  if (last != Event{}) behind_.insert(last);
  for (Event event : queue.events) {
    of_graphs_[event] = last == event ? Event{} : last;
    if (timed_.count(event) > 0) captured_.insert(event);
  }
  if (queue.left_out.empty()) return;
  const Event stands_in = queue.left_out.back();
  behind_.insert(stands_in);
  for (Event event : queue.left_out) of_graphs_[event] = event == stands_in ? Event{} : stands_in;
}

void GraphedGpu::issue(const Queue& queue, Stream stream) {
  std::size_t at = 0;
  IssuedRanges ranges(*inner_, queue.ranges);
  try {
    for (; at < queue.work.size(); ++at) {
      ranges.go_to(at);
      set_words(queue, at, stream);
      issue(queue.work[at], queue.gpu, stream);
    }
    set_words(queue, at, stream);
  } catch (const GpuError&) {
    note_failure(queue, at);
    throw;
  }
}

Event GraphedGpu::behind(Event event) const {
  auto found = of_graphs_.find(event);
  return found == of_graphs_.end() ? Event{} : found->second;
}

void GraphedGpu::note_failure(const Queue& queue, std::size_t at) {
  auto next = std::find_if(queue.work.begin() + std::ptrdiff_t(at), queue.work.end(), is_record);
  failed_ = next == queue.work.end() ? Event{} : std::get<RecordWork>(*next).event;
}

void GraphedGpu::issue(const Work& work, int gpu, Stream stream) {
  if (auto* kernel = std::get_if<KernelWork>(&work))
    inner_->launch(kernel->kernel, kernel->grid, kernel->block, kernel->has_barriers, kernel->arguments, stream);
  else if (auto* copy = std::get_if<CopyWork>(&work))
    inner_->copy(copy->to, copy->from, copy->bytes, stream);
  else if (auto* fill = std::get_if<FillWork>(&work))
    inner_->fill(fill->to, fill->byte, fill->bytes, stream);
  else if (auto* product = std::get_if<MatrixProduct>(&work))
    inner_->multiply(gpu, *product, stream);
  else if (auto* rows = std::get_if<RowTransforms>(&work))
    inner_->transform(gpu, *rows, stream);
  else if (auto* sort = std::get_if<PlaceSort>(&work))
    inner_->sort(*sort, stream);
  else if (auto* record = std::get_if<RecordWork>(&work))
    inner_->record(record->event, stream);
}

// Records at the end stay calls: the host asks for them next, and their events are often of that moment alone. Of those before, what nobody
// takes the time of is left out, as a node of a graph takes its time: the last of them is recorded behind the graph, and stands for all.
bool GraphedGpu::replay(Queue& queue, Stream stream) {
  auto end = std::find_if_not(queue.work.rbegin(), queue.work.rend(), is_record).base();
  auto calls = std::size_t(std::count_if(queue.work.begin(), end, [](const Work& work) { return !is_mark(work); }));
  if (!is_on_ || calls < kWorkMin) return false;
  std::vector<Work> body;
  std::vector<Event> left_out;
  for (auto each = queue.work.begin(); each != end; ++each) {
    auto* record = std::get_if<RecordWork>(&*each);
    if (record != nullptr && timed_.count(record->event) == 0)
      left_out.push_back(record->event);
    else
      body.push_back(*each);
  }
  if (kinds_.size() >= kKindsMax) forget([](const Captured&) { return true; });
  auto [found, is_new] = kinds_.try_emplace({queue.gpu, kind_of(body)});
  Kind& kind = found->second;
  if (is_new || kind.is_given_up) return false;
  try {
    CapturedRef captured = fitting(kind, queue.gpu, std::move(body));
    if (captured == nullptr) return false;
    if (launched_ != nullptr) is_no_whole();
    launched_ = captured;
    launched_on_ = stream;
    auto is_begin = [](const RangeEdge& edge) { return !edge.name.empty(); };
    auto first = std::find_if(queue.ranges.begin(), queue.ranges.end(), is_begin);
    auto last = std::find_if(queue.ranges.rbegin(), queue.ranges.rend(), is_begin);
    if (first == queue.ranges.end()) {
      inner_->launch(captured->graph, stream);
    } else {
      const std::vector<RangeEdge> whole{{0, name_of_graph(first->name, last->name)}};
      IssuedRanges range(*inner_, whole);
      range.go_to(0);
      inner_->launch(captured->graph, stream);
    }
  } catch (const GpuError&) {
    note_failure(queue, 0);
    throw;
  }
  if (!left_out.empty()) inner_->record(left_out.back(), stream);
  for (; end != queue.work.end(); ++end) issue(*end, queue.gpu, stream);
  queue.left_out = std::move(left_out);
  return true;
}

// Kinds that lose all their graphs begin anew.
void GraphedGpu::forget(const std::function<bool(const Captured&)>& is_gone) {
  for (auto kind = kinds_.begin(); kind != kinds_.end();) {
    std::size_t before = kind->second.graphs.size();
    std::erase_if(kind->second.graphs, [&](CapturedRef& each) {
      if (!is_gone(*each)) return false;
      drop(each);
      return true;
    });
    kind = before > 0 && kind->second.graphs.empty() ? kinds_.erase(kind) : std::next(kind);
  }
}

void GraphedGpu::give_up(Kind& kind) {
  kind.is_given_up = true;
  ++counts_.given_up;
  for (CapturedRef& each : kind.graphs) drop(each);
  kind.graphs.clear();
}

std::vector<Work> GraphedGpu::work_of_graph(int gpu, const std::vector<Work>& work) const {
  if (!batcher_) return work;
  return batched(work, [&](const auto& wanted) { return batcher_(gpu, wanted); });
}

// The kind's graph with this work, in front.
GraphedGpu::CapturedRef GraphedGpu::fitting(Kind& kind, int gpu, std::vector<Work> work) {
  auto equal = std::find_if(kind.graphs.begin(), kind.graphs.end(), [&](const CapturedRef& each) { return each->work == work; });
  if (equal != kind.graphs.end()) {
    kind.misses = 0;
    std::rotate(kind.graphs.begin(), equal, equal + 1);
    return kind.graphs.front();
  }
  if (++kind.misses > kMissesMax) {
    give_up(kind);
    return nullptr;
  }
  if (kind.graphs.size() >= kGraphsMax) {
    CapturedRef oldest = std::move(kind.graphs.back());
    kind.graphs.pop_back();
    if (inner_->update(oldest->graph, work_of_graph(gpu, work))) {
      oldest->is_gone = true;
      oldest->work.clear();
      kind.graphs.push_front(std::make_shared<Captured>(Captured{oldest->graph, std::move(work)}));
      ++counts_.changed;
      return kind.graphs.front();
    }
    drop(oldest);
  }
  Graph graph{};
  try {
    graph = inner_->make_graph(gpu, work_of_graph(gpu, work));
  } catch (const NoGraph& error) {
    counts_.refused = error.what();
    give_up(kind);
    return nullptr;
  }
  kind.graphs.push_front(std::make_shared<Captured>(Captured{graph, std::move(work)}));
  ++counts_.made;
  return kind.graphs.front();
}

}  // namespace shardlab::cuda
