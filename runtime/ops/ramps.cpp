// Arrays made of numbers alone: window functions, geomspace, the indices of diagonals, triangles and grids.
#include <algorithm>
#include <cmath>

#include "runtime/ops/compose.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {
namespace {

// --- Windows of signals: M numbers.

std::int64_t window_size(const OpDef& op, Args args, const Attrs& attrs) {
  std::int64_t size = static_integer(op, args, 0, attrs, "M");
  check_shape(op.name, {std::max<std::int64_t>(0, size)});
  return size;
}
Term ramp(GraphBuilder& b, std::int64_t size) { return numbers(b, default_dtype(WeakKind::kReal, b.config().enable_x64), size); }
std::optional<Values> short_window(GraphBuilder& b, std::int64_t size) {
  if (size > 1) return std::nullopt;
  return Values{filled_like(ramp(b, std::max<std::int64_t>(0, size)), 1).id()};
}
Term turn(const Term& n, std::int64_t size, double turns) { return call("cos", 2 * M_PI * turns * n / double(size - 1)); }

Values expand_bartlett(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::int64_t size = window_size(op, args, attrs);
  if (auto window = short_window(b, size)) return *window;
  return {(1.0 - call("abs", 2.0 * ramp(b, size) + 1.0 - double(size)) / double(size - 1)).id()};
}
Values expand_blackman(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::int64_t size = window_size(op, args, attrs);
  if (auto window = short_window(b, size)) return *window;
  Term n = ramp(b, size);
  return {(0.42 - 0.5 * turn(n, size, 1) + 0.08 * turn(n, size, 2)).id()};
}
template <bool kHamming>
Values expand_raised_cosine(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::int64_t size = window_size(op, args, attrs);
  if (auto window = short_window(b, size)) return *window;
  Term cosine = turn(ramp(b, size), size, 1);
  return {kHamming ? (0.54 - 0.46 * cosine).id() : (0.5 * (1.0 - cosine)).id()};
}
Values expand_kaiser(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::int64_t size = window_size(op, args, attrs);
  if (auto window = short_window(b, size)) return *window;
  double middle = 0.5 * double(size - 1);
  Term n = ramp(b, size), at = (n - middle) / middle;
  Term beta = args.size() > 1 ? converted(term(b, args[1]), n.dtype())
                              : Term(b, scalar_constant(b, n.dtype(), static_number(op, args, 1, attrs, "beta")));
  Term root = call("sqrt", 1.0 - at * at);
  return {(call("i0", call(b, "mul", {beta, root})) / call("i0", beta)).id()};
}

// --- Indices.

Term index_vector(GraphBuilder& b, const std::vector<double>& values) {
  return constant_vector(b, default_dtype(WeakKind::kInteger, b.config().enable_x64), values);
}
constexpr std::int64_t kIndicesMax = 1 << 20;

template <bool kLower>
Values triangle(GraphBuilder& b, const OpDef& op, std::int64_t n, std::int64_t m, std::int64_t k) {
  check_shape(op.name, {n, m});
  if (n * m > kIndicesMax) throw_user_error("{}: a matrix of {} elements, of at most {}", op.name, n * m, kIndicesMax);
  k = std::clamp(k, -n - 1, m + 1);
  std::vector<double> rows, columns;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < m; ++j)
      if (kLower ? j - i <= k : j - i >= k) {
        rows.push_back(double(i));
        columns.push_back(double(j));
      }
  return {index_vector(b, rows).id(), index_vector(b, columns).id()};
}
template <bool kLower>
Values expand_triangle(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::int64_t n = static_integer(op, args, 0, attrs, "n");
  return triangle<kLower>(b, op, n, attrs.integer("m", n), attrs.integer("k", 0));
}
template <bool kLower>
Values expand_triangle_from(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Shape shape = shape_of_arg(b, args[0]);
  if (shape.size() != 2) throw_user_error("{}: Only 2-D inputs are accepted, got {}", op.name, text_of(shape));
  return triangle<kLower>(b, op, shape[0], shape[1], attrs.integer("k", 0));
}
Values diagonal_indices(GraphBuilder& b, const OpDef& op, std::int64_t n, std::int64_t ndim) {
  check_shape(op.name, {n});
  if (ndim < 0 || ndim > 64) throw_user_error("{}: ndim {} is out of range", op.name, ndim);
  return Values(std::size_t(ndim), numbers(b, default_dtype(WeakKind::kInteger, b.config().enable_x64), n).id());
}
Values expand_diag_indices(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  return diagonal_indices(b, op, static_integer(op, args, 0, attrs, "n"), attrs.integer("ndim", 2));
}
Values expand_diag_indices_from(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  Shape shape = shape_of_arg(b, args[0]);
  if (shape.size() < 2) throw_user_error("{}: input array must be at least 2-d", op.name);
  for (std::int64_t size : shape)
    if (size != shape[0]) throw_user_error("{}: All dimensions of input must be of equal length, got {}", op.name, text_of(shape));
  return diagonal_indices(b, op, shape[0], std::int64_t(shape.size()));
}
Values expand_indices(GraphBuilder& b, const OpDef& op, Args, const Attrs& attrs) {
  Shape shape = integer_list_of(attrs, "dimensions");
  check_shape(op.name, shape);
  DType dtype = dtype_or(b, attrs, WeakKind::kInteger);
  std::vector<Term> grids;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    Shape along(shape.size(), 1);
    along[d] = shape[d];
    Term own = reshaped(numbers(b, dtype, shape[d]), along);
    grids.push_back(attrs.flag("sparse") ? own : broadcast(own, shape));
  }
  if (attrs.flag("sparse")) return ids(grids);
  if (grids.empty()) return {Term(b, filled(b, {dtype, {0}}, 0.0)).id()};
  return {stacked(grids, 0).id()};
}
Values expand_unravel_index(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term left = term(b, args[0]);
  if (!is_integer(left.dtype())) throw_user_error("{}: indices must have an integer type, got {}", op.name, left.text());
  Shape shape = integer_list_of(attrs, "shape");
  check_shape(op.name, shape);
  std::vector<Term> result;
  for (std::size_t d = shape.size(); d-- > 0;) {
    std::int64_t size = std::max<std::int64_t>(1, shape[d]);
    std::vector<Term> both = call_all(b, "divmod", {left, size});
    left = both[0];
    result.insert(result.begin(), both[1]);
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    result[d] = where(left < -1, 0, result[d]);
    result[d] = where(left > 0, shape[d] - 1, result[d]);
  }
  return ids(result);
}

