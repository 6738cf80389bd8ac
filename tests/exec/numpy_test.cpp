// The functions of runtime/exec/numpy.h against what JAX 0.10.2 gives, and the text of their errors.
#include "runtime/exec/numpy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/autodiff.h"
#include "runtime/exec/linalg.h"
#include "runtime/exec/statistics.h"

using namespace shardlab;

namespace {

using testing::HasSubstr;
using Numbers = std::vector<float>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Array vector_of(const Numbers& values) { return array<float>(values); }
Array integers(const std::vector<std::int32_t>& values) { return array<std::int32_t>(values); }
Array rows() { return vector_of({3, 1, 2, 5, 4, 8, 7, 9, 0, 6, -1, 2}).reshape({3, 4}); }
Array v() { return vector_of({1, 2, 4, 7}); }
Array w() { return vector_of({3, -1, 2}); }
Array with_nan() { return vector_of({1, kNan, 3, 4, 5, kNan}).reshape({2, 3}); }

void expect(const Array& got, const Numbers& wanted) {
  Numbers values = astype(got, float32).to_vector<float>();
  ASSERT_EQ(values.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(values[i], wanted[i], 3e-6 * (1 + std::fabs(wanted[i]))) << "element " << i;
}

template <typename Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const UserError& error) { return error.what(); }
  return "no error";
}

TEST(Numpy, KindsOfNumbers) {
  EXPECT_TRUE(iscomplexobj(astype(ones({2}), complex64)));
  EXPECT_FALSE(iscomplexobj(2.0));
  EXPECT_TRUE(isrealobj(arange(3)));
  EXPECT_EQ(positive(array<float>({-1, 2})).to_vector<float>(), (std::vector<float>{-1, 2}));
}

TEST(Numpy, ArraysLongerShorterTurned) {
  expect(append(v(), w()), {1, 2, 4, 7, 3, -1, 2});
  expect(insert(v(), integers({1, 3}), 9.0), {1, 9, 2, 4, 9, 7});
  expect(insert(rows(), 1, v(), 0), {3, 1, 2, 5, 1, 2, 4, 7, 4, 8, 7, 9, 0, 6, -1, 2});
  expect(delete_(v(), {0, 2}), {2, 7});
  expect(resize(v(), {2, 3}), {1, 2, 4, 7, 1, 2});
  expect(rot90(vector_of({3, 1, 4, 8}).reshape({2, 2})), {1, 8, 3, 4});
  expect(ediff1d(v()), {1, 2, 3});
  EXPECT_EQ(unstack(rows(), 1).size(), 4U);
  expect(hsplit(rows(), 2)[1], {2, 5, 7, 9, -1, 2});
  EXPECT_EQ(atleast_3d(v()).shape(), (Shape{1, 4, 1}));
  EXPECT_EQ(broadcast_arrays({w().reshape({3, 1}), v()})[0].shape(), (Shape{3, 4}));
  EXPECT_EQ(matrix_transpose(rows()).shape(), (Shape{4, 3}));
}

TEST(Numpy, WhichElementsAndReplacedOnes) {
  std::vector<Array> places = nonzero(rows() > 4.0, 4);
  expect(places[0], {0, 1, 1, 1});
  expect(places[1], {3, 1, 2, 3});
  expect(flatnonzero(rows() > 8.0, 3, -1), {7, -1, -1});
  Array i = integers({3, 1, 3, 0, 1});
  expect(unique(i, 4, -1), {0, 1, 3, -1});
  expect(unique(i, 5), {0, 1, 3, 0, 0});
  expect(isin(i, integers({1, 7})), {0, 1, 0, 0, 1});
  expect(extract(v() > 1.5, v(), 2), {2, 4});
  expect(fill_diagonal(rows(), 0.5), {0.5, 1, 2, 5, 4, 0.5, 7, 9, 0, 6, 0.5, 2});
  expect(diagflat(w(), -1), {0, 0, 0, 0, 3, 0, 0, 0, 0, -1, 0, 0, 0, 0, 2, 0});
  expect(put(v(), integers({-1, 9}), 5.0), {1, 2, 4, 5});
  expect(put_along_axis(rows(), integers({3, 0, 1}).reshape({3, 1}), -2.0, 1), {3, 1, 2, -2, -2, 8, 7, 9, 0, -2, -1, 2});
  expect(place(v(), v() > 1.5, vector_of({8, 9})), {1, 8, 9, 8});
}

