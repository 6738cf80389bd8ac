// Whole programs on the GPU backend over the stand-in: what they compute equals the CPU's, and no call breaks a rule of order, lifetime or
// arguments. Nothing here has run on a GPU.
#include "virtualdev/cuda/cuda_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/autodiff.h"
#include "runtime/exec/context.h"
#include "runtime/exec/control_flow.h"
#include "runtime/exec/device_mesh.h"
#include "runtime/exec/fft.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/random.h"
#include "runtime/exec/shard_map.h"
#include "tests/virtualdev/cuda/recording_gpu.h"

namespace shardlab {
namespace {

using ::testing::HasSubstr;
using testing::RecordingCompiler;
using testing::RecordingGpu;

// A context of eight devices on `gpus` GPUs of the stand-in.
class GpuPrograms : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    gpu_ = std::make_shared<RecordingGpu>(GetParam());
    compiler_ = std::make_shared<RecordingCompiler>();
    ContextOptions options;
    options.devices_per_process = {8};
    options.cpu_devices = 8;
    options.make_backend = [&](const std::vector<int>& ordinals) {
      return std::make_shared<cuda::CudaBackend>(
          gpu_, compiler_, cuda::CudaOptions{.ordinals = ordinals, .devices_per_gpu = 8 / GetParam(), .kernel_folder = ""});
    };
    Context::set_current(std::make_shared<Context>(std::move(options)));
  }
  void TearDown() override {
    Context::set_current(nullptr);
    EXPECT_THAT(gpu_->faults(), ::testing::IsEmpty());
    EXPECT_EQ(gpu_->bytes_allocated(), 0u) << "memory is left";
  }

  // A function of an array, on eight GPU devices and on eight CPU devices of the same context.
  template <typename F>
  void expect_alike(F f, const Shape& shape, PartitionSpec spec) {
    std::vector<Buffer> results;
    std::vector<std::vector<int>> ordinals{{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}};
    std::vector<std::string> shardings;
    for (int side : {0, 1}) {
      Mesh mesh({4, 2}, {"a", "b"}, ordinals[std::size_t(side)]);
      Array x = device_put(sin(arange(double(element_count(shape)))).reshape(shape), Sharding(mesh, spec));
      Array y = f(x);
      shardings.push_back(text_of(y.sharding().spec(y.ndim()), mesh));
      results.push_back(y.fetch());
    }
    EXPECT_EQ(shardings[0], shardings[1]);
    ASSERT_EQ(results[0].size(), results[1].size());
    for (std::size_t i = 0; i < results[0].size() / 4; ++i)
      ASSERT_NEAR(results[0].as<float>()[i], results[1].as<float>()[i], 2e-6 * (1 + std::fabs(results[1].as<float>()[i])))
          << "element " << i;
  }

  std::shared_ptr<RecordingGpu> gpu_;
  std::shared_ptr<RecordingCompiler> compiler_;
};

TEST_P(GpuPrograms, DevicesSayWhatTheyAre) {
  EXPECT_EQ(devices().size(), 8u);
  EXPECT_EQ(devices()[0].platform, "gpu");
  EXPECT_EQ(devices()[0].kind, "Stand-in GPU");
  EXPECT_EQ(devices()[3].text(), "CudaDevice(id=3)");
  EXPECT_EQ(devices("cuda").size(), 8u);
  EXPECT_EQ(devices("gpu").size(), 8u);
  EXPECT_EQ(devices("cpu").size(), 8u);
  EXPECT_EQ(devices("cpu")[2].text(), "CpuDevice(id=2)");
}

TEST_P(GpuPrograms, ComputeWhatCpuDevicesCompute) {
  expect_alike([](const Array& x) { return sum(sin(x)); }, {8, 6}, P("a", "b"));
  expect_alike([](const Array& x) { return jit([](const Array& y) { return exp(y) * 2.0 + y; })(x); }, {8, 6}, P("a", "b"));
  expect_alike([](const Array& x) { return matmul(x, transpose(x)); }, {8, 6}, P("a", "b"));
  expect_alike([](const Array& x) { return softmax(x); }, {6, 8}, P(nullptr, "a"));
}

// Reductions along rows inside fused steps: short rows are one thread's, longer ones a block's.
TEST_P(GpuPrograms, FusedRows) {
  auto normalised = jit([](const Array& x) {
    Array shifted = x - mean(x, {.axis = -1, .keepdims = true});
    return shifted / sqrt(mean(shifted * shifted, {.axis = -1, .keepdims = true}) + 1e-3);
  });
  auto softened = jit([](const Array& x) { return softmax(gelu(x) * 2.0); });
  auto totals = jit([](const Array& x) { return sum(exp(x), -1) + max(x * 3.0, -1); });
  auto halves = jit([](const Array& x) { return astype(softmax(astype(x, bfloat16)), float32); });
  for (const Shape& shape : std::vector<Shape>{{8, 6}, {8, 1}, {3, 5, 70}, {2, 1000}, {0, 4}})
    for (const PartitionSpec& spec : std::vector<P>{P(), shape[0] == 8 ? P(std::vector<std::string>{"a", "b"}) : P()}) {
      expect_alike(normalised, shape, spec);
      expect_alike(softened, shape, spec);
      expect_alike(totals, shape, spec);
      expect_alike(halves, shape, spec);
    }
}

