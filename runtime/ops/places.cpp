// nonzero, unique, isin and other sets, put and fill_diagonal: which elements, and elements replaced, as jax.numpy lowers them.
#include <algorithm>

#include "runtime/ops/compose.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {
namespace {

constexpr std::string_view kSizeNeeded =
    "{}: 'size' is missing; it is the shape of the result, which cannot depend on values. Give the most elements that there can be";

std::int64_t size_of_result(const OpDef& op, const Attrs& attrs) {
  if (!attrs.has("size")) throw_user_error(kSizeNeeded, op.name);
  std::int64_t size = attrs.integer("size");
  check_shape(op.name, {size});
  return size;
}

Term truth(const Term& x) { return x.dtype() == DType::kBool ? x : x != 0; }

// Where, in row-major order, the first `size` true elements are; the number of elements past them is no place. As JAX: the running
// count says to which result each element belongs, and counting those in turn gives the places.
Term places_of(const Term& mask, std::int64_t size) {
  GraphBuilder& b = mask.builder();
  Term running = call("cumsum", converted(raveled(mask), DType::kInt32), Attrs{{"axis", std::int64_t(0)}});
  Term counts = call("bincount", running, Attrs{{"length", size}});
  if (size == 0) return Term(b, filled(b, {DType::kInt32, {0}}, 0.0));
  return call("cumsum", counts, Attrs{{"axis", std::int64_t(0)}});
}

// The index vectors of the true elements, a vector a dimension; past the last one `fill_value`.
std::vector<Term> nonzero(const OpDef& op, const Term& x, const Attrs& attrs) {
  GraphBuilder& b = x.builder();
  if (x.rank() == 0)
    throw_user_error("{}: calling nonzero on 0d arrays is not allowed. Use jnp.atleast_1d(scalar).nonzero() instead.", op.name);
  std::int64_t size = size_of_result(op, attrs);
  Term mask = truth(x);
  if (size == 0 || x.elements() == 0) {
    Term fill(b, filled(b, {DType::kInt32, {size}}, double(attrs.integer("fill_value", 0))));
    return std::vector<Term>(std::size_t(x.rank()), fill);
  }
  Term flat = places_of(mask, size);
  std::vector<Term> result;
  std::int64_t stride = x.elements();
  for (std::int64_t extent : x.shape()) {
    stride /= extent;
    result.push_back(call(b, "remainder", {call(b, "floor_divide", {flat, stride}), extent}));
  }
  if (attrs.integer("fill_value", 0) == 0) return result;
  Term count = summed(converted(mask, DType::kInt32), [&] {
    std::vector<std::int64_t> all;
    for (int d = 0; d < mask.rank(); ++d) all.push_back(d);
    return all;
  }());
  Term is_past = numbers(b, DType::kInt32, size) >= count;
  for (Term& each : result) each = where(is_past, attrs.integer("fill_value"), each);
  return result;
}

Values expand_nonzero(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::vector<Term> places = nonzero(op, term(b, args[0]), attrs);
  for (Term& each : places) each = as_default_integer(each);
  return ids(places);
}
Values expand_flatnonzero(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  return {as_default_integer(nonzero(op, raveled(term(b, args[0])), attrs)[0]).id()};
}
Values expand_argwhere(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = term(b, args[0]);
  if (x.rank() == 0) throw_user_error("{}: a scalar has no places; use atleast_1d", op.name);
  return {as_default_integer(transposed(stacked(nonzero(op, x, attrs), 0), {1, 0})).id()};
}

// The elements where a mask holds, first of all.
Term chosen(const Term& mask, const Term& x, int axis, std::int64_t size, double fill) {
  GraphBuilder& b = x.builder();
  Shape along(std::size_t(x.rank()), 1);
  along[std::size_t(axis)] = mask.elements();
  Term held = where(reshaped(mask, along), x, Term(b, scalar_constant(b, x.dtype(), fill)));
  Term order = call("argsort", mask, Attrs{{"descending", true}});
  Term sorted = taken(held, order, axis);
  if (size <= x.size(axis)) return sliced(sorted, axis, 0, size);
  Shape rest = x.shape();
  rest[std::size_t(axis)] = size - x.size(axis);
  return joined({sorted, Term(b, filled(b, {x.dtype(), rest}, fill))}, axis);
}

Values expand_compress(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term mask = truth(term(b, args[0])), x = term(b, args[1]);
  bool is_extract = op.name == "extract";
  if (mask.rank() != 1 && !is_extract) throw_user_error("{}: condition must be a 1D array, got {}", op.name, mask.text());
  if (is_extract) mask = raveled(mask);
  if (!attrs.has("axis")) x = raveled(x);
  int axis = normalized_axis(op.name, attrs.integer("axis", 0), x.rank());
  if (mask.elements() > x.size(axis))
    throw_user_error("{}: the condition has {} elements, dimension {} of the array {}", op.name, mask.elements(), axis, x.size(axis));
  std::int64_t size = size_of_result(op, attrs);
  Shape all = x.shape();
  all[std::size_t(axis)] = size;
  check_shape(op.name, all);
  x = sliced(x, axis, 0, mask.elements());
  return {chosen(mask, x, axis, size, attrs.has("fill_value") ? attrs.number("fill_value") : 0).id()};
}

// The first of each run of equal elements in a sorted vector; NaN is equal to NaN.
Term begins_run(const Term& sorted) {
  GraphBuilder& b = sorted.builder();
  std::int64_t size = sorted.elements();
  Term first(b, filled(b, {DType::kBool, {std::min<std::int64_t>(size, 1)}}, 1.0));
  if (size <= 1) return first;
  Term after = sliced(sorted, 0, 1, size), before = sliced(sorted, 0, 0, size - 1), differs = after != before;
  if (is_inexact(sorted.dtype())) differs = differs & !((after != after) & (before != before));
  return joined({first, differs}, 0);
}

// Sorted, each value once; past the last one the first of them, or fill_value.
Term unique(const OpDef& op, const Term& given, const Attrs& attrs) {
  Term x = call("sort", raveled(given), Attrs{{"axis", std::int64_t(0)}});
  std::int64_t size = size_of_result(op, attrs);
  if (x.elements() == 0 || size == 0) return Term(x.builder(), filled(x.builder(), {x.dtype(), {size}}, 0.0));
  Term is_first = begins_run(x);
  Term places = call(x.builder(), "remainder", {places_of(is_first, size), x.elements()}), result = taken(x, places, 0);
  if (!attrs.has("fill_value")) return result;
  Term count = summed(converted(is_first, DType::kInt32), {0});
  Term fill(x.builder(), value_of(x.builder(), Scalar{attrs.number("fill_value")}, x.dtype()));
  return where(numbers(x.builder(), DType::kInt32, size) >= count, fill, result);
}

// With the place of each one's first, the number of each element's own, and how often each occurs, as far as asked for.
Values expand_unique(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term given = term(b, args[0]), x = raveled(given);
  std::int64_t size = size_of_result(op, attrs), count = x.elements();
  Values results{unique(op, x, attrs).id()};
  bool has_index = attrs.flag("return_index"), has_inverse = attrs.flag("return_inverse"), has_counts = attrs.flag("return_counts");
  if (!has_index && !has_inverse && !has_counts) return results;
  if (count == 0 || size == 0) throw_user_error("{}: an array or a result without elements has no indices", op.name);
  std::vector<Term> sorted = call_all(b, "sort", {x, numbers(b, DType::kInt32, count)}, Attrs{{"axis", std::int64_t(0)}});
  Term is_first = begins_run(sorted[0]);
  if (has_index) results.push_back(taken(sorted[1], call(b, "remainder", {places_of(is_first, size), count}), 0).id());
  if (has_inverse) {
    Term number = call("cumsum", converted(is_first, DType::kInt32), Attrs{{"axis", std::int64_t(0)}}) - 1;
    std::vector<std::int64_t> none, first{0};
    Term inverse = call(b, "scatter", {filled_like(number, 0), expanded(sorted[1], 1), number},
                        Attrs{{"update_window_dims", none}, {"collapsed_slice_dims", first}, {"start_index_map", first}});
    results.push_back(reshaped(inverse, given.shape()).id());
  }
  if (has_counts) {
    Term begins = call(b, "remainder", {places_of(is_first, size + 1), count}), later = sliced(begins, 0, 1, size + 1);
    later = where(later != 0, later, count);
    results.push_back((later - joined({sliced(begins, 0, 0, 1), sliced(later, 0, 0, size - 1)}, 0)).id());
  }
  for (std::size_t i = 1; i < results.size(); ++i) results[i] = as_default_integer(b, results[i]);
  return results;
}
Values expand_union1d(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::vector<Term> both = promoted_terms(b, args);
  return {unique(op, joined({raveled(both[0]), raveled(both[1])}, 0), attrs).id()};
}

// Each element beside each of the others.
Values expand_isin(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  std::vector<Term> both = promoted_terms(b, args);
  Shape shape = both[0].shape();
  Term x = raveled(both[0]), others = raveled(both[1]);
  Term equal = expanded(x, 1) == expanded(others, 0);
  Term result = reshaped(call("any", equal, Attrs{{"axis", std::int64_t(1)}}), shape);
  return {attrs.flag("invert") ? (!result).id() : result.id()};
}

// --- Elements replaced.

Term in_bounds(const Term& indices, std::int64_t size) { return where(indices < 0, indices + size, indices); }

// x.at[index vectors].set(values): the vectors have the values' shape.
Term written(const Term& x, std::vector<Term> indices, const Term& values) {
  GraphBuilder& b = x.builder();
  std::vector<std::int64_t> dims;
  for (int d = 0; d < x.rank(); ++d) {
    dims.push_back(d);
    indices[std::size_t(d)] = expanded(broadcast(in_bounds(indices[std::size_t(d)], x.size(d)), values.shape()), values.rank());
  }
  return call(b, "scatter", {x, joined(indices, values.rank()), values},
              Attrs{{"update_window_dims", std::vector<std::int64_t>{}}, {"collapsed_slice_dims", dims}, {"start_index_map", dims}});
}

Values expand_fill_diagonal(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = term(b, args[0]), value(b, value_of(b, args[1], x.dtype()));
  if (x.rank() < 2) throw_user_error("{}: array must be at least 2-d, got {}", op.name, x.text());
  if (attrs.flag("wrap")) throw_user_error("{}: wrap=True is not implemented, as in JAX", op.name);
  Shape shape = x.shape();
  if (x.rank() > 2 && std::count(shape.begin(), shape.end(), shape[0]) != x.rank())
    throw_user_error("{}: All dimensions of input must be of equal length, got {}", op.name, text_of(shape));
  std::int64_t length = *std::min_element(shape.begin(), shape.end());
  if (length == 0) return {x.id()};
  Term flat = raveled(value);
  if (flat.elements() == 0) throw_user_error("{}: no values for the diagonal", op.name);
  Term values = value.rank() == 0 ? broadcast(value, {length}) : call("resize", flat, Attrs{{"new_shape", Shape{length}}});
  return {written(x, std::vector<Term>(std::size_t(x.rank()), numbers(b, DType::kInt32, length)), values).id()};
}

Values expand_diagflat(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = raveled(term(b, args[0]));
  std::int64_t k = attrs.integer("k", 0);
  if (k < -kElementsMax || k > kElementsMax) throw_user_error("{}: k is {}, wanted a smaller number", op.name, k);
  std::int64_t size = x.elements() + std::abs(k);
  check_shape(op.name, {size, size});
  Term zeros(b, filled(b, {x.dtype(), {size * size}}, 0.0));
  if (x.elements() == 0) return {reshaped(zeros, {size, size}).id()};
  Term i = numbers(b, DType::kInt32, x.elements());
  Term places = k >= 0 ? i + k + i * size : i + (i - k) * size;
  return {reshaped(written(zeros, {places}, x), {size, size}).id()};
}

Values expand_put_along_axis(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = term(b, args[0]), indices = term(b, args[1]);
  Shape whole = x.shape();
  if (!attrs.has("axis")) x = raveled(x);
  int axis = normalized_axis(op.name, attrs.integer("axis", 0), x.rank());
  if (!is_integer(indices.dtype())) throw_user_error("{}: indices must have an integer type, got {}", op.name, indices.text());
  if (indices.rank() != x.rank())
    throw_user_error("{}: indices and arr must have the same number of dimensions; {} vs. {}", op.name, indices.rank(), x.rank());
  Shape shape = x.shape();
  shape[std::size_t(axis)] = indices.size(axis);
  check_broadcasts_to(op.name, indices.shape(), shape);
  Term values(b, value_of(b, args[2], x.dtype()));
  check_broadcasts_to(op.name, values.shape(), shape);
  std::vector<Term> places;
  for (int d = 0; d < x.rank(); ++d) {
    Shape along(std::size_t(x.rank()), 1);
    along[std::size_t(d)] = x.size(d);
    places.push_back(d == axis ? converted(indices, DType::kInt32) : reshaped(numbers(b, DType::kInt32, x.size(d)), along));
  }
  return {reshaped(written(x, places, broadcast(values, shape)), whole).id()};
}

Values expand_put(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = term(b, args[0]), indices = raveled(term(b, args[1])), values = raveled(Term(b, value_of(b, args[2], x.dtype())));
  if (!is_integer(indices.dtype())) throw_user_error("{}: indices must have an integer type, got {}", op.name, indices.text());
  if (indices.elements() == 0 || values.elements() == 0 || x.elements() == 0) return {x.id()};
  std::string mode = attrs.has("mode") ? attrs.string("mode") : "";
  indices = converted(indices, DType::kInt32);
  if (mode == "clip")
    indices = call(b, "clip", {indices, 0, x.elements() - 1});
  else if (mode == "wrap")
    indices = call(b, "remainder", {indices, std::max<std::int64_t>(1, x.elements())});
  else if (!mode.empty())
    throw_user_error("{}: mode should be one of 'wrap' or 'clip'; got mode='{}'", op.name, mode);
  values = call("resize", values, Attrs{{"new_shape", Shape{indices.elements()}}});
  Term target = x.rank() == 0 ? raveled(x) : x;
  std::vector<Term> places = call_all(b, "unravel_index", {indices}, Attrs{{"shape", target.shape()}});
  return {reshaped(written(target, places, values), x.shape()).id()};
}

// The true places in order get the values in order, which repeat.
Values expand_place(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  Term x = term(b, args[0]), mask = raveled(truth(term(b, args[1]))), values = raveled(Term(b, value_of(b, args[2], x.dtype())));
  if (mask.elements() != x.elements())
    throw_user_error("{}: arr and mask must have the same size, got {} and {} elements", op.name, x.elements(), mask.elements());
  if (values.elements() == 0) throw_user_error("{}: vals must not be empty", op.name);
  if (x.elements() == 0) return {x.id()};
  std::int64_t size = x.elements();
  Term places = call(b, "flatnonzero", {mask}, Attrs{{"size", size}, {"fill_value", size}});
  return {reshaped(written(raveled(x), {places}, call("resize", values, Attrs{{"new_shape", Shape{size}}})), x.shape()).id()};
}

using Kind = AttrDef::Kind;
constexpr AttrDef kSize = {"size", Kind::kInteger, true, "how many elements the result has, since it cannot depend on values"};
constexpr AttrDef kPlace = {"fill_value", Kind::kInteger, false, "what stands past the last one; 0 by default"};
constexpr AttrDef kFill = {"fill_value", Kind::kNumber, false, "what stands past the last one; 0 by default"};
constexpr AttrDef kNonzeroAttrs[] = {kSize, kPlace};
constexpr AttrDef kCompressAttrs[] = {{"axis", Kind::kInteger, false, "along which; over all elements in order by default"}, kSize, kFill};
constexpr AttrDef kExtractAttrs[] = {kSize, kFill};
constexpr AttrDef kSetFill = {"fill_value", Kind::kNumber, false, "what stands past the last one; the least value by default"};
constexpr AttrDef kUnionAttrs[] = {kSize, kSetFill};
constexpr AttrDef kUniqueAttrs[] = {kSize,
                                    kSetFill,
                                    {"return_index", Kind::kFlag, false, "whether the place of each one's first is a result"},
                                    {"return_inverse", Kind::kFlag, false, "whether the number of each element's own is a result"},
                                    {"return_counts", Kind::kFlag, false, "whether how often each occurs is a result"}};
constexpr AttrDef kIsinAttrs[] = {{"assume_unique", Kind::kFlag, false, "accepted for JAX's sake"},
                                  {"invert", Kind::kFlag, false, "whether those that are not among them are meant"},
                                  {"method", Kind::kString, false, "accepted for JAX's sake"}};
constexpr AttrDef kInplace = {"inplace", Kind::kFlag, false, "accepted for JAX's sake; arrays are immutable"};
constexpr AttrDef kDiagonalAttrs[] = {{"wrap", Kind::kFlag, false, "must be false, as in JAX"}, kInplace};
constexpr AttrDef kK[] = {{"k", Kind::kInteger, false, "which diagonal: 0 the main one, above it positive, below negative"}};
constexpr AttrDef kAlongAttrs[] = {{"axis", Kind::kInteger, false, "along which; over all elements in order by default"}, kInplace};
constexpr AttrDef kPutAttrs[] = {{"mode", Kind::kString, false, "for indices out of bounds: the nearest end by default; clip or wrap"},
                                 kInplace};
constexpr AttrDef kPlaceAttrs[] = {kInplace};

}  // namespace

