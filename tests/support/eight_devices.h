// What tests of functions on arrays share: a process with eight virtual devices, errors as text, and values to compare.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/callbacks.h"
#include "runtime/exec/context.h"
#include "runtime/exec/ops.h"
#include "tests/support/error_of.h"

namespace shardlab {

class OnEightDevices : public ::testing::Test {
 protected:
  void SetUp() override {
    ContextOptions options;
    options.devices_per_process = {8};
    Context::set_current(std::make_shared<Context>(options));
  }
  void TearDown() override { Context::set_current(nullptr); }
};

// What is printed while it runs, and by what it launched.
template <typename F>
std::string printed(F&& f) {
  ::testing::internal::CaptureStdout();
  std::forward<F>(f)();
  effects_barrier();
  return ::testing::internal::GetCapturedStdout();
}

// Values of no symmetry, so that a wrong order shows.
inline Array wave(const Shape& shape, double step = 0.7) { return sin(arange(element_count(shape), float32) * step + 0.3).reshape(shape); }

inline void expect_same(const Array& got, const Array& wanted, std::string_view what, float tolerance = 2e-5F) {
  ASSERT_EQ(got.shape(), wanted.shape()) << what;
  std::vector<float> a = got.to_vector<float>(), b = wanted.to_vector<float>();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << what << ", element " << i;
}

}  // namespace shardlab
