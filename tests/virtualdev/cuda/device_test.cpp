// On a real GPU: every sample of every primitive, and whole programs on eight virtual devices of it, against the CPU. Skipped where there
// is none, which says what is missing.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <numeric>
#include <thread>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/context.h"
#include "runtime/exec/control_flow.h"
#include "runtime/exec/fft.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/random.h"
#include "runtime/exec/shard_map.h"
#include "tests/ops/evaluate.h"
#include "tests/virtualdev/cuda/cases.h"
#include "virtualdev/cuda/cuda_backend.h"
#include "virtualdev/cuda/presence.h"

namespace shardlab {
namespace {

using namespace testing_ops;

class OnAGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string missing = cuda::missing_text(cuda::look_for_cuda());
    if (missing.empty()) return;
    std::printf("skipped: no GPU: %s\n", missing.c_str());
    GTEST_SKIP() << "no GPU: " << missing;
  }
};

// Wider than for the same text on the CPU: the libraries and the GPU's own functions round in their way.
double tolerance_of(DType dtype) {
  DType real = real_dtype(dtype);
  return real == DType::kFloat64 ? 1e-10 : 1e-4;
}

// Compiling takes longer than all that is computed: on every core, some kernels a program.
void prepare(cuda::KernelStore& kernels, const std::vector<cuda::KernelText>& texts) {
  constexpr std::size_t kTogether = 16;
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < std::max(std::thread::hardware_concurrency(), 1u); ++t)
    threads.emplace_back([&] {
      for (std::size_t first; (first = next.fetch_add(kTogether)) < texts.size();) {
        auto begin = texts.begin() + std::ptrdiff_t(first);
        kernels.prepare(0, {begin, begin + std::ptrdiff_t(std::min(kTogether, texts.size() - first))});
      }
    });
}

TEST_F(OnAGpu, EverySampleIsWhatTheCpuComputes) {
  std::shared_ptr<cuda::GpuApi> api = cuda::cuda_api();
  cuda::KernelStore kernels(api, cuda::nvrtc_compiler(), cuda::KernelStore::default_folder());
  cuda::PlanRunner runner(*api, kernels);
  auto gpu = std::make_shared<cuda::Gpu>(api, 0);
  const std::vector<testing::Case> cases = testing::all_cases();
  prepare(kernels, testing::kernels_of(cases));
  for (const testing::Case& c : cases) {
    std::mt19937 random(7);
    std::vector<Tensor> operands;
    for (std::size_t i = 0; i < c.sample.operands.size(); ++i)
      operands.push_back(random_tensor({c.sample.operands[i].dtype, shape_of(c.operand_boxes[i])}, random));
    auto wanted = run_part(*c.op, c.sample.operands, operands, c.operand_boxes, c.results, c.result_boxes, c.sample.attrs);
    std::vector<std::shared_ptr<Buffer>> there;
    std::vector<std::byte*> buffers;
    for (const Tensor& operand : operands) {
      there.push_back(cuda::allocate_on(gpu, operand.data->size()));
      cuda::upload_to(*api, operand.data->bytes(), cuda::block_of(*there.back()));
    }
    for (const Tensor& each : wanted) there.push_back(cuda::allocate_on(gpu, each.data->size()));
    for (const auto& buffer : there) buffers.push_back(cuda::block_of(*buffer).data);
    try {
      runner.run(c.plan, gpu, buffers);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        auto result = std::make_shared<Buffer>(wanted[i].data->size());
        if (result->size() > 0) {
          cuda::Pinned pinned(*api, result->size());
          api->copy(pinned.data(), buffers[operands.size() + i], result->size(), gpu->stream);
          api->synchronize(cuda::Mark(*api, 0, gpu->stream).event());
          std::copy_n(pinned.data(), result->size(), result->data());
        }
        expect_near({wanted[i].type, result}, wanted[i], tolerance_of(wanted[i].type.dtype), c.what);
      }
    } catch (const std::exception& error) { ADD_FAILURE() << c.what << ": " << error.what(); }
    if (::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count() > 60) return;
  }
}

