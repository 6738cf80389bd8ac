// Products of matrices by cuBLASLt.
#pragma once

#include <cublasLt.h>

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "virtualdev/cuda/libraries.h"

namespace shardlab::cuda {

// Thread-safe. The library's choice of algorithm is asked once for each shape and epilogue, on each GPU.
class MatrixProducts {
 public:
  MatrixProducts() : library_(matmul_library()) {}
  // Whether the library has a way to do this one.
  bool has(int gpu, const MatrixProduct& product);
  // Rooms for as many products whose work is not in order with each other's; `allocate`: of the calling stream, or of none.
  void reserve(int gpu, int rooms, const std::function<std::byte*(std::size_t)>& allocate);
  // `addresses`: of a product with others, in the GPU's memory; see addresses_of().
  void run(int gpu, const MatrixProduct& product, cudaStream_t stream, int room, const std::byte* addresses = nullptr);
  // Of all its matrices: what is on the left, on the right, the results.
  static std::vector<const std::byte*> addresses_of(const MatrixProduct& product);
  // Ends the library's use of each GPU and gives its workspace back. No work is left there.
  void close(const std::function<void(int gpu)>& use, const std::function<void(std::byte*)>& release);

 private:
  struct OnGpu {
    cublasLtHandle_t handle = nullptr;
    std::vector<std::byte*> workspaces;  // by room
  };
  using Key = std::tuple<int, int, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool, bool,
                         std::int64_t, std::int64_t, int, bool, int, int>;
  struct Description;
  static Key key_of(int gpu, const MatrixProduct& product);
  OnGpu& open(int gpu);
  const std::optional<cublasLtMatmulAlgo_t>& algorithm(int gpu, const MatrixProduct& product);
  std::optional<cublasLtMatmulAlgo_t> ask(int gpu, const MatrixProduct& product, Description& description);
  bool can(int gpu, const cublasLtMatmulAlgo_t& algorithm, Description& description);
  void check(cublasStatus_t status, const char* what);

  Library library_;
  std::mutex mutex_;
  std::map<int, OnGpu> gpus_;
  std::map<Key, std::optional<cublasLtMatmulAlgo_t>> algorithms_;  // nothing: there is none
};

}  // namespace shardlab::cuda
