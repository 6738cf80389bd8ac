// Libraries that stand in for CUDA's runtime, cuBLASLt, cuFFT and NCCL under the real API's code (virtualdev/cuda/cuda_api.cpp and what it
// calls): functions of the same names and types, which compute on the host and check what their documentation demands. One shared object,
// found under the names of all four. They are not CUDA, and nothing here has run on a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace shardlab::testing::libraries {

// Runs kernels; a test gives one. Code is whatever the test's compiler made.
class KernelRunner {
 public:
  virtual ~KernelRunner() = default;
  // The bytes of the kernel's one parameter; 0: the code has no such kernel.
  virtual std::size_t find(std::string_view code, const std::string& kernel) = 0;
  virtual void launch(const std::string& kernel, const void* parameter, unsigned grid, unsigned instances, unsigned block) = 0;
};

// Nodes of graphs are numbers, from 1.
using Nodes = std::vector<cudaGraphNode_t>;
struct GraphState {
  std::vector<std::function<void()>> work;
  std::string kinds;          // a letter for each of those
  std::vector<Nodes> behind;  // and what each is behind
};
// A stream's work is done when it is issued, or kept while the stream captures.
struct StreamState {
  int device = 0;
  bool captures = false;
  GraphState captured;
  Nodes next_behind;  // what the next node comes behind
};
struct EventState {
  int device = 0;
  bool is_timed = false, is_recorded = false;
  double at_ms = 0;
};
struct CodeState {
  std::string code;
};
struct KernelState {
  std::string name;
  std::size_t bytes = 0;
};

// What the libraries hold, and what broke a rule.
class World {
 public:
  virtual ~World() = default;
  virtual void reset();  // virtual: who loads the library calls it without being linked with it
  void fault(std::string text);
  void count(const std::string& call);
  // The calling thread's device. A thread that has chosen none would have the first call that needs a context make one on device 0.
  int device(const char* call);
  // The stream, checked: of the thread's device, and, where `is_capturable` is false, not capturing.
  StreamState& stream(cudaStream_t stream, const char* call, bool is_capturable = true);
  // Work of a stream: done now, or when the graph that captures it is launched.
  void issue(StreamState& stream, char kind, std::function<void()> work);
  bool holds(const void* data, std::size_t bytes) const;
  cudaError_t failed(cudaError_t error);  // also the thread's last error

  std::recursive_mutex mutex;
  std::vector<std::string> faults;
  std::map<std::string, int> calls;
  std::map<const std::byte*, std::size_t> memory, pinned;  // by address
  std::set<const void*> streams, events, graphs, executables;
  std::size_t device_bytes_max = ~std::size_t(0), device_bytes = 0;
  int devices = 2, looks_too_early = 0;    // answers that an event is not done yet
  cudaError_t update_error = cudaSuccess;  // of the next change of a graph
  double now_ms = 0;
  KernelRunner* runner = nullptr;
};

extern "C" World* shardlab_stand_in();  // what a test looks up in the loaded library
World& world();

}  // namespace shardlab::testing::libraries
