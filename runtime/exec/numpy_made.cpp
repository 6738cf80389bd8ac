// Functions of jax.numpy whose results are as large as values say, and histograms of many dimensions.
#include <algorithm>
#include <complex>
#include <limits>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/indexing.h"
#include "runtime/exec/lax.h"
#include "runtime/exec/numpy.h"
#include "runtime/exec/op_call.h"
#include "runtime/exec/statistics.h"

namespace shardlab {
namespace {

using detail::all;
using detail::on;
using detail::one;

using Size = std::optional<std::int64_t>;
using Fill = std::optional<double>;

Array as_array(const Operand& x) { return x.is_array() ? x.array() : Array(full({}, x)); }

// where(), which a place of a call has the name of here.
Array choose_by(const Operand& which, const Operand& yes, const Operand& no) { return where(which, yes, no); }

// `size`, or where it is not given how many elements of the mask hold; `what` needs them, for an error about a tracer.
std::int64_t size_or_count(const Size& size, const Array& mask, Where where, std::string_view what) {
  if (size) return *size;
  return count_nonzero(mask).fetch_at(where, what).as<std::int32_t>()[0];
}

Attrs filled(std::int64_t size, const Fill& fill_value) {
  Attrs attrs{{"size", size}};
  if (fill_value) attrs.set("fill_value", *fill_value);
  return attrs;
}

std::int64_t nonzeros(const Operand& x, const Size& size, std::string_view what) {
  return size_or_count(size, as_array(x), x.where(), what);
}

// A vector in order, the first of its equals, and where each element stood.
struct Sorted {
  Array values, begins, places;
};
Sorted sorted(const Array& x) {
  const Array flat = ravel(x), places = argsort(flat), values = take(flat, places, 0);
  const std::int64_t n = flat.size();
  if (n == 0) return {values, zeros({0}, bool_), places};
  const Array differs = slice_in_dim(values, 1, n) != slice_in_dim(values, 0, n - 1);
  return {values, concatenate({ones({1}, bool_), differs}), places};
}

// The elements of x, each once, that are among the others, or that are not.
Array chosen_of(const Operand& x, const Operand& others, bool invert) {
  const Array values = unique(x);
  return extract(isin(values, others, invert), Operand(values, x.where()));
}

// Which elements of a vector are zero. JAX trims and strips at the host too.
std::vector<bool> zeros_at_host(const Array& x, Where where, std::string_view what) {
  const Buffer found = (x == 0).fetch_at(where, what);
  const auto* truths = found.as<std::uint8_t>();
  return std::vector<bool>(truths, truths + x.size());
}

constexpr std::string_view kRootsNeedValues =
    "roots (to use it inside jit pass strip_zeros = false; leading zeros then make some of the roots NaN)";

Array roots_of(const Array& p, Where where) { return apply("roots", {Operand(p, where)}, {}, where).at(0); }

// The roots of a polynomial whose leading zeros are moved behind, and NaN in their place. Source: JAX's _roots_with_zeros.
Array roots_with_zeros(const Array& p, Where where) {
  const std::int64_t count = p.size();
  const Array is_zero = p == 0, are_all = shardlab::all(is_zero);
  const Array leading = choose_by(are_all, count, argmin(is_zero.astype(int32)));
  const Array rolled = take(choose_by(are_all, 1.0, p), (arange(count) + leading) % count, 0);
  const Array found = roots_of(rolled, where), ordered = sort_key_val((found == 0).astype(int32), found).second;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  return choose_by(arange(count - 1) < count - 1 - leading, ordered, std::complex<double>(kNan, kNan));
}

}  // namespace

std::vector<Array> nonzero(const Operand& x, Size size, std::int64_t fill_value) {
  return all("nonzero", {x}, {{"size", nonzeros(x, size, "the size of nonzero")}, {"fill_value", fill_value}});
}
Array flatnonzero(const Operand& x, Size size, std::int64_t fill_value) {
  return one("flatnonzero", {x}, {{"size", nonzeros(x, size, "the size of flatnonzero")}, {"fill_value", fill_value}});
}
Array argwhere(const Operand& x, Size size, std::int64_t fill_value) {
  return one("argwhere", {x}, {{"size", nonzeros(x, size, "the size of argwhere")}, {"fill_value", fill_value}});
}
Array compress(const Operand& condition, const Operand& x, Size size, const AxisList& axis, double fill_value) {
  return one("compress", {condition, x},
             on(axis).set("size", nonzeros(condition, size, "the size of compress")).set("fill_value", fill_value));
}
Array extract(const Operand& condition, const Operand& x, Size size, double fill_value) {
  return one("extract", {condition, x}, filled(nonzeros(condition, size, "the size of extract"), fill_value));
}

Array unique(const Operand& x, Size size, Fill fill_value) {
  if (!size) size = size_or_count(size, sorted(as_array(x)).begins, x.where(), "the size of unique");
  return one("unique", {x}, filled(*size, fill_value));
}
Array union1d(const Operand& x, const Operand& y, Size size, Fill fill_value) {
  if (size) return one("union1d", {x, y}, filled(*size, fill_value));
  const Array both = concatenate({ravel(x), ravel(y)});
  return unique(Operand(both, x.where()), size, fill_value);
}

Array intersect1d(const Operand& x, const Operand& y, Size size, Fill fill_value) {
  return size ? one("intersect1d", {x, y}, filled(*size, fill_value)) : chosen_of(x, y, false);
}
Array setdiff1d(const Operand& x, const Operand& y, Size size, Fill fill_value) {
  return size ? one("setdiff1d", {x, y}, filled(*size, fill_value)) : chosen_of(x, y, true);
}
Array setxor1d(const Operand& x, const Operand& y, Size size, Fill fill_value) {
  return size ? one("setxor1d", {x, y}, filled(*size, fill_value)) : union1d(chosen_of(x, y, true), chosen_of(y, x, true));
}

// Source: JAX's _unique.
UniqueAll unique_all(const Operand& given, Size asked, Fill fill_value) {
  const Array x = as_array(given);
  const Sorted found = sorted(x);
  const std::int64_t n = x.size(), size = size_or_count(asked, found.begins, given.where(), "the size of unique_all");
  const Array values = unique(Operand(x, given.where()), size, fill_value);
  if (n == 0) return {values, zeros({size}, int32), reshape(zeros({0}, int32), x.shape()), zeros({size}, int32)};
  const Array begins = flatnonzero(found.begins, size + 1, n);  // n behind the last
  const Array first = choose_by(begins == n, 0, begins), ends = slice_in_dim(begins, 1, size + 1);
  const Array inverse = zeros({n}, int32).at(found.places).set(cumsum(found.begins.astype(int32)) - 1);
  return {values, take(found.places, slice_in_dim(first, 0, size), 0), reshape(inverse, x.shape()), ends - slice_in_dim(begins, 0, size)};
}
Array unique_values(const Operand& x, Size size, Fill fill_value) { return unique(x, size, fill_value); }
std::pair<Array, Array> unique_inverse(const Operand& x, Size size, Fill fill_value) {
  const UniqueAll found = unique_all(x, size, fill_value);
  return {found.values, found.inverse_indices};
}
std::pair<Array, Array> unique_counts(const Operand& x, Size size, Fill fill_value) {
  const UniqueAll found = unique_all(x, size, fill_value);
  return {found.values, found.counts};
}

Array roots(const Operand& coefficients, bool strip_zeros) {
  const Array p = as_array(coefficients);
  const Where where = coefficients.where();
  if (p.ndim() != 1 || p.size() < 2) return roots_of(p, where);
  if (!strip_zeros) return roots_with_zeros(p, where);
  const std::vector<bool> zero = zeros_at_host(p, where, kRootsNeedValues);
  const auto leading = std::int64_t(std::find(zero.begin(), zero.end(), false) - zero.begin());
  return roots_of(leading == 0 ? p : slice_in_dim(p, leading, p.size()), where);
}

Array trim_zeros(const Operand& given, std::string_view trim) {
  const Array x = as_array(given);
  if (x.ndim() != 1) throw_user_error("trim_zeros takes a vector, got {} [{}]", x.type().text(), given.where().text());
  const std::vector<bool> zero = zeros_at_host(x, given.where(), "trim_zeros");
  if (std::find(zero.begin(), zero.end(), false) == zero.end()) return slice_in_dim(x, 0, 0);
  std::int64_t first = 0, end = x.size();
  if (trim.find_first_of("fF") != trim.npos)
    while (zero[std::size_t(first)]) ++first;
  if (trim.find_first_of("bB") != trim.npos)
    while (zero[std::size_t(end - 1)]) --end;
  return slice_in_dim(x, first, end);
}

std::pair<Array, Array> mask_indices(std::int64_t n, const std::function<Array(const Array&, std::int64_t)>& mask, std::int64_t k,
                                     Size size, std::source_location where) {
  const std::vector<Array> places = nonzero(Operand(mask(ones({n, n}, {}, {}, where), k), where), size);
  return {places.at(0), places.at(1)};
}

// Source: JAX's histogramdd.
std::pair<Array, std::vector<Array>> histogramdd(const Operand& points, const std::vector<std::int64_t>& bins,
                                                 const HistogramddOptions& options) {
  const Array sample = as_array(points) + 0.0;
  const std::string place = points.where().text();
  if (sample.ndim() != 2) throw_user_error("histogramdd takes points [n, d], got {} [{}]", sample.type().text(), place);
  const std::int64_t d = sample.shape()[1];
  if (bins.size() != 1 && std::int64_t(bins.size()) != d)
    throw_user_error("histogramdd: should be a bin for each dimension, got {} of {} [{}]", bins.size(), d, place);
  if (options.range.size() > 1 && std::int64_t(options.range.size()) != d)
    throw_user_error("histogramdd: range should be a range for each dimension, got {} of {} [{}]", options.range.size(), d, place);
  const auto of_dimension = [](const auto& each, std::int64_t i) { return each[each.size() == 1 ? 0 : std::size_t(i)]; };
  std::vector<Array> edges;
  std::vector<Operand> places;
  Shape counts, inner;
  for (std::int64_t i = 0; i < d; ++i) {
    std::optional<std::pair<double, double>> range;
    if (!options.range.empty()) range = of_dimension(options.range, i);
    const Array x = index_in_dim(sample, i, 1, false), ends = histogram_bin_edges(x, of_dimension(bins, i), range);
    const std::int64_t last = ends.size() - 1;
    const Array bin = digitize(x, ends);
    places.emplace_back(choose_by(x == index_in_dim(ends, last, 0, false), bin - 1, bin));
    counts.push_back(last + 2);
    inner.push_back(last + 1);
    edges.push_back(ends);
  }
  const Array flat = ravel_multi_index(Operands(places), counts, "clip");
  Array found = options.weights ? bincount(flat, *options.weights, element_count(counts)) : bincount(flat, element_count(counts));
  found = slice(reshape(found, counts), Shape(std::size_t(d), 1), inner);
  if (!options.density) return {found, edges};
  found = found.astype(sample.dtype());
  found = found / sum(found);
  for (std::int64_t i = 0; i < d; ++i) {
    Shape along(std::size_t(d), 1);
    along[std::size_t(i)] = -1;
    found = found / reshape(diff(edges[std::size_t(i)]), along);
  }
  return {found, edges};
}

}  // namespace shardlab
