// A capture whose work comes in tasks with an order of their own: one stream, whose place in the graph is set before each.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "virtualdev/cuda/graph_tasks.h"
#include "virtualdev/cuda/libraries.h"

namespace shardlab::cuda {

// Of one GPU, which is the calling thread's; one capture at a time. Throws GpuError.
class GraphCapture {
 public:
  explicit GraphCapture(Library& runtime) : runtime_(runtime) {}
  ~GraphCapture();
  GraphCapture(const GraphCapture&) = delete;
  GraphCapture& operator=(const GraphCapture&) = delete;

  cudaStream_t stream() const { return stream_; }
  // The stream is there from then on.
  void open();
  void begin();
  // What is issued to the stream until end_task() comes behind those tasks: numbers in the order of their ends.
  void begin_task(const std::vector<std::size_t>& behind);
  void end_task();
  // The graph; `last`: the tasks behind which no other is.
  cudaGraph_t end(const std::vector<std::size_t>& last);
  // After a failure.
  void give_up() noexcept;

 private:
  // What comes next in the stream would be behind these.
  struct Ends {
    std::vector<cudaGraphNode_t> nodes;
    std::vector<cudaGraphEdgeData> edges;
  };
  void check(cudaError_t result, const char* what);

  Library& runtime_;
  cudaStream_t stream_ = nullptr;
  std::vector<Ends> ends_;  // by task
};

}  // namespace shardlab::cuda
