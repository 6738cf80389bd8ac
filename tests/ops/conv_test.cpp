// Convolutions with every kind of dilation and stride, against loops over taps.
#include <gtest/gtest.h>

#include "runtime/ops/conv_dims.h"
#include "tests/ops/naive.h"

namespace shardlab::testing_ops {
namespace {

using List = std::vector<std::int64_t>;

struct Along {
  std::int64_t size, window, stride, lhs_dilation, rhs_dilation, low, high;
};

std::string text_of(const Along& a) {
  return fmt::format("size {}, window {}, stride {}, lhs_dilation {}, rhs_dilation {}, pads {} {}", a.size, a.window, a.stride,
                     a.lhs_dilation, a.rhs_dilation, a.low, a.high);
}

std::vector<Along> all_along(std::initializer_list<std::int64_t> sizes, std::initializer_list<std::int64_t> steps) {
  std::vector<Along> all;
  for (std::int64_t size : sizes)
    for (std::int64_t window : {1, 2, 5})
      for (std::int64_t stride : steps)
        for (std::int64_t lhs_dilation : steps)
          for (std::int64_t rhs_dilation : {1, 2, 3})
            for (auto [low, high] : {std::pair{0, 0}, {3, 1}, {-1, 4}})
              all.push_back({size, window, stride, lhs_dilation, rhs_dilation, low, high});
  return all;
}

Attrs attrs_of(const std::vector<Along>& dims, std::int64_t groups = 1) {
  List strides, pads, lhs_dilation, rhs_dilation, spec{0, 1};
  for (const Along& a : dims) {
    strides.push_back(a.stride);
    pads.insert(pads.end(), {a.low, a.high});
    lhs_dilation.push_back(a.lhs_dilation);
    rhs_dilation.push_back(a.rhs_dilation);
    spec.push_back(std::int64_t(spec.size()));
  }
  return {{"lhs_spec", spec},
          {"rhs_spec", spec},
          {"out_spec", spec},
          {"window_strides", strides},
          {"pads", pads},
          {"lhs_dilation", lhs_dilation},
          {"rhs_dilation", rhs_dilation},
          {"feature_group_count", groups},
          {"batch_group_count", std::int64_t(1)}};
}

// The whole result, and that of the last two thirds of the lines alone.
void expect_as_naive(const std::vector<Along>& dims, std::int64_t groups) {
  const OpDef& conv = *find_op("conv");
  std::mt19937 random(7);
  Shape lhs{2, 2 * groups}, rhs{3 * groups, 2};
  for (const Along& a : dims) {
    lhs.push_back(a.size);
    rhs.push_back(a.window);
  }
  const Attrs attrs = attrs_of(dims, groups);
  const std::vector<Tensor> operands{random_tensor({DType::kInt32, lhs}, random), random_tensor({DType::kInt32, rhs}, random)};
  const TensorType type = conv.infer(conv, {operands[0].type, operands[1].type}, attrs)[0];
  const auto wanted = naive_result(conv, operands, attrs, type);
  const Tensor got = run(conv, operands, attrs)[0];
  ASSERT_EQ(numbers(got), numbers(*wanted)) << text_of(dims.back());
  Box part = whole(type.shape);
  part.back().start = part.back().stop / 3;
  const Tensor some = run_part(conv, {operands[0].type, operands[1].type}, operands, {whole(lhs), whole(rhs)}, {type}, {part}, attrs)[0];
  ASSERT_EQ(numbers(some), numbers(part_of(*wanted, part))) << "from " << part.back().start << " on: " << text_of(dims.back());
}

TEST(Conv, AlongOneDimensionIsAsNaive) {
  for (const Along& a : all_along({1, 4, 7}, {1, 2, 3, 4, 6})) expect_as_naive({a}, 1);
}

TEST(Conv, AlongTwoDimensionsIsAsNaive) {
  for (const Along& a : all_along({4}, {1, 2, 4}))
    for (const Along& b : {Along{3, 2, 1, 3, 1, 1, 0}, {5, 1, 2, 1, 1, 0, 0}, {2, 3, 2, 4, 2, 2, 2}}) {
      expect_as_naive({b, a}, 1);
      expect_as_naive({a, b}, 2);
    }
}

// Pairs of a result and a tap are counted as they are met.
TEST(Conv, WalksThePairsOnElementsAlone) {
  const OpDef& conv = *find_op("conv");
  for (const Along& a : all_along({1, 4, 7}, {1, 2, 3, 4, 6})) {
    const std::vector<TensorType> operands{{DType::kFloat32, {1, 1, a.size}}, {DType::kFloat32, {1, 1, a.window}}};
    const Attrs attrs = attrs_of({a});
    const std::vector<TensorType> results = conv.infer(conv, operands, attrs);
    const std::int64_t count = results[0].shape[2];
    std::int64_t met = 0;
    for (std::int64_t r = 0; r < count; ++r)
      for (std::int64_t t = 0; t < a.window; ++t) met += (r * a.stride + t * a.rhs_dilation - a.low) % a.lhs_dilation == 0;
    if (count > 0) { EXPECT_NEAR(conv.walked(operands, results, attrs), double(met) / double(count * a.window), 1e-12) << text_of(a); }
  }
}

}  // namespace
}  // namespace shardlab::testing_ops
