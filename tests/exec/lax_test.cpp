// jax.lax's functions and those of jax.numpy and jax.random that have parameters, by values that JAX 0.8 gave.
#include "runtime/exec/lax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/autodiff.h"
#include "runtime/exec/fft.h"
#include "runtime/exec/indexing.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/linalg.h"
#include "runtime/exec/numpy.h"
#include "runtime/exec/random.h"

using namespace shardlab;  // as a user's program has it

namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

std::vector<float> floats(const Array& x) { return astype(x, float32).to_vector<float>(); }
std::vector<std::int32_t> ints(const Array& x) { return astype(x, int32).to_vector<std::int32_t>(); }
auto near(std::vector<float> wanted) { return Pointwise(FloatNear(2e-6f), wanted); }

TEST(Lax, ConvolutionsAndWindows) {
  Array x = arange(16.0).reshape({1, 1, 4, 4}), k = ones({1, 1, 2, 2});
  EXPECT_THAT(floats(conv(x, k, {2, 2}, {{1, 0}, {0, 1}})), ElementsAre(1, 5, 26, 34));
  EXPECT_THAT(floats(conv_general_dilated(transpose(x, {0, 2, 3, 1}), transpose(k, {2, 3, 1, 0}), {1, 1}, "SAME",
                                          {.rhs_dilation = {2, 2}, .dimension_numbers = {"NHWC", "HWIO", "NHWC"}})),
              ElementsAre(5, 10, 12, 6, 10, 20, 24, 12, 18, 36, 40, 20, 9, 18, 20, 10));
  Array image = x.reshape({4, 4});
  EXPECT_THAT(floats(reduce_window(image, "max", {2, 2}, {.window_strides = {2, 2}})), ElementsAre(5, 7, 13, 15));
  EXPECT_THAT(floats(reduce_window(image, "sum", {3, 1}, {.padding = {{1, 1}, {0, 0}}})[0]), ElementsAre(4, 6, 8, 10));
  Array pooled = x.reshape({1, 4, 4, 1});
  EXPECT_THAT(floats(max_pool(pooled, {2, 2}, {.strides = {2, 2}})), ElementsAre(5, 7, 13, 15));
  EXPECT_THAT(floats(min_pool(pooled, {2, 2}, {.strides = {2, 2}})), ElementsAre(0, 2, 8, 10));
  EXPECT_THAT(floats(avg_pool(pooled, {2, 2}, {.strides = {2, 2}})), ElementsAre(2.5, 4.5, 10.5, 12.5));
  EXPECT_THROW(conv(x, k, {1}, "VALID"), UserError);
}

// Values of JAX.
TEST(Lax, ParametersOfActivationsAreArrays) {
  const Array x = array(std::vector<float>{-2, -0.5, 0, 1.5}), a = array(std::vector<float>{0.5, 1, 2, 3});
  auto near = [](std::vector<float> wanted) { return Pointwise(FloatNear(1e-5F), wanted); };
  EXPECT_THAT(floats(elu(x, a)), near({-0.4323324F, -0.3934693F, 0, 1.5F}));
  EXPECT_THAT(floats(celu(x, a)), near({-0.4908422F, -0.3934693F, 0, 1.5F}));
  EXPECT_THAT(floats(leaky_relu(x, a)), near({-1, -0.5F, 0, 1.5F}));
  EXPECT_THAT(floats(leaky_relu(x, 0.2)), near({-0.4F, -0.1F, 0, 1.5F}));
  EXPECT_THAT(floats(squareplus(x, a)), near({0.0606602F, 0.309017F, 0.7071068F, 1.8956439F}));
  auto sum_of_celu = [](const Array& t, const Array& alpha) { return sum(celu(t, alpha)); };
  EXPECT_THAT(floats(grad<1>(sum_of_celu)(x, a)), near({-0.9084218F, -0.0902040F, 0, 0}));
}