// A function of an array of floats, on eight virtual devices of the GPU and on eight CPU devices; often enough that graphs are launched.
class ProgramsOnAGpu : public OnAGpu {
 protected:
  void SetUp() override {
    OnAGpu::SetUp();
    if (IsSkipped()) return;
    ContextOptions options;
    options.devices_per_process = {8};
    options.cpu_devices = 8;
    options.make_backend = [&](const std::vector<int>& ordinals) {
      return backend_ = std::make_shared<cuda::CudaBackend>(
                 cuda::cuda_api(), cuda::nvrtc_compiler(),
                 cuda::CudaOptions{.ordinals = ordinals, .devices_per_gpu = 8, .kernel_folder = cuda::KernelStore::default_folder()});
    };
    Context::set_current(std::make_shared<Context>(std::move(options)));
  }
  void TearDown() override { Context::set_current(nullptr); }

  template <typename F>
  void expect_alike(F f, const Shape& shape, PartitionSpec spec, double tolerance = 1e-3) {
    std::vector<Buffer> results;
    for (int first : {0, 8}) {
      std::vector<int> ordinals(8);
      std::iota(ordinals.begin(), ordinals.end(), first);
      Array x = device_put(sin(arange(double(element_count(shape)))).reshape(shape), Sharding(Mesh({4, 2}, {"a", "b"}, ordinals), spec));
      Array y = f(x);
      for (int again = 0; again < 3; ++again) y = f(x);
      results.push_back(y.fetch());
    }
    ASSERT_EQ(results[0].size(), results[1].size());
    for (std::size_t i = 0; i < results[0].size() / 4; ++i)
      ASSERT_NEAR(results[0].as<float>()[i], results[1].as<float>()[i], tolerance) << "element " << i;
  }
  std::shared_ptr<cuda::CudaBackend> backend_;
};

TEST_F(ProgramsOnAGpu, ComputeWhatCpuDevicesCompute) {
  expect_alike(jit([](const Array& x) { return softmax(matmul(x, transpose(x))) + sum(exp(x)); }), {64, 96}, P("a", "b"));
  expect_alike(jit([](const Array& x) { return sort(x * 3.0 + cumsum(x, {0})); }), {40, 56}, P("a", "b"));
  expect_alike(jit([](const Array& x) { return abs(fft::fft(x)); }), {16, 30}, P("a", nullptr));
  expect_alike(jit([](const Array& x) { return x + random::normal(random::key(3), x.shape()); }), {33, 7}, P(nullptr, "b"));
  expect_alike(jit([](const Array& x) {
                 return while_loop([](const Array& v) { return sum(v * v) < 4000.0; }, [](const Array& v) { return v * 1.25 + 0.1; }, x);
               }),
               {16, 8}, P("a", "b"));
  EXPECT_GT(backend_->graph_counts().by_graph, 0);
}

// In both types, as the library does it or a kernel behind it.
TEST_F(ProgramsOnAGpu, ProductsWithWhatFollowsThem) {
  for (DType dtype : {float32, bfloat16}) {
    auto layer = [dtype](auto activation) {
      return jit([dtype, activation](const Array& x) {
        const Array v = astype(x, dtype);
        return astype(activation(matmul(v, transpose(v)) * 0.125 + sum(v, -1)), float32);
      });
    };
    const double tolerance = dtype == float32 ? 1e-3 : 0.1;
    expect_alike(layer([](const Array& y) { return y; }), {64, 96}, P("a", nullptr), tolerance);
    expect_alike(layer([](const Array& y) { return relu(y); }), {64, 96}, P("a", nullptr), tolerance);
    expect_alike(layer([](const Array& y) { return gelu(y); }), {64, 96}, P("a", nullptr), tolerance);
  }
}

TEST_F(ProgramsOnAGpu, DevicesOfOneGpuMoveWhatCpuDevicesMove) {
  expect_alike(
      [](const Array& x) {
        return shard_map([](const Array& v) { return psum(v, {"a"}) + pmax(v, {"a"}); },
                         {.mesh = x.sharding().mesh(), .in_specs = {P("a", "b")}, .out_specs = {P(nullptr, "b")}})(x);
      },
      {16, 8}, P("a", "b"));
  expect_alike([](const Array& x) { return device_put(x, Sharding(x.sharding().mesh(), P("b", "a"))) + 1.0; }, {24, 16}, P("a", "b"));
}

}  // namespace
}  // namespace shardlab
