#include "runtime/exec/cpu_backend.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/base/at_work.h"
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

namespace {

constexpr std::int64_t kTileBytes = 16 * 1024;  // a few tiles stay in the first-level cache
constexpr std::int64_t kParallelBytes = 64 * 1024;

// The tree over one stretch of the values: what lies between stays in cache, so memory is read once and written once.
class CombinedTile {
 public:
  CombinedTile(Reduction reduction, DType dtype, std::int64_t first, std::int64_t count)
      : reduction_(reduction), dtype_(dtype), offset_(std::size_t(first * size_of(dtype))), count_(count) {}

  void run(std::span<const Backend::Stretch> values, std::byte* to, std::size_t level = 0) const {
    if (values.size() == 1) {
      std::copy_n(at(values[0]), bytes(), to);
      return;
    }
    const std::size_t middle = std::size_t(tree_split(int(values.size())));
    run(values.first(middle), to, level);
    const std::span<const Backend::Stretch> right = values.subspan(middle);
    if (right.size() == 1) {
      shardlab::combine(reduction_, dtype_, to, at(right[0]), count_);
      return;
    }
    thread_local std::vector<std::vector<std::byte>> scratch;
    if (scratch.size() <= level) scratch.resize(level + 1);
    if (scratch[level].size() < bytes()) scratch[level].resize(bytes());
    std::byte* other = scratch[level].data();
    run(right, other, level + 1);
    shardlab::combine(reduction_, dtype_, to, other, count_);
  }

 private:
  std::size_t bytes() const { return std::size_t(count_ * size_of(dtype_)); }
  const std::byte* at(const Backend::Stretch& value) const { return value.buffer->data() + value.offset + offset_; }

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
