// digitize, histogram and its edges, nanargmax, partition, lexsort: counting and ordering, as jax.numpy lowers them.
#include <algorithm>
#include <limits>

#include "runtime/ops/compose.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Into which bin each element falls; edges may fall, too.
Values expand_digitize(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::vector<Term> both = promoted_terms(b, args);
  Term x = both[0], bins = both[1];
  if (bins.rank() != 1) throw_user_error("{}: bins must be a 1-dimensional array, got {}", op.name, bins.text());
  std::int64_t n = bins.elements();
  if (n == 0) return {Term(b, filled(b, {DType::kInt32, x.shape()}, 0.0)).id()};
  std::string side = attrs.flag("right") ? "left" : "right", other = attrs.flag("right") ? "right" : "left";
  Term rising = call(b, "searchsorted", {bins, x}, Attrs{{"side", side}});
  Term falling = call(b, "sub", {n, call(b, "searchsorted", {call("flip", bins), x}, Attrs{{"side", other}})});
  return {where(part(bins, 0, n - 1) >= part(bins, 0, 0), rising, falling).id()};
}

// `count` equal bins over a range, from the least to the greatest element by default; a range of nothing is widened by a half.
Term edges_of(const OpDef& op, const Term& x, std::int64_t count, const Attrs& attrs) {
  GraphBuilder& b = x.builder();
  if (count < 1) throw_user_error("{}: bins must be at least 1, got {}", op.name, count);
  check_shape(op.name, {count + 1});
  DType dtype = inexact(x.dtype());
  std::vector<double> given = number_list(op, attrs, "range");
  if (!given.empty() && given.size() != 2) throw_user_error("{}: range must be two numbers, got {}", op.name, given.size());
  std::optional<Term> low, high;
  if (!given.empty()) {
    low = Term(b, scalar_constant(b, dtype, given[0]));
    high = Term(b, scalar_constant(b, dtype, given[1]));
  } else if (x.elements() == 0) {
    low = Term(b, scalar_constant(b, dtype, 0.0));
    high = Term(b, scalar_constant(b, dtype, 1.0));
  } else {
    low = converted(call("min", x), dtype);
    high = converted(call("max", x), dtype);
  }
  Term is_empty = *high - *low == 0.0;
  Term start = where(is_empty, *low - 0.5, *low), stop = where(is_empty, *high + 0.5, *high);
  return call(b, "linspace", {start, stop}, Attrs{{"num", count + 1}});
}

// Edges that are given, or as many equal bins as a number says; 10 by default.
Term edges_or_count(GraphBuilder& b, const OpDef& op, const Term& x, std::optional<Arg> bins, const Attrs& attrs) {
  if (bins && std::holds_alternative<ValueId>(*bins) && b.type(std::get<ValueId>(*bins)).rank() > 0) {
    Term edges = as_inexact(term(b, *bins));
    if (edges.rank() != 1) throw_user_error("{}: bins must be a number or a vector of edges, got {}", op.name, edges.text());
    return edges;
  }
  std::vector<Arg> none;
  return edges_of(op, x, static_integer(op, bins ? Args(&*bins, 1) : Args(none), 0, attrs, "bins", 10), attrs);
}

// The operand after the array that is no weights.
std::optional<Arg> second(const OpDef& op, Args args, const Attrs& attrs) {
  bool has_weights = named_operand(op, args, attrs, "weights").has_value();
  for (std::size_t i = 1; i < args.size(); ++i)
    if (!has_weights || attrs.integer("weights") != std::int64_t(i)) return args[i];
  return std::nullopt;
}

// Which bin each element falls into; the last one holds its upper edge, too.
Term bin_of(const Term& x, const Term& edges) {
  std::int64_t n = edges.elements();
  Term found = call(x.builder(), "searchsorted", {edges, x}, Attrs{{"side", std::string("right")}});
  return where(x == part(edges, 0, n - 1), n - 1, found);
}

Values expand_histogram_bin_edges(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  return {edges_or_count(b, op, term(b, args[0]), second(op, args, attrs), attrs).id()};
}

