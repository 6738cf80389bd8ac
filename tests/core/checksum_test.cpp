// Checksums of values: what they say of an array whatever its cut, and of two arrays that are near.
#include "runtime/core/checksum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace shardlab {
namespace {

template <typename T>
std::vector<T> random_elements(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> values(-4, 4);
  std::vector<T> elements(static_cast<std::size_t>(count));
  for (T& each : elements) each = element_from<T>(values(random));
  return elements;
}

template <typename T>
Checksum sum_of(const std::vector<T>& elements, const Shape& shape) {
  return checksum_of(dtype_of<T>::value, reinterpret_cast<const std::byte*>(elements.data()), shape, whole(shape));
}

// The elements of a box, densely.
template <typename T>
std::vector<T> cut(const std::vector<T>& elements, const Shape& shape, const Box& box) {
  std::vector<T> part;
  const Shape strides = strides_of(shape);
  for (std::int64_t i = 0; i < std::int64_t(elements.size()); ++i) {
    bool inside = true;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::int64_t at = i / strides[d] % shape[d];
      inside &= at >= box[d].start && at < box[d].stop;
    }
    if (inside) part.push_back(elements[std::size_t(i)]);
  }
  return part;
}

TEST(Checksum, AddsUpOverAnyCut) {
  for (const DType dtype : {DType::kInt8, DType::kUint32, DType::kBfloat16, DType::kFloat16, DType::kFloat32, DType::kFloat64,
                            DType::kComplex64, DType::kComplex128})
    visit_dtype(dtype, [&]<typename T>(T) {
      if constexpr (!Bool<T>) {
        const Shape shape{7, 3, 5};
        const std::vector<T> elements = random_elements<T>(105, 3);
        const Checksum all = sum_of(elements, shape);
        // Uneven cuts along each dimension, with an empty part among them.
        for (std::size_t d = 0; d < 3; ++d) {
          Checksum sum;
          for (const Interval part : {Interval{0, 2}, Interval{2, 3}, Interval{3, 3}, Interval{3, shape[d]}}) {
            Box box = whole(shape);
            box[d] = part;
            const std::vector<T> own = cut(elements, shape, box);
            sum.add(checksum_of(dtype, reinterpret_cast<const std::byte*>(own.data()), shape, box));
          }
          EXPECT_EQ(sum.hash, all.hash) << name_of(dtype) << " along " << d;
          EXPECT_EQ(sum.numbers, (Cplx<T> ? 2 : 1) * 105);
          EXPECT_EQ(sum.min, all.min);
          EXPECT_EQ(sum.max, all.max);
          EXPECT_NEAR(sum.sum, all.sum, 1e-9 * all.norm());
          for (std::size_t s = 0; s < sum.sketches.size(); ++s) EXPECT_NEAR(sum.sketches[s], all.sketches[s], 1e-9 * all.norm());
        }
        // Stretches of the box's own order, as a pool of threads takes them.
        Checksum pieces;
        for (std::int64_t first = 0; first < 105; first += 16)
          pieces.add(checksum_of(dtype, reinterpret_cast<const std::byte*>(elements.data()), shape, whole(shape), first,
                                 std::min<std::int64_t>(first + 16, 105)));
        EXPECT_EQ(pieces.hash, all.hash);
      }
    });
}

// Told in the documentation of the trace: whoever reads traces elsewhere must find the same.
TEST(Checksum, IsTheDocumentedSum) {
  const auto mix = [](std::uint64_t x) {
    for (int i = 0; i < 2; ++i) x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL;
    return x ^ (x >> 32);
  };
  const std::vector<std::int16_t> elements{-1, 0, 7};
  std::uint64_t hash = 0;
  double sketch = 0;
  for (std::uint64_t i = 0; i < 3; ++i) {
    hash += mix(mix(i) ^ std::uint16_t(elements[i]));
    sketch += (mix(i) >> 1 & 1) ? -elements[i] : elements[i];
  }
  const Checksum sum = sum_of(elements, {3});
  EXPECT_EQ(sum.hash, hash);
  EXPECT_EQ(sum.sketches[1], sketch);
  EXPECT_EQ(sum.sum, 6);
  EXPECT_EQ(sum.squares, 50);
}

TEST(Checksum, SaysWhatIsNoNumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
  const Checksum sum = sum_of<float>({nan, 2, infinite, -3, -infinite, nan}, {6});
  EXPECT_EQ(sum.nans, 2);
  EXPECT_EQ(sum.infinities, 2);
  EXPECT_EQ(sum.min, -3);
  EXPECT_EQ(sum.max, 2);
  EXPECT_EQ(sum.sum, -1);
  EXPECT_EQ(sum.squares, 13);
  EXPECT_FALSE(sum_of<float>({nan}, {1}).any_finite());
  EXPECT_EQ(sum_of<float>({}, {0, 4}).numbers, 0);
  const bool yes[] = {true};
  EXPECT_EQ(checksum_of(DType::kBool, reinterpret_cast<const std::byte*>(yes), {}, {}).sum, 1);
}

TEST(Checksum, TellsRoundingFromAnotherArray) {
  const std::int64_t count = 4096;
  const std::vector<float> x = random_elements<float>(count, 5);
  const Checksum sum = sum_of(x, {count});
  EXPECT_EQ(likeness(DType::kFloat32, sum, sum_of(x, {count})), Likeness::kEqual);

  std::vector<float> rounded = x;
  for (std::size_t i = 0; i < rounded.size(); i += 3) rounded[i] = std::nextafter(rounded[i], 10.0f);
  EXPECT_EQ(likeness(DType::kFloat32, sum, sum_of(rounded, {count})), Likeness::kRounding);
  // The estimate is that of the elements' differences.
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) squares += (double(x[i]) - rounded[i]) * (double(x[i]) - rounded[i]);
  const double distance = relative_distance(sum, sum_of(rounded, {count})), real = std::sqrt(squares) / sum.norm();
  EXPECT_GT(distance, real / 8);
  EXPECT_LT(distance, real * 8);

  // The same numbers in another order have the same least, greatest, sum and norm, and are another array.
  std::vector<float> turned(x.rbegin(), x.rend());
  EXPECT_EQ(likeness(DType::kFloat32, sum, sum_of(turned, {count})), Likeness::kDifferent);
  EXPECT_GT(relative_distance(sum, sum_of(turned, {count})), 0.1);

  std::vector<float> lost = x;
  lost[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(likeness(DType::kFloat32, sum, sum_of(lost, {count})), Likeness::kDifferent);
  EXPECT_EQ(likeness(DType::kInt32, sum_of<std::int32_t>({1000000}, {1}), sum_of<std::int32_t>({1000001}, {1})), Likeness::kDifferent);
  EXPECT_EQ(likeness(DType::kFloat32, sum_of<float>({0.0f}, {1}), sum_of<float>({-0.0f}, {1})), Likeness::kRounding) << "another bit";
}

}  // namespace
}  // namespace shardlab
