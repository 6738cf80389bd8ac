// Kernels against independent references, and their special values.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

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
  static const std::set<std::string_view> kOwnTests = {"bitcast",      "cholesky",
                                                       "constant",     "convert",
                                                       "eig",          "eigh",
                                                       "schur",        "erf_inv",
                                                       "fft_axis",     "gcd",
                                                       "lu",           "nextafter",
                                                       "pow",          "qr",
                                                       "random_bits",  "random_fold_in",
                                                       "random_gamma", "random_indices",
                                                       "random_split", "random_threefry2x32",
                                                       "svd",          "triangular_solve"};
  bool has_own_test = kOwnTests.contains(op.name);
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
  EXPECT_EQ(ints(run(*find_op("remainder"), {x, y}, {})[0]), (std::vector<std::int32_t>{1, 1, -1, 0, 0}));
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

TEST(Values, ConversionsOfEveryWidth) {
  Tensor x = tensor_of<float>({5}, {300, -300, 1e20f, -1e20f, kNan});
  auto of = [&](DType dtype) { return numbers(call("convert", {x}, Attrs{{"dtype", dtype}})[0]); };
  auto real = [](std::vector<std::complex<double>> values) {
    std::vector<double> result;
    for (const auto& value : values) result.push_back(value.real());
    return result;
  };
  EXPECT_EQ(real(of(DType::kInt8)), (std::vector<double>{127, -128, 127, -128, 0}));
  EXPECT_EQ(real(of(DType::kUint8)), (std::vector<double>{255, 0, 255, 0, 0}));
  Tensor wide = run(*find_op("convert"), {x}, Attrs{{"dtype", DType::kInt64}})[0];
  EXPECT_EQ(wide.as<std::int64_t>()[2], std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(wide.as<std::int64_t>()[3], std::numeric_limits<std::int64_t>::min());
  Tensor whole = tensor_of<std::int32_t>({2}, {300, -1});
  EXPECT_EQ(run(*find_op("convert"), {whole}, Attrs{{"dtype", DType::kUint8}})[0].as<std::uint8_t>()[0], 44);  // the low bits
}

// To nearest, ties to even; overflow to infinity; subnormal numbers; NaN stays.
TEST(Values, HalvesRoundOnce) {
  auto bf16 = [](float x) { return Bfloat16(x).bits; };
  auto f16 = [](float x) { return Float16(x).bits; };
  EXPECT_EQ(bf16(1.0f), 0x3f80);
  EXPECT_EQ(bf16(1.00390625f), 0x3f80);  // half way: to even
  EXPECT_EQ(bf16(1.01171875f), 0x3f82);
  EXPECT_EQ(bf16(3.4e38f), 0x7f80);
  EXPECT_TRUE(std::isnan(float(Bfloat16(kNan))));
  EXPECT_EQ(f16(1.0f), 0x3c00);
  EXPECT_EQ(f16(65519.0f), 0x7bff);
  EXPECT_EQ(f16(65520.0f), 0x7c00);
  EXPECT_EQ(f16(1e9f), 0x7c00);
  EXPECT_EQ(f16(-0x1p-24f), 0x8001);
  EXPECT_EQ(f16(0x1p-25f), 0x0000);  // half way to the smallest: to even
  EXPECT_EQ(f16(0x1.8p-24f), 0x0002);
  EXPECT_TRUE(std::isnan(float(Float16(kNan))));
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {  // every finite half survives the way to float and back
    Float16 half;
    half.bits = std::uint16_t(bits);
    Bfloat16 brain;
    brain.bits = std::uint16_t(bits);
    if (!std::isnan(float(half))) { ASSERT_EQ(Float16(float(half)).bits, bits); }
    if (!std::isnan(float(brain))) { ASSERT_EQ(Bfloat16(float(brain)).bits, bits); }
  }
}

TEST(Values, SpecialFunctions) {
  Tensor x = tensor_of<float>({5}, {0.5f, -0.999f, 1, -1, 1.5f});
  std::vector<float> inverse = floats(call("erf_inv", {x})[0]);
  EXPECT_NEAR(inverse[0], 0.4769362762, 1e-7);
  EXPECT_NEAR(std::erf(double(inverse[1])), -0.999, 1e-7);
  EXPECT_EQ(inverse[2], kInf);
  EXPECT_EQ(inverse[3], -kInf);
  EXPECT_TRUE(std::isnan(inverse[4]));
  Tensor wide = tensor_of<double>({2}, {0.5, -0.9999999});
  Tensor result = run(*find_op("erf_inv"), {wide}, {})[0];
  EXPECT_NEAR(result.as<double>()[0], 0.47693627620446987, 1e-15);
  EXPECT_NEAR(std::erf(result.as<double>()[1]), -0.9999999, 1e-15);
  std::vector<float> psi = floats(call("digamma", {tensor_of<float>({4}, {1, 0.5f, -0.5f, -2})})[0]);
  EXPECT_NEAR(psi[0], -0.5772156649, 1e-7);
  EXPECT_NEAR(psi[1], -1.9635100260, 1e-6);
  EXPECT_NEAR(psi[2], 0.0364899740, 1e-7);
  EXPECT_TRUE(std::isnan(psi[3]));
  EXPECT_EQ(floats(call("nextafter", {tensor_of<float>({1}, {1}), tensor_of<float>({1}, {2})})[0])[0], 1 + 0x1p-23f);
}

// Of parameters whose series are too long to sum. Wanted: by scipy, derivatives by differences.
TEST(Values, IncompleteGammaOfLargeParameters) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor a = tensor_of<double>({6}, {2e6, 2e6, 2e6, 1e10, 5e6, 5e6}),
               x = tensor_of<double>({6}, {2e6 - 1000, 2e6, 2e6 + 2000, 1e10 + 5e4, 5.2e6, 4.99e6});
  auto of = [&](const char* op) {
    const Tensor result = run(*find_op(op), {a, x}, {})[0];
    return std::vector<double>(result.as<double>(), result.as<double>() + 6);
  };
  auto expect = [](const std::vector<double>& got, const std::vector<double>& wanted, double tolerance) {
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], tolerance * (1e-9 + std::fabs(wanted[i]))) << i;
  };
  expect(of("igamma"), {0.23978667092857298, 0.5000940315975192, 0.921315835878439, 0.6914633414371467, 1, 3.8210705287543925e-06}, 1e-6);
  expect(of("igammac"), {0.760213329071427, 0.49990596840248086, 0.07868416412156094, 0.30853665856285334, 0, 0.9999961789294712}, 1e-6);
  expect(of("igamma_grad_a"), {-0.00021973227738778, -0.00028209480239958, -0.00010379414671306, -3.5206459330e-06, 0, -8.0004716e-09},
         1e-6);
  const std::vector<double> sample = of("random_gamma_grad");
  EXPECT_NEAR(sample[0], 0.999750041635707, 1e-9);
  EXPECT_NEAR(sample[2], 1.0004999168644038, 1e-9);
  // By mpmath with 60 digits: of small and large samples, of some orders.
  auto by_a = [&](double n) {
    const Tensor order = tensor_of<double>({4}, {n, n, n, n}), shape = tensor_of<double>({4}, {0.3, 10, 0.5, 1000});
    const Tensor at = tensor_of<double>({4}, {0.2, 12, 3, 900}),
                 result = run(*find_op("random_gamma_grad_by_a"), {order, shape, at}, {})[0];
    return std::vector<double>(result.as<double>(), result.as<double>() + 4);
  };
  expect(by_a(1), {-3.43026930295327, -0.0557717417381975, -3.61746155089832, -0.000482685924480942}, 1e-10);
  expect(by_a(2), {22.2712699249701, 0.00762078649077272, 13.0704159690916, 6.49507141316664e-07}, 1e-8);
  expect(by_a(5), {-49167.3084814211, -0.000255017445930556, -6045.46780800888, -1.97350007098558e-14}, 1e-8);
  for (double none : {-1.0, 0.5, 16.0}) EXPECT_TRUE(std::isnan(by_a(none)[0])) << none;
  EXPECT_EQ(floats(call("igamma", {tensor_of<float>({2}, {kInf, 1}), tensor_of<float>({2}, {3, float(inf)})})[0]),
            (std::vector<float>{0, 1}));
}

