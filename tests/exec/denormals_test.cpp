// Denormal numbers count as zero in arithmetic, as in JAX on a CPU (the values are those that JAX 0.10.2 prints), on whatever thread a step
// runs; copies keep them, and the caller's own arithmetic is left as it was.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/context.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/numpy.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "tests/support/thread_job.h"

namespace shardlab {
namespace {

const std::vector<float> kSmall = {1e-38F, -1e-40F, 3e-45F, 1.2e-38F, 0.5F, -2.0F, 1e-37F, -1e-38F};

// Nobody knows the factor before the program runs.
float own_product(float x) {
  volatile float factor = 0.5F;
  return x * factor;
}

TEST(Denormals, AreZeroInArithmeticAndStayInCopies) {
  for (const std::vector<int>& layout : std::vector<std::vector<int>>{{8}, {4, 4}, {1, 7}}) {
    testing::on_job(layout, [] {
      const auto mesh = make_mesh({8}, {"a"});
      for (const P& spec : {P(), P("a")}) {
        const auto x = device_put(array(kSmall), NamedSharding(mesh, spec));
        const auto whole = [&](const Array& y) { return device_put(y, NamedSharding(mesh, P())).to_vector<float>(); };
        EXPECT_EQ(whole(x), kSmall);
        EXPECT_EQ(whole(x * 0.5), (std::vector<float>{0, 0, 0, 0, 0.25F, -1, 5e-38F, 0}));
        EXPECT_EQ(whole(jit([](const Array& y) { return maximum(y * 0.5, 0.0) * 4.0; })(x)),
                  (std::vector<float>{0, 0, 0, 0, 1, 0, 2e-37F, 0}));
        EXPECT_EQ(whole(astype(equal(x, 0.0), float32)), (std::vector<float>{1, 1, 1, 0, 0, 0, 0, 1}));
        EXPECT_EQ(whole(sign(x)), (std::vector<float>{0, 0, 0, 1, 1, -1, 1, 0}));
        EXPECT_EQ(whole(exp(x * 0.0 - 90.0)), std::vector<float>(8, 0));
        EXPECT_EQ(whole(x * 1e-20 + x * 0.0), (std::vector<float>{0, 0, 0, 0, 5e-21F, -2e-20F, 0, 0}));
        EXPECT_EQ(dot(x, device_put(array(std::vector<float>(8, 0.0625F)), NamedSharding(mesh, spec))).item<float>(), -0.09375F);
      }
      EXPECT_NE(own_product(1e-38F), 0);
    });
  }
}

TEST(Denormals, AreZeroOnEveryThreadOfAStep) {
  testing::on_job({8}, [] {
    const auto mesh = make_mesh({8}, {"a"});
    const auto x = device_put(array(std::vector<float>(1 << 20, 1e-38F)), NamedSharding(mesh, P("a")));
    for (int repeat = 0; repeat < 4; ++repeat) {
      const auto y = (x * 0.5).to_vector<float>();
      EXPECT_EQ(std::count(y.begin(), y.end(), 0.0F), 1 << 20);
    }
    EXPECT_NE(own_product(1e-38F), 0);
  });
}

TEST(Denormals, DistancesBetweenNumbersAreTheSmallestOne) {
  testing::on_job({1}, [] {
    const auto distance = spacing(array(std::vector<float>{0.0F, -0.0F, 1e-38F, 1.2e-38F, 1.0F, -1.0F})).to_vector<float>();
    EXPECT_EQ(distance, (std::vector<float>{1e-45F, -1e-45F, 1e-45F, 1e-45F, 1.1920929e-07F, -1.1920929e-07F}));
  });
}

}  // namespace
}  // namespace shardlab