TEST(Numpy, SignalsAndPolynomials) {
  expect(convolve(v(), w()), {3, 5, 12, 21, 1, 14});
  expect(convolve(v(), w(), "same"), {5, 12, 21, 1});
  expect(correlate(w(), v(), "full"), {21, 5, 16, 9, 3, 2});
  expect(polyval(w(), v()), {4, 12, 46, 142});
  expect(polyadd(v(), w()), {1, 5, 3, 9});
  expect(polymul(w(), w()), {9, -6, 13, -4, 4});
  expect(polyder(v()), {3, 4, 4});
  expect(polyint(v()), {0.25f, 0.66666669f, 2, 7, 0});
  auto [quotient, rest] = polydiv(v(), w());
  expect(quotient, {0.33333334f, 0.77777779f});
  expect(rest, {0, 0, 4.11111116f, 5.44444466f});
  expect(poly(w()), {1, -4, 1, 6});
  expect(vander(w(), 2), {3, 1, -1, 1, 2, 1});
}

TEST(Numpy, CountsAndOrders) {
  expect(digitize(v(), vector_of({0, 2, 5})), {1, 2, 2, 3});
  auto [counts, edges] = histogram(v(), 3);
  expect(counts, {2, 1, 1});
  expect(edges, {1, 3, 5, 7});
  auto [weighed, own] = histogram(v(), 2, {.range = std::pair{0.0, 8.0}, .weights = v()});
  expect(weighed, {3, 11});
  expect(own, {0, 4, 8});
  expect(quantile(rows(), vector_of({0.25f, 0.9f}), {.axis = 1}), {1.75f, 6.25f, -0.25f, 4.4f, 8.7f, 4.8f});
  expect(quantile(rows(), 0.25, {.axis = 1, .method = "lower"}), {1, 4, -1});
  expect(nanquantile(with_nan(), 0.5, {.axis = 0}), {2.5f, 5, 3});
  expect(nanmedian(with_nan()), {3.5f});
  expect(nanargmax(with_nan(), 1), {2, 1});
  expect(nancumsum(with_nan(), 1), {1, 1, 4, 4, 9, 9});
  expect(partition(integers({5, 3, 9, 1}), 1), {1, 3, 9, 5});
  expect(lexsort({integers({3, 1, 3, 0, 1}), integers({1, 1, 0, 0, 1})}), {3, 2, 1, 4, 0});
}

TEST(Numpy, CalculusAndGeometry) {
  expect(trapezoid(v(), 0.5), {5});
  expect(trapezoid(v(), v()), {24});
  expect(gradient(v())[0], {1, 1.5f, 2.5f, 3});
  expect(interp(vector_of({0, 3, 9}), v(), v() * v()), {1, 10, 49});
  expect(unwrap(vector_of({0, 3, 6.5f, 0.5f})), {0, 3, 0.216814995f, 0.500000477f});
  expect(cross(w(), vector_of({1, 2, 3})), {-7, -7, 7});
  expect(cov(vector_of({3, 1, 2, 5})), {2.91666675f});
  expect(corrcoef(rows()), {1, 0.18070154f, -0.33100635f, 0.18070154f, 1, 0.49844474f, -0.33100635f, 0.49844474f, 1});
  expect(apply("linspace", {v(), vector_of({3, -1, 2, 0})}, {{"num", std::int64_t(3)}, {"axis", std::int64_t(1)}}, Where{})[0],
         {1, 2, 3, 2, 0.5f, -1, 4, 3, 2, 7, 3.5f, 0});
  expect(linalg::norm(rows(), AxisList::all(), 1), {16});
  expect(linalg::matrix_power(vector_of({1, 2, 3, 4}).reshape({2, 2}), 3), {37, 54, 81, 118});
  expect(linalg::multi_dot({rows(), v()}), {48, 111, 22});
}