// Along the first dimensions, of what the step makes: columns in tiles, whole packs or one by one, in one part or several, also of nothing.
TEST_P(GpuPrograms, FusedColumns) {
  auto together = jit([](const Array& x) {
    const Array y = x * cos(x);
    return y + sum(y, 0) * 0.1 + max(y, 0);
  });
  auto alone = jit([](const Array& x) { return sum(x * x + 1.0, AxisList{0, 1}); });
  auto halves = jit([](const Array& x) { return astype(sum(astype(x, bfloat16) * 2.0, 0), float32); });
  for (const Shape& shape : std::vector<Shape>{{40, 96}, {8, 70}, {1, 64}, {0, 64}, {16, 1030}})
    for (const PartitionSpec& spec : std::vector<P>{P(), shape[0] % 8 == 0 ? P(std::vector<std::string>{"a", "b"}) : P()}) {
      if (shape[0] > 0) expect_alike(together, shape, spec);  // there is no largest of none
      expect_alike(halves, shape, spec);
    }
  expect_alike(alone, {6, 8, 128}, P(nullptr, "a", "b"));
  expect_alike(alone, {600, 2, 64}, P());
}

// Gradients of relu: their factors are computed where they are read, of what stayed for the product.
TEST_P(GpuPrograms, FactorsComputedAtTheirUse) {
  auto step = jit([](const Array& x) {
    auto loss = [](const Array& w) {
      const Array hidden = maximum(matmul(w, transpose(w)) - 0.5, 0.0), next = maximum(matmul(hidden, w), 0.25);
      return sum(matmul(next, hidden)) + mean(clip(hidden, 0.1, 0.9));
    };
    return grad(loss)(x);
  });
  for (const PartitionSpec& spec : {P(), P("a", "b"), P(nullptr, "a")}) expect_alike(step, {8, 8}, spec);
}

// What makes one element is left for later, and does not part what is around it.
TEST_P(GpuPrograms, ScalarsBetweenFusedSteps) {
  auto between = jit([](const Array& x) {
    const Array y = sin(x), total = sum(y), rest = softmax(y * 2.0);
    return rest + (-total / 8.0) * 0.5 + sum(rest);
  });
  for (const PartitionSpec& spec : {P(), P("a", "b"), P("b")}) expect_alike(between, {8, 6}, spec);
}

TEST_P(GpuPrograms, MoveBetweenCpuAndGpuMeshes) {
  Mesh gpus({8}, {"a"}, {0, 1, 2, 3, 4, 5, 6, 7}), cpus({4}, {"b"}, {8, 9, 10, 11});
  Array x = device_put(arange(24.0).reshape({8, 3}), Sharding(cpus, P("b")));
  Array there = device_put(x, Sharding(gpus, P("a")));
  Array back = device_put(there + 1.0, Sharding(cpus, P(nullptr)));
  EXPECT_EQ(back.text(), (arange(24.0).reshape({8, 3}) + 1.0).text());
}

TEST_P(GpuPrograms, UncommittedArraysGoWhereTheOthersAre) {
  Mesh cpus({4}, {"b"}, {8, 9, 10, 11});
  Array x = device_put(arange(8.0), Sharding(cpus, P("b")));
  EXPECT_EQ((x + arange(8.0)).text(), (arange(8.0) * 2.0).text());
}

TEST_P(GpuPrograms, ReplicasShareMemory) {
  Mesh mesh({8}, {"a"}, {0, 1, 2, 3, 4, 5, 6, 7});
  std::size_t before = gpu_->bytes_allocated();
  Array x = device_put(zeros({1024}), Sharding(mesh, P(nullptr)));
  x.block_until_ready();
  EXPECT_LE(gpu_->bytes_allocated() - before, std::size_t(GetParam() + 2) * 4096);
}

TEST_P(GpuPrograms, AFailureIsThatOfItsStep) {
  Array x = exp(arange(8.0));
  gpu_->fail_next("synchronize");
  try {
    x.fetch();
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("illegal memory access"));
    EXPECT_THAT(error.what(), HasSubstr("the first step that did not end is exp at"));
  }
  gpu_->forget_faults();  // after a failure memory is let go whatever the GPU does
}

// A GPU that failed answers nothing any more, what had ended before is known by the words that steps set.
TEST_P(GpuPrograms, AFailureForGoodIsThatOfTheStepThatFailed) {
  for (int steps_back : {1, 2}) {
    if (steps_back == 2) {
      TearDown();
      SetUp();
    }
    Array x = sin(tanh(exp(arange(8.0))));
    gpu_->break_down(steps_back * GetParam());
    try {
      x.fetch();
      FAIL();
    } catch (const std::exception& error) {
      EXPECT_THAT(error.what(),
                  HasSubstr(steps_back == 1 ? "the first step that did not end is sin at" : "the first step that did not end is tanh at"));
    }
    gpu_->forget_faults();
  }
}

TEST_P(GpuPrograms, MeshesOfTwoPlatformsAreRefused) {
  Mesh mesh({2}, {"a"}, {0, 8});
  try {
    device_put(arange(8.0), Sharding(mesh, P("a"))).block_until_ready();
    FAIL();
  } catch (const UserError& error) { EXPECT_THAT(error.what(), HasSubstr("devices of one platform")); }
}

INSTANTIATE_TEST_SUITE_P(OnGpus, GpuPrograms, ::testing::Values(1, 2));

}  // namespace
}  // namespace shardlab