Values expand_histogram(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = term(b, args[0]);
  Term edges = edges_or_count(b, op, x, second(op, args, attrs), attrs);
  std::int64_t n = edges.elements();
  if (n < 2) throw_user_error("{}: at least two edges are needed, got {}", op.name, n);
  DType dtype = promote(inexact(x.dtype()), edges.dtype(), b.config().enable_x64);
  x = converted(x, dtype);
  edges = converted(edges, dtype);
  Term weights = filled_like(x, 1);
  if (auto given = named_operand(op, args, attrs, "weights")) {
    weights = term(b, *given);
    if (weights.shape() != x.shape())
      throw_user_error("{}: weights should have the same shape as a, got {} and {}", op.name, weights.text(), x.text());
  }
  Term zeros(b, filled(b, {weights.dtype(), {n}}, 0.0));
  std::vector<std::int64_t> none, first{0};
  Term counts = call(b, "scatter_add", {zeros, expanded(bin_of(x, edges), x.rank()), weights},
                     Attrs{{"update_window_dims", none}, {"collapsed_slice_dims", first}, {"start_index_map", first}});
  counts = sliced(counts, 0, 1, n);
  if (attrs.flag("density")) {
    Term widths = sliced(edges, 0, 1, n) - sliced(edges, 0, 0, n - 1);
    counts = counts / widths / summed(counts, {0});
  }
  return {counts.id(), edges.id()};
}

Values expand_histogram2d(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = raveled(as_inexact(term(b, args[0]))), y = raveled(as_inexact(term(b, args[1])));
  if (x.shape() != y.shape()) throw_user_error("{}: x and y must have equal shapes, got {} and {}", op.name, x.text(), y.text());
  std::vector<std::int64_t> bins{10, 10};
  if (attrs.has("bins")) bins = integer_list_of(attrs, "bins");
  if (bins.size() == 1) bins.push_back(bins[0]);
  if (bins.size() != 2) throw_user_error("{}: bins must be one number or two, got {}", op.name, bins.size());
  Attrs none;
  Term x_edges = edges_of(op, x, bins[0], none), y_edges = edges_of(op, y, bins[1], none);
  std::int64_t n = bins[0] + 2, m = bins[1] + 2;
  check_shape(op.name, {n, m});
  Term places = bin_of(x, x_edges) * m + bin_of(y, y_edges);
  std::vector<Item> counted{places};
  if (auto given = named_operand(op, args, attrs, "weights")) {
    Term weights = raveled(term(b, *given));
    if (weights.shape() != x.shape()) throw_user_error("{}: weights must have one number a point, got {}", op.name, weights.text());
    counted.emplace_back(weights);
  }
  Term all = reshaped(call(b, "bincount", counted, Attrs{{"length", n * m}}), {n, m});
  Term counts = sliced(sliced(all, 0, 1, n - 1), 1, 1, m - 1);
  if (attrs.flag("density")) {
    auto widths = [](const Term& e) { return sliced(e, 0, 1, e.elements()) - sliced(e, 0, 0, e.elements() - 1); };
    counts = counts / (expanded(widths(x_edges), 1) * expanded(widths(y_edges), 0)) / summed(counts, {0, 1});
  }
  return {counts.id(), x_edges.id(), y_edges.id()};
}

// --- NaN left out.

Term is_nan(const Term& x) { return x != x; }

// The place of the largest number; -1 where there is none.
template <bool kMaximum>
Values expand_nanarg(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  Term x = term(b, args[0]);
  const char* name = kMaximum ? "argmax" : "argmin";
  if (!is_inexact(x.dtype())) return {call(name, x, attrs).id()};
  Term nan = is_nan(x), place = call(name, where(nan, kMaximum ? -kInfinity : kInfinity, x), attrs);
  return {where(call("all", nan, attrs), -1, place).id()};
}

template <bool kSum>
Values expand_nancumulative(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  Term x = term(b, args[0]);
  if (!attrs.has("axis")) x = raveled(x);  // first, as in JAX
  if (is_inexact(x.dtype())) x = where(is_nan(x), kSum ? 0 : 1, x);
  return {call(kSum ? "cumsum" : "cumprod", x, attrs).id()};
}

// --- Orders.

