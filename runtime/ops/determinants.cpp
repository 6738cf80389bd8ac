// linalg.det and linalg.slogdet, by elimination.
#include <limits>

#include "runtime/ops/decompositions.h"
#include "runtime/ops/loops.h"

namespace shardlab::ops {
namespace {

Term square(GraphBuilder& b, const OpDef& op, const Arg& arg) {
  Term x = as_inexact(term(b, arg));
  if (x.rank() < 2 || x.size(-1) != x.size(-2))
    throw_user_error("Argument to {}() must have shape [..., n, n], got {}", op.name, text_of(x.shape()));
  return x;
}

// Matrices, then their factors, pivots and permutation: what values and tangents of determinants are made from.
Terms with_factors(const Term& x) {
  Terms all = call_all(x.builder(), "lu", {x});
  all.insert(all.begin(), x);
  return all;
}
Term any_along_last(const Term& x) { return call("any", x, Attrs{{"axis", std::int64_t(-1)}}); }
Term is_singular(const Term& on) { return any_along_last(on == 0.0); }

// 1 or -1, as the number of rows that were exchanged is even or odd.
Term parity(const Terms& x) {
  const Term step = call(x[0].builder(), "arange", {x[0].size(-1)}, Attrs{{"dtype", DType::kInt32}});
  const Term swaps = summed(converted(x[2] != step, DType::kInt32), {x[2].rank() - 1});
  return 1.0 - 2.0 * converted(call(x[0].builder(), "remainder", {swaps, 2}), x[0].dtype());
}

Term sign(const Terms& x) {
  const Term on = diagonal(x[1]);
  const Term units = is_complex(on.dtype()) ? on / converted(call("abs", on), on.dtype()) : call("sign", on);
  return where(is_singular(on), 0.0, call("prod", units, Attrs{{"axis", std::int64_t(-1)}}) * parity(x));
}
Term log_size(const Terms& x) {
  const Term on = diagonal(x[1]);
  return where(is_singular(on), -std::numeric_limits<double>::infinity(), summed(call("log", call("abs", on)), {on.rank() - 1}));
}
Term trace(const Term& x) { return summed(diagonal(x), {x.rank() - 2}); }
// The change of the logarithm of the determinant: the trace of x^-1 dx. Its imaginary part turns the sign.
Term log_change(const Terms& x, const Terms& tangents) { return trace(lu_solution(x[1], x[3], tangents[0])); }
Term sign_tangent(const Terms& x, const Term& value, const Terms& tangents) {
  const Term change = log_change(x, tangents);
  return (change - converted(call("real", change), change.dtype())) * value;
}
Term log_size_tangent(const Terms& x, const Term&, const Terms& tangents) { return real_part(log_change(x, tangents)); }

Values expand_slogdet(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const Terms x = with_factors(square(b, op, args[0]));
  const Term turn = is_complex(x[0].dtype()) ? with_derivative(x, {sign, sign_tangent}) : sign(x);
  return ids({turn, with_derivative(x, {log_size, log_size_tangent})});
}

Term determinant(const Terms& x) { return sign(x) * converted(call("exp", log_size(x)), x[0].dtype()); }
// The trace of the adjugate times dx, which singular matrices of rank n - 1 have too: the determinant is drawn into the solution, where it
// makes up for the last pivot. Source: jax.numpy.linalg, _cofactor_solve.
Term determinant_tangent(const Terms& x, const Term&, const Terms& tangents) {
  const Term &factors = x[1], on = diagonal(factors);
  const int rank = factors.rank(), row = rank - 2;
  const std::int64_t size = factors.size(-1);
  const Term products = call("cumprod", on, Attrs{{"axis", std::int64_t(-1)}}) * expanded(parity(x), rank - 2);
  auto product_to = [&](std::int64_t index) { return expanded(expanded(part(products, rank - 2, index), rank - 2), rank - 1); };
  const Term place = call(x[0].builder(), "arange", {size}, Attrs{{"dtype", DType::kInt32}}) == size - 1;
  const Term upper = where(expanded(place, 1) & expanded(place, 0), 1.0 / product_to(size - 2), factors);
  const TriangularSolve by_upper{.left_side = true};
  const Term ones = sliced(filled_like(upper, 1), rank - 1, 0, 1), tried = part(triangular_solution(upper, ones, by_upper), rank - 1, 0);
  const Term has_none = expanded(expanded(any_along_last(!call("isfinite", tried)), rank - 2), rank - 1);
  const Term reduced = lower_solution(factors, x[3], where(has_none, 0.0, tangents[0]));
  const Term scaled = joined({sliced(reduced, row, 0, size - 1) * product_to(size - 1), sliced(reduced, row, size - 1, size)}, row);
  return trace(where(has_none, 0.0, triangular_solution(upper, scaled, by_upper)));
}

// Of up to three rows by their elements, as JAX has it.
Values expand_det(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  Term x = square(b, op, args[0]);
  const std::int64_t size = x.size(-1);
  auto at = [&](std::int64_t row, std::int64_t column) { return part(part(x, x.rank() - 2, row), x.rank() - 2, column); };
  if (size == 2) return {(at(0, 0) * at(1, 1) - at(0, 1) * at(1, 0)).id()};
  if (size == 3) {
    std::optional<Term> sum;
    for (std::int64_t k = 0; k < 3; ++k) {
      Term down = at(0, k) * at(1, (k + 1) % 3) * at(2, (k + 2) % 3);
      sum = sum ? *sum + down : down;
    }
    for (std::int64_t k = 0; k < 3; ++k) sum = *sum - at(0, (k + 2) % 3) * at(1, (k + 1) % 3) * at(2, k);
    return {sum->id()};
  }
  const Terms given = with_factors(x);
  return {(size < 2 ? determinant(given) : with_derivative(given, {determinant, determinant_tangent})).id()};
}

}  // namespace

extern const OpDef kSlogdet, kDet;

const OpDef kSlogdet =
    compiled_alone(composite_of({"linalg.slogdet", "The determinant's sign and the logarithm of its size.", expand_slogdet}));
const OpDef kDet = compiled_alone(composite_of({"linalg.det", "The determinant of square matrices.", expand_det}));

}  // namespace shardlab::ops