Values expand_geomspace(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  DType dtype = inexact(promoted_dtype(b, args.first(2)));
  Term start(b, value_of(b, args[0], dtype)), stop(b, value_of(b, args[1], dtype));
  std::int64_t num = static_integer(op, args, 2, attrs, "num", 50);
  Term sign = call("sign", start);
  Term powers = call(b, "logspace", {call("log10", start / sign), call("log10", stop / sign)},
                     Attrs{{"num", num}, {"endpoint", attrs.flag("endpoint", true)}});
  Term result = sign * powers;
  return {attrs.has("dtype") ? converted(result, attrs.dtype("dtype")).id() : result.id()};
}

using Kind = AttrDef::Kind;
constexpr AttrDef kMAttrs[] = {{"M", Kind::kInteger, false, "how many elements, where it is no operand"}};
constexpr AttrDef kKaiserAttrs[] = {kMAttrs[0], {"beta", Kind::kNumber, false, "the shape, where it is no operand"}};
constexpr AttrDef kK = {"k", Kind::kInteger, false, "which diagonal: 0 the main one, above it positive, below negative"};
constexpr AttrDef kN = {"n", Kind::kInteger, false, "the number of rows, where it is no operand"};
constexpr AttrDef kTriangleAttrs[] = {kN, kK, {"m", Kind::kInteger, false, "the number of columns; as rows by default"}};
constexpr AttrDef kFromAttrs[] = {kK};
constexpr AttrDef kDiagonalAttrs[] = {kN, {"ndim", Kind::kInteger, false, "the number of dimensions; 2 by default"}};
constexpr AttrDef kIndicesAttrs[] = {{"dimensions", Kind::kScalarOrIntegers, true, "the grid's shape"},
                                     {"dtype", Kind::kDType, false, "int32 by default"},
                                     {"sparse", Kind::kFlag, false, "whether each has its own dimension alone, a result each"}};
