#include "runtime/core/checksum.h"

#include <algorithm>
#include <bit>

namespace shardlab {
namespace {

constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL;
  return x ^ (x >> 32);
}

template <typename T>
using BitsOf =
    std::conditional_t<sizeof(T) == 1, std::uint8_t,
                       std::conditional_t<sizeof(T) == 2, std::uint16_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

constexpr std::uint64_t kSignBit = std::uint64_t(1) << 63, kExponent = std::uint64_t(0x7ff) << 52;
constexpr std::size_t kBlock = 512;  // numbers at a time: what is kept of them stays in the first cache
constexpr std::size_t kLanes = 8;    // sums beside each other, which do not wait for one another

// What is made of each number before it is summed.
struct Block {
  std::uint64_t places[kBlock];  // mix(index)
  std::uint64_t values[kBlock];  // bits of the number as a double
  std::size_t count = 0;
};

// f(i) of each number, summed.
template <typename F>
double summed(std::size_t count, const F& f) {
  double lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += f(i + lane);
  double sum = 0;
  for (; i < count; ++i) sum += f(i);
  for (const double lane : lanes) sum += lane;
  return sum;
}

// Takes those out that are not finite.
void keep_finite(Block& block, Checksum& sum) {
  std::size_t odd = 0;
  for (std::size_t i = 0; i < block.count; ++i) odd += (block.values[i] & kExponent) == kExponent;
  if (odd == 0) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < block.count; ++i) {
    const double value = std::bit_cast<double>(block.values[i]);
    if (std::isnan(value))
      ++sum.nans;
    else if (std::isinf(value))
      ++sum.infinities;
    else
      block.values[kept] = block.values[i], block.places[kept++] = block.places[i];
  }
  block.count = kept;
}

void add_statistics(const Block& block, Checksum& sum) {
  const auto value = [&](std::size_t i) { return std::bit_cast<double>(block.values[i]); };
  double least = sum.min, most = sum.max;
  for (std::size_t i = 0; i < block.count; ++i) {
    least = value(i) < least ? value(i) : least;
    most = value(i) > most ? value(i) : most;
  }
  sum.min = least;
  sum.max = most;
  sum.sum += summed(block.count, value);
  sum.squares += summed(block.count, [&](std::size_t i) { return value(i) * value(i); });
  for (std::size_t s = 0; s < sum.sketches.size(); ++s)
    sum.sketches[s] += summed(block.count, [&, shift = 63 - s](std::size_t i) {
      return std::bit_cast<double>(block.values[i] ^ (block.places[i] << shift & kSignBit));
    });
}

// Numbers that lie beside each other, the first at `index` of the array.
template <typename T>
void add_run(const T* data, std::size_t count, std::uint64_t index, Checksum& sum) {
  Block block;
  sum.numbers += std::int64_t(count);
  for (std::size_t taken = 0; count > 0; count -= taken, data += taken, index += taken) {
    block.count = taken = std::min(kBlock, count);
    for (std::size_t i = 0; i < block.count; ++i) block.places[i] = mix(index + i);
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < block.count; ++i) hash += mix(block.places[i] ^ std::bit_cast<BitsOf<T>>(data[i]));
    sum.hash += hash;
    for (std::size_t i = 0; i < block.count; ++i)
      block.values[i] = std::bit_cast<std::uint64_t>(double(element_from<std::conditional_t<Half<T>, float, T>>(data[i])));
    if constexpr (!std::is_integral_v<T>) keep_finite(block, sum);
    add_statistics(block, sum);
  }
}

// Numbers of an element: the complex ones have two.
template <typename T>
void add_elements(const T* data, std::int64_t count, std::int64_t index, Checksum& sum) {
  if constexpr (Cplx<T>)
    add_run(reinterpret_cast<const typename T::value_type*>(data), 2 * std::size_t(count), 2 * std::uint64_t(index), sum);
  else
    add_run(data, std::size_t(count), std::uint64_t(index), sum);
}

}  // namespace

void Checksum::add(const Checksum& other) {
  hash += other.hash;
  numbers += other.numbers;
  nans += other.nans;
  infinities += other.infinities;
  min = std::min(min, other.min);
  max = std::max(max, other.max);
  sum += other.sum;
  squares += other.squares;
  for (std::size_t s = 0; s < sketches.size(); ++s) sketches[s] += other.sketches[s];
}

Checksum checksum_of(DType dtype, const std::byte* data, const Shape& shape, const Box& box, std::int64_t first, std::int64_t last) {
  Checksum sum;
  const Shape strides = strides_of(shape);
  // The trailing dimensions that the box has whole lie in one run with the one before them.
  std::size_t rows = shape.size();
  std::int64_t run = 1;
  while (rows > 0) {
    run *= box[--rows].size();
    if (box[rows].size() != shape[rows]) break;
  }
  while (first < last) {
    const std::int64_t count = std::min(run - first % run, last - first);
    std::int64_t index = first % run, row = first / run;
    if (!shape.empty()) index += box[rows].start * strides[rows];
    for (std::size_t d = rows; d-- > 0; row /= box[d].size()) index += (box[d].start + row % box[d].size()) * strides[d];
    visit_dtype(dtype, [&]<typename T>(T) { add_elements(reinterpret_cast<const T*>(data) + first, count, index, sum); });
    first += count;
  }
  return sum;
}

Checksum checksum_of(DType dtype, const std::byte* data, const Shape& shape, const Box& box) {
  return checksum_of(dtype, data, shape, box, 0, element_count(box));
}

double relative_distance(const Checksum& a, const Checksum& b) {
  if (a.hash == b.hash && a.numbers == b.numbers) return 0;
  if (a.numbers != b.numbers || a.nans != b.nans || a.infinities != b.infinities) return std::numeric_limits<double>::infinity();
  double squares = 0;
  for (std::size_t s = 0; s < a.sketches.size(); ++s) squares += (a.sketches[s] - b.sketches[s]) * (a.sketches[s] - b.sketches[s]);
  // The difference is at least that of the norms.
  const double distance = std::max(std::sqrt(squares / Checksum::kSketches), std::abs(a.norm() - b.norm()));
  return distance == 0 ? 0 : distance / std::max(a.norm(), b.norm());
}

double rounding_max(DType dtype) {
  switch (dtype) {
    case DType::kBfloat16:
      return 5e-2;
    case DType::kFloat16:
      return 1e-2;
    case DType::kFloat32:
    case DType::kComplex64:
      return 1e-5;
    case DType::kFloat64:
    case DType::kComplex128:
      return 1e-11;
    default:
      return 0;
  }
}

Likeness likeness(DType dtype, const Checksum& a, const Checksum& b) {
  if (a.hash == b.hash && a.numbers == b.numbers) return Likeness::kEqual;
  return is_inexact(dtype) && relative_distance(a, b) <= rounding_max(dtype) ? Likeness::kRounding : Likeness::kDifferent;
}

}  // namespace shardlab
