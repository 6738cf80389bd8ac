// Virtual devices on GPUs: buffers in their memory, steps as generated kernels and library calls, one stream a GPU.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/base/at_work.h"
#include "runtime/exec/backend.h"
#include "runtime/exec/launch_aware.h"
#include "virtualdev/cuda/codegen/fused_plan.h"
#include "virtualdev/cuda/communicators.h"
#include "virtualdev/cuda/gpu_memory.h"
#include "virtualdev/cuda/graphed_gpu.h"
#include "virtualdev/cuda/plan_runner.h"
#include "virtualdev/cuda/repeats.h"

namespace shardlab::cuda {

struct CudaOptions {
  std::vector<int> ordinals;  // of this process's devices
  int devices_per_gpu = 1;
  int first_gpu = 0;
  std::string kernel_folder;  // empty: kernels are kept in memory alone
  bool with_graphs = true;
  int process = 0;
  std::shared_ptr<Rendezvous> rendezvous;  // of the job; nothing: what is exchanged goes by way of the host
};

// State and invariants: the devices of one GPU share its memory and its one stream, so that what they do is in order without events;
// only copies between GPUs, and host reads, need them. A Buffer's bytes are a Block (gpu_memory.h). Replicas on one GPU share a buffer.
//
// Thread rules: as Backend's.
class CudaBackend final : public Backend, public LaunchAware {
 public:
  CudaBackend(std::shared_ptr<GpuApi> api, std::shared_ptr<KernelCompiler> compiler, CudaOptions options);
  ~CudaBackend() override;

  std::string_view platform() const override { return "gpu"; }
  std::string kind() const override { return kind_; }
  bool runs_launches_beside() const override { return false; }  // one thread issues to the streams, and records their graphs
  int memory_of(int ordinal) const override;
  std::shared_ptr<Buffer> allocate(std::size_t bytes, int ordinal) override;
  BufferRef upload(const BufferRef& host, int ordinal) override;
  BufferRef place(const BufferRef& buffer, int ordinal) override;
  BufferRef to_host(const BufferRef& buffer) override;
  std::size_t bytes_of(const Buffer& buffer) const override { return block_of(buffer).bytes; }
  void clear(Buffer& buffer) override;
  void copy_bytes(const Buffer& from, std::size_t from_offset, Buffer& to, std::size_t to_offset, std::size_t bytes) override;
  void copy_box(const Buffer& from, std::size_t from_offset, const Box& from_box, Buffer& to, const Box& to_box, const Box& box,
                std::int64_t element_bytes) override;
  void copy_boxes(std::span<const BoxCopy> copies, Buffer& to, const Box& to_box, std::int64_t element_bytes) override;
  BufferRef combine(Reduction reduction, DType dtype, std::span<const Stretch> values, std::int64_t count, int ordinal) override;
  void parallel_for(std::int64_t count, std::int64_t bytes_each, const std::function<void(std::int64_t)>& f) override;
  comm::ExchangeResult exchange(const LinkContext& link, std::span<const comm::Send> sends,
                                std::span<const comm::Receive> receives) override;
  FusedKinds fuses() const override { return {.columns = true, .at_use = true, .scalars = true}; }
  bool does_epilogues(const std::vector<int>& ordinals) const override;
  void compute(ComputeCall& call, const std::vector<int>& ordinals) override;
  void run_fused(const FusedStep& step, const std::vector<int>& local, const std::vector<std::vector<Box>>& slot_boxes, Slots& slots,
                 const std::vector<int>& ordinals) override;
  void begin_step(Backend::Step& step) override;
  void end_step(Backend::Step& step) override;
  void synchronize() override;
  void begin_launch(const comm::ProgramInfo& program) override;
  void end_launch() override { launch_ = nullptr; }
  void begin_steps(const void* program) override;
  void end_steps() override;
  std::optional<Slots> repeat(std::int64_t program, Slots& params, std::string_view name, Where where) override;
  void remember(const Slots& results) override;
  bool is_preparing() override { return communicators_->is_making(); }
  std::map<int, Sent> sent() const override { return communicators_->sent(); }
  std::string_view reported_how() const override { return reported_how_; }

  const Communicators& communicators() const { return *communicators_; }
  GraphedGpu::Counts graph_counts() const { return api_->counts(); }

 private:
  // A step whose work may still be going on: what a failure and its times are attributed by.
  struct Step {
    std::string op;
    Where where;
    Report report;
    std::vector<Event> begins, ends;  // by GPU
    bool owns_events = true;
    std::int64_t launch = 0;
    std::uint32_t number = 0;  // that every GPU's word has once it has ended
  };
  // The events of a program's steps are the same at each launch, in the order of their use: so a graph may record them. Those that are
  // timed are the same at every other one, so that the times of a launch are read while the next one is issued.
  struct ProgramEvents {
    struct Set {
      std::vector<Event> events;
      std::int64_t launch = 0;  // whose steps they were last
    };
    std::array<Set, 2> sets;
    std::size_t next = 0;
    Set& set(bool is_timed, std::int64_t launch) { return sets[is_timed ? std::size_t(launch % 2) : 0]; }
  };
  // Plans by what they depend on: the step, and where its operands and results are.
  using PlanKey = std::pair<std::int64_t, std::vector<std::int64_t>>;