constexpr AttrDef kUnravelAttrs[] = {{"shape", Kind::kScalarOrIntegers, true, "the shape in which to count"}};
constexpr AttrDef kGeomspaceAttrs[] = {{"num", Kind::kInteger, false, "how many elements, where it is no operand; 50 by default"},
                                       {"endpoint", Kind::kFlag, false, "whether the last element is stop; true by default"},
                                       {"dtype", Kind::kDType, false, "float32 by default"}};

}  // namespace

extern const OpDef kBartlett, kBlackman, kHamming, kHanning, kKaiser, kTrilIndices, kTriuIndices, kTrilIndicesFrom, kTriuIndicesFrom,
    kDiagIndices, kDiagIndicesFrom, kIndices, kUnravelIndex, kGeomspace;

const OpDef kBartlett = composite_of({"bartlett", "A triangle of M elements.", expand_bartlett, 0, 1, kMAttrs});
const OpDef kBlackman = composite_of({"blackman", "Blackman's window of M elements.", expand_blackman, 0, 1, kMAttrs});
const OpDef kHamming = composite_of({"hamming", "Hamming's window of M elements.", expand_raised_cosine<true>, 0, 1, kMAttrs});
const OpDef kHanning = composite_of({"hanning", "Hann's window of M elements.", expand_raised_cosine<false>, 0, 1, kMAttrs});
const OpDef kKaiser = composite_of({"kaiser", "Kaiser's window: args [M, beta].", expand_kaiser, 0, 2, kKaiserAttrs});
const OpDef kTrilIndices =
    composite_of({"tril_indices", "Rows and columns on and below a diagonal.", expand_triangle<true>, 0, 1, kTriangleAttrs});
const OpDef kTriuIndices =
    composite_of({"triu_indices", "Rows and columns on and above a diagonal.", expand_triangle<false>, 0, 1, kTriangleAttrs});
const OpDef kTrilIndicesFrom =
    composite_of({"tril_indices_from", "tril_indices of a matrix's shape.", expand_triangle_from<true>, 1, 1, kFromAttrs});
const OpDef kTriuIndicesFrom =
    composite_of({"triu_indices_from", "triu_indices of a matrix's shape.", expand_triangle_from<false>, 1, 1, kFromAttrs});
const OpDef kDiagIndices =
    composite_of({"diag_indices", "The index vectors of the main diagonal.", expand_diag_indices, 0, 1, kDiagonalAttrs});
const OpDef kDiagIndicesFrom = composite_of({"diag_indices_from", "diag_indices of an array's shape.", expand_diag_indices_from});
const OpDef kIndices = composite_of({"indices", "A grid's index in each dimension, stacked.", expand_indices, 0, 0, kIndicesAttrs});
const OpDef kUnravelIndex =
    composite_of({"unravel_index", "Index vectors of places counted in row-major order.", expand_unravel_index, 1, 1, kUnravelAttrs});
const OpDef kGeomspace =
    compiled_alone(composite_of({"geomspace", "Numbers of equal ratio from start to stop: args [start, stop] or [start, stop, num].",
                                 expand_geomspace, 2, 3, kGeomspaceAttrs}));

}  // namespace shardlab::ops
