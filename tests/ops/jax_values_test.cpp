// Functions of jax.numpy, jax.nn and jax.random against what JAX 0.10.2 gives.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/ops/threefry.h"
#include "tests/ops/evaluate.h"

namespace shardlab {
namespace {

using namespace testing_ops;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> reals(const Tensor& tensor) {
  std::vector<double> result;
  for (std::complex<double> value : numbers(tensor)) result.push_back(value.real());
  return result;
}

void expect_values(const std::vector<double>& got, const std::vector<double>& wanted, double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (std::isnan(wanted[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << what << ": element " << i << " is " << got[i];
    } else if (std::isinf(wanted[i])) {
      EXPECT_EQ(got[i], wanted[i]) << what << ": element " << i;
    } else {
      EXPECT_NEAR(got[i], wanted[i], tolerance * (1 + std::fabs(wanted[i]))) << what << ": element " << i;
    }
  }
}

TEST(JaxValues, OfOneOperand) {
  const Tensor x = tensor_of<float>({5}, {-2.5f, -0.5f, 0, 0.5f, 4});
  const std::vector<std::pair<const char*, std::vector<double>>> cases = {
      {"log2", {kNan, kNan, -kInf, -1, 2}},
      {"log10", {kNan, kNan, -kInf, -0.30103001, 0.60206002}},
      {"deg2rad", {-0.04363323, -0.0087266462, 0, 0.0087266462, 0.06981317}},
      {"rad2deg", {-143.23945618, -28.64789009, 0, 28.64789009, 229.18312073}},
      {"reciprocal", {-0.4, -2, kInf, 2, 0.25}},
      {"fabs", {2.5, 0.5, 0, 0.5, 4}},
      {"sinc", {0.12732396, 0.63661975, 1, 0.63661975, 0}},
      {"signbit", {1, 1, 0, 0, 0}},
      {"angle", {3.14159274, 3.14159274, 0, 0, 0}},
      {"exp2", {0.17677669, 0.70710677, 1, 1.41421354, 16}},
      {"cbrt", {-1.35720885, -0.79370052, 0, 0.79370052, 1.5874014}},
      {"trunc", {-2, 0, 0, 0, 4}},
      {"elu", {-0.91791499, -0.39346933, 0, 0.5, 4}},
      {"celu", {-0.91791499, -0.39346933, 0, 0.5, 4}},
      {"selu", {-1.61378574, -0.69175822, 0, 0.52535051, 4.20280409}},
      {"leaky_relu", {-0.025, -0.005, 0, 0.5, 4}},
      {"relu6", {0, 0, 0, 0.5, 4}},
      {"hard_sigmoid", {0.08333334, 0.41666669, 0.5, 0.58333337, 1}},
      {"hard_silu", {-0.20833334, -0.20833334, 0, 0.29166669, 4}},
      {"hard_tanh", {-1, -0.5, 0, 0.5, 1}},
      {"soft_sign", {-0.71428573, -0.33333334, 0, 0.33333334, 0.8}},
      {"log_sigmoid", {-2.57888985, -0.97407699, -0.69314718, -0.47407699, -0.01814993}},
      {"mish", {-0.19681618, -0.22074378, 0, 0.37524524, 3.99741268}},
      {"squareplus", {0.35078108, 0.78077638, 1, 1.28077638, 4.23606777}}};
  for (const auto& [name, wanted] : cases) expect_values(reals(call(name, {x})[0]), wanted, 3e-7, name);
}

TEST(JaxValues, OfTwoOperands) {
  const Tensor x = tensor_of<float>({5}, {-2.5f, -0.5f, 0, 0.5f, 4}), y = tensor_of<float>({5}, {1.5f, -2, 3, 0, -1});
  const std::vector<std::pair<const char*, std::vector<double>>> cases = {
      {"hypot", {2.91547585, 2.06155276, 3, 0.5, 4.12310553}},
      {"logaddexp", {1.51814997, -0.29858673, 3.04858732, 0.97407699, 4.0067153}},
      {"logaddexp2", {1.58746278, -0.06324822, 3.16992497, 1.2715534, 4.04439402}},
      {"heaviside", {0, 0, 3, 1, 1}},
      {"copysign", {2.5, -0.5, 0, 0.5, -4}},
      {"fmax", {1.5, -0.5, 3, 0.5, 4}},
      {"fmin", {-2.5, -2, 0, 0, -1}},
      {"fmod", {-1, -0.5, 0, kNan, 0}},
      {"arctan2", {-1.03037679, -2.89661407, 0, 1.57079637, 1.81577492}},
      {"remainder", {0.5, -0.5, 0, kNan, 0}},
      {"floor_divide", {-2, 0, 0, kInf, -4}},
      {"isclose", {0, 0, 0, 0, 0}}};
  for (const auto& [name, wanted] : cases) expect_values(reals(call(name, {x, y})[0]), wanted, 3e-7, name);
  Tensor i = tensor_of<std::int32_t>({3}, {12, -18, 0}), j = tensor_of<std::int32_t>({3}, {18, 12, 5});
  expect_values(reals(call("gcd", {i, j})[0]), {6, 6, 5}, 0, "gcd");
  expect_values(reals(call("lcm", {i, j})[0]), {36, 36, 0}, 0, "lcm");
  Tensor s = tensor_of<std::int32_t>({3}, {1, -3, 5}), n = tensor_of<std::int32_t>({3}, {3, 1, 40});
  expect_values(reals(call("left_shift", {s, n})[0]), {8, -6, 0}, 0, "left_shift");
  Tensor r = tensor_of<std::int32_t>({3}, {8, -3, 5});
  expect_values(reals(call("right_shift", {r, n})[0]), {1, -2, 0}, 0, "right_shift");
  Tensor u = tensor_of<std::uint8_t>({2}, {7, 1}), v = tensor_of<std::uint8_t>({2}, {2, 0});
  expect_values(reals(call("floor_divide", {u, v})[0]), {3, 255}, 0, "floor_divide of unsigned");
  expect_values(reals(call("remainder", {u, v})[0]), {1, 0}, 0, "remainder by 0");
  Tensor nan = tensor_of<float>({2}, {std::nanf(""), 1}), two = tensor_of<float>({2}, {2, std::nanf("")});
  expect_values(reals(call("fmax", {nan, two})[0]), {2, 1}, 0, "fmax of NaN");
}

TEST(JaxValues, OfSeveralResultsAndAttributes) {
  Tensor x = tensor_of<float>({2}, {7, -7}), two = tensor_of<float>({2}, {2, 2});
  std::vector<Tensor> divided = call("divmod", {x, two});
  expect_values(reals(divided[0]), {3, -4}, 0, "divmod");
  expect_values(reals(divided[1]), {1, 1}, 0, "divmod");
  divided = call("divmod", {tensor_of<float>({4}, {7, -7, 1, 0.5f}), tensor_of<float>({4}, {-2, -2, 0, 0.5f})});
  expect_values(reals(divided[0]), {-4, 3, kInf, 1}, 0, "divmod of signs and by 0");
  expect_values(reals(divided[1]), {-1, -1, std::nan(""), 0}, 0, "divmod of signs and by 0");
  Tensor large = call("betaln", {tensor_of<float>({3}, {3, 0.5f, 40}), tensor_of<float>({3}, {1e6f, 4, 9})})[0];
  expect_values(reals(large), {-40.75339126586914, -0.08961308002471924, -23.437557220458984}, 2e-6, "betaln of large numbers");
  std::vector<Tensor> parts = call("modf", {tensor_of<float>({2}, {1.5f, -2.25f})});
  expect_values(reals(parts[0]), {0.5, -0.25}, 0, "modf");
  expect_values(reals(parts[1]), {1, -2}, 0, "modf");
  Tensor odd = tensor_of<float>({4}, {float(kNan), float(kInf), float(-kInf), 1});
  expect_values(reals(call("nan_to_num", {odd})[0]), {0, 3.40282347e38, -3.40282347e38, 1}, 1e-7, "nan_to_num");
  expect_values(reals(call("isinf", {odd})[0]), {0, 1, 1, 0}, 0, "isinf");
  expect_values(reals(call("isposinf", {odd})[0]), {0, 1, 0, 0}, 0, "isposinf");
  expect_values(reals(call("isneginf", {odd})[0]), {0, 0, 1, 0}, 0, "isneginf");
  expect_values(reals(call("round", {tensor_of<float>({2}, {1.256f, -2.345f})}, Attrs{{"decimals", std::int64_t(2)}})[0]), {1.26, -2.34},
                1e-7, "round");
  expect_values(reals(call("one_hot", {tensor_of<std::int32_t>({3}, {0, 2, 5})}, Attrs{{"num_classes", std::int64_t(3)}})[0]),
                {1, 0, 0, 0, 0, 1, 0, 0, 0}, 0, "one_hot");
  Attrs bits{{"dtype", DType::kUint32}};
  EXPECT_EQ(call("bitcast", {tensor_of<float>({1}, {1})}, bits)[0].as<std::uint32_t>()[0], 0x3f800000u);
}

TEST(JaxValues, OfReductionsWithoutNan) {
  float nan = std::nanf("");
  const Tensor x = tensor_of<float>({3, 3}, {1, nan, 3, nan, nan, nan, 2, 5, -1});
  const Attrs rows{{"axis", std::int64_t(1)}};
  const std::vector<std::pair<const char*, std::vector<double>>> cases = {
      {"nansum", {4, 0, 6}},     {"nanprod", {3, 1, -10}}, {"nanmax", {3, kNan, 5}},         {"nanmin", {1, kNan, -1}},
      {"nanmean", {2, kNan, 2}}, {"nanvar", {1, kNan, 6}}, {"nanstd", {1, kNan, 2.44948983}}};
  for (const auto& [name, wanted] : cases) expect_values(reals(call(name, {x}, rows)[0]), wanted, 3e-7, name);
  expect_values(reals(call("ptp", {tensor_of<float>({2, 2}, {1, 5, 2, -3})}, rows)[0]), {4, 5}, 0, "ptp");
  Tensor count = call("count_nonzero", {tensor_of<float>({3}, {0, 1, 2})})[0];
  EXPECT_EQ(count.type.dtype, DType::kInt32);
  EXPECT_EQ(count.as<std::int32_t>()[0], 2);
}

// Narrow types are added wide: 300 ones of bfloat16 would stop at 256.
TEST(JaxValues, SumsOfNarrowTypes) {
  Tensor ones = tensor_of<Bfloat16>({300}, std::vector<Bfloat16>(300, Bfloat16(1)));
  Tensor sum = call("sum", {ones})[0];
  EXPECT_EQ(sum.type.dtype, DType::kBfloat16);
  EXPECT_EQ(float(sum.as<Bfloat16>()[0]), 300);
  EXPECT_EQ(float(call("mean", {ones})[0].as<Bfloat16>()[0]), 1);
  Tensor bytes = tensor_of<std::int8_t>({3}, {100, 100, 100});
  EXPECT_EQ(call("sum", {bytes})[0].as<std::int32_t>()[0], 300);
  EXPECT_EQ(call("sum", {tensor_of<std::uint8_t>({2}, {200, 100})})[0].type.dtype, DType::kUint32);
}

// The vectors that the authors of the generator publish: zeros, and digits of pi.
TEST(Random, ThreefryVectors) {
  ops::ThreefryBlock zeros = ops::threefry({0, 0}, 0, 0), pi = ops::threefry({0x13198a2e, 0x03707344}, 0x243f6a88, 0x85a308d3);
  EXPECT_EQ(zeros.first, 0x6b200159u);
  EXPECT_EQ(zeros.second, 0x99ba4efeu);
  EXPECT_EQ(pi.first, 0xc4923a9cu);
  EXPECT_EQ(pi.second, 0x483df7a0u);
}

TEST(Random, ErrorsNameTheKey) {
  try {
    call("random.uniform", {tensor_of<float>({2}, {1, 2})});
    FAIL();
  } catch (const UserError& error) { EXPECT_NE(std::string(error.what()).find("uint32[2] as random.key makes it"), std::string::npos); }
}

// The transform of each kind by its definition.
std::vector<std::complex<double>> defined(const std::string& kind, const std::vector<std::complex<double>>& x, std::int64_t n) {
  bool inverse = kind == "ifft" || kind == "irfft";
  std::vector<std::complex<double>> signal(std::size_t(n), 0);
  for (std::int64_t i = 0; i < n; ++i) {
    bool mirrored = kind == "irfft" && i > n / 2;
    std::size_t from = std::size_t(mirrored ? n - i : i);
    if (from < x.size()) signal[std::size_t(i)] = mirrored ? std::conj(x[from]) : x[from];
    if (kind == "irfft" && (i == 0 || 2 * i == n)) signal[std::size_t(i)] = signal[std::size_t(i)].real();
  }
  std::vector<std::complex<double>> result;
  for (std::int64_t k = 0; k < (kind == "rfft" ? n / 2 + 1 : n); ++k) {
    std::complex<double> sum = 0;
    for (std::int64_t i = 0; i < n; ++i)
      sum += signal[std::size_t(i)] * std::polar(1.0, (inverse ? 2 : -2) * M_PI * double(i * k % n) / double(n));
    result.push_back(inverse ? sum / double(n) : sum);
  }
  return result;
}

TEST(Fourier, EveryKindAndLengthAgreesWithItsDefinition) {
  std::mt19937 random(3);
  for (const std::string kind : {"fft", "ifft", "rfft", "irfft"})
    for (std::int64_t given : {1, 2, 3, 7, 8, 30})
      for (std::int64_t length : {given, given + 2, std::max<std::int64_t>(1, given - 1)})
        for (bool wide : {false, true}) {
          DType real = wide ? DType::kFloat64 : DType::kFloat32;
          Tensor x = random_tensor({kind == "rfft" ? real : complex_dtype(real), {given, 3}}, random);
          Tensor y = run(*find_op("fft_axis"), {x}, Attrs{{"kind", kind}, {"axis", std::int64_t(0)}, {"length", length}})[0];
          for (std::size_t column = 0; column < 3; ++column) {
            std::vector<std::complex<double>> in, out, all = numbers(x), got = numbers(y);
            for (std::size_t i = column; i < all.size(); i += 3) in.push_back(all[i]);
            for (std::size_t i = column; i < got.size(); i += 3) out.push_back(got[i]);
            std::vector<std::complex<double>> wanted = defined(kind, in, length);
            ASSERT_EQ(out.size(), wanted.size());
            for (std::size_t i = 0; i < wanted.size(); ++i)
              ASSERT_NEAR(std::abs(out[i] - wanted[i]), 0, wide ? 1e-12 : 1e-5) << kind << " of " << given << " as " << length;
          }
        }
}

}  // namespace
}  // namespace shardlab
