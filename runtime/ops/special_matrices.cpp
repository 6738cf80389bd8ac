// toeplitz, hankel, circulant, hilbert and other matrices of jax.scipy.linalg that vectors or sizes say.
#include <algorithm>
#include <cmath>

#include "runtime/ops/compose.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {
namespace {

using Kind = AttrDef::Kind;

// Row and column numbers, which broadcast together.
Term row_numbers(GraphBuilder& b, DType dtype, std::int64_t rows) { return expanded(numbers(b, dtype, rows), 1); }
Term column_numbers(GraphBuilder& b, DType dtype, std::int64_t columns) { return expanded(numbers(b, dtype, columns), 0); }

Term vectors(GraphBuilder& b, const Arg& arg) { return call("atleast_1d", term(b, arg)); }
Term flipped(const Term& x) { return call("flip", x, Attrs{{"axis", std::int64_t(-1)}}); }
Term without_first(const Term& x) { return sliced(x, x.rank() - 1, std::min<std::int64_t>(1, x.size(-1)), x.size(-1)); }

// Two operands' vectors, of one dtype, with equal leading dimensions.
std::pair<Term, Term> paired(const OpDef& op, const Term& x, const Term& y) {
  GraphBuilder& b = x.builder();
  std::vector<Term> both = promoted_terms(b, std::vector<Arg>{x.id(), y.id()});
  auto leading = [](const Term& v) {
    Shape shape = v.shape();
    shape.pop_back();
    return shape;
  };
  const Shape together = broadcast_shapes(op.name, {leading(both[0]), leading(both[1])});
  for (Term& each : both) {
    Shape shape = together;
    shape.push_back(each.size(-1));
    each = broadcast(each, shape);
  }
  return {both[0], both[1]};
}

// Element [i, j] is element places[i, j] of the vector.
Term placed(const Term& vector, const Term& places) { return taken(vector, places, vector.rank() - 1); }

// Element [i, j] is element i + j of the vector: its windows, as JAX has them, so that rows lie as the vector does.
Term windows(const Term& vector, std::int64_t rows, std::int64_t columns) {
  GraphBuilder& b = vector.builder();
  Shape shape = vector.shape(), lines{vector.elements() / std::max<std::int64_t>(shape.back(), 1), shape.back(), 1};
  shape.back() = rows;
  shape.push_back(columns);
  if (element_count(shape) == 0) return {b, filled(b, {vector.dtype(), shape}, 0.0)};
  const Attrs attrs{{"filter_shape", std::vector<std::int64_t>{columns}},
                    {"window_strides", std::vector<std::int64_t>{1}},
                    {"padding", "VALID"},
                    {"dimension_numbers", std::vector<std::string>{"NTC", "IOT", "NTC"}}};
  return reshaped(call("conv_general_dilated_patches", reshaped(vector, lines), attrs), shape);
}

Term toeplitz(const OpDef& op, const Term& column, const Term& row) {
  const auto [c, r] = paired(op, column, row);
  const Term lines = windows(joined({flipped(c), without_first(r)}, c.rank() - 1), c.size(-1), r.size(-1));
  return call("flip", lines, Attrs{{"axis", std::int64_t(-2)}});
}
Values expand_toeplitz(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const Term c = vectors(b, args[0]);
  return {toeplitz(op, c, args.size() > 1 ? vectors(b, args[1]) : call("conj", c)).id()};
}

Values expand_hankel(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  for (std::size_t i = 0; i < args.size(); ++i)
    if (shape_of_arg(b, args[i]).empty())
      throw_user_error("{}: {} must be at least 1-dimensional, got a scalar.", op.name, i == 0 ? "c" : "r");
  const Term column = vectors(b, args[0]);
  const auto [c, r] = paired(op, column, args.size() > 1 ? vectors(b, args[1]) : filled_like(column, 0));
  return {windows(joined({c, without_first(r)}, c.rank() - 1), c.size(-1), r.size(-1)).id()};
}

Values expand_circulant(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  const Term c = vectors(b, args[0]);
  const std::int64_t n = c.size(-1);
  const Term places = row_numbers(b, DType::kInt32, n) - column_numbers(b, DType::kInt32, n);
  return {placed(c, call(b, "remainder", {places, n})).id()};
}

Values expand_convolution_matrix(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const std::int64_t n = static_integer(op, args, 1, attrs, "n");
  if (n <= 0) throw_user_error("{}: n must be a positive integer; got {}.", op.name, n);
  const std::string mode = attrs.has("mode") ? attrs.string("mode") : "full";
  if (mode != "full" && mode != "valid" && mode != "same")
    throw_user_error("{}: mode must be one of 'full', 'valid', 'same'; got '{}'.", op.name, mode);
  const Term a = vectors(b, args[0]);
  const std::int64_t m = a.size(-1), trim = std::min(n, m) - 1, whole = m + n - 1;
  if (m < 1) throw_user_error("{}: len(a) must be at least 1; got shape {}.", op.name, text_of(a.shape()));
  const std::int64_t before = mode == "same" ? trim / 2 : mode == "valid" ? trim : 0;
  const std::int64_t after = mode == "same" ? trim - trim / 2 : mode == "valid" ? trim : 0;
  Shape rest = a.shape();
  rest.back() = n - 1;
  auto extended = [&](const Term& x) { return joined({x, Term(b, filled(b, {x.dtype(), rest}, 0.0))}, x.rank() - 1); };
  const int last = a.rank() - 1;
  return {
      toeplitz(op, sliced(extended(a), last, before, whole - after), sliced(extended(flipped(a)), last, whole - n - before, whole - before))
          .id()};
}

Values expand_companion(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const Term a = as_inexact(vectors(b, args[0]));
  if (a.size(-1) < 2)
    throw_user_error("{}: The length of `a` along the last axis must be at least 2; got shape {}.", op.name, text_of(a.shape()));
  const std::int64_t n = a.size(-1) - 1;
  const Term first = -without_first(a) / sliced(a, a.rank() - 1, 0, 1);
  const Term below = converted(call(b, "eye", {n}, Attrs{{"k", std::int64_t(-1)}}), a.dtype());
  Shape shape = first.shape();
  shape.push_back(n);
  return {call(b, "dynamic_update_index_in_dim", {broadcast(below, shape), first, 0}, Attrs{{"axis", std::int64_t(a.rank() - 1)}}).id()};
}

Values expand_fiedler(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  const Term a = vectors(b, args[0]);
  return {call("abs", expanded(a, a.rank()) - expanded(a, a.rank() - 1)).id()};
}

Values expand_leslie(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const Term births = vectors(b, args[0]), rates = vectors(b, args[1]);
  if (births.size(-1) < 2)
    throw_user_error("{}: The length of f along the last axis must be at least 2; got shape {}.", op.name, text_of(births.shape()));
  if (rates.size(-1) != births.size(-1) - 1)
    throw_user_error(
        "{}: Incorrect lengths for f and s. The length of s along the last axis must be one less than the length of f; got f shape "
        "{} and s shape {}.",
        op.name, text_of(births.shape()), text_of(rates.shape()));
  const auto [f, s] = paired(op, births, rates);
  const std::int64_t n = f.size(-1);
  const Term row = row_numbers(b, DType::kInt32, n), column = column_numbers(b, DType::kInt32, n);
  const Term zero = sliced(filled_like(f, 0), f.rank() - 1, 0, 1), survival = expanded(joined({s, zero}, s.rank() - 1), s.rank() - 1);
  return {where(row == 0, expanded(f, f.rank() - 1), where(row == column + 1, survival, 0)).id()};
}

// --- Of sizes alone.

std::int64_t size_of_matrix(const OpDef& op, Args args, const Attrs& attrs) {
  const std::int64_t n = static_integer(op, args, 0, attrs, "n");
  check_shape(op.name, {n, n});
  return n;
}
DType default_float(GraphBuilder& b) { return dtype_or(b, {}, WeakKind::kReal); }

Values expand_hilbert(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const std::int64_t n = size_of_matrix(op, args, attrs);
  return {(1.0 / (row_numbers(b, default_float(b), n) + column_numbers(b, default_float(b), n) + 1.0)).id()};
}

Values expand_invhilbert(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const std::int64_t n = size_of_matrix(op, args, attrs);
  const Term i = row_numbers(b, default_float(b), n), j = column_numbers(b, default_float(b), n), sum = i + j;
  auto comb = [&](const Term& all, const Term& chosen) { return call(b, "comb", {all, chosen}); };
  const Term sign = where(call(b, "remainder", {sum, 2.0}) == 0.0, 1.0, filled_like(sum, -1));
  return {
      (sign * (sum + 1.0) * comb(double(n) + i, double(n - 1) - j) * comb(double(n) + j, double(n - 1) - i) * call("square", comb(sum, i)))
          .id()};
}

Values expand_hadamard(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const std::int64_t n = size_of_matrix(op, args, attrs);
  if (n < 1 || (n & (n - 1)) != 0) throw_user_error("{}: n must be a positive power of 2; got {}.", op.name, n);
  const Term common = call(b, "bitwise_and", {row_numbers(b, DType::kInt32, n), column_numbers(b, DType::kInt32, n)});
  const Term is_odd = call(b, "remainder", {call("population_count", common), 2}) != 0;
  return {converted(where(is_odd, -1, filled_like(common, 1)), dtype_or(b, attrs, WeakKind::kInteger)).id()};
}

Values expand_pascal(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const std::int64_t n = size_of_matrix(op, args, attrs);
  const std::string kind = attrs.has("kind") ? attrs.string("kind") : "symmetric";
  if (kind != "symmetric" && kind != "lower" && kind != "upper")
    throw_user_error("{}: Expected kind to be on of: ['symmetric', 'lower', 'upper']; got {}", op.name, kind);
  const Term lower = call(b, "comb", {row_numbers(b, DType::kFloat32, n), column_numbers(b, DType::kFloat32, n)});
  const Term upper = call("matrix_transpose", lower);
  return {kind == "lower" ? lower.id() : kind == "upper" ? upper.id() : call(b, "matmul", {lower, upper}).id()};
}

Values expand_helmert(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const std::int64_t n = size_of_matrix(op, args, attrs);
  if (n < 1) throw_user_error("{}: n must be a positive integer; got {}.", op.name, n);
  const DType dtype = default_float(b);
  const Term k = row_numbers(b, dtype, n - 1) + 1.0, column = column_numbers(b, dtype, n), scale = call("sqrt", k * (k + 1.0));
  const Term rows = where(column < k, 1.0 / scale, where(column == k, -k / scale, 0.0));
  if (!attrs.flag("full")) return {rows.id()};
  return {joined({Term(b, filled(b, {dtype, {1, n}}, 1 / std::sqrt(double(n)))), rows}, 0).id()};
}

Values expand_dft(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const std::int64_t n = size_of_matrix(op, args, attrs);
  const DType dtype = dtype_or(b, attrs, WeakKind::kComplex);
  if (!is_complex(dtype)) throw_user_error("{}: dtype must be a complex floating-point type; got {}.", op.name, name_of(dtype));
  const std::string scale = attrs.has("scale") ? attrs.string("scale") : "";
  if (scale != "" && scale != "sqrtn" && scale != "n")
    throw_user_error("{}: scale must be None, 'sqrtn', or 'n'; got '{}'.", op.name, scale);
  // The angle of a whole turn's n-th part, as often as the product says beyond whole turns.
  const DType real = real_dtype(dtype);
  const Term turns = call(b, "remainder", {row_numbers(b, real, n) * column_numbers(b, real, n), double(n)}) * (-2 * M_PI / double(n));
  const Term powers = call("exp", converted(turns, dtype) * Term(b, scalar_constant(b, dtype, Scalar{std::complex<double>(0, 1)})));
  const double divisor = scale == "n" ? double(n) : scale == "sqrtn" ? std::sqrt(double(n)) : 1;
  return {(scale == "" ? powers : powers / divisor).id()};
}

constexpr AttrDef kN = {"n", Kind::kInteger, false, "how many rows, where it is no operand"};
constexpr AttrDef kNAttrs[] = {kN};
constexpr AttrDef kHadamardAttrs[] = {kN, {"dtype", Kind::kDType, false, "int32 by default"}};
constexpr AttrDef kPascalAttrs[] = {kN, {"kind", Kind::kString, false, "symmetric (the default), lower or upper"}};
constexpr AttrDef kHelmertAttrs[] = {kN, {"full", Kind::kFlag, false, "whether the first row, of equal numbers, is there"}};
constexpr AttrDef kDftAttrs[] = {
    kN, {"scale", Kind::kString, false, "sqrtn or n, by which it is divided"}, {"dtype", Kind::kDType, false, "complex64 by default"}};
constexpr AttrDef kConvolutionAttrs[] = {{"n", Kind::kInteger, false, "how many columns, where it is no operand"},
                                         {"mode", Kind::kString, false, "full (the default), same or valid"}};

}  // namespace

