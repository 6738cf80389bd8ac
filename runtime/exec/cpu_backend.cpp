#include "runtime/exec/cpu_backend.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/exec/compute.h"
#include "runtime/exec/fuse.h"

namespace shardlab {

void CpuBackend::clear(Buffer& buffer) { std::memset(buffer.data(), 0, buffer.size()); }

void CpuBackend::copy_bytes(const Buffer& from, std::size_t from_offset, Buffer& to, std::size_t to_offset, std::size_t bytes) {
  std::memcpy(to.data() + to_offset, from.data() + from_offset, bytes);
}

void CpuBackend::copy_box(const Buffer& from, std::size_t from_offset, const Box& from_box, Buffer& to, const Box& to_box, const Box& box,
                          std::int64_t element_bytes) {
  shardlab::copy_box(from.data() + from_offset, from_box, to.data(), to_box, box, element_bytes);
}

BufferRef CpuBackend::combine(Reduction reduction, DType dtype, std::span<const BufferRef> values, std::int64_t count, int ordinal) {
  if (values.size() == 1) return values[0];
  std::size_t middle = std::size_t(tree_split(int(values.size())));
  BufferRef left = combine(reduction, dtype, values.first(middle), count, ordinal);
  BufferRef right = combine(reduction, dtype, values.subspan(middle), count, ordinal);
  auto result = std::make_shared<Buffer>(left->size());
  std::copy_n(left->data(), left->size(), result->data());
  shardlab::combine(reduction, dtype, result->data(), right->data(), count);
  return result;
}

void CpuBackend::parallel_for(std::int64_t count, std::int64_t bytes_each, const std::function<void(std::int64_t)>& f) {
  constexpr std::int64_t kParallelBytes = 64 * 1024;
  if (bytes_each * count >= kParallelBytes)
    pool_.parallel_for(count, f);
  else
    for (std::int64_t i = 0; i < count; ++i) f(i);
}

comm::ExchangeResult CpuBackend::exchange(const LinkContext& link, std::span<const comm::Send> sends,
                                          std::span<const comm::Receive> receives) {
  return link.transport->exchange(link.header, sends, receives, link.on_wait);
}

void CpuBackend::compute(ComputeCall& call, const std::vector<int>&) { shardlab::compute(call, pool_); }

void CpuBackend::run_fused(const FusedStep& step, const std::vector<int>& local, const std::vector<std::vector<Box>>& slot_boxes,
                           Slots& slots, const std::vector<int>&) {
  shardlab::run_fused(step, local, slot_boxes, slots, pool_);
}

void CpuBackend::begin_step(std::string_view, Where, Report report) {
  report_ = std::move(report);
  if (report_) begin_ = comm::now_ns();
}

void CpuBackend::end_step() {
  if (report_) std::exchange(report_, nullptr)(begin_, comm::now_ns());
}

}  // namespace shardlab
