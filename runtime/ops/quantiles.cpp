// quantile, percentile, median and those that leave NaN out, for any number of places and each way between two elements.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "runtime/ops/compose.h"
#include "runtime/ops/reductions.h"

namespace shardlab::ops {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

enum class Between { kLinear, kLower, kHigher, kNearest, kMidpoint };

Between between_of(const OpDef& op, const Attrs& attrs) {
  std::string method = attrs.has("method") ? attrs.string("method") : "linear";
  if (method == "linear") return Between::kLinear;
  if (method == "lower") return Between::kLower;
  if (method == "higher") return Between::kHigher;
  if (method == "nearest") return Between::kNearest;
  if (method == "midpoint") return Between::kMidpoint;
  throw_user_error("{}: method can only be 'linear', 'lower', 'higher', 'midpoint', or 'nearest'; got '{}'", op.name, method);
}

// Places and shares are computed in the operand's precision, of 16-bit floats in float32.
DType wide(DType dtype) { return is_half(dtype) ? DType::kFloat32 : dtype; }
Term wide(const Term& x) { return converted(x, wide(x.dtype())); }

// A number as a dtype holds it.
double rounded(DType dtype, double value) {
  return visit_dtype(dtype, [&]<typename T>(T) { return element_from<double>(element_from<T>(value)); });
}

// The rows to look in: the axes as one dimension at the end, sorted there, the dimensions before it, and the shape with the axes kept.
struct Rows {
  Term sorted;
  Shape before, kept;
  std::int64_t size;
};

enum class Nan { kWins, kIsLast };

Rows rows_of(const OpDef& op, const Term& given, const Attrs& attrs, Nan nan) {
  Term x = as_inexact(given);
  if (is_complex(x.dtype()))
    throw_user_error("{}: quantile does not support complex input, as the operation is poorly defined; got {}", op.name, x.text());
  GraphBuilder& b = x.builder();
  std::vector<int> axes = reduced_axes(b, op, x.id(), attrs), order(std::size_t(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  Shape shape = x.shape(), before;
  std::int64_t count = 1;
  for (int d : axes) count *= shape[std::size_t(d)];
  // Exchanged in JAX's order, which several axes show: dimensions of a row are one, and what cuts the first of them may cut it.
  for (int d = 0; d < x.rank(); ++d) {
    if (std::find(axes.begin(), axes.end(), d) != axes.end()) continue;
    std::swap(order[before.size()], order[std::size_t(d)]);
    before.push_back(shape[std::size_t(d)]);
  }
  if (int(axes.size()) == x.rank()) std::iota(order.begin(), order.end(), 0);
  if (count == 0) throw_user_error("{}: a row without elements has no quantile", op.name);
  Shape whole = before;
  whole.push_back(count);
  Term rows = reshaped(transposed(x, order), whole);
  Attrs last{{"axis", std::int64_t(before.size())}};
  if (nan == Nan::kWins) {
    Attrs kept = last;
    rows = where(call("any", rows != rows, kept.set("keepdims", true)), kNan, rows);
  } else {
    rows = where(rows != rows, kNan, rows);  // none of negative sign, which would come first
  }
  Term sorted = call("sort", rows, last);
  return {sorted, before, kept_shape(shape, axes), count};
}

Term combined(const OpDef& op, Between between, const Term& low, const Term& high, const Item& lower, const Item& upper,
              const std::function<Term()>& is_low) {
  switch (between) {
    case Between::kLinear:
      return converted(wide(low) * lower + wide(high) * upper, low.dtype());
    case Between::kLower:
      return low;
    case Between::kHigher:
      return high;
    case Between::kMidpoint:
      return (low + high) * 0.5;
    case Between::kNearest:
      return where(is_low(), low, high);
  }
  throw_user_error("{}: no such method", op.name);
}

// A place known when the program is built: two slices.
Term at_known(const OpDef& op, const Rows& rows, double q, Between between) {
  DType dtype = wide(rows.sorted.dtype());
  int last = rows.sorted.rank() - 1;
  double place = rounded(dtype, rounded(dtype, q) * rounded(dtype, rounded(dtype, double(rows.size)) - 1));
  double upper = rounded(dtype, place - std::floor(place)), lower = rounded(dtype, 1 - upper);
  auto element = [&](double at) { return part(rows.sorted, last, std::clamp<std::int64_t>(std::int64_t(at), 0, rows.size - 1)); };
  Term low = element(std::floor(place)), high = element(std::ceil(place));
  if (between == Between::kNearest) between = upper <= 0.5 ? Between::kLower : Between::kHigher;
  return combined(op, between, low, high, lower, upper, [&] { return low != low; });
}

// Elements of each row at places that are the same for all rows: the places' dimensions first.
Term gathered(const Rows& rows, const Term& places) {
  int last = rows.sorted.rank() - 1;
  std::vector<std::int64_t> offset, sizes = rows.sorted.shape(), one{last};
  sizes[std::size_t(last)] = 1;
  for (int d = 0; d < last; ++d) offset.push_back(places.rank() + d);
  return gathered_within(rows.sorted, expanded(places, places.rank()), offset, one, sizes);
}

// The operand's value, with a dimension of size 1 for each of the rows'.
Term beside(const Term& q, std::size_t rows) {
  Shape shape = q.shape();
  shape.insert(shape.end(), rows, 1);
  return reshaped(q, shape);
}

Term at_computed(const OpDef& op, const Rows& rows, const Term& q, Between between) {
  GraphBuilder& b = q.builder();
  Term place = q * double(rows.size - 1), low_place = call("floor", place), high_place = call("ceil", place);
  Term upper = place - low_place, lower = 1.0 - upper;
  auto element = [&](const Term& at) {
    return gathered(rows, converted(call(b, "clip", {at, 0.0, double(rows.size - 1)}), DType::kInt32));
  };
  std::size_t count = rows.before.size();
  Term low = element(low_place), high = element(high_place);
  return combined(op, between, low, high, beside(lower, count), beside(upper, count), [&] { return beside(upper, count) <= 0.5; });
}

// Elements at places of each row's own, which have the rows' dimensions last.
Term each_its_own(const Rows& rows, const Term& places) {
  GraphBuilder& b = places.builder();
  int last = rows.sorted.rank() - 1, rank = places.rank();
  std::vector<Term> vectors;
  std::vector<std::int64_t> dims, none, ones(std::size_t(last + 1), 1);
  for (int d = 0; d <= last; ++d) {
    dims.push_back(d);
    Shape along(std::size_t(rank), 1);
    if (d < last) along[std::size_t(rank - last + d)] = rows.sorted.size(d);
    Term index = d < last ? reshaped(numbers(b, DType::kInt32, rows.sorted.size(d)), along) : places;
    vectors.push_back(expanded(broadcast(index, places.shape()), rank));
  }
  return gathered_within(rows.sorted, joined(vectors, rank), none, dims, ones);
}

// Each row has a size of its own: the count of its numbers, which come first.
Term without_nan(const OpDef& op, const Rows& rows, const Term& q, Between between) {
  GraphBuilder& b = q.builder();
  int last = rows.sorted.rank() - 1;
  Term is_number = rows.sorted == rows.sorted;
  Term counts = summed(converted(converted(is_number, DType::kInt32), wide(rows.sorted.dtype())), {last});
  std::size_t count = rows.before.size();
  Term place = beside(q, count) * (counts - 1.0), low_place = call("floor", place), high_place = call("ceil", place);
  Term upper = place - low_place, lower = 1.0 - upper;
  auto element = [&](const Term& at) {
    Term held = call(b, "maximum", {0.0, call(b, "minimum", {at, counts - 1.0})}), places = converted(held, DType::kInt32);
    return each_its_own(rows, places);
  };
  Term low = element(low_place), high = element(high_place);
  return combined(op, between, low, high, lower, upper, [&] { return upper <= 0.5; });
}

Values kept_dims(const Term& result, const Rows& rows, const Shape& of_q, const Attrs& attrs) {
  if (!attrs.flag("keepdims")) return {result.id()};
  Shape shape = of_q;
  shape.insert(shape.end(), rows.kept.begin(), rows.kept.end());
  return {reshaped(result, shape).id()};
}

template <int kWhole, bool kSkipNan>
Values expand_quantile(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Between between = between_of(op, attrs);
  bool is_known = args.size() < 2 || std::holds_alternative<Scalar>(args[1]);
  if (is_known) {
    double q = static_number(op, args, 1, attrs, "q", 0.5 * kWhole);
    if (!(q >= 0 && q <= kWhole)) throw_user_error("{}: q must lie between 0 and {}, got {}", op.name, kWhole, q);
    Rows rows = rows_of(op, term(b, args[0]), attrs, kSkipNan ? Nan::kIsLast : Nan::kWins);
    if (!kSkipNan) return kept_dims(at_known(op, rows, q / kWhole, between), rows, {}, attrs);
    return kept_dims(without_nan(op, rows, Term(b, scalar_constant(b, wide(rows.sorted.dtype()), q / kWhole)), between), rows, {}, attrs);
  }
  Term q = term(b, args[1]);
  if (is_complex(q.dtype())) throw_user_error("{}: q must be real, got {}", op.name, q.text());
  if (q.rank() > 1) throw_user_error("{}: q must be have rank <= 1, got shape {}", op.name, text_of(q.shape()));
  Rows rows = rows_of(op, term(b, args[0]), attrs, kSkipNan ? Nan::kIsLast : Nan::kWins);
  q = converted(as_inexact(q), wide(rows.sorted.dtype()));
  if (kWhole != 1) q = q / double(kWhole);
  Term result = kSkipNan ? without_nan(op, rows, q, between) : at_computed(op, rows, q, between);
  return kept_dims(result, rows, q.shape(), attrs);
}

template <bool kSkipNan>
Values expand_median(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Rows rows = rows_of(op, term(b, args[0]), attrs, kSkipNan ? Nan::kIsLast : Nan::kWins);
  Term half(b, scalar_constant(b, rows.sorted.dtype(), 0.5));
  Term result = kSkipNan ? without_nan(op, rows, half, Between::kMidpoint) : at_known(op, rows, 0.5, Between::kMidpoint);
  return kept_dims(result, rows, {}, attrs);
}

using Kind = AttrDef::Kind;
constexpr AttrDef kAxis = {"axis", Kind::kScalarOrIntegers, false, "the axis or axes; all by default"};
constexpr AttrDef kKeepdims = {"keepdims", Kind::kFlag, false, "whether reduced axes stay, with size 1"};
constexpr AttrDef kMedianAttrs[] = {kAxis, kKeepdims};
constexpr AttrDef kQuantileAttrs[] = {
    {"q", Kind::kNumber, false, "which, where it is no operand"},
    kAxis,
    kKeepdims,
    {"method", Kind::kString, false, "between two elements: linear (default), lower, higher, nearest, midpoint"}};

}  // namespace

extern const OpDef kMedian, kQuantile, kPercentile, kNanmedian, kNanquantile, kNanpercentile;

const OpDef kMedian = compiled_alone(
    composite_of({"median", "The element in the middle, or the mean of the two there.", expand_median<false>, 1, 1, kMedianAttrs}));
const OpDef kNanmedian =
    compiled_alone(composite_of({"nanmedian", "The median over axes, NaN left out.", expand_median<true>, 1, 1, kMedianAttrs}));
const OpDef kQuantile = compiled_alone(composite_of(
    {"quantile", "The q-th quantile, or one for each of a vector: args [x] or [x, q].", expand_quantile<1, false>, 1, 2, kQuantileAttrs}));
const OpDef kPercentile =
    compiled_alone(composite_of({"percentile", "The q-th percentile, or one for each of a vector: args [x] or [x, q].",
                                 expand_quantile<100, false>, 1, 2, kQuantileAttrs}));
const OpDef kNanquantile = compiled_alone(
    composite_of({"nanquantile", "The q-th quantile, NaN left out: args [x] or [x, q].", expand_quantile<1, true>, 1, 2, kQuantileAttrs}));
const OpDef kNanpercentile = compiled_alone(composite_of(
    {"nanpercentile", "The q-th percentile, NaN left out: args [x] or [x, q].", expand_quantile<100, true>, 1, 2, kQuantileAttrs}));

}  // namespace shardlab::ops
