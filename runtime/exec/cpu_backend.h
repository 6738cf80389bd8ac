// Virtual CPU devices: buffers in this process's memory, kernels on a pool of threads.
#pragma once

#include "runtime/exec/backend.h"
#include "runtime/exec/thread_pool.h"

namespace shardlab {

class CpuBackend final : public Backend {
 public:
  // `watch`: ThreadPool's.
  explicit CpuBackend(int worker_threads, std::chrono::microseconds watch = {}) : pool_(worker_threads, watch) {}

  std::string_view platform() const override { return "cpu"; }
  std::string kind() const override { return "cpu"; }
  bool runs_launches_beside() const override { return true; }
  int memory_of(int) const override { return 0; }
  std::shared_ptr<Buffer> allocate(std::size_t bytes, int) override { return std::make_shared<Buffer>(bytes); }
  BufferRef upload(const BufferRef& host, int) override { return host; }
  BufferRef place(const BufferRef& buffer, int) override { return buffer; }
  BufferRef to_host(const BufferRef& buffer) override { return buffer; }
  std::size_t bytes_of(const Buffer& buffer) const override { return buffer.size(); }
  void clear(Buffer& buffer) override;
  void copy_bytes(const Buffer& from, std::size_t from_offset, Buffer& to, std::size_t to_offset, std::size_t bytes) override;
  void copy_box(const Buffer& from, std::size_t from_offset, const Box& from_box, Buffer& to, const Box& to_box, const Box& box,
                std::int64_t element_bytes) override;
  std::span<const std::byte> part(const BufferRef& buffer, std::size_t offset, std::size_t bytes, int, std::vector<BufferRef>&) override {
    return buffer->bytes().subspan(offset, bytes);
  }
  BufferRef combine(Reduction reduction, DType dtype, std::span<const Stretch> values, std::int64_t count, int ordinal) override;
  void parallel_for(std::int64_t count, std::int64_t bytes_each, const std::function<void(std::int64_t)>& f) override;
  comm::ExchangeResult exchange(const LinkContext& link, std::span<const comm::Send> sends,
                                std::span<const comm::Receive> receives) override;
  FusedKinds fuses() const override { return {.draws = true}; }
  void compute(ComputeCall& call, const std::vector<int>& ordinals) override;
  void run_fused(const FusedStep& step, const std::vector<int>& local, const std::vector<std::vector<Box>>& slot_boxes, Slots& slots,
                 const std::vector<int>& ordinals) override;
  void begin_step(Step& step) override;
  void end_step(Step& step) override;
  void synchronize() override {}

 private:
  ThreadPool pool_;  // nothing else: launches run beside each other
};

}  // namespace shardlab
