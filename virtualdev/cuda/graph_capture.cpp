#include "virtualdev/cuda/graph_capture.h"

namespace shardlab::cuda {

#define RUNTIME(function) SHARDLAB_CALL(runtime_, function)
// With the data of edges, under the names that each major version has for them.
#if CUDART_VERSION >= 13000
#define CAPTURE_INFO RUNTIME(cudaStreamGetCaptureInfo)
#define UPDATE_DEPENDENCIES RUNTIME(cudaStreamUpdateCaptureDependencies)
#else
#define CAPTURE_INFO RUNTIME(cudaStreamGetCaptureInfo_v3)
#define UPDATE_DEPENDENCIES RUNTIME(cudaStreamUpdateCaptureDependencies_v2)
#endif

GraphCapture::~GraphCapture() {
  if (stream_ != nullptr) RUNTIME(cudaStreamDestroy)(stream_);
}

void GraphCapture::check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  RUNTIME(cudaGetLastError)();
  throw GpuError(fmt::format("{}: {} ({})", what, RUNTIME(cudaGetErrorString)(result), RUNTIME(cudaGetErrorName)(result)));
}

void GraphCapture::open() {
  if (stream_ == nullptr) check(RUNTIME(cudaStreamCreateWithFlags)(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}
void GraphCapture::begin() {
  open();
  ends_.clear();
  check(RUNTIME(cudaStreamBeginCapture)(stream_, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
}

void GraphCapture::begin_task(const std::vector<std::size_t>& behind) {
  Ends all;
  for (std::size_t task : behind) {
    all.nodes.insert(all.nodes.end(), ends_[task].nodes.begin(), ends_[task].nodes.end());
    all.edges.insert(all.edges.end(), ends_[task].edges.begin(), ends_[task].edges.end());
  }
  check(UPDATE_DEPENDENCIES(stream_, all.nodes.data(), all.edges.data(), all.nodes.size(), cudaStreamSetCaptureDependencies),
        "cudaStreamUpdateCaptureDependencies");
}

void GraphCapture::end_task() {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaGraphNode_t* nodes = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  std::size_t count = 0;
  check(CAPTURE_INFO(stream_, &status, nullptr, nullptr, &nodes, &edges, &count), "cudaStreamGetCaptureInfo");
  if (status != cudaStreamCaptureStatusActive) throw GpuError("a capture ended by itself");
  Ends own;
  own.nodes.assign(nodes, nodes + count);
  own.edges.resize(count);  // no edge has anything special, where none are told of
  if (edges != nullptr) own.edges.assign(edges, edges + count);
  ends_.push_back(std::move(own));
}

cudaGraph_t GraphCapture::end(const std::vector<std::size_t>& last) {
  begin_task(last);  // of nothing
  cudaGraph_t graph = nullptr;
  check(RUNTIME(cudaStreamEndCapture)(stream_, &graph), "cudaStreamEndCapture");
  return graph;
}

void GraphCapture::give_up() noexcept {
  cudaGraph_t graph = nullptr;
  RUNTIME(cudaStreamEndCapture)(stream_, &graph);
  if (graph != nullptr) RUNTIME(cudaGraphDestroy)(graph);
  RUNTIME(cudaGetLastError)();
}

}  // namespace shardlab::cuda