// Ordered as pairs. Values of JAX.
TEST(Lax, LeastAndGreatestComplexNumberOfAWindow) {
  const Array re = array(std::vector<float>{1, 1, 0.5, 1, 3, 2, 0}), im = array(std::vector<float>{2, -3, 9, 2, -1, 0, -1});
  const Array most = reduce_window(complex(re, im), "max", {3}), least = reduce_window(complex(re, im), "min", {3}, {.padding = "SAME"});
  EXPECT_THAT(floats(real(most)), ElementsAre(1, 1, 3, 3, 3));
  EXPECT_THAT(floats(imag(most)), ElementsAre(2, 2, -1, -1, -1));
  EXPECT_THAT(floats(real(least)), ElementsAre(1, 0.5, 0.5, 0.5, 1, 0, 0));
  EXPECT_THAT(floats(imag(least)), ElementsAre(-3, 9, 9, 9, 2, -1, -1));
}

// Values of JAX.
TEST(Lax, GroupsOfTheBatch) {
  Array x = arange(24.0).reshape({4, 2, 3}), k = arange(16.0).reshape({4, 2, 2}) - 7.0;
  auto f = [](const Array& images, const Array& kernels) {
    return conv_general_dilated(images, kernels, {1}, "VALID", {.batch_group_count = 2});
  };
  EXPECT_THAT(floats(f(x, k)), ElementsAre(-37, -59, -5, -11, 147, 157, 371, 397, -169, -191, -41, -47, 207, 217, 527, 553));
  auto loss = [&](const Array& images, const Array& kernels) { return sum(square(f(images, kernels))); };
  auto gradients = grad<0, 1>(loss)(x, k);
  EXPECT_THAT(floats(std::get<0>(gradients)), ElementsAre(548, 1356, 752, 380, 908, 472, 2612, 5148, 2480, 1772, 3356, 1528, 4004, 9324,
                                                          5392, 6076, 13612, 7608, 5684, 13116, 7504, 8620, 19132, 10584));
  EXPECT_THAT(floats(std::get<1>(gradients)),
              ElementsAre(-4820, -5732, -7556, -8468, -1172, -1380, -1796, -2004, 23308, 24764, 27676, 29132, 59212, 62908, 70300, 73996));
}

TEST(Lax, ProductsAndPlaces) {
  Array x = arange(12.0).reshape({2, 2, 3}), y = arange(12.0).reshape({2, 3, 2}), grid = arange(16.0).reshape({4, 4});
  std::vector<float> product{10, 13, 28, 40, 172, 193, 244, 274};
  EXPECT_EQ(floats(dot_general(x, y, {{2}, {1}}, {{0}, {0}})), product);
  EXPECT_EQ(floats(batch_matmul(x, y)), product);
  EXPECT_THROW(dot_general(x, y, {{2, 1}, {1}}), UserError);
  Array places = array<std::int32_t>({0, 1, 2, 2}, {2, 2});
  GatherDimensionNumbers windows{.offset_dims = {1}, .collapsed_slice_dims = {0}, .start_index_map = {0, 1}};
  EXPECT_THAT(floats(gather(grid, places, windows, {1, 2})), ElementsAre(1, 2, 10, 11));
  EXPECT_THAT(floats(scatter_add(zeros({2, 2}), array<std::int32_t>({1, 1}, {2, 1}), ones({2, 2}), {{1}, {0}, {0}})),
              ElementsAre(0, 0, 2, 2));
  EXPECT_THAT(floats(scatter_sub(zeros({2, 2}), array<std::int32_t>({1, 1}, {2, 1}), ones({2, 2}), {{1}, {0}, {0}})),
              ElementsAre(0, 0, -2, -2));
  EXPECT_THAT(floats(scatter_max(zeros({3}), array<std::int32_t>({1, 2}, {2, 1}), array<float>({-1, 4}), {{}, {0}, {0}})),
              ElementsAre(0, 0, 4));
}

