#include "tests/virtualdev/cuda/recording_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <regex>

namespace shardlab::testing {

using cuda::Event;
using cuda::Stream;

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
std::set<std::string> RecordingGpu::made_within(const std::string& range) const {
  std::lock_guard lock(mutex_);
  auto found = within_.find(range);
  return found == within_.end() ? std::set<std::string>() : found->second;
}
std::size_t RecordingGpu::bytes_allocated() const {
  std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& [data, allocation] : allocations_)
    if (allocation.is_alive) bytes += allocation.data.size();
  return bytes;
}

int RecordingGpu::events_alive() const {
  std::lock_guard lock(mutex_);
  return int(std::count_if(events_.begin(), events_.end(), [](const auto& each) { return each.second.is_alive; }));
}

void RecordingGpu::fault(std::string_view text) { faults_.emplace_back(text); }
void RecordingGpu::count(const std::string& kind) {
  if (in_graph_) return;
  ++calls_[kind];
  if (!open_ranges_.empty()) within_[open_ranges_.back()].insert(kind);
  static const std::set<std::string> kTelling{"is_done", "synchronize", "record", "copy", "launch"};
  if (unset_ >= 0 && kind == "synchronize" && !is_broken_) {
    is_broken_ = true;
    for (std::size_t i = 0; i + std::size_t(unset_) < words_.size(); ++i)
      std::memcpy(words_[i].first, &words_[i].second, sizeof(std::uint32_t));
  }
  const bool fails = (is_broken_ && kTelling.count(kind) > 0) || (fails_in_ > 0 && --fails_in_ == 0);
  if (fails || failing_.erase(kind) > 0) throw cuda::GpuError(fmt::format("{}: an illegal memory access was encountered (stand-in)", kind));
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
  state.is_of_graph = in_graph_;
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
  if (state.is_of_graph) return true;  // its record before this one: a graph's comes when the graph gets to it
  for (auto transfer : state.exchanges)
    if (!nccl_.is_done(transfer)) return false;
  if (++state.looks < kLooks) return false;
  merge(host_, state.clock);
  return true;
}
// Work is done when it is issued, but a word is set when that is over, which nobody is told before something breaks.
void RecordingGpu::set_word(std::byte* word, std::uint32_t value, Stream stream) {
  std::lock_guard lock(mutex_);
  count("set_word");
  stream_of(stream, "set_word");
  auto found = allocations_.find(word);
  if (found == allocations_.end() || found->second.gpu != -1 || !found->second.is_alive) fault("a word is set that is not pinned");
  words_.push_back({word, value});
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
  for (const EventState* each : {&first, &last})
    if (host_[each->stream] < each->at) fault("the time of an event that is not known to be done");
  return double(last.at - first.at) * 1e-3;
}

// By the addresses, where memory is given out again.
struct MemoryNote {
  std::vector<std::pair<std::byte*, std::size_t>> all, taken;
  Stream stream;
};
std::shared_ptr<const void> RecordingGpu::note_memory(std::span<std::byte* const> all, std::span<std::byte* const> taken, Stream stream) {
  std::lock_guard lock(mutex_);
  if (!reuses_memory_) return nullptr;
  auto note = std::make_shared<MemoryNote>();
  note->stream = stream;
  for (std::byte* data : all) note->all.push_back({data, allocations_.at(data).data.size()});
  for (std::byte* data : taken) note->taken.push_back({data, allocations_.at(data).data.size()});
  return note;
}
bool RecordingGpu::take(const void* noted) {
  std::lock_guard lock(mutex_);
  count("take");
  const auto& note = *static_cast<const MemoryNote*>(noted);
  for (const auto& [data, bytes] : note.all)
    if (reusable_[{note.stream, bytes}].count(data) == 0) return false;
  // A graph writes what it worked in before as if it were its own.
  for (const auto& [data, bytes] : note.all) {
    Allocation& allocation = allocations_.at(data);
    allocation.is_alive = true;
    allocation.is_written = false;
    allocation.reads.clear();
    allocation.made = {id_of(note.stream), tick(note.stream), "take"};
  }
  borrowed_.clear();
  for (const auto& [data, bytes] : note.all) borrowed_.insert(data);
  for (const auto& [data, bytes] : note.taken) {
    reusable_[{note.stream, bytes}].erase(data);
    borrowed_.erase(data);
  }
  return true;
}

std::byte* RecordingGpu::allocate(std::size_t bytes, Stream stream) {
  std::lock_guard lock(mutex_);
  count("allocate");
  if (bytes == 0) fault("an allocation of no bytes");
  if (memory_max_ != ~std::size_t(0) && bytes_allocated() + bytes > memory_max_)
    throw cuda::OutOfGpuMemory(fmt::format("no {} bytes are left (stand-in)", bytes));
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
  open_ranges_.push_back(name);
}
void RecordingGpu::pop_range() {
  std::lock_guard lock(mutex_);
  if (open_ranges_.empty()) return fault("a range ends that did not begin");
  open_ranges_.pop_back();
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
