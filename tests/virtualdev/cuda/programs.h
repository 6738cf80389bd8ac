// Whole programs on eight virtual devices of GPUs, beside eight CPU devices of the same context: the same body on a GPU and over what
// stands in for one.
#pragma once

#include <gtest/gtest.h>

#include <numeric>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/context.h"
#include "runtime/exec/control_flow.h"
#include "runtime/exec/fft.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/random.h"
#include "runtime/exec/shard_map.h"
#include "virtualdev/cuda/cuda_backend.h"

namespace shardlab::testing {

class ProgramsBesideCpu {
 public:
  ProgramsBesideCpu(const std::function<std::shared_ptr<cuda::GpuApi>()>& api, std::shared_ptr<cuda::KernelCompiler> compiler,
                    int devices_per_gpu, std::string kernel_folder) {
    ContextOptions options;
    options.devices_per_process = {8};
    options.cpu_devices = 8;
    options.make_backend = [&](const std::vector<int>& ordinals) {
      return backend_ = std::make_shared<cuda::CudaBackend>(
                 api(), compiler,
                 cuda::CudaOptions{.ordinals = ordinals, .devices_per_gpu = devices_per_gpu, .kernel_folder = kernel_folder});
    };
    Context::set_current(std::make_shared<Context>(std::move(options)));
  }
  ~ProgramsBesideCpu() {
    Context::set_current(nullptr);
    backend_.reset();
  }
  ProgramsBesideCpu(const ProgramsBesideCpu&) = delete;
  ProgramsBesideCpu& operator=(const ProgramsBesideCpu&) = delete;

  // A function of an array of floats; often enough that graphs are launched.
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

  void families() {
    expect_alike(jit([](const Array& x) { return softmax(matmul(x, transpose(x))) + sum(exp(x)); }), {64, 96}, P("a", "b"));
    expect_alike(jit([](const Array& x) { return sort(x * 3.0 + cumsum(x, {0})); }), {40, 56}, P("a", "b"));
    expect_alike(jit([](const Array& x) { return x + random::normal(random::key(3), x.shape()); }), {33, 8}, P(nullptr, "b"));
    expect_alike(jit([](const Array& x) {
                   return while_loop([](const Array& v) { return sum(v * v) < 4000.0; }, [](const Array& v) { return v * 1.25 + 0.1; }, x);
                 }),
                 {16, 8}, P("a", "b"));
    EXPECT_GT(backend_->graph_counts().by_graph, 0);
    EXPECT_EQ(backend_->graph_counts().refused, "");
  }

  // Every orientation of both operands, batches, and types that the library multiplies.
  void products() {
    for (DType dtype : {float32, bfloat16, complex64}) {
      auto product = [dtype](auto f) {
        return jit([dtype, f](const Array& x) { return astype(abs(f(astype(x, dtype), astype(cos(x), dtype))), float32); });
      };
      const double tolerance = size_of(dtype) == 2 ? 0.1 : 1e-3;
      auto check = [&](auto f, PartitionSpec spec) { expect_alike(product(f), {8, 12}, std::move(spec), tolerance); };
      check([](const Array& x, const Array& y) { return matmul(x, transpose(y)); }, P("a", "b"));
      check([](const Array& x, const Array& y) { return matmul(transpose(x), y); }, P("a", "b"));
      check([](const Array& x, const Array& y) { return matmul(transpose(x), transpose(y).reshape({8, 12})); }, P());
      check([](const Array& x, const Array& y) { return matmul(x.reshape({3, 4, 8}), transpose(y.reshape({3, 4, 8}), {0, 2, 1})); }, P());
    }
  }

  // In both types, as the library does it or a kernel behind it.
  void products_with_what_follows() {
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

  // Reductions along columns of what a step makes: gradients of biases, as a rule; whole packs and one by one, of many rows and of few.
  void columns() {
    auto layer = jit([](const Array& x) {
      const Array y = x * cos(x), total = sum(y);
      return y + sum(y, 0) * 0.01 + max(y, 0) + total / 4096.0;
    });
    auto halves = jit([](const Array& x) { return astype(sum(astype(x, bfloat16) * 2.0, 0), float32); });
    for (const Shape& shape : std::vector<Shape>{{1024, 512}, {4096, 70}, {8, 3000}, {20000, 64}}) {
      expect_alike(layer, shape, P("a", nullptr), 2e-3);
      expect_alike(layer, shape, P(), 2e-3);
      expect_alike(halves, shape, P(), 2.0);
    }
  }

  void transforms() {
    expect_alike(jit([](const Array& x) { return abs(fft::fft(x)); }), {16, 30}, P("a", nullptr));
    for (int length : {1, 7, 10})
      for (int axis : {0, 1}) {
        const Shape shape = axis == 0 ? Shape{length, 8} : Shape{8, length};
        expect_alike(jit([axis](const Array& x) { return abs(fft::fft(x, {.axis = axis})); }), shape, P());
        expect_alike(jit([axis](const Array& x) { return abs(fft::ifft(x, {.axis = axis})); }), shape, P());
        expect_alike(jit([axis](const Array& x) { return abs(fft::rfft(x, {.axis = axis})); }), shape, P());
        // Of numbers that no transform of real ones gives: the ends are not real.
        if (length > 1)
          expect_alike(jit([axis](const Array& x) { return fft::irfft(fft::ifft(fft::fft(x, {.axis = 1 - axis}) * 0.5), {.axis = axis}); }),
                       shape, P());
      }
  }

  // Long enough for a radix sort: of one row on each device, of several, by two keys; and a permutation.
  void sorts() {
    expect_alike(jit([](const Array& x) { return sort(x); }), {4096}, P());
    expect_alike(jit([](const Array& x) { return sort(x, {.axis = 0}); }), {1000, 16}, P(nullptr, "a"));
    expect_alike(jit([](const Array& x) { return astype(argsort(floor(x * 3.0)), float32); }), {8, 3000}, P("a"));
    expect_alike(jit([](const Array& x) { return top_k(x, 7).first; }), {2, 5000}, P());
    expect_alike(jit([](const Array& x) { return random::permutation(random::key(5), x); }), {3000}, P());
  }

  void moves() {
    expect_alike(
        [](const Array& x) {
          return shard_map([](const Array& v) { return psum(v, {"a"}) + pmax(v, {"a"}); },
                           {.mesh = x.sharding().mesh(), .in_specs = {P("a", "b")}, .out_specs = {P(nullptr, "b")}})(x);
        },
        {16, 8}, P("a", "b"));
    expect_alike([](const Array& x) { return device_put(x, Sharding(x.sharding().mesh(), P("b", "a"))) + 1.0; }, {24, 16}, P("a", "b"));
  }

 private:
  std::shared_ptr<cuda::CudaBackend> backend_;
};

}  // namespace shardlab::testing