TEST(Lax, Dimensions) {
  Array x = arange(6).reshape({2, 3});
  EXPECT_THAT(ints(dynamic_slice_in_dim(x, asarray(1), 2, 1)), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(ints(dynamic_update_slice_in_dim(x, zeros({1, 3}, int32), asarray(1), 0)), ElementsAre(0, 1, 2, 0, 0, 0));
  EXPECT_THAT(ints(index_in_dim(x, -1, 1, false)), ElementsAre(2, 5));
  EXPECT_THAT(ints(broadcast_in_dim(arange(2), {2, 2}, {0})), ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(collapse(ones({2, 3, 4}), 1).shape(), (Shape{2, 12}));
  EXPECT_THAT(ints(rev(x, {1})), ElementsAre(2, 1, 0, 5, 4, 3));
  EXPECT_THAT(ints(reduce_sum(x, {0})), ElementsAre(3, 5, 7));
  EXPECT_THAT(ints(reduce_max(x, {1})), ElementsAre(2, 5));
  EXPECT_THAT(ints(clamp(1, x, 4)), ElementsAre(1, 1, 2, 3, 4, 4));
  EXPECT_THAT(ints(rem(array<std::int32_t>({-7, 7}), 3)), ElementsAre(-1, 1));
  EXPECT_THAT(ints(integer_pow(x, 2)), ElementsAre(0, 1, 4, 9, 16, 25));
}

TEST(Lax, LessOftenMet) {
  EXPECT_THAT(ints(tril_indices(3, -1)[1]), ElementsAre(0, 0, 1));
  EXPECT_THAT(ints(triu_indices_from(ones({2, 3}))[0]), ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(ints(unravel_index(array<std::int32_t>({5, 7}), {2, 4})[1]), ElementsAre(1, 3));
  EXPECT_THAT(ints(divmod(array<std::int32_t>({7, -7}), 3).first), ElementsAre(2, -3));
  EXPECT_THAT(floats(geomspace(1.0, 8.0, 4)), near({1, 2, 4, 8}));
  EXPECT_THAT(ints(histogram2d(array<float>({0, 1, 1}), array<float>({0, 0, 1}), 2)[0]), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(floats(kaiser(3, 2.0)), near({0.43867639f, 1, 0.43867639f}));
  EXPECT_THAT(floats(gamma(array<float>({5}))), near({24}));
  EXPECT_THAT(floats(linalg::matrix_norm(array<float>({3, 4}, {1, 2}))), near({5}));
  EXPECT_EQ(fft::ihfft(arange(6.0)).shape(), (Shape{4}));
  EXPECT_EQ(asarray(2.5).dtype(), float32);
  EXPECT_EQ(asarray(arange(2), int8).dtype(), int8);
}

TEST(Lax, DistributionsWithParameters) {
  Array key = random::key(7);
  EXPECT_THAT(floats(random::maxwell(key, {2})), near({2.07028675f, 0.71447033f}));
  EXPECT_THAT(floats(random::double_sided_maxwell(key, 1.0, 2.0, {2})), near({-1.47719097f, -4.17010546f}));
  EXPECT_THAT(ints(random::geometric(key, 0.3, {2})), ElementsAre(2, 1));
  EXPECT_THAT(floats(random::lognormal(key, 0.5, {2})), near({1.25309634f, 2.65574551f}));
  EXPECT_THAT(floats(random::pareto(key, 2.0, {2})), near({1.75166523f, 6.27664423f}));
  EXPECT_THAT(floats(random::rayleigh(key, 2.0, {2})), near({1.77626979f, 0.45352685f}));
  EXPECT_THAT(floats(random::triangular(key, 0.0, 0.3, 1.0, {2})), near({0.52236307f, 0.86670268f}));
  EXPECT_THAT(floats(random::wald(key, 2.0, {2})), near({0.47095108f, 2.44271636f}));
  EXPECT_THAT(floats(random::weibull_min(key, 2.0, 3.0, {2})), near({2.07769823f, 3.08600593f}));
}

TEST(Lax, OneDrawForAllParametersOrOneForEachPairOfThem) {
  const Array key = random::key(0), scales = array<float>({1, 2, 3}), powers = array<float>({1, 2, 0.5f});
  EXPECT_THAT(floats(random::weibull_min(key, scales, powers)),
              Pointwise(FloatNear(1e-5f), std::vector<float>{2.950128f, 3.4351873f, 26.109768f}));
  const Array both = random::double_sided_maxwell(key, array<float>({1, 2}), array<float>({1, 0.5f}));
  EXPECT_EQ(both.shape(), (Shape{2, 2}));
  EXPECT_THAT(floats(both), near({2.545721f, 2.7870638f, -1.0825305f, 3.1462088f}));
}

TEST(Lax, WindowsThatSlideAlongADimension) {
  const Array x = arange(12.0).reshape({2, 6});
  EXPECT_THAT(floats(sliding_windows(x, 1, 3, 2)), ElementsAre(0, 1, 2, 2, 3, 4, 6, 7, 8, 8, 9, 10));
  EXPECT_EQ(sliding_windows(x, 0, 2).shape(), (Shape{1, 6, 2}));
  EXPECT_THAT(floats(sliding_windows(x[0], 0, 2, 1, 3)), ElementsAre(0, 3, 1, 4, 2, 5));
  auto loss = [](const Array& v) { return sum(sliding_windows(v, 0, 3, 2) * array<float>({1, 10, 100})); };
  EXPECT_THAT(floats(grad(loss)(arange(6.0))), ElementsAre(1, 10, 101, 10, 100, 0));
  EXPECT_THROW(sliding_windows(x, 2, 3), UserError);
}

TEST(Lax, PatchesAreTheWindowsOfAConvolution) {
  const Array x = arange(60.0).reshape({2, 5, 3, 2});
  auto patches = [](const Array& v) {
    return conv_general_dilated_patches(v, {2, 3}, {2, 1}, "SAME", {.rhs_dilation = {2, 1}, .dimension_numbers = {"NHWC", "HWIO", "NHWC"}});
  };
  const Array found = jit(patches)(x);
  auto of_constants = [&](const Array& v) { return patches(ones({2, 5, 3, 2})) + sum(v); };
  EXPECT_THAT(floats(jit(of_constants)(arange(2.0))[0][0][0]), ElementsAre(1, 1, 1, 1, 2, 2, 1, 1, 1, 1, 2, 2));
  EXPECT_EQ(found.shape(), (Shape{2, 3, 3, 12}));
  EXPECT_THAT(floats(found[0][1][1]), ElementsAre(6, 8, 10, 18, 20, 22, 7, 9, 11, 19, 21, 23));
  EXPECT_THAT(floats(sum(found, {1, 2})),
              ElementsAre(52, 84, 60, 52, 84, 60, 56, 90, 64, 56, 90, 64, 172, 264, 180, 172, 264, 180, 176, 270, 184, 176, 270, 184));
}

TEST(Lax, ComplexNumbersOfTheirParts) {
  auto size = [](const Array& x, const Array& y) { return sum(square(abs(complex(sin(x), y * y)))); };
  const auto [by_x, by_y] = grad<0, 1>(size)(array<float>({0.5f, 1, 2}), array<float>({1, -2, 0.25f}));
  EXPECT_THAT(floats(by_x), near({0.841471f, 0.90929735f, -0.7568025f}));
  EXPECT_THAT(floats(by_y), Pointwise(FloatNear(1e-5f), std::vector<float>{4, -32, 0.0625f}));
  auto turned = [](const Array& x, const Array& y) { return real(sum(exp(complex(x, y)) * std::complex<double>(1, 2))); };
  const auto [of_x, of_y] = grad<0, 1>(turned)(array<float>({0.5f, 1}), array<float>({1, -2}));
  EXPECT_THAT(floats(of_x), near({-1.8838942f, 3.812249f}));
  EXPECT_THAT(floats(of_y), near({-3.1689668f, 4.7341356f}));
  EXPECT_EQ(complex(arange(3), 1.0).dtype(), complex64);
}

TEST(Lax, SortedAsComplexNumbersAlongTheLastDimension) {
  const Array sorted = sort_complex(array<float>({3, 1, 2, 0, 5, 4}, {2, 3}));
  EXPECT_EQ(sorted.dtype(), complex64);
  EXPECT_THAT(floats(real(sorted)), ElementsAre(1, 2, 3, 0, 4, 5));
}

}  // namespace
