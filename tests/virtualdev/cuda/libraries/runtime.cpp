// The functions of libcudart.
#include <cstdlib>
#include <cstring>
#include <utility>

#include <cuda.h>

#include "tests/virtualdev/cuda/libraries/stand_in.h"

namespace shardlab::testing::libraries {
namespace {

thread_local int current_device = 0;
thread_local bool has_device = false;
thread_local cudaError_t last_error = cudaSuccess;

StreamState& of(cudaStream_t stream) { return *reinterpret_cast<StreamState*>(stream); }
EventState& of(cudaEvent_t event) { return *reinterpret_cast<EventState*>(event); }

}  // namespace

World& world() {
  static World* made = new World;
  return *made;
}
extern "C" World* shardlab_stand_in() { return &world(); }

void World::reset() {
  std::lock_guard lock(mutex);
  faults.clear();
  calls.clear();
  device_bytes_max = ~std::size_t(0);
  looks_too_early = 0;
}
void World::fault(std::string text) {
  std::lock_guard lock(mutex);
  faults.push_back(std::move(text));
}
void World::count(const std::string& call) {
  std::lock_guard lock(mutex);
  ++calls[call];
}
int World::device(const char* call) {
  count(call);
  if (!has_device) fault(std::string(call) + " by a thread that has chosen no device: it makes a context of device 0");
  return current_device;
}
StreamState& World::stream(cudaStream_t stream, const char* call, bool is_capturable) {
  std::lock_guard lock(mutex);
  int here = device(call);
  if (stream == nullptr || streams.count(stream) == 0) {
    fault(std::string(call) + " on a stream that is not there");
    static StreamState none;
    return none;
  }
  StreamState& state = of(stream);
  if (state.device != here) fault(std::string(call) + " on a stream of another device than the thread's");
  if (state.captures && !is_capturable) fault(std::string(call) + " on a stream that captures");
  return state;
}
void World::issue(StreamState& stream, char kind, std::function<void()> work) {
  std::lock_guard lock(mutex);
  now_ms += 0.001;
  if (!stream.captures) return work();
  stream.captured.work.push_back(std::move(work));
  stream.captured.kinds += kind;
  stream.captured.behind.push_back(std::move(stream.next_behind));
  stream.next_behind = {reinterpret_cast<cudaGraphNode_t>(stream.captured.work.size())};
}
bool World::holds(const void* data, std::size_t bytes) const {
  for (const auto* list : {&memory, &pinned}) {
    auto found = list->upper_bound(static_cast<const std::byte*>(data));
    if (found == list->begin()) continue;
    --found;
    if (static_cast<const std::byte*>(data) + bytes <= found->first + found->second) return true;
  }
  return false;
}
cudaError_t World::failed(cudaError_t error) { return last_error = error; }

}  // namespace shardlab::testing::libraries

using namespace shardlab::testing::libraries;

