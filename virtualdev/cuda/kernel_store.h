// Kernels that were compiled: kept in memory by GPU, and on disk by content, so that the next run compiles nothing.
#pragma once

#include <map>
#include <mutex>
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
  // Those that are missing in one program, as a compiler's start costs more than a kernel.
  void prepare(int gpu, const std::vector<KernelText>& texts);
  bool has(int gpu, const KernelText& text);
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
};

}  // namespace shardlab::cuda
