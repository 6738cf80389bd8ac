// A stand-in for GPUs: their memory is this process's, kernels run as C++, and every call is checked for order, lifetime and arguments.
// What passes here has not run on a GPU; what fails here would have.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/virtualdev/cuda/host_kernels.h"
#include "tests/virtualdev/cuda/recording_nccl.h"
#include "virtualdev/cuda/gpu_api.h"

namespace shardlab::testing {

// Work is done when it is issued, but judged as if it were done when its stream gets to it: each access to an allocation must be ordered
// behind the conflicting ones before it by its stream, by events, or by the host's waiting. Streams and the host have vector clocks.
class RecordingGpu : public cuda::GpuApi {
 public:
  explicit RecordingGpu(int gpus) : gpus_(gpus) {}
  // Before anything else; 0: NCCL is not there.
  void set_nccl_version(int version) { nccl_version_ = version; }
  // From now on memory is given out again, to allocations of the same size, the lowest address first. Later uses by its former owner are
  // then found by what they do to the new one's order alone.
  void reuse_memory() { reuses_memory_ = true; }
  RecordingNccl& nccl() { return nccl_; }
  ~RecordingGpu() override;

  // What broke a rule, in the order of its happening. Empty is what tests want.
  std::vector<std::string> faults() const;
  void forget_faults();
  // How often a kind of call was made: "launch", "copy", "allocate", "multiply", "send", …
  int calls(const std::string& kind) const;
  std::vector<std::string> ranges() const;
  // The kinds of calls that were made within a range of that name.
  std::set<std::string> made_within(const std::string& range) const;
  std::size_t bytes_allocated() const;
  int events_alive() const;
  // Products with what follows them that the library knew how to do, in order.
  std::vector<cuda::MatrixProduct> ended_products() const;
  // Calls that were several products, in graphs.
  int products_together() const;
  // From now on it knows of none; or of no product at all.
  void refuse_epilogues() { refuses_epilogues_ = true; }
  void refuse_products() { refuses_products_ = refuses_epilogues_ = true; }
  // From now on there is no library that sorts.
  void refuse_sorts() { has_sorts_ = false; }
  // From now on nothing can be captured.
  void refuse_graphs() { refuses_graphs_ = true; }
  // Of all GPUs together.
  void limit_memory(std::size_t bytes) { memory_max_ = bytes; }
  // The next call of this kind throws, as an asynchronous failure would come up in it.
  void fail_next(const std::string& kind) { failing_.insert(kind); }
  // The call of any kind that comes as the `nth` from now on, from 1, throws.
  void fail_at(int nth) { fails_in_ = nth; }
  bool failure_is_ahead() const { return fails_in_ > 0; }
  // When it is waited for next the GPU has failed for good: all words were set before but the last `unset`, and every call that tells of
  // its work throws.
  void break_down(int unset) { unset_ = unset; }
  // Kernels' code is their names; what is loaded must have been compiled.
  void compiled(const std::vector<cuda::KernelText>& kernels);

  int gpu_count() override { return gpus_; }
  cuda::GpuInfo info(int gpu) override;
  cuda::Stream create_stream(int gpu) override;
  void destroy(cuda::Stream stream) noexcept override;
  cuda::Event create_event(int gpu, bool is_timed) override;
  void destroy(cuda::Event event) noexcept override;
  void record(cuda::Event event, cuda::Stream stream) override;
  void wait(cuda::Stream stream, cuda::Event event) override;
  bool is_done(cuda::Event event) override;
  void synchronize(cuda::Event event) override;
  void set_word(std::byte* word, std::uint32_t value, cuda::Stream stream) override;
  double milliseconds_between(cuda::Event begin, cuda::Event end) override;
  std::byte* allocate(std::size_t bytes, cuda::Stream stream) override;
  void release(std::byte* data, cuda::Stream stream) noexcept override;
  std::shared_ptr<const void> note_memory(std::span<std::byte* const> all, std::span<std::byte* const> taken, cuda::Stream stream) override;
  bool take(const void* note) override;
  std::byte* allocate_pinned(std::size_t bytes) override;
  void release_pinned(std::byte* data) noexcept override;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes, cuda::Stream stream) override;
  void fill(std::byte* to, int byte, std::size_t bytes, cuda::Stream stream) override;
  cuda::Kernel load(int gpu, const std::string& binary, const std::string& name) override;
  void launch(cuda::Kernel kernel, unsigned grid, unsigned block, bool has_barriers, std::span<const std::byte> arguments,
              cuda::Stream stream) override;
  bool has_product(int gpu, const cuda::MatrixProduct& product) override;
  void multiply(int gpu, const cuda::MatrixProduct& product, cuda::Stream stream) override;
  void transform(int gpu, const cuda::RowTransforms& transforms, cuda::Stream stream) override;
  bool has_sorts() override { return has_sorts_; }
  std::size_t sort_room(int gpu, const cuda::PlaceSort& sort) override;
  void sort(const cuda::PlaceSort& sort, cuda::Stream stream) override;
  void begin_task(cuda::TaskWork, cuda::Stream) override {}
  cuda::Graph make_graph(int gpu, std::span<const cuda::Work> work) override;
  bool update(cuda::Graph graph, std::span<const cuda::Work> work) override;
  void launch(cuda::Graph graph, cuda::Stream stream) override;
  void destroy(cuda::Graph graph) noexcept override;
  int nccl_version() override { return nccl_version_; }
  std::string new_communicator_id() override { return nccl_.new_id(); }
  std::vector<cuda::Communicator> join(const std::string& id, std::span<const cuda::CommunicatorMember> own, int size) override;
  bool is_ready(cuda::Communicator communicator) override { return nccl_.is_ready(communicator); }
  void group_start() override { nccl_.group_start(); }
  void group_end() override;
  void send(const std::byte* data, std::size_t bytes, int to, cuda::Communicator communicator, cuda::Stream stream) override;
  void receive(std::byte* data, std::size_t bytes, int from, cuda::Communicator communicator, cuda::Stream stream) override;
  void finish(cuda::Communicator communicator) override { nccl_.finish(communicator); }
  void destroy(cuda::Communicator communicator) noexcept override { nccl_.destroy(communicator); }
  void abort(cuda::Communicator communicator) noexcept override;
  void push_range(const std::string& name) override;
  void pop_range() override;