TEST(Values, NarrowAndWideIntegers) {
  Tensor x = tensor_of<std::int8_t>({4}, {-128, 127, 7, -7}), y = tensor_of<std::int8_t>({4}, {-1, 0, -2, 2});
  auto bytes = [](const Tensor& t) { return std::vector<int>(t.as<std::int8_t>(), t.as<std::int8_t>() + t.type.elements()); };
  EXPECT_EQ(bytes(run(*find_op("add"), {x, x}, {})[0]), (std::vector<int>{0, -2, 14, -14}));
  EXPECT_EQ(bytes(run(*find_op("div"), {x, y}, {})[0]), (std::vector<int>{-128, -1, -3, -3}));
  EXPECT_EQ(bytes(run(*find_op("rem"), {x, y}, {})[0]), (std::vector<int>{0, 127, 1, -1}));
  EXPECT_EQ(bytes(run(*find_op("shift_left"), {x, y}, {})[0]), (std::vector<int>{0, 127, 0, -28}));
  Tensor u = tensor_of<std::uint64_t>({1}, {~std::uint64_t(0)}), zero = tensor_of<std::uint64_t>({1}, {0});
  EXPECT_EQ(run(*find_op("div"), {u, zero}, {})[0].as<std::uint64_t>()[0], ~std::uint64_t(0));
  EXPECT_EQ(run(*find_op("add"), {u, u}, {})[0].as<std::uint64_t>()[0], ~std::uint64_t(0) - 1);
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
      for (std::int64_t k = k0; k < std::min(k0 + 256, kK); ++k) block = std::fma(a[std::size_t(k)], b[std::size_t(k * kN + j)], block);
      result = k0 == 0 ? block : result + block;
    }
    EXPECT_EQ(whole[std::size_t(j)], result);
  }
}

}  // namespace
}  // namespace shardlab
