// bench_gpu_kernels [SIDE]: a line "CASE milliseconds GB/s ratio" for each kernel on SIDE x SIDE elements (8192); ratio: its time over that
// of a copy of as many bytes.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "benchmarks/gpu_kernels/time_kernels.h"
#include "virtualdev/cuda/kernel_store.h"
#include "virtualdev/cuda/presence.h"

int main(int argc, char** argv) {
  using namespace shardlab;
  if (std::string missing = cuda::missing_text(cuda::look_for_cuda()); !missing.empty()) {
    fmt::print("skipped: no GPU: {}\n", missing);
    return 0;
  }
  try {
    const auto times = benchmark::time_kernels(cuda::cuda_api(), cuda::nvrtc_compiler(), cuda::KernelStore::default_folder(),
                                               argc > 1 ? std::atoll(argv[1]) : 8192, 20);
    const double copied = times[0].bytes / times[0].milliseconds;
    for (const benchmark::KernelTime& each : times)
      fmt::print("{:28} {:9.4f} ms {:8.1f} GB/s {:8.2f}\n", each.name, each.milliseconds, each.bytes / each.milliseconds * 1e-6,
                 each.milliseconds * copied / each.bytes);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