  // An event whose time on the host's clock is known.
  struct Clock {
    Event event;
    comm::Ns at;
  };

  // Around what may be done at once: what one part releases does not serve another, which would have to wait for it.
  class Beside {
   public:
    explicit Beside(CudaBackend& backend) : backend_(backend), is_outer_(!std::exchange(backend.is_beside_, true)) {
      if (is_outer_) backend_.api_->hold_memory();
    }
    ~Beside() {
      if (!is_outer_) return;
      backend_.is_beside_ = false;
      backend_.api_->free_held();
    }
    Beside(const Beside&) = delete;
    Beside& operator=(const Beside&) = delete;

   private:
    CudaBackend& backend_;
    bool is_outer_;
  };

  // While one lives its thread waits for all that was issued before it. The process is at work then, unless NCCL may wait for another one.
  class Settling {
   public:
    explicit Settling(CudaBackend& backend) : backend_(backend), exchanges_(backend.exchanges_) {
      if (exchanges_ == backend.settled_) working_.emplace();
    }
    Settling(const Settling&) = delete;
    Settling& operator=(const Settling&) = delete;
    void ended() const {
      std::int64_t settled = backend_.settled_;
      while (settled < exchanges_ && !backend_.settled_.compare_exchange_weak(settled, exchanges_)) {}
    }

   private:
    CudaBackend& backend_;
    const std::int64_t exchanges_;
    std::optional<AtWork> working_;
  };
  Gpu& gpu_of(int ordinal) { return *gpus_[std::size_t(memory_of(ordinal))]; }
  const NodePlan& plan_of(const ComputeCall& call, int position);
  BufferRef moved(const BufferRef& buffer, Gpu& to);
  void copy_near(std::span<const BoxCopy> copies, const Block& target, const Box& to_box, std::int64_t element_bytes);
  void run_tiles(const FusedStep& step, const FusedStep::Rows& rows, const KernelText& kernel, std::vector<const std::byte*> buffers,
                 std::vector<std::int64_t> numbers, int ordinal);
  void run_copies(const NodePlan& plan, std::vector<std::byte*> sources, const Block& target);
  Event event_for(const Gpu& gpu, bool is_timed);
  void give_back(const Step& step);
  void forget_events();
  void drop_step();
  // Those that have ended; `through`: waits for all up to this launch. With `have_all_ended` nobody is asked.
  void retire_steps(std::int64_t through, bool have_all_ended = false);
  void set_clocks();
  comm::Ns host_time(std::size_t gpu, Event event);
  bool has_surely_ended(const Step& step) const;
  // Rethrows a failure with the earliest step that had not ended when it came.
  [[noreturn]] void throw_attributed(const GpuError& error);

  std::shared_ptr<GraphedGpu> api_;
  CudaOptions options_;
  KernelStore kernels_;
  PlanRunner plan_runner_;
  std::string kind_;
  std::vector<std::shared_ptr<Gpu>> gpus_;
  std::map<int, int> gpu_index_;  // ordinal → gpus_
  std::unique_ptr<Communicators> communicators_;
  std::map<PlanKey, NodePlan> plans_;
  std::map<std::pair<std::int64_t, RowOf>, KernelText> fused_;  // by FusedStep::step
  std::recursive_mutex mutex_;                                  // of the steps
  std::optional<Step> step_;
  bool is_beside_ = false;
  std::deque<Step> running_;
  std::map<std::pair<int, bool>, std::vector<Event>> spare_;              // by GPU, and whether they are timed: of steps of no program
  std::vector<Event> last_;                                               // by GPU: behind all that was issued before synchronize()
  std::map<std::pair<const void*, bool>, ProgramEvents> program_events_;  // by program, and whether they are timed
  const comm::ProgramInfo* launch_ = nullptr;                             // whose exchanges these are
  std::string_view reported_how_;
  const void* program_ = nullptr;                  // whose steps these are
  std::int64_t launches_ = 0;                      // of programs
  std::vector<std::unique_ptr<Pinned>> progress_;  // by GPU: the number of the last step that ended
  std::uint32_t steps_ = 0;
  Repeats repeats_;
  std::int64_t repeats_since_ = 0;                         // as many times constants had been forgotten, whose addresses graphs hold
  std::vector<Clock> clocks_;                              // by GPU
  std::atomic<std::int64_t> exchanges_ = 0, settled_ = 0;  // that NCCL may have done: begun, and of those known to have ended
};

}  // namespace shardlab::cuda