extern "C" {

// Of the driver.
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned) {
  StreamState& on = world().stream(stream, "cuStreamWriteValue32", false);
  auto* word = reinterpret_cast<std::byte*>(address);
  if (address % 4 != 0 || !world().holds(word, 4)) world().fault("a word is set that is not there");
  world().issue(on, 'w', [=] { std::memcpy(word, &value, 4); });
  return CUDA_SUCCESS;
}

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
const char* cudaGetErrorString(cudaError_t) { return "an error of the stand-in"; }
const char* cudaGetErrorName(cudaError_t error) { return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaError"; }
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = world().devices;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= world().devices) return world().failed(cudaErrorInvalidDevice);
  current_device = device;
  has_device = true;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  *properties = {};
  std::strcpy(properties->name, "GPU of the stand-in");
  properties->major = 9;
  properties->multiProcessorCount = 4;
  properties->totalGlobalMem = std::size_t(1) << 30;
  properties->uuid.bytes[0] = char(device);
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device != peer;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  *pool = reinterpret_cast<cudaMemPool_t>(std::uintptr_t(device) + 1);
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* access, std::size_t) {
  if (access->location.type != cudaMemLocationTypeDevice || access->location.id + 1 == int(reinterpret_cast<std::uintptr_t>(pool)))
    world().fault("cudaMemPoolSetAccess for no other device");
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (flags != cudaStreamNonBlocking) world().fault("a stream that waits for the legacy stream");
  auto* made = new StreamState{.device = world().device("cudaStreamCreate"), .captured = {}, .next_behind = {}};
  std::lock_guard lock(world().mutex);
  world().streams.insert(made);
  *stream = reinterpret_cast<cudaStream_t>(made);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  std::lock_guard lock(world().mutex);
  if (world().streams.erase(stream) == 0) world().fault("a stream is destroyed twice");
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  world().stream(stream, "cudaStreamWaitEvent", false);
  if (!of(event).is_recorded) world().fault("a stream waits for an event that was not recorded, which is no wait");
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  auto* made = new EventState{.device = world().device("cudaEventCreate"), .is_timed = (flags & cudaEventDisableTiming) == 0};
  std::lock_guard lock(world().mutex);
  world().events.insert(made);
  *event = reinterpret_cast<cudaEvent_t>(made);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  std::lock_guard lock(world().mutex);
  if (world().events.erase(event) == 0) world().fault("an event is destroyed twice");
  return cudaSuccess;
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  StreamState& on = world().stream(stream, "cudaEventRecord");
  if (world().events.count(event) == 0) world().fault("an event is recorded that is not there");
  if (of(event).device != on.device) world().fault("an event is recorded on another device's stream");
  if (on.captures && flags != cudaEventRecordExternal) world().fault("an event is captured that nobody can ask for");
  world().issue(on, 'e', [event] {
    of(event).is_recorded = true;
    of(event).at_ms = world().now_ms;
  });
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { return cudaEventRecordWithFlags(event, stream, 0); }
cudaError_t cudaEventQuery(cudaEvent_t event) {
  world().device("cudaEventQuery");
  if (!of(event).is_recorded) world().fault("an event is asked for that was not recorded");
  std::lock_guard lock(world().mutex);
  if (world().looks_too_early == 0) return cudaSuccess;
  --world().looks_too_early;
  return world().failed(cudaErrorNotReady);  // as the runtime has it: also what the next look for an error finds
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  world().device("cudaEventSynchronize");
  if (!of(event).is_recorded) world().fault("an event is waited for that was not recorded");
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  world().stream(stream, "cudaStreamSynchronize");
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  if (!of(begin).is_timed || !of(end).is_timed || !of(begin).is_recorded || !of(end).is_recorded)
    return world().failed(cudaErrorInvalidResourceHandle);
  *milliseconds = float(of(end).at_ms - of(begin).at_ms);
  return cudaSuccess;
}

cudaError_t cudaMallocAsync(void** data, std::size_t bytes, cudaStream_t stream) {
  world().stream(stream, "cudaMallocAsync", false);
  std::lock_guard lock(world().mutex);
  if (bytes > world().device_bytes_max - world().device_bytes) return world().failed(cudaErrorMemoryAllocation);
  *data = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  std::memset(*data, 0xcd, bytes);
  world().memory[static_cast<std::byte*>(*data)] = bytes;
  world().device_bytes += bytes;
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  world().device("cudaMalloc");
  std::lock_guard lock(world().mutex);
  if (bytes > world().device_bytes_max - world().device_bytes) return world().failed(cudaErrorMemoryAllocation);
  *data = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  world().memory[static_cast<std::byte*>(*data)] = bytes;
  world().device_bytes += bytes;
  return cudaSuccess;
}
cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
  world().stream(stream, "cudaFreeAsync", false);
  std::lock_guard lock(world().mutex);
  auto found = world().memory.find(static_cast<std::byte*>(data));
  if (found == world().memory.end()) {
    world().fault("memory is freed that is not there");
    return cudaErrorInvalidValue;
  }
  world().device_bytes -= found->second;
  world().memory.erase(found);
  std::free(data);
  return cudaSuccess;
}
// Of memory of a stream, too, whose work must be over then.
cudaError_t cudaFree(void* data) {
  world().device("cudaFree");
  std::lock_guard lock(world().mutex);
  auto found = world().memory.find(static_cast<std::byte*>(data));
  if (found == world().memory.end()) return world().failed(cudaErrorInvalidValue);
  world().device_bytes -= found->second;
  world().memory.erase(found);
  std::free(data);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned flags) {
  world().device("cudaHostAlloc");
  if (flags != cudaHostAllocPortable) world().fault("pinned memory of one device alone");
  *data = std::malloc(bytes);
  std::lock_guard lock(world().mutex);
  world().pinned[static_cast<std::byte*>(*data)] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* data) {
  world().device("cudaFreeHost");
  std::lock_guard lock(world().mutex);
  if (world().pinned.erase(static_cast<std::byte*>(data)) == 0) world().fault("pinned memory is freed that is not there");
  std::free(data);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  StreamState& on = world().stream(stream, "cudaMemcpyAsync");
  if (kind != cudaMemcpyDefault) world().fault("a copy that is told where its memory lies");
  if (!world().holds(to, bytes) || !world().holds(from, bytes)) world().fault("a copy of memory that is not there");
  world().issue(on, 'c', [=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int byte, std::size_t bytes, cudaStream_t stream) {
  StreamState& on = world().stream(stream, "cudaMemsetAsync");
  if (!world().holds(to, bytes)) world().fault("memory is filled that is not there");
  world().issue(on, 'f', [=] { std::memset(to, byte, bytes); });
  return cudaSuccess;
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**, unsigned, cudaLibraryOption*, void**,
                                unsigned) {
  world().count("cudaLibraryLoadData");
  *library = reinterpret_cast<cudaLibrary_t>(new CodeState{static_cast<const char*>(code)});
  return cudaSuccess;
}
cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  world().count("cudaLibraryUnload");
  delete reinterpret_cast<CodeState*>(library);
  return cudaSuccess;
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  std::size_t bytes = world().runner == nullptr ? 0 : world().runner->find(reinterpret_cast<CodeState*>(library)->code, name);
  if (bytes == 0) return world().failed(cudaErrorSymbolNotFound);
  *kernel = reinterpret_cast<cudaKernel_t>(new KernelState{name, bytes});
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** parameters, std::size_t shared, cudaStream_t stream) {
  StreamState& on = world().stream(stream, "cudaLaunchKernel");
  if (grid.x == 0 || grid.y == 0 || grid.z != 1 || block.x == 0 || block.x > 1024 || block.y != 1 || block.z != 1 || shared != 0)
    return world().failed(cudaErrorInvalidConfiguration);
  const auto& state = *static_cast<const KernelState*>(kernel);
  if (state.bytes > 32764) return world().failed(cudaErrorInvalidValue);
  std::vector<std::byte> parameter(state.bytes);  // the call copies it
  std::memcpy(parameter.data(), parameters[0], state.bytes);
  world().issue(on, 'k',
                [&state, grid, block, parameter] { world().runner->launch(state.name, parameter.data(), grid.x, grid.y, block.x); });
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  StreamState& on = world().stream(stream, "cudaStreamBeginCapture", false);
  if (mode != cudaStreamCaptureModeRelaxed) world().fault("a capture during which other threads may not allocate");
  on.captures = true;
  on.captured = {};
  on.next_behind.clear();
  return cudaSuccess;
}
// With the data of edges, under the names that each major version has for them.
#if CUDART_VERSION >= 13000
#define CAPTURE_INFO cudaStreamGetCaptureInfo
#define UPDATE_DEPENDENCIES cudaStreamUpdateCaptureDependencies
#else
#define CAPTURE_INFO cudaStreamGetCaptureInfo_v3
#define UPDATE_DEPENDENCIES cudaStreamUpdateCaptureDependencies_v2
#endif
cudaError_t CAPTURE_INFO(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long*, cudaGraph_t*,
                         const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges, std::size_t* count) {
  StreamState& on = world().stream(stream, "cudaStreamGetCaptureInfo");
  *status = on.captures ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  *nodes = on.next_behind.data();
  *edges = nullptr;
  *count = on.next_behind.size();
  return cudaSuccess;
}
cudaError_t UPDATE_DEPENDENCIES(cudaStream_t stream, cudaGraphNode_t* nodes, const cudaGraphEdgeData*, std::size_t count, unsigned flags) {
  StreamState& on = world().stream(stream, "cudaStreamUpdateCaptureDependencies");
  if (!on.captures) return world().failed(cudaErrorIllegalState);
  if (flags != cudaStreamSetCaptureDependencies) world().fault("dependencies are added to those that are there");
  on.next_behind.assign(nodes, nodes + count);
  for (cudaGraphNode_t node : on.next_behind)
    if (reinterpret_cast<std::size_t>(node) == 0 || reinterpret_cast<std::size_t>(node) > on.captured.work.size())
      world().fault("a node comes behind one that is not there");
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  StreamState& on = world().stream(stream, "cudaStreamEndCapture");
  if (!on.captures) return world().failed(cudaErrorIllegalState);
  on.captures = false;
  auto* made = new GraphState(std::exchange(on.captured, {}));
  on.next_behind.clear();
  std::lock_guard lock(world().mutex);
  world().graphs.insert(made);
  *graph = reinterpret_cast<cudaGraph_t>(made);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  std::lock_guard lock(world().mutex);
  if (world().graphs.erase(graph) == 0) world().fault("a graph is destroyed twice");
  delete reinterpret_cast<GraphState*>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  world().device("cudaGraphInstantiate");
  auto* made = new GraphState(*reinterpret_cast<GraphState*>(graph));
  std::lock_guard lock(world().mutex);
  world().executables.insert(made);
  *executable = reinterpret_cast<cudaGraphExec_t>(made);
  return cudaSuccess;
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info) {
  auto& old = *reinterpret_cast<GraphState*>(executable);
  const auto& changed = *reinterpret_cast<GraphState*>(graph);
  *info = {};
  if (const cudaError_t error = std::exchange(world().update_error, cudaSuccess); error != cudaSuccess) return world().failed(error);
  if (old.kinds != changed.kinds || old.behind != changed.behind) {
    info->result = cudaGraphExecUpdateErrorTopologyChanged;
    return world().failed(cudaErrorGraphExecUpdateFailure);
  }
  old = changed;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  StreamState& on = world().stream(stream, "cudaGraphLaunch", false);
  if (world().executables.count(executable) == 0) world().fault("a graph is launched that is not there");
  // Of all orders that the graph allows, one that is far from that of the capture: the node that came last of those that may be next.
  const auto& graph = *reinterpret_cast<GraphState*>(executable);
  std::vector<std::size_t> missing(graph.work.size());
  std::vector<std::vector<std::size_t>> before(graph.work.size());
  std::set<std::size_t> ready;
  for (std::size_t node = 0; node < graph.work.size(); ++node) {
    missing[node] = graph.behind[node].size();
    for (cudaGraphNode_t other : graph.behind[node]) before[reinterpret_cast<std::size_t>(other) - 1].push_back(node);
    if (missing[node] == 0) ready.insert(node);
  }
  for (; !ready.empty();) {
    const std::size_t node = *ready.rbegin();
    ready.erase(node);
    world().issue(on, 'g', graph.work[node]);
    for (std::size_t next : before[node])
      if (--missing[next] == 0) ready.insert(next);
  }
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  std::lock_guard lock(world().mutex);
  if (world().executables.erase(executable) == 0) world().fault("a graph's executable is destroyed twice");
  delete reinterpret_cast<GraphState*>(executable);
  return cudaSuccess;
}
}
