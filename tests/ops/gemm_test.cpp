// Matrix products, to the last bit: whatever the sizes, each element is the sum that gemm.h defines.
#include "runtime/ops/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include "runtime/ops/regions.h"
#include "runtime/ops/registry.h"

namespace shardlab::ops {
namespace {

template <typename T = float>
std::vector<T> numbers(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<T> uniform(-1, 1);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = uniform(random);
  return values;
}

// How a side lies in memory: as rows, as columns, or with holes between its elements.
struct Layout {
  std::int64_t row_stride, column_stride;
};
std::vector<Layout> layouts(std::int64_t rows, std::int64_t columns) {
  return {{columns, 1}, {1, rows}, {columns + 3, 1}, {1, rows + 5}, {2 * columns + 1, 2}};
}

template <typename T>
std::vector<T> laid_out(const std::vector<T>& dense, std::int64_t rows, std::int64_t columns, Layout layout) {
  std::vector<T> values(std::size_t(rows * layout.row_stride + columns * layout.column_stride + 1),
                        T(NAN));  // what lies between is not read
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      values[std::size_t(i * layout.row_stride + j * layout.column_stride)] = dense[std::size_t(i * columns + j)];
  return values;
}

template <typename T>
std::vector<T> product(GemmSize size, const std::vector<T>& a, Layout a_layout, const std::vector<T>& b, Layout b_layout) {
  std::vector<T> c(std::size_t(size.m * size.n), -1);
  gemm(std::is_same_v<T, float> ? DType::kFloat32 : DType::kFloat64, size,
       {reinterpret_cast<const std::byte*>(a.data()), a_layout.row_stride, a_layout.column_stride},
       {reinterpret_cast<const std::byte*>(b.data()), b_layout.row_stride, b_layout.column_stride}, reinterpret_cast<std::byte*>(c.data()));
  return c;
}

template <typename T>
T element(GemmSize size, const std::vector<T>& a, const std::vector<T>& b, std::int64_t row, std::int64_t column) {
  T total = 0;
  for (std::int64_t block = 0; block < size.k; block += 256) {
    T sum = 0;
    for (std::int64_t p = block; p < std::min(size.k, block + 256); ++p)
      sum = std::fma(a[std::size_t(row * size.k + p)], b[std::size_t(p * size.n + column)], sum);
    total = block == 0 ? sum : total + sum;
  }
  return total;
}

template <typename T>
void expect_sums_to_the_last_bit() {
  for (GemmSize size : {GemmSize{1, 1, 1},
                        {1, 1, 0},
                        {3, 5, 7},
                        {8, 48, 16},
                        {9, 49, 257},
                        {7, 47, 256},
                        {17, 100, 513},
                        {13, 24, 255},
                        {40, 3, 1000},
                        {491, 37, 260},
                        {64, 224, 20},
                        {1, 200, 300},
                        {2, 131, 20},
                        {4, 64, 257},
                        {250, 33, 9},
                        {481, 2, 258}}) {
    const auto a = numbers<T>(size.m * size.k, 1), b = numbers<T>(size.k * size.n, 2);
    std::vector<T> wanted;
    for (std::int64_t i = 0; i < size.m; ++i)
      for (std::int64_t j = 0; j < size.n; ++j) wanted.push_back(element(size, a, b, i, j));
    for (Layout a_layout : layouts(size.m, size.k))
      for (Layout b_layout : layouts(size.k, size.n)) {
        const auto c = product(size, laid_out(a, size.m, size.k, a_layout), a_layout, laid_out(b, size.k, size.n, b_layout), b_layout);
        ASSERT_EQ(std::memcmp(wanted.data(), c.data(), c.size() * sizeof(T)), 0)
            << size.m << " x " << size.n << " x " << size.k << ", strides " << a_layout.row_stride << ", " << a_layout.column_stride << "; "
            << b_layout.row_stride << ", " << b_layout.column_stride;
      }
  }
}

TEST(Gemm, EveryElementIsItsSumToTheLastBit) { expect_sums_to_the_last_bit<float>(); }
TEST(Gemm, EveryElementOfDoublesIsItsSumToTheLastBit) { expect_sums_to_the_last_bit<double>(); }

// Of conv_kernel, which is made of products: a part of the batch, of the outputs and of the lines gives the same bits.
TEST(Gemm, ConvolutionsOfPartsAreThoseOfTheWhole) {
  const OpDef& conv = *find_op("conv");
  auto x = numbers(3 * 40 * 9 * 11, 3), w = numbers(5 * 40 * 3 * 2, 4);
  const TensorType x_type{DType::kFloat32, {3, 40, 9, 11}}, w_type{DType::kFloat32, {5, 40, 3, 2}};
  const Attrs attrs{{"lhs_spec", std::vector<std::int64_t>{0, 1, 2, 3}}, {"rhs_spec", std::vector<std::int64_t>{0, 1, 2, 3}},
                    {"out_spec", std::vector<std::int64_t>{0, 1, 2, 3}}, {"window_strides", std::vector<std::int64_t>{2, 1}},
                    {"pads", std::vector<std::int64_t>{1, 1, 0, 2}},     {"lhs_dilation", std::vector<std::int64_t>{1, 1}},
                    {"rhs_dilation", std::vector<std::int64_t>{1, 2}}};
  const TensorType out_type = conv.infer(conv, {x_type, w_type}, attrs)[0];
  const Box x_box = whole(x_type.shape), w_box = whole(w_type.shape);
  auto part = [&](const Box& box, const Box& outputs) {
    TensorType type{DType::kFloat32, {}}, w_part = w_type;
    for (const Interval& interval : box) type.shape.push_back(interval.size());
    w_part.shape[0] = outputs[0].size();
    std::vector<float> result(std::size_t(type.elements()));
    ConstView operands[] = {
        {x_type, reinterpret_cast<const std::byte*>(x.data()), &x_box, &x_type.shape},
        {w_part, reinterpret_cast<const std::byte*>(w.data() + outputs[0].start * 40 * 3 * 2), &outputs, &w_type.shape}};
    MutableView results[] = {{type, reinterpret_cast<std::byte*>(result.data()), &box}};
    conv.kernel({operands, results, attrs});
    return result;
  };
  const Box all = whole(out_type.shape);
  const std::vector<float> full = part(all, w_box);
  Box cut = all, outputs = w_box;
  cut[0] = {1, 2};
  cut[1] = outputs[0] = {2, 5};
  cut[2] = {1, 4};
  cut[3] = {3, all[3].stop};
  const std::vector<float> some = part(cut, outputs);
  std::size_t at = 0;
  const Shape strides = strides_of(out_type.shape);
  for (std::int64_t n = cut[0].start; n < cut[0].stop; ++n)
    for (std::int64_t o = cut[1].start; o < cut[1].stop; ++o)
      for (std::int64_t h = cut[2].start; h < cut[2].stop; ++h)
        for (std::int64_t v = cut[3].start; v < cut[3].stop; ++v)
          ASSERT_EQ(some[at++], full[std::size_t(n * strides[0] + o * strides[1] + h * strides[2] + v * strides[3])]);
  EXPECT_GT(at, 0U);
}

TEST(Gemm, SpecialNumbersStayInTheirRowsAndColumns) {
  GemmSize size{3, 50, 4};
  auto a = numbers(12, 1), b = numbers(200, 2);
  a[4] = INFINITY;                    // row 1
  b[std::size_t(2 * 50 + 49)] = NAN;  // column 49
  auto c = product(size, a, {size.k, 1}, b, {size.n, 1});
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 50; ++j) EXPECT_EQ(std::isfinite(c[std::size_t(i * 50 + j)]), i != 1 && j != 49) << i << ", " << j;
}

}  // namespace
}  // namespace shardlab::ops