std::int64_t kth_of(const OpDef& op, Args args, const Attrs& attrs, std::int64_t size) {
  std::int64_t kth = static_integer(op, args, 1, attrs, "kth");
  if (kth < -size || kth >= size) throw_user_error("{}: kth={} is out of range for an axis of size {}", op.name, kth, size);
  return kth < 0 ? kth + size : kth;
}

Term moved_axis(const Term& x, int from, int to) {
  return call("moveaxis", x, Attrs{{"source", std::int64_t(from)}, {"destination", std::int64_t(to)}});
}

// What is to be parted: the axis last, at its index kth.
struct Parting {
  int axis;
  std::int64_t kth, rest;  // how many come after it
  Term rows;
};
Parting parting_of(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = term(b, args[0]);
  int axis = normalized_axis(op.name, attrs.integer("axis", -1), x.rank());
  std::int64_t size = x.size(axis), kth = kth_of(op, args, attrs, size);
  if (is_complex(x.dtype())) throw_user_error("{} for complex dtype is not implemented, as in JAX", op.name);
  return {axis, kth, size - kth - 1, moved_axis(x, axis, -1)};
}

// In the other order; unsigned numbers have no negatives, their complements are that.
Term turned(const Term& t) { return is_unsigned_integer(t.dtype()) ? call("invert", t) : -t; }

// The values, or the places, of the k largest of each row.
Term top(const Term& rows, std::int64_t k, bool places) {
  return call_all(rows.builder(), "top_k", {rows}, Attrs{{"k", k}})[places ? 1 : 0];
}

// The kth + 1 smallest, the largest first, before the others, the largest first: two top_k.
Values expand_partition(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Parting p = parting_of(b, op, args, attrs);
  Term low = turned(top(turned(p.rows), p.kth + 1, false));
  return {moved_axis(joined({low, top(p.rows, p.rest, false)}, p.rows.rank() - 1), -1, p.axis).id()};
}

Values expand_argpartition(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Parting p = parting_of(b, op, args, attrs);
  Term low = top(turned(p.rows), p.kth + 1, true);
  Term rest(b, filled(b, {DType::kFloat32, p.rows.shape()}, 1.0)), zeros(b, filled(b, {DType::kFloat32, low.shape()}, 0.0));
  Term is_left = call(b, "put_along_axis", {rest, low, zeros}, Attrs{{"axis", std::int64_t(p.rows.rank() - 1)}});
  return {moved_axis(joined({low, top(is_left, p.rest, true)}, p.rows.rank() - 1), -1, p.axis).id()};
}

// The last key decides first.
Values expand_lexsort(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::vector<Item> keys;
  for (std::size_t i = args.size(); i-- > 0;) keys.emplace_back(term(b, args[i]));
  Term first = term(b, args[0]);
  if (first.rank() == 0) throw_user_error("{}: scalars have no order", op.name);
  for (const Arg& arg : args)
    if (shape_of_arg(b, arg) != first.shape())
      throw_user_error("{}: all keys need to be the same shape, got {} and {}", op.name, text_of(first.shape()),
                       text_of(shape_of_arg(b, arg)));
  int axis = normalized_axis(op.name, attrs.integer("axis", -1), first.rank());
  keys.emplace_back(
      Term(b, b.emit1(kIota, {}, Attrs{{"dtype", DType::kInt32}, {"shape", first.shape()}, {"dimension", std::int64_t(axis)}})));
  const Attrs by_keys{{"axis", std::int64_t(axis)}, {"num_keys", std::int64_t(args.size())}};
  return {as_default_integer(call_all(b, "sort", keys, by_keys).back()).id()};
}

Values expand_sort_complex(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  Term x = call("sort", term(b, args[0]));
  return {is_complex(x.dtype()) ? x.id() : converted(x, complex_dtype(inexact(x.dtype()))).id()};
}

using Kind = AttrDef::Kind;
constexpr AttrDef kDigitizeAttrs[] = {{"right", Kind::kFlag, false, "whether bins hold their upper edge"},
                                      {"method", Kind::kString, false, "accepted for JAX's sake"}};
