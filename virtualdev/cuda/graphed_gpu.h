// A GPU whose streams' work is queued during a program and issued at its end: as a CUDA graph where the same work came before.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "virtualdev/cuda/gpu_api.h"
#include "virtualdev/cuda/issued_ranges.h"

namespace shardlab::cuda {

// A stretch is the work of one stream between two moments at which the host, another stream or another process must see it done. So nobody
// says which programs can be captured: what is queued at the end of one without such a moment is the whole program, and a loop whose
// predicate the host reads has a stretch a round. Stretches of the same calls with the same sizes are one kind. The first of a kind is
// issued call by call, which also loads what it needs; the second becomes a graph; a later one launches the graph that has its addresses,
// makes one more, or changes one. A kind whose addresses are never the same is issued call by call for good, and so is a short one.
//
// State and invariants: memory that is released while its stream has queued work is kept until that is issued, and given to the next
// allocation of the same size of that stream, whose work comes later in the queue: the lowest address first, so that what was free before
// gets the same addresses again. What is released between hold_memory() and free_held() is given to nobody in between, so that tasks which
// do not depend on each other by their values do not by their memory. Outside of programs nothing is queued.
//
// Thread rules: as GpuApi's. begin() and end() come from the executing thread.
class GraphedGpu final : public GpuApi {
 public:
  static constexpr std::size_t kWorkMin = 4;          // a launch of a graph costs about as much as two calls
  static constexpr std::size_t kWorkMax = 16 * 1024;  // of a stretch
  static constexpr std::size_t kGraphsMax = 4;        // of a kind
  static constexpr int kMissesMax = 16;               // in a row, until a kind is given up
  static constexpr std::size_t kKindsMax = 1024;

  GraphedGpu(std::shared_ptr<GpuApi> inner, bool is_on) : inner_(std::move(inner)), is_on_(is_on) {}
  // Kernels that stand for others are exchanged by this before they are issued (KernelStore::later).
  void set_kernels(std::function<void(std::span<Kernel*>)> make_real) { make_real_ = std::move(make_real); }
  // From now on graphs launch kernels for several devices at once.
  void set_batcher(std::function<std::vector<Kernel>(int gpu, const std::vector<std::pair<Kernel, std::size_t>>&)> batcher) {
    batcher_ = std::move(batcher);
  }
  ~GraphedGpu() override;

  // Around a program.
  void begin();
  void end();
  // What is queued begins now.
  void issue_queued();
  void hold_memory();
  void free_held();
  // Whether the event was last recorded by a graph.
  bool is_of_graph(Event event) const;
  // Of a failure that issuing queued work met: the event whose record came next, which tells whose work it was. Asked for once.
  Event take_failed();
  // What a program did that ended, if it was one graph's work and nothing else, which asked the host for nothing, on a GPU's one stream.
  class Whole;
  std::shared_ptr<const Whole> last_whole() const { return whole_; }
  // Does it again, in the same memory, of which `taken` is allocated then. False: it cannot, and nothing is done.
  std::shared_ptr<const Whole> noted(const Whole& whole, std::span<std::byte* const> taken);
  bool repeat(const Whole& whole, const std::string& name);
  // How the stretches so far were issued.
  struct Counts {
    int by_call = 0, by_graph = 0;
    int made = 0, changed = 0, given_up = 0;  // graphs, graphs, kinds
    int repeated = 0;                         // of those by graph: wholes
    std::string refused;                      // why the last kind was given up that has no graph
  };
  Counts counts() const;

  int gpu_count() override { return inner_->gpu_count(); }
  GpuInfo info(int gpu) override { return inner_->info(gpu); }
  Stream create_stream(int gpu) override;
  void destroy(Stream stream) noexcept override;
  Event create_event(int gpu, bool is_timed) override;
  void destroy(Event event) noexcept override;
  void record(Event event, Stream stream) override;
  void wait(Stream stream, Event event) override;
  bool is_done(Event event) override;
  void synchronize(Event event) override;
  void set_word(std::byte* word, std::uint32_t value, Stream stream) override;
  double milliseconds_between(Event begin, Event end) override { return inner_->milliseconds_between(begin, end); }
  std::byte* allocate(std::size_t bytes, Stream stream) override;
  void release(std::byte* data, Stream stream) noexcept override;
  std::shared_ptr<const void> note_memory(std::span<std::byte* const> all, std::span<std::byte* const> taken, Stream stream) override {
    return inner_->note_memory(all, taken, stream);
  }
  bool take(const void* note) override { return inner_->take(note); }
  std::byte* allocate_pinned(std::size_t bytes) override { return inner_->allocate_pinned(bytes); }
  void release_pinned(std::byte* data) noexcept override { inner_->release_pinned(data); }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) override;
  void fill(std::byte* to, int byte, std::size_t bytes, Stream stream) override;
  Kernel load(int gpu, const std::string& binary, const std::string& name) override { return inner_->load(gpu, binary, name); }
  void launch(Kernel kernel, unsigned grid, unsigned block, bool has_barriers, std::span<const std::byte> arguments,
              Stream stream) override;
  bool has_product(int gpu, const MatrixProduct& product) override { return inner_->has_product(gpu, product); }
  void multiply(int gpu, const MatrixProduct& product, Stream stream) override;
  void transform(int gpu, const RowTransforms& transforms, Stream stream) override;
  bool has_sorts() override { return inner_->has_sorts(); }
  std::size_t sort_room(int gpu, const PlaceSort& sort) override { return inner_->sort_room(gpu, sort); }
  void sort(const PlaceSort& sort, Stream stream) override;
  void begin_task(TaskWork task, Stream stream) override;
  Graph make_graph(int gpu, std::span<const Work> work) override { return inner_->make_graph(gpu, work); }
  bool update(Graph graph, std::span<const Work> work) override { return inner_->update(graph, work); }
  void launch(Graph graph, Stream stream) override;
  void destroy(Graph graph) noexcept override { inner_->destroy(graph); }
  int nccl_version() override { return inner_->nccl_version(); }
  std::string new_communicator_id() override { return inner_->new_communicator_id(); }
  std::vector<Communicator> join(const std::string& id, std::span<const CommunicatorMember> own, int size) override {
    return inner_->join(id, own, size);
  }
  bool is_ready(Communicator communicator) override { return inner_->is_ready(communicator); }
  void group_start() override;
  void group_end() override { inner_->group_end(); }
  void send(const std::byte* data, std::size_t bytes, int to, Communicator communicator, Stream stream) override {
    inner_->send(data, bytes, to, communicator, stream);
  }
  void receive(std::byte* data, std::size_t bytes, int from, Communicator communicator, Stream stream) override {
    inner_->receive(data, bytes, from, communicator, stream);
  }
  void finish(Communicator communicator) override { inner_->finish(communicator); }
  void destroy(Communicator communicator) noexcept override { inner_->destroy(communicator); }
  void abort(Communicator communicator) noexcept override { inner_->abort(communicator); }
  // Of queued work: around its issue.
  void push_range(const std::string& name) override;
  void pop_range() override;

