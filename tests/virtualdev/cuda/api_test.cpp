// The real API's code over libraries that stand in for CUDA's (libraries/stand_in.h): whole programs compute what CPU devices compute, and
// no call breaks what the libraries demand. Nothing here has run on a GPU.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "benchmarks/gpu_kernels/time_kernels.h"
#include "runtime/ops/fft_rows.h"
#include "tests/virtualdev/cuda/gpu_job.h"
#include "tests/virtualdev/cuda/host_kernels.h"
#include "tests/virtualdev/cuda/libraries/stand_in.h"
#include "tests/virtualdev/cuda/programs.h"
#include "virtualdev/cuda/fourier_plans.h"
#include "virtualdev/cuda/presence.h"

namespace shardlab {
namespace {

using ::testing::IsEmpty;
using testing::libraries::KernelRunner;
using testing::libraries::World;

// Kernels' code is their lines, which are compiled as C++.
class HostRunner final : public KernelRunner {
 public:
  std::size_t find(std::string_view code, const std::string& kernel) override {
    std::lock_guard lock(mutex_);
    const std::vector<cuda::KernelText> kernels = testing::kernels_in(std::string(code));
    host_.compile(kernels);
    for (const cuda::KernelText& each : kernels) texts_[each.name()] = each;
    auto found = texts_.find(kernel);
    return found == texts_.end() ? 0 : std::size_t(found->second.instances * (found->second.buffers + found->second.numbers)) * 8;
  }
  // Fewer blocks and threads do the same work.
  void launch(const std::string& kernel, const void* parameter, unsigned grid, unsigned instances, unsigned) override {
    std::lock_guard lock(mutex_);
    const cuda::KernelText& text = texts_.at(kernel);
    const std::size_t one = std::size_t(text.buffers + text.numbers) * 8;
    for (unsigned i = 0; i < instances; ++i)
      host_.launch(text, static_cast<const std::byte*>(parameter) + i * one, std::min(grid, 3u), 16, true);
  }

