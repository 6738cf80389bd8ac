// Random orders and choices, statistics and shifts against what JAX 0.10.2 gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/evaluate.h"

namespace shardlab {
namespace {

using namespace testing_ops;
using testing::HasSubstr;

std::vector<double> reals(const Tensor& tensor) {
  std::vector<double> result;
  for (std::complex<double> value : numbers(tensor)) result.push_back(value.real());
  return result;
}
std::vector<double> called(std::string_view op, const std::vector<Tensor>& operands, const Attrs& attrs = {}) {
  return reals(call(op, operands, attrs)[0]);
}
void expect_close(const std::vector<double>& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 2e-7 * (1 + std::fabs(wanted[i]))) << "element " << i;
}
std::string message_of(std::string_view op, const std::vector<Tensor>& operands, const Attrs& attrs = {}) {
  try {
    call(op, operands, attrs);
  } catch (const UserError& error) { return error.what(); }
  return "no error";
}

using Numbers = std::vector<double>;
using Axes = std::vector<std::int64_t>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const Tensor& key() {
  static const Tensor tensor = tensor_of<std::uint32_t>({2}, {0, 42});
  return tensor;
}
Tensor table() { return tensor_of<float>({4, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}); }
Attrs axis(std::int64_t dim) { return Attrs{{"axis", dim}}; }

TEST(RandomOrders, OfArrays) {
  EXPECT_EQ(called("random.permutation", {key(), table()}), (Numbers{6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(called("random.permutation", {key(), table()}, axis(1)), (Numbers{2, 0, 1, 5, 3, 4, 8, 6, 7, 11, 9, 10}));
  EXPECT_EQ(called("random.permutation", {key(), table()}, Attrs{{"independent", true}}), (Numbers{3, 7, 2, 6, 4, 5, 9, 10, 11, 0, 1, 8}));
  Tensor tens = tensor_of<std::int32_t>({7}, {0, 10, 20, 30, 40, 50, 60});
  EXPECT_EQ(called("random.permutation", {key(), tens}), (Numbers{40, 20, 50, 30, 60, 0, 10}));
}

TEST(RandomChoices, WithAndWithoutReplacementAndProbabilities) {
  Attrs of_ten{{"a", std::int64_t(10)}, {"shape", Axes{2, 3}}};
  EXPECT_EQ(called("random.choice", {key()}, of_ten), (Numbers{4, 4, 1, 9, 9, 9}));
  EXPECT_EQ(called("random.choice", {key()}, Attrs{{"a", std::int64_t(10)}, {"shape", Axes{5}}, {"replace", false}}),
            (Numbers{7, 4, 2, 5, 3}));
  EXPECT_EQ(called("random.choice", {key(), table()}, Attrs{{"shape", Axes{2}}, {"axis", std::int64_t(1)}}),
            (Numbers{0, 0, 3, 3, 6, 6, 9, 9}));
  Tensor p = tensor_of<float>({4}, {0.1f, 0.2f, 0.3f, 0.4f});
  EXPECT_EQ(called("random.choice", {key(), table(), p}, Attrs{{"shape", Axes{3}}, {"weighted", true}}),
            (Numbers{6, 7, 8, 6, 7, 8, 6, 7, 8}));
  Attrs without{{"a", std::int64_t(4)}, {"shape", Axes{3}}, {"weighted", true}, {"replace", false}};
  EXPECT_EQ(called("random.choice", {key(), p}, without), (Numbers{3, 2, 1}));
  EXPECT_EQ(call("random.choice", {key()}, Attrs{{"a", std::int64_t(0)}, {"shape", Axes{0}}})[0].type.elements(), 0);
  EXPECT_THAT(message_of("random.choice", {key()}, Attrs{{"a", std::int64_t(0)}}), HasSubstr("must be greater than 0"));
  EXPECT_THAT(message_of("random.choice", {key()}, Attrs{{"a", std::int64_t(2)}, {"shape", Axes{3}}, {"replace", false}}),
              HasSubstr("Cannot take a larger sample (size 3) than population (size 2) when 'replace=False'"));
  EXPECT_THAT(message_of("random.choice", {key(), p}, Attrs{{"a", std::int64_t(3)}, {"weighted", true}}), HasSubstr("p has shape (4,)"));
}

TEST(RandomChoices, OfCategories) {
  Tensor p = tensor_of<float>({2, 3}, {0.1f, 0.2f, 0.7f, 0.5f, 0.3f, 0.2f});
  Tensor logits = call("log", {p})[0];
  EXPECT_EQ(called("random.categorical", {key(), logits}), (Numbers{2, 0}));
  EXPECT_EQ(called("random.categorical", {key(), logits}, Attrs{{"shape", Axes{4, 2}}}), (Numbers{2, 0, 2, 0, 1, 0, 1, 2}));
  EXPECT_EQ(called("random.categorical", {key(), logits}, axis(0)), (Numbers{1, 0, 0}));
  EXPECT_EQ(called("random.categorical", {key(), logits}, Attrs{{"shape", Axes{3, 2}}, {"replace", false}}), (Numbers{2, 0, 1, 1, 0, 2}));
  EXPECT_THAT(message_of("random.categorical", {key(), logits}, Attrs{{"shape", Axes{3}}}), HasSubstr("shape must end in"));
  EXPECT_THAT(message_of("random.categorical", {key(), logits}, Attrs{{"shape", Axes{4, 2}}, {"replace", false}}),
              HasSubstr("Number of samples without replacement (4) cannot exceed number of categories (3)"));
}

TEST(RandomBits, OfTheOlderLayout) {
  auto bits = [](DType dtype) {
    return called("random.bits", {key()}, Attrs{{"shape", Axes{5}}, {"dtype", dtype}, {"partitionable", false}});
  };
  EXPECT_EQ(bits(DType::kUint8), (Numbers{45, 179, 215, 3, 244}));
  EXPECT_EQ(bits(DType::kUint16), (Numbers{8426, 37627, 63599, 6563, 55571}));
  EXPECT_EQ(bits(DType::kUint32), (Numbers{3134548294, 3733159049, 843694964, 894150801, 801545058}));
  EXPECT_EQ(call("random.bits", {key()}, Attrs{{"shape", Axes{0, 3}}, {"partitionable", false}})[0].type.shape, (Shape{0, 3}));
}

Tensor rows() { return tensor_of<float>({3, 4}, {3, 1, 2, 5, 4, 8, 7, 9, 0, 6, -1, 2}); }

TEST(Statistics, AveragesAndQuantiles) {
  Tensor weights = tensor_of<float>({4}, {1, 2, 3, 4});
  expect_close(called("average", {rows()}), {3.83333329});
  expect_close(called("average", {rows(), weights}, axis(1)), {3.1, 7.7, 1.7});
  expect_close(called("average", {rows(), call("add", {rows(), tensor_of<float>({}, {2})})[0]}), {5.4571428});
  EXPECT_THAT(message_of("average", {rows(), weights}), HasSubstr("Axis must be specified when shapes of a and weights differ"));
  EXPECT_THAT(message_of("average", {rows(), weights}, axis(0)), HasSubstr("Shape of weights must be consistent with shape of a along"));
  expect_close(called("median", {rows()}), {3.5});
  expect_close(called("median", {rows()}, axis(1)), {2.5, 7.5, 1});
  expect_close(called("median", {rows()}, Attrs{{"axis", Axes{0, 1}}}), {3.5});
  EXPECT_EQ(call("median", {rows()}, Attrs{{"axis", std::int64_t(0)}, {"keepdims", true}})[0].type.shape, (Shape{1, 4}));
  expect_close(called("quantile", {rows()}, Attrs{{"q", 0.3}}), {2});
  expect_close(called("quantile", {rows()}, Attrs{{"q", 0.75}, {"axis", std::int64_t(0)}}), {3.5, 7, 4.5, 7});
  expect_close(called("percentile", {rows()}, Attrs{{"q", std::int64_t(10)}, {"axis", std::int64_t(1)}}), {1.3, 4.9, -0.7});
  EXPECT_TRUE(std::isnan(called("median", {tensor_of<float>({3}, {1, kNan, 2})})[0]));
  EXPECT_THAT(message_of("median", {tensor_of<float>({0}, {})}), HasSubstr("a row without elements"));
}

TEST(Statistics, PlacesAndCounts) {
  Tensor sorted = tensor_of<float>({5}, {1, 2, 2, 5, kNan}), values = tensor_of<float>({5}, {0, 2, 6, kNan, 5});
  EXPECT_EQ(called("searchsorted", {sorted, values}), (Numbers{0, 1, 4, 4, 3}));
  EXPECT_EQ(called("searchsorted", {sorted, values}, Attrs{{"side", std::string("right")}}), (Numbers{0, 3, 4, 5, 4}));
  EXPECT_THAT(message_of("searchsorted", {rows(), values}), HasSubstr("a should be 1-dimensional"));
  Tensor x = tensor_of<std::int32_t>({7}, {1, 1, 2, 3, 3, -4, 9});
  EXPECT_EQ(called("bincount", {x}, Attrs{{"length", std::int64_t(5)}}), (Numbers{1, 2, 1, 2, 0}));
  Tensor y = tensor_of<std::int32_t>({3}, {1, 1, 2}), weights = tensor_of<float>({3}, {0.5f, 0.25f, 4});
  EXPECT_EQ(called("bincount", {y, weights}, Attrs{{"length", std::int64_t(4)}}), (Numbers{0, 0.75, 4, 0}));
  EXPECT_THAT(message_of("bincount", {x}), HasSubstr("'length' is missing"));
}

TEST(Equality, OfWholeArrays) {
  Tensor x = rows(), y = call("add", {x, tensor_of<float>({}, {1e-6f})})[0], nan = tensor_of<float>({1}, {kNan});
  EXPECT_EQ(called("allclose", {x, y}, Attrs{{"atol", 1e-5}}), Numbers{1});
  EXPECT_EQ(called("allclose", {x, y}, Attrs{{"rtol", 0.0}}), Numbers{0});
  EXPECT_EQ(called("array_equal", {x, x}), Numbers{1});
  EXPECT_EQ(called("array_equal", {x, y}), Numbers{0});
  EXPECT_EQ(called("array_equal", {x, table()}), Numbers{0});
  EXPECT_EQ(called("array_equal", {nan, nan}), Numbers{0});
  EXPECT_EQ(called("array_equal", {nan, nan}, Attrs{{"equal_nan", true}}), Numbers{1});
}

TEST(Moved, ShiftsAndGatesAndSpaces) {
  Tensor five = tensor_of<std::int32_t>({5}, {0, 1, 2, 3, 4});
  EXPECT_EQ(called("fft.fftshift", {five}), (Numbers{3, 4, 0, 1, 2}));
  EXPECT_EQ(called("fft.ifftshift", {five}), (Numbers{2, 3, 4, 0, 1}));
  EXPECT_EQ(called("fft.fftshift", {rows()}, Attrs{{"axes", std::int64_t(1)}}), (Numbers{2, 5, 3, 1, 7, 9, 4, 8, -1, 2, 0, 6}));
  expect_close(called("glu", {rows()}), {2.64239120, 0.99330717, 3.99635630, 7.99901295, 0, 5.28478241});
  EXPECT_THAT(message_of("glu", {rows()}, axis(0)), HasSubstr("axis size must be divisible by 2"));
  auto logspace = [](const Attrs& attrs) { return reals(call("logspace", {}, attrs, {Scalar{0.0}, Scalar{2.0}})[0]); };
  expect_close(logspace(Attrs{{"num", std::int64_t(5)}}), {1, 3.16227770, 10, 31.6227766, 100});
  expect_close(logspace(Attrs{{"num", std::int64_t(4)}, {"endpoint", false}, {"base", 2.0}}), {1, 1.41421354, 2, 2.82842708});
  expect_close(logspace(Attrs{{"num", std::int64_t(3)}, {"dtype", DType::kInt32}}), {1, 10, 100});
}

}  // namespace
}  // namespace shardlab
