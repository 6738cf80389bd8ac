// Runs GPU plans on the CPU: the very text of the generated kernels, compiled as C++. A stand-in for a GPU, for tests alone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "virtualdev/cuda/codegen/node_plan.h"
#include "virtualdev/cuda/gpu_api.h"

namespace shardlab::testing {

// A set of kernels, compiled by the compiler that built the tests, and loaded.
class HostKernels {
 public:
  // All at once: a compiler's start costs more than a kernel.
  void compile(const std::vector<cuda::KernelText>& kernels);
  // One launch. `arguments`: addresses, then numbers. Threads of a block are interleaved where there are barriers.
  void launch(const cuda::KernelText& kernel, const void* arguments, unsigned grid, unsigned block, bool has_barriers) const;
  // From now on the last block goes first, and of it the last thread: what is right on a GPU does not depend on it.
  void go_backwards() { goes_backwards_ = true; }
  // What the library of sorts does.
  static void sort_places(const cuda::PlaceSort& sort);
  // A plan on buffers in this process's memory: operands, results.
  void run(const cuda::NodePlan& plan, std::vector<std::byte*> buffers) const;

  HostKernels() = default;
  ~HostKernels();
  HostKernels(const HostKernels&) = delete;
  HostKernels& operator=(const HostKernels&) = delete;

 private:
  using Body = void (*)(const void*);
  // A kernel, and what runs the kernels of its library: each has its own coordinates.
  struct Loaded {
    Body body = nullptr;
    const char* (*run)(Body, const void*, unsigned, unsigned, bool, bool) = nullptr;
  };
  std::map<std::string, Loaded> loaded_;
  std::vector<void*> libraries_;
  bool goes_backwards_ = false;
};

// Those whose lines a text has: what RecordingCompiler calls code.
std::vector<cuda::KernelText> kernels_in(const std::string& code);

}  // namespace shardlab::testing
