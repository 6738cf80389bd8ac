// How fast a GPU runs the generated kernels by themselves: times by events, without the runtime around them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "virtualdev/cuda/gpu_api.h"

namespace shardlab::benchmark {

struct KernelTime {
  std::string name;
  double milliseconds = 0;  // the median
  double bytes = 0;         // of operands and results
};

// Single nodes on square arrays of `side` x `side` elements, after a copy of one of float32, the measure of the others: what reads and
// writes its operands once should take no more than 1.2 times as long as the copy of as many bytes.
std::vector<KernelTime> time_kernels(const std::shared_ptr<cuda::GpuApi>& api, std::shared_ptr<cuda::KernelCompiler> compiler,
                                     const std::string& kernel_folder, std::int64_t side, int repeats);

}  // namespace shardlab::benchmark
