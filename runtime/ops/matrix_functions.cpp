// jax.scipy.linalg's functions of square matrices: expm, polar, factors by LU and Cholesky with their solutions, tridiagonal systems.
#include <array>

#include "runtime/ops/decompositions.h"
#include "runtime/ops/loops.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {
namespace {

using Kind = AttrDef::Kind;

Term matrix_operand(GraphBuilder& b, const OpDef& op, const Arg& arg) {
  Term x = as_inexact(term(b, arg));
  check_matrix(op, x.type());
  return x;
}
Term square_operand(GraphBuilder& b, const OpDef& op, const Arg& arg) {
  Term x = as_inexact(term(b, arg));
  if (x.rank() < 2 || x.size(-1) != x.size(-2))
    throw_user_error("{}: Expected A to be a (batched) square matrix, got A.shape={}.", op.name, text_of(x.shape()));
  return x;
}

// Numbers as the coefficients of matrices.
Term widened(const Term& number) {
  return reshaped(number, [&] {
    Shape shape = number.shape();
    shape.insert(shape.end(), 2, 1);
    return shape;
  }());
}

// --- expm. Source: Higham, "The scaling and squaring method for the matrix exponential revisited" (2005).

struct Quotient {
  Term over, under;
};
// The Padé quotient of degree 7 or 13 whose coefficients these are: sums from the highest power on, in JAX's order.
Quotient pade(const Term& x, std::span<const double> coefficients) {
  const Term square = matrix_product(x, x), fourth = matrix_product(square, square), sixth = matrix_product(fourth, square);
  // Of the odd powers (1) but for one x, or of the even ones (0).
  auto part = [&](std::size_t first) {
    const auto c = [&](std::size_t i) { return coefficients[first + i]; };
    Term sum = sixth * c(6);
    if (coefficients.size() > 8) sum = matrix_product(sixth, sixth * c(12) + fourth * c(10) + square * c(8)) + sum;
    return sum + fourth * c(4) + square * c(2) + unit_matrix(x, x.size(-1)) * c(0);
  };
  const Term odd = matrix_product(x, part(1)), even = part(0);
  return {odd + even, -odd + even};
}
constexpr std::array<double, 8> kPade7 = {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1};
constexpr std::array<double, 14> kPade13 = {64764752532480000.,
                                            32382376266240000.,
                                            7771770303897600.,
                                            1187353796428800.,
                                            129060195264000.,
                                            10559470521600.,
                                            670442572800.,
                                            33522128640.,
                                            1323241920.,
                                            40840800.,
                                            960960.,
                                            16380.,
                                            182.,
                                            1.};

Values expand_expm(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Term x = square_operand(b, op, args[0]);
  if (x.size(-1) == 0) return {x.id()};
  const std::int64_t squarings_max = attrs.integer("max_squarings", 16);
  const bool is_wide = real_dtype(x.dtype()) == DType::kFloat64;
  const Term norm = call("linalg.matrix_norm", x, Attrs{{"ord", std::int64_t(1)}});
  const Term doublings = call("floor", call("log2", norm / (is_wide ? 5.371920351148152 : 3.925724783138660)));
  const Term count = call(b, "maximum", {doublings, 0.0});
  Term scaled = x / converted(widened(call("exp2", count)), x.dtype());
  // In JAX each of several matrices goes to the quotient of its degree, and its cotangent comes from there: a choice, which always holds
  // here, and along which its cotangent lies as the matrix does.
  if (x.rank() > 2) scaled = where(broadcast(widened(!(count < 0.0)), x.shape()), scaled, call("stop_gradient", scaled));
  const Quotient quotient = is_wide ? pade(scaled, kPade13) : pade(scaled, kPade7);
  Term result = attrs.flag("upper_triangular") ? triangular_solution(quotient.under, quotient.over, {.left_side = true})
                                               : call(b, "linalg.solve", {quotient.under, quotient.over});
  // As often as the matrix needs it. Of several all take every step, as in JAX, and those that need no more stay: whether any does would
  // have to be told between the devices that have them.
  const Term steps = numbers(b, count.dtype(), squarings_max);
  auto squared = [](const Terms& given) { return Terms{matrix_product(given[0], given[0])}; };
  auto as_it_is = [](const Terms& given) { return Terms{given[0]}; };
  result = repeated_over({result, count}, {steps}, [&](const Terms& carry, const Terms& slices) {
    const Term is_due = slices[0] < carry[1];
    if (is_due.rank() == 0) return Terms{either(is_due, {carry[0]}, squared, as_it_is)[0], carry[1]};
    return Terms{where(widened(is_due), squared({carry[0]})[0], carry[0]), carry[1]};
  })[0];
  return {where(widened(count > double(squarings_max)), std::numeric_limits<double>::quiet_NaN(), result).id()};
}

// --- Factors, and what they solve.

Values expand_cho_factor(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Term x = square_operand(b, op, args[0]);
  if (attrs.flag("lower")) return {call("cholesky", x).id()};
  return {adjoint(call("cholesky", adjoint(x))).id()};
}

Values expand_lu_factor(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const std::vector<Term> found = call_all(b, "lu", {matrix_operand(b, op, args[0])});
  return ids({found[0], found[1]});
}

// The rows' order after the exchanges that the pivots say.
Term permutation_of(const Term& pivots, std::int64_t rows) {
  GraphBuilder& b = pivots.builder();
  Shape shape = pivots.shape();
  shape.back() = rows;
  const Term places = numbers(b, DType::kInt32, rows), first = broadcast(places, shape);
  if (pivots.size(-1) == 0) return first;
  const Term by_step = call("moveaxis", pivots, Attrs{{"source", std::int64_t(-1)}, {"destination", std::int64_t(0)}});
  const Term steps = numbers(b, DType::kInt32, pivots.size(-1));
  return repeated_over({first, places}, {by_step, steps}, [](const Terms& carry, const Terms& slices) {
    const Term &order = carry[0], &at = carry[1], pivot = expanded(slices[0], slices[0].rank());
    const Term is_here = at == slices[1], is_there = at == pivot;
    auto value = [&](const Term& mask) { return summed(where(mask, order, 0), {order.rank() - 1}, true); };
    return Terms{where(is_here, value(is_there), where(is_there, value(is_here), order)), at};
  })[0];
}
Values expand_permutation(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const std::int64_t rows = static_integer(op, args, 1, attrs, "permutation_size");
  const Term pivots = term(b, args[0]);
  if (pivots.dtype() != DType::kInt32 || pivots.rank() < 1)
    throw_user_error("{}: pivots are int32[..., k], got {}", op.name, pivots.text());
  if (pivots.size(-1) > rows)
    throw_user_error("{}: Output permutation size {} has to exceed the trailing dimension of the pivots. Got pivots size {}", op.name, rows,
                     pivots.size(-1));
  return {permutation_of(pivots, rows).id()};
}

Values expand_lu_solve(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const std::int64_t trans = attrs.integer("trans", 0);
  if (trans < 0 || trans > 2) throw_user_error("{}: 'trans' value must be 0, 1, or 2, got {}", op.name, trans);
  const DType dtype = inexact(promoted_dtype(b, std::vector<Arg>{args[0], args[2]}));
  Term factors(b, value_of(b, args[0], dtype)), right(b, value_of(b, args[2], dtype));
  const Term pivots = term(b, args[1]);
  const bool is_vector = right.rank() == 1;
  if (factors.rank() < 2 || factors.size(-1) != factors.size(-2) || right.rank() < 1 || right.size(is_vector ? 0 : -2) != factors.size(-1))
    throw_user_error("{}: wanted LU factors [..., n, n], pivots [..., n] and b [n] or [..., n, k]; got {}, {} and {}", op.name,
                     factors.text(), pivots.text(), right.text());
  if (is_vector) right = expanded(right, 1);
  Shape shape = factors.shape();
  shape.back() = right.size(-1);
  right = broadcast(right, shape);
  const Term order = permutation_of(pivots, factors.size(-1));
  auto permuted = [&](const Term& x, const Term& by) {
    return call(b, "take_along_axis", {x, broadcast(expanded(by, by.rank()), shape)}, Attrs{{"axis", std::int64_t(-2)}});
  };
  const bool is_adjoint = trans == 2;
  Term x = right;
  if (trans == 0) {
    x = triangular_solution(factors, permuted(x, order), {.left_side = true, .lower = true, .unit_diagonal = true});
    x = triangular_solution(factors, x, {.left_side = true});
  } else {
    x = triangular_solution(factors, x, {.left_side = true, .transpose_a = true, .conjugate_a = is_adjoint});
    x = triangular_solution(factors, x,
                            {.left_side = true, .lower = true, .transpose_a = true, .conjugate_a = is_adjoint, .unit_diagonal = true});
    x = permuted(x, call("argsort", order));
  }
  return {is_vector ? part(x, x.rank() - 1, 0).id() : x.id()};
}

// A unitary and a Hermitian matrix whose product x is.
Values expand_polar(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Term x = matrix_operand(b, op, args[0]);
  const std::string side = attrs.has("side") ? attrs.string("side") : "right",
                    method = attrs.has("method") ? attrs.string("method") : "qdwh";
  if (side != "right" && side != "left") throw_user_error("{}: The argument `side` must be either 'right' or 'left'.", op.name);
  if (method != "qdwh" && method != "svd") throw_user_error("{}: Unknown polar decomposition method {}.", op.name, method);
  if (method == "qdwh" && (x.size(-2) >= x.size(-1)) != (side == "right"))
    throw_user_error(
        "{}: method='qdwh' only supports mxn matrices where m >= n where side='right' and m < n side='left', got {} with side={}", op.name,
        text_of(x.shape()), side);
  const std::vector<Term> found = call_all(b, "svd", {x}, Attrs{{"full_matrices", false}});
  const Term sizes = converted(expanded(found[0], found[0].rank() - 1), x.dtype()), &u = found[1], &v = found[2];
  const Term stretch = side == "right" ? matrix_product(adjoint(v) * sizes, v) : matrix_product(u * sizes, adjoint(u));
  return ids({matrix_product(u, v), stretch});
}

// Elimination down the diagonals and substitution back. Source: Thomas, "Elliptic problems in linear differential equations over a
// network".
Values expand_tridiagonal_solve(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  std::vector<Term> given = promoted_terms(b, args);
  for (Term& each : given) each = as_inexact(each);
  const Term& right = given[3];
  const Shape diagonals = given[1].shape();
  if (given[1].rank() < 1 || given[0].shape() != diagonals || given[2].shape() != diagonals || right.rank() != given[1].rank() + 1 ||
      right.size(-2) != given[1].size(-1))
    throw_user_error("{}: wanted three diagonals [..., n] and b [..., n, k], got {}, {}, {} and {}", op.name, given[0].text(),
                     given[1].text(), given[2].text(), right.text());
  if (right.elements() == 0) return {right.id()};
  std::vector<Term> rows;
  for (const Term& each : given) {
    const Term wide = each.rank() < right.rank() ? expanded(each, each.rank()) : each;
    rows.push_back(call("moveaxis", wide, Attrs{{"source", std::int64_t(-2)}, {"destination", std::int64_t(0)}}));
  }
  auto first = [](const Term& x) { return part(x, 0, 0); };
  auto others = [](const Term& x) { return sliced(x, 0, 1, x.size(0)); };
  const Term ratio = first(rows[2]) / first(rows[1]), value = first(rows[3]) / first(rows[1]);
  const Terms down = repeated_over({ratio, value}, {others(rows[0]), others(rows[1]), others(rows[2]), others(rows[3])},
                                   [](const Terms& carry, const Terms& row) {
                                     const Term pivot = row[1] - row[0] * carry[0];
                                     return Terms{row[2] / pivot, (row[3] - row[0] * carry[1]) / pivot, carry[0], carry[1]};
                                   });
  auto turned = [](const Term& x) { return call("flip", x, Attrs{{"axis", std::int64_t(0)}}); };
  const Terms up = repeated_over({down[1]}, {turned(down[2]), turned(down[3])}, [](const Terms& carry, const Terms& row) {
    return Terms{row[1] - row[0] * carry[0], carry[0]};
  });
  const Term solution = joined({expanded(up[0], 0), turned(up[1])}, 0);
  return {call("moveaxis", solution, Attrs{{"source", std::int64_t(0)}, {"destination", std::int64_t(-2)}}).id()};
}

constexpr AttrDef kExpmAttrs[] = {
    {"upper_triangular", Kind::kFlag, false, "whether x is upper triangular"},
    {"max_squarings", Kind::kInteger, false, "how often a scaled power is squared at most, else NaN; 16 by default"}};
constexpr AttrDef kLowerAttrs[] = {{"lower", Kind::kFlag, false, "whether the factor is lower triangular; upper by default"}};
constexpr AttrDef kTransAttrs[] = {{"trans", Kind::kInteger, false, "0: A, 1: its transpose, 2: its conjugate transpose"}};
constexpr AttrDef kSizeAttrs[] = {{"permutation_size", Kind::kInteger, false, "how many rows, where it is no operand"}};
constexpr AttrDef kPolarAttrs[] = {{"side", Kind::kString, false, "on which the Hermitian factor stands: right (the default) or left"},
                                   {"method", Kind::kString, false, "qdwh (the default) or svd, by which either is computed"}};

}  // namespace

