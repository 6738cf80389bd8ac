// Runs the plans of nodes on a GPU's stream.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "virtualdev/cuda/codegen/node_plan.h"
#include "virtualdev/cuda/gpu_memory.h"
#include "virtualdev/cuda/kernel_store.h"

namespace shardlab::cuda {

// Constants of plans are uploaded once, and are on their GPU then, up to kConstantBytesMax of all; so a plan that has run once needs the
// host for nothing. One thread at a time.
class PlanRunner {
 public:
  static constexpr std::size_t kConstantBytesMax = std::size_t(256) << 20;

  // `defers`: the API has kernels made real (KernelStore::later) before it issues them.
  PlanRunner(GpuApi& api, KernelStore& kernels, bool defers = false) : api_(api), kernels_(kernels), defers_(defers) {}
  // `buffers`: operands, then results; as many of them as `operands` are read alone. `beside`: how many like it may be done at once.
  void run(const NodePlan& plan, const std::shared_ptr<Gpu>& gpu, std::vector<std::byte*> buffers, std::size_t operands = 0,
           std::size_t beside = 1);
  void launch(Gpu& gpu, const KernelText& text, std::span<const std::byte* const> buffers, std::span<const std::int64_t> numbers,
              std::int64_t work, bool has_barriers);
  void forget_constants();
  // How often constants were forgotten: what was issued before holds addresses of theirs.
  std::int64_t constants_forgotten() const { return constants_forgotten_; }

 private:
  struct Constant {
    BufferRef host, device;  // the host's is kept, so that nothing else gets its address
  };
  void multiply(Gpu& gpu, const Call& call, const MatrixProduct& product, const std::byte* added);
  static PlaceSort sort_of(const Call& call, std::span<std::byte* const> buffers);
  BufferRef constant(const BufferRef& data, const std::shared_ptr<Gpu>& gpu);

  GpuApi& api_;
  KernelStore& kernels_;
  bool defers_;
  std::map<std::pair<int, const Buffer*>, Constant> constants_;  // by GPU
  std::size_t constant_bytes_ = 0;
  std::int64_t constants_forgotten_ = 0;
};

// From this process's memory, which is free for others when this returns.
void upload_to(GpuApi& api, std::span<const std::byte> from, const Block& to);

}  // namespace shardlab::cuda