 private:
  struct WordEdge {
    std::size_t at = 0;  // before this place in the work
    std::byte* word = nullptr;
    std::uint32_t value = 0;
  };
  struct Queue {
    int gpu = 0;
    std::vector<Work> work;
    std::vector<RangeEdge> ranges;
    std::vector<WordEdge> words;
    std::set<Event> events;                                        // whose record is queued
    std::vector<Event> left_out;                                   // of the graph that did it: the last stands for them
    using Released = std::map<std::size_t, std::set<std::byte*>>;  // by bytes
    Released kept;                                                 // since
    Released held;
    bool is_in_task = false;
  };
  struct Captured {
    Graph graph{};
    std::vector<Work> work;
    bool is_gone = false;
  };
  using CapturedRef = std::shared_ptr<Captured>;
  struct Kind {
    std::deque<CapturedRef> graphs;  // the one that was launched last in front
    int misses = 0;                  // since a graph had the right addresses
    bool is_given_up = false;
  };
  void add(Work work, Stream stream);
  void add_edge(const std::string& name);
  void flush(Stream stream, Queue& queue);
  void flush_all();
  void issue(const Queue& queue, Stream stream);
  void set_words(const Queue& queue, std::size_t at, Stream stream);
  void issue(const Work& work, int gpu, Stream stream);
  // What an event waits for that a graph records: whether one asks for it before its record is reached, its record before may be meant.
  Event behind(Event event) const;
  void note_failure(const Queue& queue, std::size_t at);
  // Whether a graph did the work.
  void make_real(Queue& queue) const;
  bool replay(Queue& queue, Stream stream);
  void note_records(const Queue& queue, Event last);
  CapturedRef fitting(Kind& kind, int gpu, std::vector<Work> work);
  void drop(CapturedRef& captured);
  // The program that is open is more than one graph's work.
  void is_no_whole() { is_whole_ = false; }
  void give_up(Kind& kind);
  std::vector<Work> work_of_graph(int gpu, const std::vector<Work>& work) const;
  void forget(const std::function<bool(const Captured&)>& is_gone);

  std::shared_ptr<GpuApi> inner_;
  bool is_on_;
  std::function<void(std::span<Kernel*>)> make_real_;
  std::function<std::vector<Kernel>(int gpu, const std::vector<std::pair<Kernel, std::size_t>>&)> batcher_;
  mutable std::recursive_mutex mutex_;
  int open_ = 0;
  bool holds_memory_ = false;
  std::vector<std::string> ranges_;  // that have begun while work was queued
  std::map<Stream, Queue> queues_;
  std::map<std::byte*, std::size_t> bytes_;  // of allocations
  bool is_whole_ = false;                    // so far
  std::set<std::byte*> anew_, reused_;       // since begin(): allocations of the driver, and of what was released since
  CapturedRef launched_;                     // since begin()
  Stream launched_on_{};
  std::shared_ptr<const Whole> whole_;
  std::map<std::pair<int, std::string>, Kind> kinds_;  // by GPU
  std::map<Event, Event> of_graphs_;                   // recorded last by a graph: the event behind its launch; 0: there is none
  std::set<Event> behind_;                             // those
  std::set<Event> captured_;                           // recorded once by a graph
  std::set<Event> timed_;
  std::map<Event, int> waited_for_;  // by how many threads, without the lock
  std::set<Event> doomed_;           // of those: destroyed when nobody waits any more
  Event failed_{};
  Counts counts_;
};

class GraphedGpu::Whole {
 public:
  // Allocated meanwhile, released since or not.
  const std::set<std::byte*>& memory() const { return memory_; }
  // Allocated before and released meanwhile, which served again: donated arguments'.
  const std::set<std::byte*>& reused() const { return reused_; }

 private:
  friend class GraphedGpu;
  CapturedRef captured_;
  Stream stream_{};
  std::set<std::byte*> memory_, reused_;
  std::vector<std::pair<std::byte*, std::size_t>> taken_;  // and bytes
  std::shared_ptr<const void> note_;
};

}  // namespace shardlab::cuda
