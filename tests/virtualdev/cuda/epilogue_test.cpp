// Products with what follows them, over the stand-in: what is done with the product, what is not, and that values are those of CPU devices.
// Nothing here has run on a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/context.h"
#include "runtime/exec/device_mesh.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "tests/virtualdev/cuda/recording_gpu.h"
#include "virtualdev/cuda/cuda_backend.h"

namespace shardlab {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using testing::RecordingCompiler;
using testing::RecordingGpu;
using Activation = Epilogue::Activation;

// Of [8, 6] x, [6, 4] w and [4] b.
using Function = std::function<Array(const Array& x, const Array& w, const Array& b)>;

class Epilogues : public ::testing::Test {
 protected:
  Epilogues() : gpu_(std::make_shared<RecordingGpu>(8)) { start(1); }
  void start(int devices_per_gpu) {
    Context::set_current(nullptr);
    ContextOptions options;
    options.devices_per_process = {8};
    options.cpu_devices = 8;
    options.make_backend = [this, devices_per_gpu](const std::vector<int>& ordinals) {
      const cuda::CudaOptions own{.ordinals = ordinals, .devices_per_gpu = devices_per_gpu, .kernel_folder = ""};
      return backend_ = std::make_shared<cuda::CudaBackend>(gpu_, std::make_shared<RecordingCompiler>(), own);
    };
    Context::set_current(std::make_shared<Context>(std::move(options)));
  }
  ~Epilogues() override {
    backend_.reset();
    Context::set_current(nullptr);
    EXPECT_THAT(gpu_->faults(), IsEmpty());
    EXPECT_EQ(gpu_->bytes_allocated(), 0u) << "memory is left";
  }

  // What the library was given beside products alone, one of each of the devices' calls, while GPU and CPU devices compute the same.
  std::vector<cuda::MatrixProduct> ended(const Function& f, DType dtype = float32, bool is_sum_cut = false) {
    const std::size_t before = gpu_->ended_products().size();
    std::vector<Buffer> results;
    for (int first : {0, 8}) {
      std::vector<int> ordinals;
      for (int i = 0; i < 8; ++i) ordinals.push_back(first + i);
      const Mesh mesh({4, 2}, {"a", "b"}, ordinals);
      auto value = [&](const Shape& shape, double step) {
        return astype(sin(arange(double(element_count(shape))) * step).reshape(shape), dtype);
      };
      const Array x = device_put(value({8, 6}, 1.0), Sharding(mesh, is_sum_cut ? P(nullptr, "b") : P("a", nullptr)));
      const Array w = device_put(value({6, 4}, 0.7), Sharding(mesh, is_sum_cut ? P("b") : P(nullptr)));
      const Array b = device_put(value({4}, 1.3), Sharding(mesh, P(nullptr)));
      results.push_back(astype(jit(f)(x, w, b), float32).fetch());
    }
    EXPECT_EQ(results[0].size(), results[1].size());
    for (std::size_t i = 0; i < results[0].size() / 4; ++i) {
      const float got = results[0].as<float>()[i], wanted = results[1].as<float>()[i];
      EXPECT_NEAR(got, wanted, (dtype == float32 ? 1e-6 : 3e-2) * std::max(1.0f, std::abs(wanted))) << "element " << i;
    }
    auto all = gpu_->ended_products();
    return {all.begin() + std::ptrdiff_t(before), all.end()};
  }
  // Of which all devices' calls are alike; how many there are.
  static void expect_all(const std::vector<cuda::MatrixProduct>& products, double scale, bool has_bias, Activation activation) {
    EXPECT_THAT(products, ::testing::Not(IsEmpty()));
    for (const cuda::MatrixProduct& product : products) {
      EXPECT_EQ(product.scale, scale);
      EXPECT_EQ(product.bias != nullptr, has_bias);
      EXPECT_EQ(product.activation, activation);
    }
  }