extern const OpDef kToeplitz, kHankel, kCirculant, kConvolutionMatrix, kCompanion, kFiedler, kLeslie, kHilbert, kInvhilbert, kHadamard,
    kPascal, kHelmert, kDft;

const OpDef kToeplitz =
    composite_of({"linalg.toeplitz", "Matrices of equal numbers along diagonals: args [first column] or [first column, first row].",
                  expand_toeplitz, 1, 2});
const OpDef kHankel = composite_of(
    {"linalg.hankel", "Matrices of equal numbers across diagonals: args [first column] or [first column, last row].", expand_hankel, 1, 2});
const OpDef kCirculant = composite_of({"linalg.circulant", "Matrices whose columns are a vector, turned.", expand_circulant});
const OpDef kConvolutionMatrix =
    composite_of({"linalg.convolution_matrix", "The matrix that convolves a vector of n elements: args [a] or [a, n].",
                  expand_convolution_matrix, 1, 2, kConvolutionAttrs});
const OpDef kCompanion = composite_of({"linalg.companion", "The matrix whose eigenvalues are a polynomial's zeros.", expand_companion});
const OpDef kFiedler = composite_of({"linalg.fiedler", "The distances of a vector's elements.", expand_fiedler});
const OpDef kLeslie =
    composite_of({"linalg.leslie", "Leslie's matrix of a population: args [births, rates of survival].", expand_leslie, 2, 2});
const OpDef kHilbert = composite_of({"linalg.hilbert", "Hilbert's matrix.", expand_hilbert, 0, 1, kNAttrs});
const OpDef kInvhilbert = composite_of({"linalg.invhilbert", "The inverse of Hilbert's matrix.", expand_invhilbert, 0, 1, kNAttrs});
const OpDef kHadamard =
    composite_of({"linalg.hadamard", "Hadamard's matrix, of a power of 2 rows.", expand_hadamard, 0, 1, kHadamardAttrs});
const OpDef kPascal = composite_of({"linalg.pascal", "Pascal's triangle as a matrix.", expand_pascal, 0, 1, kPascalAttrs});
const OpDef kHelmert = composite_of({"linalg.helmert", "Helmert's matrix, of orthonormal rows.", expand_helmert, 0, 1, kHelmertAttrs});
const OpDef kDft = composite_of({"linalg.dft", "The matrix of the discrete Fourier transform.", expand_dft, 0, 1, kDftAttrs});

}  // namespace shardlab::ops