extern const OpDef kExpm, kChoFactor, kLuFactor, kLuSolve, kLuPivots, kPolar, kTridiagonalSolve;

const OpDef kExpm = compiled_alone(composite_of({"linalg.expm", "The exponential of square matrices.", expand_expm, 1, 1, kExpmAttrs}));
const OpDef kChoFactor =
    compiled_alone(composite_of({"linalg.cho_factor", "The Cholesky factor of Hermitian positive definite matrices, for cho_solve.",
                                 expand_cho_factor, 1, 1, kLowerAttrs}));
const OpDef kLuFactor =
    compiled_alone(composite_of({"linalg.lu_factor", "L and U in one matrix, and pivots, for lu_solve.", expand_lu_factor}));
const OpDef kLuSolve =
    composite_of({"linalg.lu_solve", "x with A x = b, from A's factors: args [lu, pivots, b].", expand_lu_solve, 3, 3, kTransAttrs});
const OpDef kLuPivots =
    composite_of({"lu_pivots_to_permutation", "The rows' permutation that LU's pivots make: args [pivots] or [pivots, rows].",
                  expand_permutation, 1, 2, kSizeAttrs});
const OpDef kPolar =
    compiled_alone(composite_of({"linalg.polar", "A unitary and a Hermitian matrix whose product x is.", expand_polar, 1, 1, kPolarAttrs}));
const OpDef kTridiagonalSolve = composite_of(
    {"tridiagonal_solve", "x with A x = b, of a tridiagonal A: args [below, diagonal, above, b], the first and the last number unused.",
     expand_tridiagonal_solve, 4, 4});

}  // namespace shardlab::ops
