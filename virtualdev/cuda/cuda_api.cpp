// The CUDA runtime, cuBLASLt, cuFFT, NCCL and NVTX behind GpuApi. Built where the headers are; linked with none of them.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>

#include "virtualdev/cuda/fourier_plans.h"
#include "virtualdev/cuda/gpu_memory.h"
#include "virtualdev/cuda/graph_capture.h"
#include "virtualdev/cuda/libraries.h"
#include "virtualdev/cuda/matrix_products.h"
#include "virtualdev/cuda/memory_pool.h"
#include "virtualdev/cuda/nccl_calls.h"
#include "virtualdev/cuda/place_sorts.h"

namespace shardlab::cuda {
namespace {

// Handles are addresses of these.
struct OwnStream {
  cudaStream_t stream;
  int gpu;
  std::size_t free_bytes_max;  // of the pool
};
struct OwnEvent {
  cudaEvent_t event;
  int gpu;
};

using Held = std::vector<std::shared_ptr<const void>>;
struct OwnGraph {
  cudaGraphExec_t executable;
  int gpu;
  Held held;  // what its work needs
};

OwnStream& own(Stream stream) { return *reinterpret_cast<OwnStream*>(stream); }
OwnGraph& own(Graph graph) { return *reinterpret_cast<OwnGraph*>(graph); }
OwnEvent& own(Event event) { return *reinterpret_cast<OwnEvent*>(event); }

// Functions of which the header has several are found by their type.
#define RUNTIME(function) SHARDLAB_CALL(runtime_, function)

class CudaApi final : public GpuApi {
 public:
  CudaApi() : driver_(driver_library()), runtime_(runtime_library()) {}
  // A process may make one context after another. At the end of the process the driver may be gone before, and has taken all with it.
  ~CudaApi() override {
    if (home_ < 0 || RUNTIME(cudaSetDevice)(home_) != cudaSuccess) return;
    auto turn = [this](int gpu) { turn_to(gpu); };
    auto free = [this](std::byte* data) { RUNTIME(cudaFree)(data); };
    try {
      transforms_.close(turn, free);
      products_.close(turn, free);
    } catch (const std::exception&) {  // a function is missing: nothing was made with it
    }
    for (auto& [gpu, capture] : capturing_) {
      turn_to(gpu);
      capture.reset();
    }
    for (auto& [code, library] : libraries_) RUNTIME(cudaLibraryUnload)(library);
    for (auto& [bytes, data] : pinned_free_) RUNTIME(cudaFreeHost)(data);
  }
  CudaApi(const CudaApi&) = delete;
  CudaApi& operator=(const CudaApi&) = delete;

  int gpu_count() override {
    int count = 0;
    check(RUNTIME(cudaGetDeviceCount)(&count), "cudaGetDeviceCount");
    return count;
  }

  GpuInfo info(int gpu) override {
    cudaDeviceProp properties;
    check(RUNTIME(cudaGetDeviceProperties)(&properties, gpu), "cudaGetDeviceProperties");
    std::string uuid;
    for (char byte : properties.uuid.bytes) uuid += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return {properties.name, properties.major * 10 + properties.minor, properties.multiProcessorCount, properties.totalGlobalMem, uuid};
  }