 private:
  using Clock = std::map<std::uintptr_t, std::int64_t>;  // by stream, 0 the host: how much of its work is known to be done
  struct StreamState {
    int gpu = 0;
    Clock clock;
    bool is_alive = true;
    std::set<RecordingNccl::Transfer> exchanges;  // not known to be done
  };
  struct EventState {
    int gpu = 0;
    bool is_timed = false, is_recorded = false, is_alive = true;
    Clock clock;
    std::int64_t at = 0;
    std::uintptr_t stream = 0;
    int looks = 0;  // by is_done()
    bool is_of_graph = false;
    std::set<RecordingNccl::Transfer> exchanges;
  };
  struct Access {
    std::uintptr_t stream;
    std::int64_t tick;
    std::string what;
  };
  struct Allocation {
    std::vector<std::byte> data;
    int gpu = -1;  // -1: pinned
    bool is_alive = true;
    Access made{}, last_write{}, freed{};
    bool is_written = false;
    std::vector<Access> reads;  // since the last write
  };
  struct GraphState {
    int gpu = 0;
    std::vector<cuda::Work> work;
    bool is_alive = true;
  };
  static std::uintptr_t id_of(cuda::Stream stream) { return std::uintptr_t(stream); }
  static std::uintptr_t id_of(cuda::Event event) { return std::uintptr_t(event); }
  void count(const std::string& kind);
  static bool has_end(const cuda::MatrixProduct& product);
  void finish(const cuda::MatrixProduct& product, cuda::Stream stream);
  void multiply_others(int gpu, const cuda::MatrixProduct& product, cuda::Stream stream);
  // Compiling is what takes time: once for all of a test's GPUs, of which one at a time is used.
  static HostKernels& kernels_of_all();
  void check_graph(int gpu, std::span<const cuda::Work> work);
  void do_work(const cuda::Work& work, int gpu, cuda::Stream stream);
  void launch_all(const cuda::KernelWork& work, cuda::Stream stream);
  void fault(std::string_view text);
  StreamState* stream_of(cuda::Stream stream, const std::string& what);
  // One access of a stream's work to memory; the allocation, or nothing where there is none.
  Allocation* access(const std::byte* data, std::size_t bytes, bool writes, cuda::Stream stream, const std::string& what);
  std::int64_t tick(cuda::Stream stream);
  static void merge(Clock& into, const Clock& from);

  int gpus_, nccl_version_ = 22809;
  RecordingNccl nccl_;
  mutable std::recursive_mutex mutex_;
  std::map<std::uintptr_t, StreamState> streams_;
  std::map<std::uintptr_t, EventState> events_;
  std::map<const std::byte*, Allocation> allocations_;
  std::map<std::string, cuda::KernelText> texts_;
  std::map<std::uintptr_t, std::pair<int, std::string>> kernels_;
  std::set<int> multiplied_, transformed_, sorted_;  // GPUs whose libraries have been used
  std::map<std::uintptr_t, GraphState> graphs_;
  bool in_graph_ = false, reuses_memory_ = false, refuses_epilogues_ = false, refuses_products_ = false, refuses_graphs_ = false;
  bool has_sorts_ = true;
  bool is_broken_ = false;
  int unset_ = -1;
  std::vector<std::pair<std::byte*, std::uint32_t>> words_;  // set, as far as nothing is broken
  std::size_t memory_max_ = ~std::size_t(0);
  std::vector<cuda::MatrixProduct> ended_products_;
  int together_ = 0;
  std::map<std::pair<cuda::Stream, std::size_t>, std::set<std::byte*>> reusable_;
  std::set<std::byte*> borrowed_;  // by the graph that is launched next: of reusable_
  std::uintptr_t next_ = 1;
  std::int64_t ticks_ = 0;
  Clock host_;
  HostKernels& host_kernels_ = kernels_of_all();
  std::vector<std::string> faults_, ranges_;
  std::map<std::string, int> calls_;
  std::set<std::string> failing_;
  std::atomic<int> fails_in_ = 0;
  std::vector<std::string> open_ranges_;
  std::map<std::string, std::set<std::string>> within_;  // kinds of calls, by the innermost range
};

// Its compiler: code is the list of names. Compiling takes long, so kernels are compiled as C++ together with those of `expected`.
class RecordingCompiler final : public cuda::KernelCompiler {
 public:
  std::string version() const override { return "recording 1"; }
  std::string compile(const std::string& text, int arch) override;
  int compilations() const { return compilations_; }

 private:
  std::atomic<int> compilations_ = 0;
};

}  // namespace shardlab::testing
