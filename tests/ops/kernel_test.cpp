// Kernels against independent references, and their special values.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/naive.h"

namespace shardlab {
namespace {

using namespace testing_ops;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

class Kernel : public ::testing::TestWithParam<const OpDef*> {};

TEST_P(Kernel, AgreesWithTheReference) {
  const OpDef& op = *GetParam();
  std::mt19937 random(11);
  int compared = 0;
  for (const Sample& sample : op.samples()) {
    std::vector<Tensor> operands;
    for (const TensorType& type : sample.operands) operands.push_back(random_tensor(type, random));
    TensorType result = op.infer(op, sample.operands, sample.attrs)[0];
    std::optional<Tensor> wanted = naive_result(op, operands, sample.attrs, result);
    if (!wanted) continue;
    ++compared;
    expect_near(run(op, operands, sample.attrs)[0], *wanted, 2e-6, describe(op, sample));
  }
  bool has_own_test = op.name == "constant" || op.name == "convert" || op.name == "pow";
  EXPECT_TRUE(compared > 0 || has_own_test);
}

std::vector<const OpDef*> primitives() {
  std::vector<const OpDef*> result;
  for (const OpDef* op : all_ops())
    if (op->is_primitive()) result.push_back(op);
  return result;
}
INSTANTIATE_TEST_SUITE_P(EveryPrimitive, Kernel, ::testing::ValuesIn(primitives()),
                         [](const auto& each) { return std::string(each.param->name); });

std::vector<float> floats(const Tensor& tensor) { return {tensor.as<float>(), tensor.as<float>() + tensor.type.elements()}; }
std::vector<std::int32_t> ints(const Tensor& tensor) {
  return {tensor.as<std::int32_t>(), tensor.as<std::int32_t>() + tensor.type.elements()};
}

// A tile may write over its operand, and reads a scalar operand for every element.
TEST(Tile, WorksInPlaceAndWithScalars) {
  const OpDef& add = *find_op("add");
  const DType dtypes[] = {DType::kFloat32, DType::kFloat32};
  TileFn tile = add.tile(std::span<const DType>(dtypes, 2), DType::kFloat32);
  std::vector<float> x(37);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(i);
  float one = 1;
  const void* operands[] = {x.data(), &one};
  int strides[] = {1, 0};
  tile(operands, strides, x.data(), std::int64_t(x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(x[i], float(i + 1));
}

TEST(Tile, ReadsScalarsOnEitherSideAlike) {
  for (const char* name : {"sub", "div", "maximum", "less", "pow", "remainder"}) {
    const OpDef& op = *find_op(name);
    std::mt19937 random(3);
    Tensor x = random_tensor({DType::kFloat32, {19}}, random);
    const DType dtypes[] = {DType::kFloat32, DType::kFloat32};
    TensorType result = op.infer(op, {x.type, x.type}, {})[0];
    TileFn tile = op.tile(std::span<const DType>(dtypes, 2), result.dtype);
    float scalar = 0.75f;
    std::vector<float> whole(19, scalar);
    for (bool left : {true, false}) {
      std::vector<std::byte> got(19 * 4), wanted(19 * 4);
      const void* with_scalar[] = {left ? static_cast<const void*>(&scalar) : x.data->data(),
                                   left ? x.data->data() : static_cast<const void*>(&scalar)};
      const void* with_array[] = {left ? static_cast<const void*>(whole.data()) : x.data->data(),
                                  left ? x.data->data() : static_cast<const void*>(whole.data())};
      int scalar_strides[] = {left ? 0 : 1, left ? 1 : 0}, strides[] = {1, 1};
      tile(with_scalar, scalar_strides, got.data(), 19);
      tile(with_array, strides, wanted.data(), 19);
      EXPECT_EQ(got, wanted) << name;
    }
  }
}

TEST(Values, NanWinsInMaximumAndMinimum) {
  Tensor x = tensor_of<float>({4}, {kNan, 1, -kInf, 2}), y = tensor_of<float>({4}, {1, kNan, 3, 2});
  std::vector<float> high = floats(call("maximum", {x, y})[0]), low = floats(call("minimum", {x, y})[0]);
  EXPECT_TRUE(std::isnan(high[0]) && std::isnan(high[1]) && std::isnan(low[0]) && std::isnan(low[1]));
  EXPECT_EQ(high[2], 3);
  EXPECT_EQ(low[2], -kInf);
  for (std::size_t place : {std::size_t(0), std::size_t(5), std::size_t(39)}) {
    std::vector<float> elements(40, 1.0f);
    elements[place] = kNan;
    Tensor z = tensor_of<float>({40}, elements);
    EXPECT_TRUE(std::isnan(floats(call("max", {z})[0])[0]) && std::isnan(floats(call("min", {z})[0])[0]));
  }
}

TEST(Values, IntegerDivisionIsDefinedEverywhere) {
  constexpr std::int32_t kLow = std::numeric_limits<std::int32_t>::min();
  Tensor x = tensor_of<std::int32_t>({5}, {7, -7, 7, kLow, 5}), y = tensor_of<std::int32_t>({5}, {2, 2, -2, -1, 0});
  EXPECT_EQ(ints(run(*find_op("div"), {x, y}, {})[0]), (std::vector<std::int32_t>{3, -3, -3, kLow, -1}));
  EXPECT_EQ(ints(run(*find_op("rem"), {x, y}, {})[0]), (std::vector<std::int32_t>{1, -1, 1, 0, 5}));
  EXPECT_EQ(ints(run(*find_op("remainder"), {x, y}, {})[0]), (std::vector<std::int32_t>{1, 1, -1, 0, 5}));
  EXPECT_EQ(ints(call("floor_divide", {x, y})[0])[1], -4);
}

TEST(Values, PowersByMultiplicationAndByPow) {
  Tensor x = tensor_of<float>({4}, {-2, 0.5, 3, 0});
  EXPECT_EQ(floats(call("pow", {x}, {}, {Scalar{std::int64_t(3)}})[0]), (std::vector<float>{-8, 0.125, 27, 0}));
  EXPECT_EQ(floats(call("pow", {x}, {}, {Scalar{std::int64_t(-1)}})[0]), (std::vector<float>{-0.5, 2, 1.0f / 3, kInf}));
  EXPECT_EQ(floats(call("pow", {x}, {}, {Scalar{std::int64_t(0)}})[0]), (std::vector<float>{1, 1, 1, 1}));
  std::vector<float> roots = floats(call("pow", {x}, {}, {Scalar{0.5}})[0]);
  EXPECT_TRUE(std::isnan(roots[0]));
  EXPECT_EQ(roots[2], std::sqrt(3.0f));
  Tensor i = tensor_of<std::int32_t>({3}, {2, -1, 3}), j = tensor_of<std::int32_t>({3}, {10, 3, 0});
  EXPECT_EQ(ints(run(*find_op("pow"), {i, j}, {})[0]), (std::vector<std::int32_t>{1024, -1, 1}));
}

TEST(Values, ConversionsCutAndSaturate) {
  Tensor x = tensor_of<float>({6}, {2.9f, -2.9f, 3e9f, -3e9f, kNan, 0});
  auto to = [&](DType dtype) { return call("convert", {x}, Attrs{{"dtype", dtype}})[0]; };
  EXPECT_EQ(ints(to(DType::kInt32)), (std::vector<std::int32_t>{2, -2, 2147483647, std::numeric_limits<std::int32_t>::min(), 0, 0}));
  EXPECT_EQ(to(DType::kUint32).as<std::uint32_t>()[2], 3000000000u);
  EXPECT_EQ(to(DType::kUint32).as<std::uint32_t>()[1], 0u);
  EXPECT_TRUE(to(DType::kBool).as<bool>()[4]);
  EXPECT_FALSE(to(DType::kBool).as<bool>()[5]);
}

// Up to 16 elements are summed from left to right: this order gives 1, the others 0 or 2.
TEST(Sums, ShortOnesRunFromLeftToRight) {
  std::vector<float> elements = {1e8f, 1, -1e8f, 1};
  float expected = ((1e8f + 1) + -1e8f) + 1;
  for (Shape shape : {Shape{4}, Shape{2, 2}, Shape{4, 1}})
    EXPECT_EQ(floats(call("sum", {tensor_of<float>(shape, elements)})[0])[0], expected);
}

TEST(Sums, LongOnesStayAccurate) {
  for (std::int64_t count : {17, 255, 256, 257, 1000, 100003}) {
    for (bool columns : {false, true}) {
      Shape shape = columns ? Shape{count, 3} : Shape{count};
      std::vector<float> elements(std::size_t(element_count(shape)), 0.1f);
      std::vector<float> sums = floats(call("sum", {tensor_of<float>(shape, elements)}, Attrs{{"axis", std::int64_t(0)}})[0]);
      for (float sum : sums) EXPECT_NEAR(sum, double(0.1f) * double(count), 2e-6 * double(count) * 0.1) << count;
    }
  }
}

TEST(Sums, OfNothingAreTheIdentity) {
  Tensor x = tensor_of<float>({0, 2}, {});
  EXPECT_EQ(floats(call("sum", {x}, Attrs{{"axis", std::int64_t(0)}})[0]), (std::vector<float>{0, 0}));
  EXPECT_EQ(floats(call("prod", {x}, Attrs{{"axis", std::int64_t(0)}})[0]), (std::vector<float>{1, 1}));
  EXPECT_EQ(floats(run(*find_op("reduce_max"), {x}, Attrs{{"axes", std::vector<std::int64_t>{0}}})[0]), (std::vector<float>{-kInf, -kInf}));
  EXPECT_TRUE(call("all", {x})[0].as<bool>()[0]);
  EXPECT_FALSE(call("any", {x})[0].as<bool>()[0]);
}

// A product's bits depend on the operands alone: rows and columns may be cut, and padded, in any way.
TEST(Products, BitsDoNotDependOnTheShapeAround) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> draw(-1, 1);
  constexpr std::int64_t kM = 29, kN = 71, kK = 613;
  std::vector<float> a(kM * kK), b(kK * kN);
  for (float& x : a) x = draw(random);
  for (float& x : b) x = draw(random);
  std::vector<float> whole = floats(call("matmul", {tensor_of<float>({kM, kK}, a), tensor_of<float>({kK, kN}, b)})[0]);
  for (std::int64_t row : {std::int64_t(0), std::int64_t(13), kM - 1}) {
    std::vector<float> one(a.begin() + row * kK, a.begin() + (row + 1) * kK);
    std::vector<float> got = floats(call("matmul", {tensor_of<float>({kK}, one), tensor_of<float>({kK, kN}, b)})[0]);
    EXPECT_EQ(got, std::vector<float>(whole.begin() + row * kN, whole.begin() + (row + 1) * kN));
  }
  for (std::int64_t j = 0; j < kN; ++j) {  // and the sums are by blocks of 256, in order
    float result = 0;
    for (std::int64_t k0 = 0; k0 < kK; k0 += 256) {
      float block = 0;
      for (std::int64_t k = k0; k < std::min(k0 + 256, kK); ++k) {
        volatile float product = a[std::size_t(k)] * b[std::size_t(k * kN + j)];
        block += product;
      }
      result = k0 == 0 ? block : result + block;
    }
    EXPECT_EQ(whole[std::size_t(j)], result);
  }
}

}  // namespace
}  // namespace shardlab
