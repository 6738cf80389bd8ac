// Kernels that were compiled: kept in memory by GPU, and on disk by content, so that the next run compiles nothing.
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "virtualdev/cuda/codegen/node_plan.h"
#include "virtualdev/cuda/gpu_api.h"

namespace shardlab::cuda {

// Thread-safe. Files are in SHARDLAB_KERNEL_CACHE, else XDG_CACHE_HOME/shardlab/kernels, else ~/.cache/shardlab/kernels, named by the hash
// of text, architecture and compiler; one that is damaged is made anew. Where no file can be written nothing is kept, and nothing is said.
class KernelStore {
 public:
  KernelStore(std::shared_ptr<GpuApi> api, std::shared_ptr<KernelCompiler> compiler, std::string folder);
  Kernel find(int gpu, const KernelText& text);
  // Those that are missing: on several threads, some in one program each, as a compiler's start costs more than a kernel.
  void prepare(int gpu, const std::vector<KernelText>& texts);
  // What stands for a kernel until real() is asked for it, by which time others may be wanted as well.
  Kernel later(int gpu, const KernelText& text);
  // Those of all of these that stand for others; what has been asked for later is compiled with them.
  void make_real(std::span<Kernel*> kernels);
  // A Batcher of a GPU: of kernels that this store found, for a power of two of sets of arguments.
  std::vector<Kernel> batched(int gpu, const std::vector<std::pair<Kernel, std::size_t>>& wanted);
  static std::string default_folder();

 private:
  // A text is looked up at each launch: by what costs little of it.
  struct HashOfText {
    std::size_t operator()(const KernelText& text) const { return std::hash<std::string>()(text.body); }
  };
  using OfGpu = std::unordered_map<KernelText, Kernel, HashOfText>;
  std::string binary_of(const std::vector<KernelText>& texts, int arch);

  std::shared_ptr<GpuApi> api_;
  std::shared_ptr<KernelCompiler> compiler_;
  std::string folder_;
  std::mutex mutex_;
  std::map<int, int> archs_;
  std::map<int, OfGpu> kernels_;  // by GPU
  std::map<std::pair<int, Kernel>, KernelText> texts_;
  // Kernels that stand for others have numbers from kFirstLater on.
  static constexpr std::uintptr_t kFirstLater = std::uintptr_t(1) << 63;
  std::map<int, std::unordered_map<KernelText, Kernel, HashOfText>> later_;  // by GPU
  std::map<Kernel, std::pair<int, KernelText>> wanted_;
  std::uintptr_t next_later_ = kFirstLater;
};

}  // namespace shardlab::cuda
