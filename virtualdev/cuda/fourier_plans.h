// Fourier transforms of rows by cuFFT.
#pragma once

#include <cufft.h>

#include <map>
#include <mutex>
#include <tuple>

#include "virtualdev/cuda/libraries.h"

namespace shardlab::cuda {

// Thread-safe. Plans are kept by what they transform, on each GPU.
class FourierPlans {
 public:
  FourierPlans() : library_(fourier_library()) {}
  void run(int gpu, const RowTransforms& transforms, cudaStream_t stream);

 private:
  void check(cufftResult result, const char* what);

  Library library_;
  std::mutex mutex_;
  std::map<std::tuple<int, int, bool, std::int64_t, std::int64_t>, cufftHandle> plans_;
};

}  // namespace shardlab::cuda
