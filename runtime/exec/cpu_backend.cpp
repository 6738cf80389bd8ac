#include "runtime/exec/cpu_backend.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "runtime/base/at_work.h"
#include "runtime/exec/compute.h"
#include "runtime/exec/fuse.h"
#include "runtime/ops/combine.h"

namespace shardlab {

void CpuBackend::clear(Buffer& buffer) { std::memset(buffer.data(), 0, buffer.size()); }

void CpuBackend::copy_bytes(const Buffer& from, std::size_t from_offset, Buffer& to, std::size_t to_offset, std::size_t bytes) {
  std::memcpy(to.data() + to_offset, from.data() + from_offset, bytes);
}

void CpuBackend::copy_box(const Buffer& from, std::size_t from_offset, const Box& from_box, Buffer& to, const Box& to_box, const Box& box,
                          std::int64_t element_bytes) {
  shardlab::copy_box(from.data() + from_offset, from_box, to.data(), to_box, box, element_bytes);
}

namespace {

constexpr std::int64_t kTileBytes = 16 * 1024;  // a few tiles stay in the first-level cache
constexpr std::int64_t kParallelBytes = 64 * 1024;

// The tree over one stretch of the values: what lies between stays in cache, so memory is read once and written once.
class CombinedTile {
 public:
  CombinedTile(Reduction reduction, DType dtype, std::int64_t first, std::int64_t count)
      : reduction_(reduction), dtype_(dtype), offset_(std::size_t(first * size_of(dtype))), count_(count) {}

  void run(std::span<const Backend::Stretch> values, std::byte* to) const {
    if (const std::byte* combined = value(values, to, 0); combined != to) std::copy_n(combined, bytes(), to);
  }

 private:
  // Where the combined values are: in `to`, or where a single one lies.
  const std::byte* value(std::span<const Backend::Stretch> values, std::byte* to, std::size_t level) const {
    if (values.size() == 1) return values[0].buffer->data() + values[0].offset + offset_;
    const std::size_t middle = std::size_t(tree_split(int(values.size())));
    const std::byte* left = value(values.first(middle), to, level);
    const std::byte* right = value(values.subspan(middle), scratch(level, bytes()), level + 1);
    ops::combine(reduction_, dtype_, to, left, right, count_);
    return to;
  }
  static std::byte* scratch(std::size_t level, std::size_t bytes) {
    thread_local std::deque<Buffer> buffers;
    while (buffers.size() <= level) buffers.emplace_back(0);
    if (buffers[level].size() < bytes) buffers[level] = Buffer(bytes);
    return buffers[level].data();
  }
  std::size_t bytes() const { return std::size_t(count_ * size_of(dtype_)); }

  Reduction reduction_;
  DType dtype_;
  std::size_t offset_;
  std::int64_t count_;
};

}  // namespace

BufferRef CpuBackend::combine(Reduction reduction, DType dtype, std::span<const Stretch> values, std::int64_t count, int) {
  const std::size_t bytes = std::size_t(count * size_of(dtype));
  if (values.size() == 1 && values[0].buffer->size() == bytes) return values[0].buffer;
  auto result = std::make_shared<Buffer>(bytes);
  const std::int64_t tile = kTileBytes / size_of(dtype), tiles = (count + tile - 1) / tile;
  auto run = [&](std::int64_t t) {
    const std::int64_t first = t * tile;
    CombinedTile(reduction, dtype, first, std::min(tile, count - first)).run(values, result->data() + first * size_of(dtype));
  };
  if (count * size_of(dtype) >= kParallelBytes)
    pool_.parallel_for(tiles, run);
  else
    for (std::int64_t t = 0; t < tiles; ++t) run(t);
  return result;
}

void CpuBackend::parallel_for(std::int64_t count, std::int64_t bytes_each, const std::function<void(std::int64_t)>& f) {
  if (count < 2 || bytes_each * count < kParallelBytes) {
    for (std::int64_t i = 0; i < count; ++i) f(i);
    return;
  }
  pool_.parallel_for(count, f);
}

comm::ExchangeResult CpuBackend::exchange(const LinkContext& link, std::span<const comm::Send> sends,
                                          std::span<const comm::Receive> receives) {
  return link.transport->exchange(link.header, sends, receives, link.on_wait);
}

void CpuBackend::compute(ComputeCall& call, const std::vector<int>&) {
  const AtWork working;
  shardlab::compute(call, pool_);
}

void CpuBackend::run_fused(const FusedStep& step, const std::vector<int>& local, const std::vector<std::vector<Box>>& slot_boxes,
                           Slots& slots, const std::vector<int>&) {
  const AtWork working;
  shardlab::run_fused(step, local, slot_boxes, slots, pool_);
}

void CpuBackend::begin_step(Step& step) {
  if (step.report) step.begin_ns = comm::now_ns();
}

void CpuBackend::end_step(Step& step) {
  if (step.report) step.report(step.begin_ns, comm::now_ns());
}

}  // namespace shardlab