 private:
  std::mutex mutex_;
  testing::HostKernels host_;
  std::map<std::string, cuda::KernelText> texts_;
};

class LinesCompiler final : public cuda::KernelCompiler {
 public:
  std::string version() const override { return "lines"; }
  std::string compile(const std::string& text, int) override {
    std::string lines;
    for (std::size_t at = text.find("\nKERNEL "); at != std::string::npos; at = text.find("\nKERNEL ", at + 1))
      lines += text.substr(at, text.find('\n', at + 1) - at);
    return lines + "\n";
  }
};

// Under ctest the stand-ins' folder is the first that is looked in.
World* stand_in() {
  void* library = cuda::load_library(cuda::runtime_library());
  void* found = library == nullptr ? nullptr : ::dlsym(library, "shardlab_stand_in");
  return found == nullptr ? nullptr : reinterpret_cast<World* (*)()>(found)();
}

class Api : public ::testing::Test {
 protected:
  // What a library finds that looks whether its own call failed.
  static cudaError_t last_error() {
    return reinterpret_cast<cudaError_t (*)()>(::dlsym(cuda::load_library(cuda::runtime_library()), "cudaGetLastError"))();
  }
  void SetUp() override {
    world_ = stand_in();
    if (world_ == nullptr) GTEST_SKIP() << "the libraries are not the stand-ins: run it by ctest";
    static HostRunner runner;
    world_->runner = &runner;
    world_->reset();
  }
  void TearDown() override {
    if (world_ == nullptr) return;
    EXPECT_THAT(world_->faults, IsEmpty());
    // A process may make one context after another: what one took goes with it.
    EXPECT_EQ(world_->memory.size() + world_->pinned.size(), 0u) << "memory is left";
    EXPECT_EQ(world_->streams.size() + world_->events.size() + world_->graphs.size() + world_->executables.size(), 0u);
    EXPECT_EQ(world_->calls["cufftCreate"], world_->calls["cufftDestroy"]);
    EXPECT_EQ(world_->calls["cublasLtCreate"], world_->calls["cublasLtDestroy"]);
    EXPECT_EQ(world_->calls["cudaLibraryLoadData"], world_->calls["cudaLibraryUnload"]);
  }
  World* world_ = nullptr;
};

// What belongs to no stream is asked for by threads that have chosen no GPU.
TEST_F(Api, NoThreadBeginsAContextOnAGpuThatIsNotItsOwn) {
  auto api = cuda::cuda_api();
  auto gpu = std::make_unique<cuda::Gpu>(api, 1);
  cuda::Event event = api->create_event(1, false);
  api->record(event, gpu->stream);
  std::byte* data = api->allocate(100, gpu->stream);
  std::jthread([&] {
    std::byte* pinned = api->allocate_pinned(std::size_t(2) << 30);
    api->release_pinned(pinned);
  });
  std::jthread([&] { EXPECT_TRUE(api->is_done(event)); });
  std::jthread([&] { api->synchronize(event); });
  std::jthread([&] { api->release(data, gpu->stream); });
  std::jthread([&] { api->destroy(event); });
}

TEST_F(Api, PinnedMemoryServesAgain) {
  auto api = cuda::cuda_api();
  cuda::Gpu gpu(api, 0);
  for (int round = 0; round < 20; ++round) {
    std::byte* one = api->allocate_pinned(std::size_t(400) << 20);
    std::byte* other = api->allocate_pinned(1000);
    api->release_pinned(one);
    api->release_pinned(other);
  }
  EXPECT_EQ(world_->calls["cudaHostAlloc"], 2) << "what is kept is counted once";
  EXPECT_EQ(world_->calls["cudaFreeHost"], 0);
}

TEST_F(Api, MemoryIsOutWithoutATrace) {
  auto api = cuda::cuda_api();
  cuda::Gpu gpu(api, 0);
  world_->device_bytes_max = world_->device_bytes + 1000;
  EXPECT_THROW(api->allocate(2000, gpu.stream), cuda::OutOfGpuMemory);
  EXPECT_EQ(last_error(), cudaSuccess) << "a library would take it for its own";
}

TEST_F(Api, AnEventThatIsNotDoneIsNoError) {
  auto api = cuda::cuda_api();
  cuda::Gpu gpu(api, 0);
  cuda::Event event = api->create_event(0, false);
  api->record(event, gpu.stream);
  world_->looks_too_early = 1;
  EXPECT_FALSE(api->is_done(event));
  EXPECT_EQ(last_error(), cudaSuccess) << "a library would take it for its own";
  EXPECT_TRUE(api->is_done(event));
  api->destroy(event);
}

// Kernels change narrow elements within the word that holds them.
TEST_F(Api, AllocationsAreWholeWords) {
  auto api = cuda::cuda_api();
  cuda::Gpu gpu(api, 0);
  std::byte* data = api->allocate(6, gpu.stream);
  EXPECT_EQ(world_->memory.at(data) % 4, 0u);
  api->release(data, gpu.stream);
}

TEST_F(Api, AWordTellsHowFarAStreamCame) {
  auto api = cuda::cuda_api();
  cuda::Gpu gpu(api, 1);
  std::byte* word = api->allocate_pinned(4);
  api->set_word(word, 77, gpu.stream);
  EXPECT_EQ(*reinterpret_cast<std::uint32_t*>(word), 77u);
  EXPECT_EQ(world_->calls["cuStreamWriteValue32"], 1);
  api->release_pinned(word);
}

// The library makes its room when it is first used, which a capture must not be.
TEST_F(Api, ACaptureThatCannotBeIsEndedAndTheNextOneIsMade) {
  auto api = cuda::cuda_api();
  cuda::Gpu gpu(api, 0);
  std::byte* data = api->allocate(3 * 64, gpu.stream);
  api->fill(data, 0, 3 * 64, gpu.stream);
  const cuda::MatrixProduct product{DType::kFloat32, 1, 4, 4, 4, 16, 4, 1, 16, 4, 1, data, data + 64, data + 128};
  const cuda::Work early[] = {product};
  EXPECT_THROW(api->make_graph(0, early), cuda::NoGraph);
  const cuda::Work fill[] = {cuda::FillWork{data, 7, 64}};
  cuda::Graph graph = api->make_graph(0, fill);
  EXPECT_EQ(data[0], std::byte(0)) << "a graph does nothing before it is launched";
  api->launch(graph, gpu.stream);
  EXPECT_EQ(data[63], std::byte(7));
  EXPECT_FALSE(api->update(graph, early));
  const cuda::Work other[] = {cuda::FillWork{data, 9, 64}};
  world_->update_error = cudaErrorNotSupported;
  EXPECT_FALSE(api->update(graph, other)) << "for whatever reason";
  EXPECT_EQ(last_error(), cudaSuccess);
  EXPECT_TRUE(api->update(graph, other));
  api->launch(graph, gpu.stream);
  EXPECT_EQ(data[63], std::byte(9));
  api->destroy(graph);
  api->release(data, gpu.stream);
}

// Each plan holds tables in the GPU's memory: those that are long unused go, but for those of graphs.
TEST_F(Api, PlansOfTransformsAreBounded) {
  constexpr int kMax = int(cuda::FourierPlans::kPlansMax);
  auto api = cuda::cuda_api();
  cuda::Gpu gpu(api, 0);
  std::byte* data = api->allocate(64 * 1024, gpu.stream);
  api->fill(data, 0, 64 * 1024, gpu.stream);
  auto rows_of = [&](std::int64_t length) {
    return cuda::RowTransforms{int(ops::FftKind::kForward), false, length, 2, data, data + 32 * 1024};
  };
  const cuda::Work first[] = {rows_of(5)};
  EXPECT_THROW(api->make_graph(0, first), cuda::NoGraph) << "a plan is not made within a capture";
  api->transform(0, rows_of(5), gpu.stream);
  cuda::Graph graph = api->make_graph(0, first);
  for (int length = 6; length < 6 + 2 * kMax; ++length) api->transform(0, rows_of(length), gpu.stream);
  EXPECT_EQ(world_->calls["cufftCreate"] - world_->calls["cufftDestroy"], kMax + 1);
  api->launch(graph, gpu.stream);
  api->destroy(graph);
  EXPECT_EQ(world_->calls["cufftCreate"] - world_->calls["cufftDestroy"], kMax);
  int made = world_->calls["cufftCreate"];
  api->transform(0, rows_of(6 + 2 * kMax - 1), gpu.stream);
  EXPECT_EQ(world_->calls["cufftCreate"], made) << "what was used last is there";
  api->release(data, gpu.stream);
}

// As the members of two GPUs of one process.
TEST_F(Api, MessagesOfNccl) {
  auto api = cuda::cuda_api();
  std::vector<std::unique_ptr<cuda::Gpu>> gpus;
  std::vector<std::byte*> data;
  for (int g : {0, 1}) {
    gpus.push_back(std::make_unique<cuda::Gpu>(api, g));
    data.push_back(api->allocate(16, gpus.back()->stream));
    api->fill(data.back(), g + 1, 16, gpus.back()->stream);
  }
  EXPECT_GE(api->nccl_version(), cuda::Communicators::kVersionMin);
  const cuda::CommunicatorMember members[] = {{0, 0}, {1, 1}};
  auto communicators = api->join(api->new_communicator_id(), members, 2);
  auto await = [&] {
    for (cuda::Communicator each : communicators)
      while (!api->is_ready(each)) {}
  };
  await();
  api->group_start();
  api->send(data[0], 16, 1, communicators[0], gpus[0]->stream);
  api->receive(data[1], 16, 0, communicators[1], gpus[1]->stream);
  api->group_end();
  await();
  EXPECT_EQ(data[1][15], std::byte(1));
  for (cuda::Communicator each : communicators) api->finish(each);
  await();
  for (cuda::Communicator each : communicators) api->destroy(each);
  for (int g : {0, 1}) api->release(data[std::size_t(g)], gpus[std::size_t(g)]->stream);
}

// What benchmarks/gpu_kernels measures, small.
TEST_F(Api, TheKernelsThatAreMeasured) {
  const std::vector<benchmark::KernelTime> times = benchmark::time_kernels(cuda::cuda_api(), std::make_shared<LinesCompiler>(), "", 32, 1);
  EXPECT_GT(times.size(), 30u);
  for (const benchmark::KernelTime& each : times) EXPECT_GT(each.milliseconds, 0) << each.name;
}

// Eight devices on two GPUs.
class ProgramsOfTheApi : public Api {
 protected:
  void SetUp() override {
    Api::SetUp();
    if (!IsSkipped()) programs_.emplace(cuda::cuda_api, std::make_shared<LinesCompiler>(), 4, "");
  }
  void TearDown() override {
    programs_.reset();
    Api::TearDown();
  }
  std::optional<testing::ProgramsBesideCpu> programs_;
};

TEST_F(ProgramsOfTheApi, Families) { programs_->families(); }
TEST_F(ProgramsOfTheApi, Products) { programs_->products(); }
TEST_F(ProgramsOfTheApi, ProductsWithWhatFollowsThem) { programs_->products_with_what_follows(); }
TEST_F(ProgramsOfTheApi, Transforms) { programs_->transforms(); }
TEST_F(ProgramsOfTheApi, Sorts) {
  programs_->sorts();
  EXPECT_GT(world_->calls["sort"], 0);
}
TEST_F(ProgramsOfTheApi, Moves) { programs_->moves(); }

// Four processes as threads, each with an API of its own, that share a GPU: one goes round a loop less often, or none does.
TEST_F(Api, OfProcessesThatShareAGpu) {
  auto compiler = std::make_shared<LinesCompiler>();
  for (bool differs : {true, false}) {
    testing::GpuJob job{.devices_per_process = {2, 2, 2, 2}, .devices_per_gpu = 2, .shares_gpus = true};
    job.compiler = compiler;
    job.api = cuda::cuda_api;
    const auto ends = testing::run_job(job, [&](int p, const cuda::CudaBackend*) { testing::nested_loops(p == 2 && differs); });
    EXPECT_THAT(ends, ::testing::Each(std::string(differs ? "input-divergence" : "")));
  }
}

}  // namespace
}  // namespace shardlab