constexpr AttrDef kRange = {"range", Kind::kLiteral, false, "the least and the greatest edge; those of the elements by default"};
constexpr AttrDef kWeights = {"weights", kNamedOperand, false, "what each element counts; 1 by default"};
constexpr AttrDef kDensity = {"density", Kind::kFlag, false, "whether counts are scaled to an integral of 1"};
constexpr AttrDef kBins = {"bins", Kind::kInteger, false, "how many bins, where it is no operand; 10 by default"};
constexpr AttrDef kHistogramAttrs[] = {kBins, kRange, kWeights, kDensity};
constexpr AttrDef kEdgeAttrs[] = {kBins, kRange, kWeights};
constexpr AttrDef kHistogram2dAttrs[] = {
    {"bins", Kind::kScalarOrIntegers, false, "how many bins, one number or two; 10 by default"}, kWeights, kDensity};
constexpr AttrDef kArgAttrs[] = {{"axis", Kind::kInteger, false, "along which to look; over all elements by default"},
                                 {"keepdims", Kind::kFlag, false, "whether the dimension stays, with size 1"}};
constexpr AttrDef kRunAttrs[] = {{"axis", Kind::kInteger, false, "along which it runs; over all elements in order by default"},
                                 {"dtype", Kind::kDType, false, "the dtype to compute in"}};
constexpr AttrDef kAxis = {"axis", Kind::kInteger, false, "along which; the last by default"};
constexpr AttrDef kPartitionAttrs[] = {{"kth", Kind::kInteger, false, "which element is in its place, where it is no operand"}, kAxis};
constexpr AttrDef kLexsortAttrs[] = {kAxis};

}  // namespace

extern const OpDef kDigitize, kHistogram, kHistogramBinEdges, kHistogram2d, kNanargmax, kNanargmin, kNancumsum, kNancumprod, kPartition,
    kArgpartition, kLexsort, kSortComplex;

const OpDef kDigitize = compiled_alone(
    composite_of({"digitize", "Into which bin each element falls: args [x, edges].", expand_digitize, 2, 2, kDigitizeAttrs}));
const OpDef kHistogram =
    composite_of({"histogram", "How many elements fall into each bin, and the bins' edges: args [x] or [x, bins], a number or edges.",
                  expand_histogram, 1, 3, kHistogramAttrs});
const OpDef kHistogramBinEdges = composite_of(
    {"histogram_bin_edges", "The edges of a histogram's bins: args [x] or [x, bins].", expand_histogram_bin_edges, 1, 3, kEdgeAttrs});
const OpDef kHistogram2d = composite_of({"histogram2d", "How many points fall into each cell, and the cells' edges along both axes.",
                                         expand_histogram2d, 2, 3, kHistogram2dAttrs});
const OpDef kNanargmax = compiled_alone(
    composite_of({"nanargmax", "argmax with NaN left out; -1 where nothing is left.", expand_nanarg<true>, 1, 1, kArgAttrs}));
const OpDef kNanargmin = compiled_alone(
    composite_of({"nanargmin", "argmin with NaN left out; -1 where nothing is left.", expand_nanarg<false>, 1, 1, kArgAttrs}));
const OpDef kNancumsum = compiled_alone(composite_of({"nancumsum", "cumsum with 0 for NaN.", expand_nancumulative<true>, 1, 1, kRunAttrs}));
const OpDef kNancumprod =
    compiled_alone(composite_of({"nancumprod", "cumprod with 1 for NaN.", expand_nancumulative<false>, 1, 1, kRunAttrs}));
const OpDef kPartition = composite_of(
    {"partition", "The k-th element in its place, smaller ones before it: args [x] or [x, kth].", expand_partition, 1, 2, kPartitionAttrs});
const OpDef kArgpartition = compiled_alone(composite_of(
    {"argpartition", "The places of partition's elements: args [x] or [x, kth].", expand_argpartition, 1, 2, kPartitionAttrs}));
const OpDef kLexsort =
    compiled_alone(composite_of({"lexsort", "The order by several keys, the last one first.", expand_lexsort, 1, -1, kLexsortAttrs}));
const OpDef kSortComplex =
    compiled_alone(composite_of({"sort_complex", "Sorted along the last dimension, as complex numbers.", expand_sort_complex}));

}  // namespace shardlab::ops
