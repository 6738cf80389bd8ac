#include "virtualdev/cuda/plan_runner.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "virtualdev/cuda/graph_tasks.h"

namespace shardlab::cuda {
namespace {

constexpr unsigned kBlock = 256;  // threads; kernels with barriers have room for as many
constexpr unsigned kBlockMin = 32;

// Of the results of a product, with as many columns and rows at most.
std::int64_t tiles_of(const MatrixProduct& product) {
  constexpr std::int64_t kTile = 128;
  return product.batch * ((product.m + kTile - 1) / kTile) * ((product.n + kTile - 1) / kTile);
}

// Whether equal products of several devices are to be one call: not where all their results are few, and sums cut into parts, as a product
// by itself has them, would use more of the GPU.
bool are_together(const MatrixProduct& product, const Gpu& gpu, std::size_t beside) {
  return beside > 1 && product.batch == 1 && 4 * tiles_of(product) * std::int64_t(beside) >= gpu.processors;
}

// A small product beside others counts with its share: alone it would be cut into parts of its sum, which are added up then, to take all.
// One of more tiles than that does not need to be, and comes out better as if it were alone.
int processors_of(const MatrixProduct& product, const Gpu& gpu, std::size_t beside) {
  if (beside < 2) return 0;
  const int share = std::max(gpu.processors / int(std::min<std::size_t>(beside, kProductRoomsMax)), 1);
  return tiles_of(product) <= share ? share : 0;
}

}  // namespace

void upload_to(GpuApi& api, std::span<const std::byte> from, const Block& to) {
  if (from.empty()) return;
  Pinned pinned(api, from.size());
  std::memcpy(pinned.data(), from.data(), from.size());
  api.copy(to.data, pinned.data(), from.size(), to.gpu->stream);
  api.synchronize(Mark(api, to.gpu->number, to.gpu->stream).event());
}

void PlanRunner::forget_constants() {
  constants_.clear();
  constant_bytes_ = 0;
  ++constants_forgotten_;
}

BufferRef PlanRunner::constant(const BufferRef& data, const std::shared_ptr<Gpu>& gpu) {
  auto found = constants_.find({gpu->number, data.get()});
  if (found != constants_.end()) return found->second.device;
  auto device = allocate_on(gpu, data->size());
  upload_to(api_, data->bytes(), block_of(*device));
  if (constant_bytes_ + data->size() > kConstantBytesMax) forget_constants();
  constant_bytes_ += data->size();
  constants_[{gpu->number, data.get()}] = {data, device};
  return device;
}

void PlanRunner::launch(Gpu& gpu, const KernelText& text, std::span<const std::byte* const> buffers, std::span<const std::int64_t> numbers,
                        std::int64_t work, bool has_barriers) {
  if (work == 0) return;
  std::vector<std::byte> arguments(buffers.size_bytes() + numbers.size_bytes());
  std::memcpy(arguments.data(), buffers.data(), buffers.size_bytes());
  std::memcpy(arguments.data() + buffers.size_bytes(), numbers.data(), numbers.size_bytes());
  constexpr std::int64_t kGridMax = 64 * 1024;  // beyond it a thread takes several
  // Few threads are spread over more processors, in smaller blocks.
  unsigned block = kBlock;
  auto blocks_of = [&] { return has_barriers ? work : (work + block * text.lanes - 1) / (block * text.lanes); };
  while (!has_barriers && block > kBlockMin && 2 * blocks_of() <= gpu.processors) block /= 2;
  api_.launch(defers_ ? kernels_.later(gpu.number, text) : kernels_.find(gpu.number, text), unsigned(std::min(blocks_of(), kGridMax)),
              block, has_barriers, arguments, gpu.stream);
}

// A product, and what follows it, is the library's affair where it can; else a kernel's, what follows in place.
void PlanRunner::multiply(Gpu& gpu, const Call& call, const MatrixProduct& product, const std::byte* added) {
  auto by_library = [&](const MatrixProduct& whole) {
    const bool can = api_.has_product(gpu.number, whole);
    if (can) api_.multiply(gpu.number, whole, gpu.stream);
    return can;
  };
  if (call.end) {
    MatrixProduct whole = product;
    whole.scale = call.end->scale;
    (call.end->is_addend ? whole.addend : whole.bias) = added;
    whole.activation = call.end->activation;
    if (by_library(whole)) return;
  }
  if (!by_library(product)) {
    const std::byte* operands[] = {product.left, product.right, product.result};
    launch(gpu, call.kernel, operands, call.numbers, call.work, false);
  }
  if (!call.end) return;
  const std::byte* buffers[] = {added == nullptr ? product.result : added, product.result};
  launch(gpu, call.end->kernel, buffers, call.end->numbers, call.end->numbers[0], false);
}

PlaceSort PlanRunner::sort_of(const Call& call, std::span<std::byte* const> buffers) {
  auto buffer = [&](std::size_t i) { return buffers[std::size_t(call.buffers[i])]; };
  return {.count = call.numbers[0],
          .word_bytes = int(call.numbers[1]),
          .bits = int(call.numbers[2]),
          .words = buffer(0),
          .places = buffer(1),
          .sorted_words = buffer(2),
          .sorted_places = buffer(3)};
}

void PlanRunner::run(const NodePlan& plan, const std::shared_ptr<Gpu>& on, std::vector<std::byte*> buffers, std::size_t operands,
                     std::size_t beside) {
  using Kind = Call::Kind;
  Gpu& gpu = *on;
  std::vector<std::byte*> temporaries;
  auto allocate = [&](std::size_t bytes) {
    temporaries.push_back(api_.allocate(std::max<std::size_t>(bytes, 1), gpu.stream));
    return temporaries.back();
  };
  for (std::size_t bytes : plan.temporaries) buffers.push_back(allocate(bytes));
  std::vector<std::pair<std::byte*, std::size_t>> sort_rooms;
  for (const Call& call : plan.calls) {
    if (call.kind != Kind::kSort) continue;
    const std::size_t bytes = std::max<std::size_t>(api_.sort_room(gpu.number, sort_of(call, buffers)), 1);
    sort_rooms.push_back({allocate(bytes), bytes});
  }
  std::vector<const std::byte*> written(buffers.begin() + std::ptrdiff_t(operands), buffers.end());
  for (const auto& [room, bytes] : sort_rooms) written.push_back(room);
  const Task task(api_, gpu.stream, {buffers.begin(), buffers.begin() + std::ptrdiff_t(operands)}, std::move(written), plan.is_unordered);
  std::size_t sorts = 0;
  for (const Call& call : plan.calls) {
    auto buffer = [&](std::size_t i) { return buffers[std::size_t(call.buffers[i])]; };
    const auto& n = call.numbers;
    switch (call.kind) {
      case Kind::kKernel: {
        std::vector<const std::byte*> addresses;
        for (std::size_t i = 0; i < call.buffers.size(); ++i) addresses.push_back(buffer(i));
        launch(gpu, call.kernel, addresses, n, call.work, call.has_barriers);
        break;
      }
      case Kind::kCopy:
        api_.copy(buffer(1) + n[2], buffer(0) + n[1], std::size_t(n[0]), gpu.stream);
        break;
      case Kind::kClear:
        api_.fill(buffer(0), int(n[1]), std::size_t(n[0]), gpu.stream);
        break;
      case Kind::kUpload:
        api_.copy(buffer(0), block_of(*constant(call.data, on)).data, call.data->size(), gpu.stream);
        break;
      case Kind::kMatrix: {
        MatrixProduct product{call.dtype, n[0] / (n[1] * n[3]), n[3], n[1], n[2], n[4], n[5], n[6], n[7], n[8], n[9], buffer(0), buffer(1),
                              buffer(2)};
        product.is_beside = beside > 1;
        if (!call.end && are_together(product, gpu, beside)) product.together = int(beside);
        if (product.together > 0 && !api_.has_product(gpu.number, product)) product.together = 0;
        if (product.together == 0) product.processors = processors_of(product, gpu, beside);
        multiply(gpu, call, product, call.end && call.end->added >= 0 ? buffers[std::size_t(call.end->added)] : nullptr);
        break;
      }
      case Kind::kSort: {
        PlaceSort sort = sort_of(call, buffers);
        std::tie(sort.room, sort.room_bytes) = sort_rooms[sorts++];
        api_.sort(sort, gpu.stream);
        break;
      }
      case Kind::kFourier:
        api_.transform(gpu.number, {int(n[0]), call.dtype == DType::kFloat64, n[1], n[2], buffer(0), buffer(1)}, gpu.stream);
        break;
    }
  }
  for (std::byte* data : temporaries) api_.release(data, gpu.stream);
}

}  // namespace shardlab::cuda