extern const OpDef kNonzero, kFlatnonzero, kArgwhere, kCompress, kExtract, kUnique, kUnion1d, kIsin, kFillDiagonal, kDiagflat,
    kPutAlongAxis, kPut, kPlaceAt;

const OpDef kNonzero =
    composite_of({"nonzero", "The index vectors of elements that are not 0, one a dimension.", expand_nonzero, 1, 1, kNonzeroAttrs});
const OpDef kFlatnonzero =
    composite_of({"flatnonzero", "Where elements are not 0, counted over all in order.", expand_flatnonzero, 1, 1, kNonzeroAttrs});
const OpDef kArgwhere =
    composite_of({"argwhere", "The indices of elements that are not 0, one a row.", expand_argwhere, 1, 1, kNonzeroAttrs});
const OpDef kCompress = composite_of(
    {"compress", "The parts along an axis where a condition holds: args [condition, x].", expand_compress, 2, 2, kCompressAttrs});
const OpDef kExtract =
    composite_of({"extract", "The elements where a condition holds: args [condition, x].", expand_compress, 2, 2, kExtractAttrs});
const OpDef kUnique = composite_of({"unique", "The elements in ascending order, each once.", expand_unique, 1, 1, kUniqueAttrs});
const OpDef kUnion1d =
    composite_of({"union1d", "The elements of either, in ascending order, each once.", expand_union1d, 2, 2, kUnionAttrs});
const OpDef kIsin = composite_of({"isin", "Which elements are among others: args [x, others].", expand_isin, 2, 2, kIsinAttrs});
const OpDef kFillDiagonal =
    composite_of({"fill_diagonal", "The diagonal replaced: args [x, values].", expand_fill_diagonal, 2, 2, kDiagonalAttrs});
const OpDef kDiagflat = composite_of({"diagflat", "A matrix with all elements in order on a diagonal.", expand_diagflat, 1, 1, kK});
const OpDef kPutAlongAxis = compiled_alone(
    composite_of({"put_along_axis", "Elements replaced along a dimension where each row has its own indices: args [x, indices, values].",
                  expand_put_along_axis, 3, 3, kAlongAttrs}));
const OpDef kPut =
    composite_of({"put", "Elements replaced at indices over all in order: args [x, indices, values].", expand_put, 3, 3, kPutAttrs});
const OpDef kPlaceAt = composite_of(
    {"place", "Elements replaced where a mask holds, by values in order: args [x, mask, values].", expand_place, 3, 3, kPlaceAttrs});

}  // namespace shardlab::ops