  std::shared_ptr<RecordingGpu> gpu_;
  std::shared_ptr<cuda::CudaBackend> backend_;
};

TEST_F(Epilogues, ABiasAndAnActivationAreDoneWithTheProduct) {
  expect_all(ended([](auto& x, auto& w, auto& b) { return matmul(x, w) + b; }), 1, true, Activation::kNone);
  expect_all(ended([](auto& x, auto& w, auto& b) { return relu(matmul(x, w) + b); }), 1, true, Activation::kRelu);
  EXPECT_THAT(gpu_->ranges(), Contains("dot_general + add + relu"));
  expect_all(ended([](auto& x, auto& w, auto& b) { return relu(b + matmul(x, w)); }), 1, true, Activation::kRelu);
  expect_all(ended([](auto& x, auto& w, auto&) { return maximum(matmul(x, w), 0.0); }), 1, false, Activation::kRelu);
  // Nothing but the product is launched.
  const int launches = gpu_->calls("launch");
  Function layer = [](auto& x, auto& w, auto& b) { return relu(matmul(x, w) * 0.5 + b); };
  const Array x = ones({8, 6}), w = ones({6, 4}), b = ones({4});
  const int before = gpu_->calls("launch");
  jit(layer)(x, w, b).block_until_ready();
  EXPECT_GE(before, launches);
  EXPECT_EQ(gpu_->calls("launch"), before);
}

// There products are one call, which has nothing behind them.
TEST_F(Epilogues, NotWhereDevicesShareAGpu) {
  start(8);
  EXPECT_THAT(ended([](auto& x, auto& w, auto& b) { return relu(matmul(x, w) + b); }), IsEmpty());
}

TEST_F(Epilogues, ScalesThatAreExact) {
  expect_all(ended([](auto& x, auto& w, auto&) { return matmul(x, w) * 0.3; }), double(0.3f), false, Activation::kNone);
  expect_all(ended([](auto& x, auto& w, auto& b) { return matmul(x, w) * 2.0 / 8.0 + b; }), 0.25, true, Activation::kNone);
  EXPECT_THAT(ended([](auto& x, auto& w, auto&) { return matmul(x, w) / 3.0; }), IsEmpty()) << "rounds otherwise than a multiplication";
  EXPECT_THAT(ended([](auto& x, auto& w, auto&) { return 8.0 / matmul(x, w); }), IsEmpty());
  // After the bias it is a step of its own.
  expect_all(ended([](auto& x, auto& w, auto& b) { return (matmul(x, w) + b) * 2.0; }), 1, true, Activation::kNone);
}

TEST_F(Epilogues, GeluInSixteenBitsAlone) {
  Function layer = [](auto& x, auto& w, auto& b) { return gelu(matmul(x, w) + b); };
  expect_all(ended(layer, bfloat16), 1, true, Activation::kGelu);
  EXPECT_THAT(gpu_->ranges(), Contains("dot_general + add + gelu"));
  expect_all(ended(layer, float16), 1, true, Activation::kGelu);
  expect_all(ended(layer, float32), 1, true, Activation::kNone);
}

// As where a gradient changes a weight. What a step makes is not an addend: that may be fused with others.
TEST_F(Epilogues, AnArrayIsAddedOrTakenFrom) {
  auto expect_addend = [](const std::vector<cuda::MatrixProduct>& products, double scale, Activation activation) {
    EXPECT_THAT(products, ::testing::SizeIs(8));
    for (const cuda::MatrixProduct& product : products) {
      EXPECT_NE(product.addend, nullptr);
      EXPECT_EQ(product.bias, nullptr);
      EXPECT_EQ(product.scale, scale);
      EXPECT_EQ(product.activation, activation);
    }
  };
  auto like_x = [](auto& x, auto& w) { return matmul(matmul(x, w), transpose(w)); };
  expect_addend(ended([=](auto& x, auto& w, auto&) { return x - 0.5 * like_x(x, w); }), -0.5, Activation::kNone);
  EXPECT_THAT(gpu_->ranges(), Contains("dot_general + mul + sub"));
  expect_addend(ended([=](auto& x, auto& w, auto&) { return relu(like_x(x, w) + x); }), 1, Activation::kRelu);
  EXPECT_THAT(ended([=](auto& x, auto& w, auto&) { return like_x(x, w) - x; }), IsEmpty()) << "the other way round";
  EXPECT_THAT(ended([=](auto& x, auto& w, auto&) { return like_x(x, w) + sin(x); }), IsEmpty());
}

// The value in between is made where somebody else reads it.
TEST_F(Epilogues, WhatOthersReadIsMade) {
  expect_all(ended([](auto& x, auto& w, auto& b) {
               const Array z = matmul(x, w) + b;
               return relu(z) + z;
             }),
             1, true, Activation::kNone);
  EXPECT_THAT(ended([](auto& x, auto& w, auto& b) {
                const Array z = matmul(x, w);
                return relu(z + b) * z;
              }),
              IsEmpty());
}

// A bias along the other dimension, of each element, of integers' and doubles' products, and behind a collective.
TEST_F(Epilogues, WhatTheLibraryCannot) {
  EXPECT_THAT(ended([](auto& x, auto& w, auto& b) { return transpose(matmul(x, w)) + sum(b); }), IsEmpty());
  EXPECT_THAT(ended([](auto& x, auto& w, auto&) { return matmul(x, w) + sum(x, -1).reshape({8, 1}); }), IsEmpty());
  EXPECT_THAT(ended([](auto& x, auto& w, auto&) { return matmul(x, w) + matmul(x * 2.0, w); }), IsEmpty());
  EXPECT_THAT(ended([](auto& x, auto& w, auto& b) { return relu(matmul(x, w) + b); }, float32, true), IsEmpty());
}

TEST_F(Epilogues, ALibraryWithoutThemIsFollowedByAKernel) {
  gpu_->refuse_epilogues();
  Function layer = [](auto& x, auto& w, auto& b) { return gelu(matmul(x, w) * 0.5 + b); };
  EXPECT_THAT(ended(layer, bfloat16), IsEmpty());
  EXPECT_THAT(ended([](auto& x, auto& w, auto& b) { return relu(matmul(x, w) + b); }), IsEmpty());
  EXPECT_GT(gpu_->calls("has_product"), 0);
}

TEST_F(Epilogues, WhatTheLibraryHasNoWayToDoIsAKernels) {
  gpu_->refuse_products();
  EXPECT_THAT(ended([](auto& x, auto& w, auto& b) { return relu(matmul(x, w) + b); }), IsEmpty());
  EXPECT_THAT(ended([](auto& x, auto& w, auto&) { return matmul(x, w) - 1.0; }), IsEmpty());
  EXPECT_EQ(gpu_->calls("multiply"), 0);
}

TEST_F(Epilogues, OfASumOfNothing) {
  const Array y = jit([](const Array& x, const Array& w, const Array& b) { return relu(matmul(x, w) + b); })(zeros({2, 0}), zeros({0, 3}),
                                                                                                             arange(3.0) - 1.0);
  EXPECT_EQ(y.text(), "[[0. 0. 1.]\n [0. 0. 1.]]");
  const Array none =
      jit([](const Array& x, const Array& w, const Array& b) { return relu(matmul(x, w) + b); })(zeros({0, 2}), zeros({2, 3}), arange(3.0));
  EXPECT_EQ(none.shape(), (Shape{0, 3}));
}

TEST_F(Epilogues, LieInGraphs) {
  auto layers = jit([](const Array& x, const Array& w, const Array& b) {
    Array y = x;
    for (int i = 0; i < 5; ++i) y = relu(matmul(y, w) + b);
    return y;
  });
  const Array x = ones({8, 4}), w = ones({4, 4}) * 0.1, b = arange(4.0);
  std::string first = layers(x, w, b).text();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(layers(x, w, b).text(), first);
  EXPECT_GT(backend_->graph_counts().by_graph, 0);
  expect_all(gpu_->ended_products(), 1, true, Activation::kRelu);
}

}  // namespace
}  // namespace shardlab
