// jax.numpy.linalg's functions made of decompositions, and jax.scipy.linalg's solvers.
#include <limits>

#include "runtime/ops/decompositions.h"
#include "runtime/ops/loops.h"

namespace shardlab::ops {
namespace {

using Kind = AttrDef::Kind;

Term operand(GraphBuilder& b, const Arg& arg) { return as_inexact(term(b, arg)); }

Term square(GraphBuilder& b, const OpDef& op, const Arg& arg) {
  Term x = operand(b, arg);
  if (x.rank() < 2 || x.size(-1) != x.size(-2))
    throw_user_error("Argument to {}() must have shape [..., n, n], got {}", op.name, text_of(x.shape()));
  return x;
}

double epsilon_of(DType dtype) {
  return real_dtype(dtype) == DType::kFloat64 ? std::numeric_limits<double>::epsilon() : double(std::numeric_limits<float>::epsilon());
}

double number_or(const Attrs& attrs, std::string_view name, double otherwise) { return attrs.has(name) ? attrs.number(name) : otherwise; }
std::string text_or(const Attrs& attrs, std::string_view name, std::string_view otherwise) {
  return attrs.has(name) ? attrs.string(name) : std::string(otherwise);
}

Term symmetrized(const Term& x) { return (x + adjoint(x)) / 2.0; }

Term last(const Term& x, std::int64_t index) { return part(x, x.rank() - 1, index < 0 ? x.size(-1) + index : index); }

// A vector on the diagonal of matrices, by their columns: x diag(s).
Term scaled_columns(const Term& x, const Term& s) { return x * expanded(s, s.rank() - 1); }

std::vector<Term> thin_svd(const Term& x) { return call_all(x.builder(), "svd", {x}, Attrs{{"full_matrices", false}}); }
Term singular_values(const Term& x) { return call("svd", x, Attrs{{"compute_uv", false}, {"full_matrices", false}}); }

// --- Factors.

Values expand_cholesky(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  Term x = operand(b, args[0]);
  if (x.rank() >= 2 && x.size(-1) == x.size(-2) && attrs.flag("symmetrize_input", true)) x = symmetrized(x);
  Term factor = call("cholesky", x);
  return {(attrs.flag("upper") ? adjoint(factor) : factor).id()};
}

Values expand_qr(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const std::string mode = text_or(attrs, "mode", "reduced");
  if (mode != "reduced" && mode != "complete" && mode != "full" && mode != "r")
    throw_user_error("{}: Unsupported QR decomposition mode '{}'; wanted reduced, complete, full or r", op.name, mode);
  std::vector<Term> found = call_all(b, "qr", {operand(b, args[0])}, Attrs{{"full_matrices", mode == "complete" || mode == "full"}});
  if (mode == "r") return {found[1].id()};
  return ids(found);
}

// Eigenvalues, eigenvectors.
std::vector<Term> eigh(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const std::string triangle = text_or(attrs, "UPLO", "L");
  if (triangle != "L" && triangle != "U") throw_user_error("{}: UPLO must be one of 'L' or 'U', got '{}'", op.name, triangle);
  Term x = square(b, op, args[0]);
  Attrs of_eigh{{"lower", triangle == "L"}};
  if (attrs.flag("symmetrize_input", true)) {
    x = symmetrized(x);
    of_eigh.set("is_hermitian", true);
  }
  std::vector<Term> found = call_all(b, "eigh", {x}, of_eigh);
  return {found[1], found[0]};
}
Values expand_eigh(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) { return ids(eigh(b, op, args, attrs)); }
Values expand_eigvalsh(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) { return {eigh(b, op, args, attrs)[0].id()}; }

Values expand_svd(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  Term x = operand(b, args[0]);
  if (!attrs.flag("compute_uv", true)) return {singular_values(x).id()};
  std::vector<Term> found = call_all(b, "svd", {x}, Attrs{{"full_matrices", attrs.flag("full_matrices", true)}});
  return ids({found[1], found[0], found[2]});
}
Values expand_svdvals(GraphBuilder& b, const OpDef&, Args args, const Attrs&) { return {singular_values(operand(b, args[0])).id()}; }

// --- Solutions.

// Leading dimensions broadcast together.
void broadcast_batches(const OpDef& op, Term& a, Term& right) {
  auto batch = [](const Term& x) {
    Shape shape = x.shape();
    return Shape(shape.begin(), shape.end() - 2);
  };
  const Shape together = broadcast_shapes(op.name, {batch(a), batch(right)});
  auto widened = [&](const Term& x) {
    Shape shape = together;
    shape.insert(shape.end(), {x.size(-2), x.size(-1)});
    return broadcast(x, shape);
  };
  a = widened(a);
  right = widened(right);
}

// x with A x = b of a vector or matrices b, leading dimensions broadcast together; `solve` takes A and matrices b.
template <typename Solve>
Term solved(const OpDef& op, Term a, Term right, Solve&& solve) {
  const bool is_vector = right.rank() == 1;
  if (a.rank() < 2 || right.rank() < 1 || a.size(-1) != a.size(-2) || right.size(is_vector ? 0 : -2) != a.size(-1))
    throw_user_error("{}: The arguments to solve must have shapes a=[..., m, m] and b=[..., m, k] or b=[m]; got a={} and b={}", op.name,
                     text_of(a.shape()), text_of(right.shape()));
  if (is_vector) right = expanded(right, 1);
  broadcast_batches(op, a, right);
  Term x = solve(a, right);
  return is_vector ? part(x, x.rank() - 1, 0) : x;
}
// The same of a user's operands.
template <typename Solve>
Values expand_solved(GraphBuilder& b, const OpDef& op, Args args, Solve&& solve) {
  std::vector<Term> both = promoted_terms(b, args);
  return {solved(op, as_inexact(both[0]), as_inexact(both[1]), solve).id()};
}

// x with A x = b from A, b and A's factors and permutation, of which the derivative knows A alone: A dx = db - dA x.
Term solution(const Terms& given) { return lu_solution(given[2], given[3], given[1]); }
Term solution_tangent(const Terms& given, const Term& x, const Terms& tangents) {
  return lu_solution(given[2], given[3], tangents[1] - matrix_product(tangents[0], x));
}
Term solution_by_lu(const Term& a, const Term& right) {
  const Terms factors = call_all(a.builder(), "lu", {a});
  return with_derivative({a, right, factors[0], factors[2]}, {solution, solution_tangent});
}

Values expand_solve(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) { return expand_solved(b, op, args, solution_by_lu); }

Term inverse(const OpDef& op, const Term& x) { return solved(op, x, broadcast(unit_matrix(x, x.size(-1)), x.shape()), solution_by_lu); }
Values expand_inv(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) { return {inverse(op, square(b, op, args[0])).id()}; }

Values expand_solve_triangular(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const std::int64_t trans = attrs.integer("trans", 0);
  if (trans < 0 || trans > 2) throw_user_error("{}: Invalid 'trans' value {}; wanted 0, 1 or 2", op.name, trans);
  const TriangularSolve how{true, attrs.flag("lower"), trans != 0, trans == 2, attrs.flag("unit_diagonal")};
  return expand_solved(b, op, args, [&](const Term& a, const Term& right) { return triangular_solution(a, right, how); });
}

Values expand_cho_solve(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const bool lower = attrs.flag("lower");
  return expand_solved(b, op, args, [&](const Term& factor, const Term& right) {
    Term x = triangular_solution(factor, right, {.left_side = true, .lower = lower, .transpose_a = !lower, .conjugate_a = !lower});
    return triangular_solution(factor, x, {.left_side = true, .lower = lower, .transpose_a = lower, .conjugate_a = lower});
  });
}

// --- By singular values.

// Source: Golub, Pereyra, "The Differentiation of Pseudo-Inverses and Nonlinear Least Squares Problems Whose Variables Separate" (1973),
// in JAX's order.
Term pinv_tangent(const Terms& given, const Term& p, const Terms& tangents) {
  const Term &a = given[0], &change = tangents[0];
  auto product = [](const Term& x, const Term& y) { return matrix_product(x, y); };
  if (a.size(-2) >= a.size(-1)) {
    const Term s = product(product(p, adjoint(p)), adjoint(change)), t = product(product(adjoint(change), adjoint(p)), p);
    return -product(product(p, change), p) + s - product(product(s, a), p) + t - product(product(p, a), t);
  }
  const Term s = product(p, product(adjoint(p), adjoint(change))), t = product(adjoint(change), product(adjoint(p), p));
  return product(-p, product(change, p)) + s - product(s, product(a, p)) + t - product(p, product(a, t));
}
Values expand_pinv(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = operand(b, args[0]);
  check_matrix(op, x.type());
  if (std::min(x.size(-1), x.size(-2)) == 0) return {call("matrix_transpose", x).id()};
  const double tolerance = number_or(attrs, "rtol", 10.0 * double(std::max(x.size(-1), x.size(-2))) * epsilon_of(x.dtype()));
  auto value = [tolerance](const Terms& given) {
    const Term& a = given[0];
    const std::vector<Term> found = thin_svd(is_complex(a.dtype()) ? call("conj", a) : a);
    const Term &s = found[0], cutoff = expanded(last(s, 0), s.rank() - 1) * tolerance;
    const Term kept = converted(where(s > cutoff, s, std::numeric_limits<double>::infinity()), a.dtype());
    return matrix_product(call("matrix_transpose", found[2]), call("matrix_transpose", found[1]) / expanded(kept, kept.rank()));
  };
  return {with_derivative({x}, {value, pinv_tangent}).id()};
}

Values expand_matrix_rank(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = operand(b, args[0]);
  if (x.rank() < 2) return {as_default_integer(call("any", x != 0.0)).id()};
  check_matrix(op, x.type());
  Term s = singular_values(x);
  const double scale = double(std::max(x.size(-1), x.size(-2))) * epsilon_of(x.dtype());
  const bool is_given = attrs.has("rtol");
  Term is_counted = is_given ? s > attrs.number("rtol") : s.size(-1) == 0 ? s > 0.0 : s > expanded(last(s, 0), s.rank() - 1) * scale;
  return {as_default_integer(summed(converted(is_counted, DType::kInt32), {s.rank() - 1})).id()};
}

// x, residuals, rank, singular values.
Values expand_lstsq(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::vector<Term> both = promoted_terms(b, args);
  Term a = as_inexact(both[0]), right = as_inexact(both[1]);
  const bool is_vector = right.rank() == 1;
  if (a.rank() != 2 || right.rank() < 1 || right.rank() > 2)
    throw_user_error("{}: Array must be two-dimensional, and the right-hand side one or two-dimensional; got {} and {}", op.name, a.text(),
                     right.text());
  if (a.size(0) != right.size(0))
    throw_user_error("{}: Leading dimensions of input arrays must match, got {} and {}", op.name, a.text(), right.text());
  if (a.elements() == 0) throw_user_error("{}: wanted a matrix with elements, got {}", op.name, a.text());
  if (is_vector) right = expanded(right, 1);
  double tolerance = number_or(attrs, "rcond", epsilon_of(a.dtype()) * double(std::max(a.size(0), a.size(1))));
  if (tolerance < 0) tolerance = epsilon_of(a.dtype());
  std::vector<Term> found = thin_svd(a);
  const Term &s = found[0], &u = found[1];
  Term is_kept = (s > 0.0) & (s >= expanded(last(s, 0), 0) * tolerance);
  Term inverted = converted(where(is_kept, 1.0 / where(is_kept, s, 1.0), 0.0), a.dtype());
  Term x = matrix_product(scaled_columns(adjoint(found[2]), inverted), matrix_product(adjoint(u), right));
  Term missing = right - matrix_product(a, x);
  Term residuals = summed(real_part(is_complex(a.dtype()) ? missing * call("conj", missing) : missing * missing), {0});
  Term rank = as_default_integer(summed(converted(is_kept, DType::kInt32), {0}));
  return ids({is_vector ? part(x, 1, 0) : x, residuals, rank, s});
}

Values expand_cond(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = operand(b, args[0]);
  check_matrix(op, x.type());
  if (x.elements() == 0) throw_user_error("{}: input array must not be empty; got {}", op.name, x.text());
  const AttrValue* given = attrs.find("p");
  const double p = given == nullptr || std::holds_alternative<std::string>(*given) ? 2 : number_list(op, attrs, "p").at(0);
  if (std::abs(p) == 2 && (given == nullptr || !std::holds_alternative<std::string>(*given))) {
    Term s = singular_values(x);
    return {(p > 0 ? last(s, 0) / last(s, -1) : last(s, -1) / last(s, 0)).id()};
  }
  if (x.size(-1) != x.size(-2)) throw_user_error("{}: of this order the array must be square; got {}", op.name, x.text());
  Attrs of_norm{{"ord", *given}};
  return {(call("linalg.matrix_norm", x, of_norm) * call("linalg.matrix_norm", inverse(op, x), of_norm)).id()};
}

constexpr AttrDef kCholeskyAttrs[] = {{"upper", Kind::kFlag, false, "whether the factor is upper triangular"},
                                      {"symmetrize_input", Kind::kFlag, false, "whether the mean of x and x^H is taken; by default it is"}};
constexpr AttrDef kQrAttrs[] = {{"mode", Kind::kString, false, "reduced (the default), complete, or r: R alone"}};
constexpr AttrDef kEighAttrs[] = {{"UPLO", Kind::kString, false, "L (the default) or U: the triangle that is read"},
                                  {"symmetrize_input", Kind::kFlag, false, "whether the mean of x and x^H is taken; by default it is"}};
constexpr AttrDef kSvdAttrs[] = {{"full_matrices", Kind::kFlag, false, "whether U and V are square; by default they are"},
                                 {"compute_uv", Kind::kFlag, false, "whether U and V^H are given; by default they are"}};
constexpr AttrDef kTriangularAttrs[] = {{"lower", Kind::kFlag, false, "whether the lower triangle is taken; the upper by default"},
                                        {"trans", Kind::kInteger, false, "0: A, 1: its transpose, 2: its conjugate transpose"},
                                        {"unit_diagonal", Kind::kFlag, false, "whether the diagonal is taken as 1"}};
constexpr AttrDef kChoSolveAttrs[] = {{"lower", Kind::kFlag, false, "whether the factor is lower triangular; upper by default"}};
constexpr AttrDef kToleranceAttrs[] = {
    {"rtol", Kind::kNumber, false, "singular values below it are taken as 0; by default by their number and the dtype's precision"}};
constexpr AttrDef kLstsqAttrs[] = {
    {"rcond", Kind::kNumber, false, "singular values below this share of the largest are taken as 0; by default by the dtype's precision"}};
constexpr AttrDef kCondAttrs[] = {{"p", Kind::kLiteral, false, "the norm's order: 2 (the default), -2, 1, -1, inf, -inf, fro, nuc"}};

}  // namespace

extern const OpDef kLinalgCholesky, kLinalgQr, kLinalgEigh, kEigvalsh, kLinalgSvd, kSvdvals, kSolve, kInv, kSolveTriangular, kChoSolve,
    kPinv, kMatrixRank, kLstsq, kConditionNumber;

const OpDef kLinalgCholesky =
    compiled_alone(composite_of({"linalg.cholesky", "The Cholesky factor of Hermitian positive definite matrices; NaN where they are not.",
                                 expand_cholesky, 1, 1, kCholeskyAttrs}));
const OpDef kLinalgQr = compiled_alone(composite_of({"linalg.qr", "Q and R of matrices.", expand_qr, 1, 1, kQrAttrs}));
const OpDef kLinalgEigh = composite_of(
    {"linalg.eigh", "Ascending eigenvalues, and eigenvectors as columns, of Hermitian matrices.", expand_eigh, 1, 1, kEighAttrs});
const OpDef kEigvalsh =
    compiled_alone(composite_of({"linalg.eigvalsh", "Ascending eigenvalues of Hermitian matrices.", expand_eigvalsh, 1, 1, kEighAttrs}));
const OpDef kLinalgSvd = compiled_alone(composite_of({"linalg.svd", "U, descending singular values, V^H.", expand_svd, 1, 1, kSvdAttrs}));
const OpDef kSvdvals = compiled_alone(composite_of({"linalg.svdvals", "Descending singular values.", expand_svdvals}));
const OpDef kSolve =
    compiled_alone(composite_of({"linalg.solve", "x with A x = b: args [A, b], b a vector or matrices.", expand_solve, 2, 2}));
const OpDef kInv = compiled_alone(composite_of({"linalg.inv", "The inverse of square matrices.", expand_inv}));
const OpDef kSolveTriangular = composite_of(
    {"linalg.solve_triangular", "x with A x = b, of triangular A: args [A, b].", expand_solve_triangular, 2, 2, kTriangularAttrs});
const OpDef kChoSolve = composite_of(
    {"linalg.cho_solve", "x with A x = b, from A's Cholesky factor: args [factor, b].", expand_cho_solve, 2, 2, kChoSolveAttrs});
const OpDef kPinv = composite_of({"linalg.pinv", "The pseudo-inverse of matrices.", expand_pinv, 1, 1, kToleranceAttrs});
const OpDef kMatrixRank = compiled_alone(
    composite_of({"linalg.matrix_rank", "How many singular values are not small; int32.", expand_matrix_rank, 1, 1, kToleranceAttrs}));
const OpDef kLstsq = compiled_alone(
    composite_of({"linalg.lstsq", "The least squares solution of A x = b, its residuals, A's rank and singular values: args [A, b].",
                  expand_lstsq, 2, 2, kLstsqAttrs}));
const OpDef kConditionNumber =
    compiled_alone(composite_of({"linalg.cond", "The condition number of matrices.", expand_cond, 1, 1, kCondAttrs}));

}  // namespace shardlab::ops