TEST(Numpy, BitsAndSpecialFunctions) {
  expect(packbits(integers({1, 0, 1, 1, 0, 0, 0, 1, 1})), {177, 128});
  auto [fraction, exponent] = frexp(vector_of({0, 3, -0.1f}));
  expect(fraction, {0, 0.75f, -0.8f});
  expect(exponent, {0, 2, -3});
  expect(i0(vector_of({0, 1, -9})), {1, 1.26606596f, 1093.58838f});
  expect(i1e(vector_of({0, 1, -9})), {0, 0.207910419f, -0.127224997f});
  expect(log_ndtr(vector_of({-12, 0, 6})), {-75.410675f, -0.693147182f, -9.8658959e-10f});
  expect(xlogy(vector_of({0, 2}), vector_of({0, 3})), {0, 2.19722462f});
}

TEST(Numpy, MasksAndSegments) {
  expect(masked::mean(rows(), rows() > 1.0, {.axis = 0}), {3.5f, 7, 4.5f, 5.33333349f});
  expect(masked::max(rows(), rows() > 2.0, -1, {.axis = 1}), {5, 9, 6});
  expect(masked::var(rows(), rows() > 1.0), {5.87654305f});
  expect(masked::sum(rows(), vector_of({1, 0, 0, 1}) > 0.0), {23});
  expect(segment_sum(v(), integers({0, 2, 0, 5}), 3), {5, 0, 2});
  auto loss = [](const Array& x) { return sum(sin(segment_max(x, integers({0, 1, 0, 1}), 2))); };
  expect(grad(loss)(vector_of({2, 1, 2, 0})), {-0.208073422f, 0.540302277f, -0.208073422f, 0});
}

TEST(Numpy, MistakesAreNamed) {
  EXPECT_THAT(message_of([] { delete_(v(), {4}); }), HasSubstr("delete: index 4 is out of bounds for axis 0 with size 4"));
  EXPECT_THAT(message_of([] { convolve(rows(), v()); }), HasSubstr("convolve() only support 1-dimensional inputs"));
  EXPECT_THAT(message_of([] { convolve(v(), w(), "whole"); }), HasSubstr("mode must be one of ['full', 'same', 'valid']"));
  EXPECT_THAT(message_of([] { cross(rows(), rows()); }), HasSubstr("Dimension must be either 2 or 3 for cross product"));
  EXPECT_THAT(message_of([] { gradient(vector_of({1})); }), HasSubstr("Shape of array too small to calculate a numerical gradient"));
  EXPECT_THAT(message_of([] { fill_diagonal(v(), 1.0); }), HasSubstr("array must be at least 2-d"));
  EXPECT_THAT(message_of([] { partition(v(), 4); }), HasSubstr("kth=4 is out of range for an axis of size 4"));
  EXPECT_THAT(message_of([] { quantile(v(), 0.5, {.method = "best"}); }), HasSubstr("method can only be 'linear', 'lower', 'higher'"));
  EXPECT_THAT(message_of([] { masked::max(rows(), rows(), 0); }), HasSubstr("where must have dtype bool"));
  EXPECT_THAT(message_of([] {
                apply("max", {rows(), rows() > 0.0}, {{"where", std::int64_t(1)}}, Where{});
              }),
              HasSubstr("does not have an identity, so to use a where mask one has to specify 'initial'"));
  EXPECT_THAT(message_of([] { apply("nonzero", {v()}, {}, Where{}); }), HasSubstr("'size' is missing"));
  EXPECT_THAT(message_of([] { segment_sum(v(), integers({0}), 2); }), HasSubstr("wanted a segment for each row"));
}

}  // namespace
