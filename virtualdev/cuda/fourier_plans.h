// Fourier transforms of rows by cuFFT.
#pragma once

#include <cufft.h>

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "virtualdev/cuda/libraries.h"

namespace shardlab::cuda {

// Plans are kept by what they transform, on each GPU, the kPlansMax that were used last: each holds tables in the GPU's memory. Their room
// to work in is one for all of a GPU, as its stream's work is in order. It grows by doubling, and what it was before stays, since graphs
// may hold its address: together less than twice what was wanted at most.
//
// Thread-safe.
class FourierPlans {
 public:
  static constexpr std::size_t kPlansMax = 64;

  FourierPlans() : library_(fourier_library()) {}
  // `allocate`: memory on the stream.
  void run(int gpu, const RowTransforms& transforms, cudaStream_t stream, const std::function<std::byte*(std::size_t)>& allocate);
  // On a stream that captures: what the graph needs is the plan, as long as it may be launched. Throws GpuError where run() has not made
  // it.
  std::shared_ptr<const void> capture(int gpu, const RowTransforms& transforms, cudaStream_t stream);
  // Ends all plans and gives their rooms back. No work is left on the GPUs.
  void close(const std::function<void(int gpu)>& use, const std::function<void(std::byte*)>& release);

 private:
  struct Plan;
  using Key = std::tuple<int, bool, std::int64_t, std::int64_t>;
  struct OnGpu {
    std::list<std::pair<Key, std::shared_ptr<Plan>>> plans;  // the one that was used last in front
    std::vector<std::byte*> rooms;                           // the largest at last
    std::size_t room_bytes = 0;                              // its
  };
  static Key key_of(const RowTransforms& transforms);
  // nullptr: it is not there.
  std::shared_ptr<Plan> find(OnGpu& here, const Key& key);
  std::shared_ptr<Plan> make(const RowTransforms& transforms);
  void execute(const Plan& plan, const OnGpu& here, const RowTransforms& transforms, cudaStream_t stream);
  void check(cufftResult result, const char* what);

  Library library_;
  std::mutex mutex_;
  std::map<int, OnGpu> gpus_;
};

}  // namespace shardlab::cuda