  Stream create_stream(int gpu) override {
    use(gpu);
    // What is released is kept for the next allocation.
    cudaMemPool_t pool = nullptr;
    check(RUNTIME(cudaDeviceGetDefaultMemPool)(&pool, gpu), "cudaDeviceGetDefaultMemPool");
    std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
    check(RUNTIME(cudaMemPoolSetAttribute)(pool, cudaMemPoolAttrReleaseThreshold, &all), "cudaMemPoolSetAttribute");
    open_to_peers(pool, gpu);
    auto made = std::make_unique<OwnStream>(OwnStream{nullptr, gpu, info(gpu).memory_bytes / 4});
    int none = -1;
    home_.compare_exchange_strong(none, gpu);
    check(RUNTIME(cudaStreamCreateWithFlags)(&made->stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    return Stream(reinterpret_cast<std::uintptr_t>(made.release()));
  }
  void destroy(Stream stream) noexcept override {
    turn_to(own(stream).gpu);
    pool_.forget(own(stream).stream, driver_release(stream));
    RUNTIME(cudaStreamDestroy)(own(stream).stream);
    delete &own(stream);
  }

  Event create_event(int gpu, bool is_timed) override {
    use(gpu);
    auto made = std::make_unique<OwnEvent>(OwnEvent{nullptr, gpu});
    check(RUNTIME(cudaEventCreateWithFlags)(&made->event, is_timed ? cudaEventDefault : cudaEventDisableTiming),
          "cudaEventCreateWithFlags");
    return Event(reinterpret_cast<std::uintptr_t>(made.release()));
  }
  void destroy(Event event) noexcept override {
    turn_to(own(event).gpu);
    RUNTIME(cudaEventDestroy)(own(event).event);
    delete &own(event);
  }
  void record(Event event, Stream stream) override {
    use(own(stream).gpu);
    check(RUNTIME(cudaEventRecord)(own(event).event, own(stream).stream), "cudaEventRecord");
  }
  void wait(Stream stream, Event event) override {
    use(own(stream).gpu);
    check(RUNTIME(cudaStreamWaitEvent)(own(stream).stream, own(event).event, 0), "cudaStreamWaitEvent");
  }
  bool is_done(Event event) override {
    use(own(event).gpu);
    cudaError_t result = RUNTIME(cudaEventQuery)(own(event).event);
    if (result == cudaErrorNotReady) {
      RUNTIME(cudaGetLastError)();  // or a library takes it for its own
      return false;
    }
    check(result, "cudaEventQuery");
    return true;
  }
  void synchronize(Event event) override {
    use(own(event).gpu);
    check(RUNTIME(cudaEventSynchronize)(own(event).event), "cudaEventSynchronize");
  }
  double milliseconds_between(Event begin, Event end) override {
    float milliseconds = 0;
    check(RUNTIME(cudaEventElapsedTime)(&milliseconds, own(begin).event, own(end).event), "cudaEventElapsedTime");
    return milliseconds;
  }

  void set_word(std::byte* word, std::uint32_t value, Stream stream) override {
    if (load_library(driver_library()) == nullptr) return;
    use(own(stream).gpu);
    // Pinned memory has one address for the host and all GPUs. What fails here fails in the next call, too.
    SHARDLAB_CALL(driver_, cuStreamWriteValue32)
    (own(stream).stream, reinterpret_cast<CUdeviceptr>(word), value, CU_STREAM_WRITE_VALUE_DEFAULT);
  }

  std::byte* allocate(std::size_t bytes, Stream stream) override {
    use(own(stream).gpu);
    // Sizes are multiples of more than a word: kernels change narrow elements within the word that holds them.
    std::byte* data = pool_.allocate(
        bytes, own(stream).stream, [&](std::size_t size) { return driver_allocate(size, stream); }, driver_release(stream));
    if (data == nullptr)
      throw OutOfGpuMemory(
          fmt::format("GPU {} has no {} bytes left; cut the arrays over more devices, or donate arguments", own(stream).gpu, bytes));
    return data;
  }
  void release(std::byte* data, Stream stream) noexcept override {
    pool_.release(data, own(stream).stream, own(stream).free_bytes_max, driver_release(stream));
  }
  std::shared_ptr<const void> note_memory(std::span<std::byte* const> all, std::span<std::byte* const> taken, Stream stream) override {
    return pool_.note(all, taken, own(stream).stream);
  }
  bool take(const void* note) override { return pool_.take(*static_cast<const MemoryPool::Note*>(note)); }
  std::byte* allocate_pinned(std::size_t bytes) override {
    std::lock_guard lock(mutex_);
    auto kept = pinned_free_.lower_bound(bytes);
    if (kept != pinned_free_.end() && kept->first <= 2 * bytes) {
      std::byte* data = kept->second;
      pinned_kept_ -= kept->first;
      pinned_free_.erase(kept);
      return data;
    }
    use(std::max(home_.load(), 0));
    void* data = nullptr;
    auto* host_alloc = runtime_.find<cudaError_t(void**, std::size_t, unsigned)>("cudaHostAlloc");
    check(host_alloc(&data, bytes, cudaHostAllocPortable), "cudaHostAlloc");
    pinned_sizes_[static_cast<std::byte*>(data)] = bytes;
    return static_cast<std::byte*>(data);
  }
  // Pinning costs more than most copies: the memory is kept, up to a bound.
  void release_pinned(std::byte* data) noexcept override {
    constexpr std::size_t kKeptMax = std::size_t(1) << 30;
    std::lock_guard lock(mutex_);
    std::size_t bytes = pinned_sizes_[data];
    turn_to(std::max(home_.load(), 0));
    pinned_free_.emplace(bytes, data);
    pinned_kept_ += bytes;
    while (pinned_kept_ > kKeptMax && !pinned_free_.empty()) {
      auto largest = std::prev(pinned_free_.end());
      pinned_kept_ -= largest->first;
      RUNTIME(cudaFreeHost)(largest->second);
      pinned_sizes_.erase(largest->second);
      pinned_free_.erase(largest);
    }
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) override {
    use(own(stream).gpu);
    issue(CopyWork{to, from, bytes}, own(stream).stream);
  }
  void fill(std::byte* to, int byte, std::size_t bytes, Stream stream) override {
    use(own(stream).gpu);
    issue(FillWork{to, byte, bytes}, own(stream).stream);
  }

  // Libraries belong to no GPU: one is loaded once, for all.
  Kernel load(int gpu, const std::string& binary, const std::string& name) override {
    use(gpu);
    std::lock_guard lock(mutex_);
    cudaLibrary_t& library = libraries_[binary];
    if (library == nullptr)
      check(RUNTIME(cudaLibraryLoadData)(&library, binary.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), "cudaLibraryLoadData");
    cudaKernel_t kernel = nullptr;
    check(RUNTIME(cudaLibraryGetKernel)(&kernel, library, name.c_str()), "cudaLibraryGetKernel");
    // Has it loaded now, which otherwise its first launch does, where a capture may not.
    cudaFuncAttributes attributes;
    auto* get_attributes = runtime_.find<cudaError_t(cudaFuncAttributes*, const void*)>("cudaFuncGetAttributes");
    check(get_attributes(&attributes, reinterpret_cast<const void*>(kernel)), "cudaFuncGetAttributes");
    return Kernel(reinterpret_cast<std::uintptr_t>(kernel));
  }
  void launch(Kernel kernel, unsigned grid, unsigned block, bool has_barriers, std::span<const std::byte> arguments,
              Stream stream) override {
    use(own(stream).gpu);
    issue(KernelWork{kernel, grid, block, has_barriers, {arguments.begin(), arguments.end()}}, own(stream).stream);
  }
  bool has_product(int gpu, const MatrixProduct& product) override {
    use(gpu);
    return products_.has(gpu, product);
  }
  void multiply(int gpu, const MatrixProduct& product, Stream stream) override {
    use(gpu);
    products_.reserve(gpu, 1, [&](std::size_t bytes) { return allocate(bytes, stream); });
    products_.run(gpu, product, own(stream).stream, 0);
  }
  void transform(int gpu, const RowTransforms& transforms, Stream stream) override {
    use(gpu);
    transforms_.run(gpu, transforms, own(stream).stream, [&](std::size_t bytes) { return allocate(bytes, stream); });
  }

  bool has_sorts() override { return sorts_.is_there(); }
  std::size_t sort_room(int gpu, const PlaceSort& sort) override {
    use(gpu);
    std::size_t bytes = 0;
    check(sorts_.room(gpu, sort, bytes), "the room of a sort");
    return bytes;
  }
  void sort(const PlaceSort& sort, Stream stream) override {
    use(own(stream).gpu);
    issue(sort, own(stream).stream);
  }

  void begin_task(TaskWork, Stream) override {}  // calls of a stream are in order
  Graph make_graph(int gpu, std::span<const Work> work) override {
    auto made = std::make_unique<OwnGraph>(OwnGraph{nullptr, gpu, {}});
    cudaGraph_t graph = capture(gpu, work, made->held);
    auto* instantiate = runtime_.find<cudaError_t(cudaGraphExec_t*, cudaGraph_t, unsigned long long)>("cudaGraphInstantiate");
    cudaError_t result = instantiate(&made->executable, graph, 0);
    RUNTIME(cudaGraphDestroy)(graph);
    check_graph(result, "cudaGraphInstantiate");
    return Graph(reinterpret_cast<std::uintptr_t>(made.release()));
  }
  bool update(Graph graph, std::span<const Work> work) override {
    cudaGraph_t changed = nullptr;
    Held held;
    try {
      changed = capture(own(graph).gpu, work, held);
    } catch (const NoGraph&) { return false; }
    cudaGraphExecUpdateResultInfo info;
    cudaError_t result = RUNTIME(cudaGraphExecUpdate)(own(graph).executable, changed, &info);
    RUNTIME(cudaGraphDestroy)(changed);
    if (result != cudaSuccess) {  // the failure of the GPU itself comes up again where another graph is made
      RUNTIME(cudaGetLastError)();
      return false;
    }
    std::swap(own(graph).held, held);
    return true;
  }
  void launch(Graph graph, Stream stream) override {
    use(own(stream).gpu);
    check(RUNTIME(cudaGraphLaunch)(own(graph).executable, own(stream).stream), "cudaGraphLaunch");
  }
  void destroy(Graph graph) noexcept override {
    turn_to(own(graph).gpu);
    RUNTIME(cudaGraphExecDestroy)(own(graph).executable);
    delete &own(graph);
  }

  int nccl_version() override { return nccl_.version(); }
  std::string new_communicator_id() override { return nccl_.new_id(); }
  std::vector<Communicator> join(const std::string& id, std::span<const CommunicatorMember> own, int size) override {
    return nccl_.join(id, own, size, [&](int gpu) { use(gpu); });
  }
  bool is_ready(Communicator communicator) override { return nccl_.is_ready(communicator); }
  void group_start() override { nccl_.group_start(); }
  void group_end() override { nccl_.group_end(); }
  void send(const std::byte* data, std::size_t bytes, int to, Communicator communicator, Stream stream) override {
    nccl_.send(data, bytes, to, communicator, own(stream).stream);
  }
  void receive(std::byte* data, std::size_t bytes, int from, Communicator communicator, Stream stream) override {
    nccl_.receive(data, bytes, from, communicator, own(stream).stream);
  }
  void finish(Communicator communicator) override { nccl_.finish(communicator); }
  void destroy(Communicator communicator) noexcept override { nccl_.destroy(communicator); }
  void abort(Communicator communicator) noexcept override { nccl_.abort(communicator); }

  void push_range(const std::string& name) override { nvtxRangePushA(name.c_str()); }
  void pop_range() override { nvtxRangePop(); }

 private:
  // In the order of the stream's work.
  std::byte* driver_allocate(std::size_t bytes, Stream stream) {
    void* data = nullptr;
    auto* malloc_async = runtime_.find<cudaError_t(void**, std::size_t, cudaStream_t)>("cudaMallocAsync");
    cudaError_t result = malloc_async(&data, bytes, own(stream).stream);
    if (result == cudaErrorMemoryAllocation) {
      RUNTIME(cudaGetLastError)();  // or a library takes it for its own
      return nullptr;
    }
    check(result, "cudaMallocAsync");
    return static_cast<std::byte*>(data);
  }
  MemoryPool::Drop driver_release(Stream stream) {
    return [this, stream](std::byte* data) {
      turn_to(own(stream).gpu);
      runtime_.find<cudaError_t(void*, cudaStream_t)>("cudaFreeAsync")(data, own(stream).stream);
    };
  }

  // Calls of the runtime on a stream, which may be one that captures; the GPU is the thread's.
  void issue(const Work& work, cudaStream_t stream) {
    if (auto* kernel = std::get_if<KernelWork>(&work)) {
      void* parameter[] = {const_cast<std::byte*>(kernel->arguments.data())};
      auto* launch_kernel = runtime_.find<cudaError_t(const void*, dim3, dim3, void**, std::size_t, cudaStream_t)>("cudaLaunchKernel");
      check(launch_kernel(reinterpret_cast<const void*>(kernel->kernel), dim3{kernel->grid, kernel->instances, 1},
                          dim3{kernel->block, 1, 1}, parameter, 0, stream),
            "cudaLaunchKernel");
    } else if (auto* copy = std::get_if<CopyWork>(&work)) {
      check(RUNTIME(cudaMemcpyAsync)(copy->to, copy->from, copy->bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
    } else if (auto* fill = std::get_if<FillWork>(&work)) {
      check(RUNTIME(cudaMemsetAsync)(fill->to, fill->byte, fill->bytes, stream), "cudaMemsetAsync");
    } else if (auto* sort = std::get_if<PlaceSort>(&work)) {
      check(sorts_.run(*sort, stream), "a sort by CUB");
    } else if (auto* record = std::get_if<RecordWork>(&work)) {  // what the host asks for after the graph's launch, no mark within it
      check(RUNTIME(cudaEventRecordWithFlags)(own(record->event).event, stream, cudaEventRecordExternal), "cudaEventRecordWithFlags");
    }
  }

  // On a stream of its own, so that nothing else is captured.
  cudaGraph_t capture(int gpu, std::span<const Work> work, Held& held) {
    std::lock_guard lock(capture_mutex_);
    use(gpu);
    std::unique_ptr<GraphCapture>& capture = capturing_[gpu];
    if (capture == nullptr) capture = std::make_unique<GraphCapture>(runtime_);
    const std::vector<GraphTask> tasks = tasks_of(work);
    int rooms = 0;
    for (const GraphTask& task : tasks) rooms = std::max(rooms, task.product_room + 1);
    const std::byte* addresses = nullptr;
    try {
      // The first room is there since the library was used.
      if (rooms > 1) products_.reserve(gpu, rooms, [&](std::size_t bytes) { return allocate_for_good(bytes); });
      capture->open();
      addresses = upload_addresses(gpu, work, capture->stream(), held);
      capture->begin();
    } catch (const GpuError& error) { throw NoGraph(error.what()); }
    try {
      for (const GraphTask& task : tasks) {
        capture->begin_task(task.behind);
        for (std::size_t at : task.work) {
          if (auto* product = std::get_if<MatrixProduct>(&work[at])) {
            products_.run(gpu, *product, capture->stream(), task.product_room, addresses);
            addresses += address_bytes(*product);
          } else if (auto* rows = std::get_if<RowTransforms>(&work[at]))
            held.push_back(transforms_.capture(gpu, *rows, capture->stream()));
          else
            issue(work[at], capture->stream());
        }
        capture->end_task();
      }
      return capture->end(last_of(tasks));
    } catch (...) {
      capture->give_up();
      try {
        throw;
      } catch (const GpuError& error) { throw NoGraph(error.what()); }
    }
  }

  static std::size_t address_bytes(const MatrixProduct& product) {
    return product.others.empty() ? 0 : MatrixProducts::addresses_of(product).size() * sizeof(std::byte*);
  }
  // Of the products that are several, in the order of the work; there until the graph goes.
  const std::byte* upload_addresses(int gpu, std::span<const Work> work, cudaStream_t stream, Held& held) {
    std::vector<const std::byte*> all;
    for (const Work& each : work)
      if (auto* product = std::get_if<MatrixProduct>(&each); product != nullptr && !product->others.empty()) {
        const auto addresses = MatrixProducts::addresses_of(*product);
        all.insert(all.end(), addresses.begin(), addresses.end());
      }
    if (all.empty()) return nullptr;
    // Freed when all work of the GPU is done: an earlier launch may still read it.
    std::shared_ptr<std::byte> there(allocate_for_good(all.size() * sizeof(std::byte*)), [this, gpu](std::byte* data) {
      turn_to(gpu);
      RUNTIME(cudaFree)(data);
    });
    const std::size_t bytes = all.size() * sizeof(std::byte*);
    {
      Pinned pinned(*this, bytes);
      std::memcpy(pinned.data(), all.data(), bytes);
      use(gpu);
      check(RUNTIME(cudaMemcpyAsync)(there.get(), pinned.data(), bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
      check(RUNTIME(cudaStreamSynchronize)(stream), "cudaStreamSynchronize");
    }
    use(gpu);  // pinned memory comes and goes on the first GPU that was used
    held.push_back(there);
    return there.get();
  }

  // Not of a stream's: it may be used at once, by any.
  std::byte* allocate_for_good(std::size_t bytes) {
    void* data = nullptr;
    check(runtime_.find<cudaError_t(void**, std::size_t)>("cudaMalloc")(&data, bytes), "cudaMalloc");
    return static_cast<std::byte*>(data);
  }

  // Copies between GPUs that can reach each other then need no stop in the host's memory.
  void open_to_peers(cudaMemPool_t pool, int gpu) {
    int count = gpu_count();
    for (int peer = 0; peer < count; ++peer) {
      int reaches = 0;
      if (peer != gpu) check(RUNTIME(cudaDeviceCanAccessPeer)(&reaches, peer, gpu), "cudaDeviceCanAccessPeer");
      if (reaches == 0) continue;
      cudaMemAccessDesc access{};
      access.location.type = cudaMemLocationTypeDevice;
      access.location.id = peer;
      access.flags = cudaMemAccessFlagsProtReadWrite;
      check(RUNTIME(cudaMemPoolSetAccess)(pool, &access, 1), "cudaMemPoolSetAccess");
    }
  }
  void check(cudaError_t result, const char* what) {
    if (result == cudaSuccess) return;
    RUNTIME(cudaGetLastError)();  // what is not sticky is over with this report
    throw GpuError(fmt::format("{}: {} ({})", what, RUNTIME(cudaGetErrorString)(result), RUNTIME(cudaGetErrorName)(result)));
  }
  // A failure of the GPU itself comes up again in the calls that follow.
  void check_graph(cudaError_t result, const char* what) {
    try {
      check(result, what);
    } catch (const GpuError& error) { throw NoGraph(error.what()); }
  }
  // Calls of the runtime by a thread that has chosen no GPU begin a context on GPU 0, which may be another process's.
  void turn_to(int gpu) noexcept { RUNTIME(cudaSetDevice)(gpu); }
  void use(int gpu) { check(RUNTIME(cudaSetDevice)(gpu), "cudaSetDevice"); }

  Library driver_, runtime_;
  MemoryPool pool_;
  MatrixProducts products_;
  FourierPlans transforms_;
  PlaceSorts sorts_;
  NcclCalls nccl_;
  std::mutex mutex_, capture_mutex_;
  std::atomic<int> home_ = -1;                              // the first GPU that is used: of what belongs to none
  std::map<int, std::unique_ptr<GraphCapture>> capturing_;  // by GPU
  std::map<std::string, cudaLibrary_t> libraries_;
  std::multimap<std::size_t, std::byte*> pinned_free_;
  std::map<std::byte*, std::size_t> pinned_sizes_;
  std::size_t pinned_kept_ = 0;
};

}  // namespace

std::shared_ptr<GpuApi> cuda_api() { return std::make_shared<CudaApi>(); }

}  // namespace shardlab::cuda
