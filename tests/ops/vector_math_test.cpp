// Elementary functions: accuracy in units in the last place against the C library in double, and special values.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/ops/evaluate.h"

namespace shardlab {
namespace {

using namespace testing_ops;

struct Case {
  const char* name;
  double (*exact)(double);
};
double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double rsqrt(double x) { return 1 / std::sqrt(x); }
const Case kCases[] = {{"sin", std::sin},   {"cos", std::cos},     {"tan", std::tan},      {"tanh", std::tanh},
                       {"exp", std::exp},   {"expm1", std::expm1}, {"log", std::log},      {"log1p", std::log1p},
                       {"sqrt", std::sqrt}, {"rsqrt", rsqrt},      {"logistic", logistic}, {"erf", std::erf}};

// Floats of every exponent and sign, then uniform ones.
std::vector<float> arguments() {
  std::vector<float> result;
  std::mt19937 random(1);
  for (int i = 0; i < 400000; ++i) {
    float x = std::bit_cast<float>(std::uint32_t(random()));
    if (std::isfinite(x)) result.push_back(x);
  }
  std::uniform_real_distribution<float> near(-10, 10), far(-110, 110);
  for (int i = 0; i < 200000; ++i) {
    result.push_back(near(random));
    result.push_back(far(random));
  }
  return result;
}

double ulps(float got, double exact) {
  float rounded = float(exact);
  if (std::isnan(got) && std::isnan(exact)) return 0;
  if (got == rounded) return 0;
  if (!std::isfinite(got) || !std::isfinite(rounded)) return 1e9;
  float next = std::nextafter(std::fabs(rounded), std::numeric_limits<float>::infinity());
  return std::fabs(double(got) - exact) / std::max(double(next) - std::fabs(double(rounded)), 1e-45);
}

class Accuracy : public ::testing::TestWithParam<Case> {};

TEST_P(Accuracy, StaysWithinOneUnitInTheLastPlace) {
  std::vector<float> x = arguments();
  Tensor result = call(GetParam().name, {tensor_of<float>({std::int64_t(x.size())}, x)})[0];
  double worst = 0;
  float at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double error = ulps(result.as<float>()[i], GetParam().exact(double(x[i])));
    if (error > worst) worst = error, at = x[i];
  }
  EXPECT_LT(worst, 0.6) << "at " << at;
}

TEST_P(Accuracy, SpecialValuesAsTheCLibrary) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> x = {0.0f, -0.0f, kInf, -kInf, NAN, 1e-45f, -1e-45f, 3.4e38f, -3.4e38f, 1.0f, -1.0f};
  Tensor result = call(GetParam().name, {tensor_of<float>({std::int64_t(x.size())}, x)})[0];
  for (std::size_t i = 0; i < x.size(); ++i) {
    float got = result.as<float>()[i], wanted = float(GetParam().exact(double(x[i])));
    EXPECT_TRUE(got == wanted || (std::isnan(got) && std::isnan(wanted)))
        << GetParam().name << "(" << x[i] << ") = " << got << ", " << wanted;
    if (!std::isnan(wanted)) { EXPECT_EQ(std::signbit(got), std::signbit(wanted)) << x[i]; }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryFunction, Accuracy, ::testing::ValuesIn(kCases), [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace shardlab
