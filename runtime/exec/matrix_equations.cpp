#include "runtime/exec/matrix_equations.h"

#include "runtime/exec/array_ops.h"
#include "runtime/exec/autodiff.h"
#include "runtime/exec/control_flow.h"
#include "runtime/exec/indexing.h"
#include "runtime/exec/linalg.h"
#include "runtime/exec/vmap.h"

namespace shardlab::linalg {
namespace {

// With the other sign where the count is odd.
Array where_even(const Array& count, const Array& x) { return where(count % 2 == 0, x, -x); }

Array adjoint(const Array& x) { return conj(swapaxes(x, -1, -2)); }

// Of two triangular matrices, column by column: what is known of a column is what the columns before give.
Array solve_triangular_equation(const Array& r, const Array& s, const Array& f) {
  const std::int64_t m = f.shape()[0], n = f.shape()[1];
  auto column = [&](const Array& j, const Array& y) {
    const Array of_s = dynamic_index_in_dim(s, j, 1, false), pivot = dynamic_index_in_dim(of_s, j, 0, false);
    const Array right = dynamic_index_in_dim(f, j, 1, false) - dot(y, of_s);  // columns that are not known yet are 0
    return dynamic_update_index_in_dim(y, solve_triangular(r + pivot * eye(m, r.dtype()), right), j, 1);
  };
  return fori_loop(0, n, column, zeros({m, n}, f.dtype()));
}

Array sylvester_of(const Array& a, const Array& b, const Array& c) {
  const auto [r, u] = schur(a);
  const auto [s, v] = schur(b);
  const Array y = solve_triangular_equation(r, s, dot(dot(adjoint(u), c.astype(r.dtype())), v));
  return dot(dot(u, y), adjoint(v));
}

Array over_batch(const Array& a, const Array& b, const Array& c) {
  if (c.ndim() == 2) return sylvester_of(a, b, c);
  return vmap([](const Array& x, const Array& y, const Array& z) { return over_batch(x, y, z); })(a, b, c);
}

}  // namespace

Array solve_sylvester(const Operand& given_a, const Operand& given_b, const Operand& given_c) {
  const Array a = given_a.array() + 0.0, b = given_b.array() + 0.0, c = given_c.array() + 0.0;
  const auto last = [](const Array& x, int back) { return x.shape()[std::size_t(x.ndim() - back)]; };
  if (a.ndim() < 2 || b.ndim() < 2 || c.ndim() < 2 || last(a, 1) != last(a, 2) || last(b, 1) != last(b, 2) || last(a, 1) != last(c, 2) ||
      last(b, 1) != last(c, 1))
    throw_user_error("Incompatible shapes for Sylvester equation:\nA: {}\nB: {}\nC: {} [{}]", text_of(a.shape()), text_of(b.shape()),
                     text_of(c.shape()), given_a.where().text());
  auto batched = [&](const Array& x) {
    Shape shape(c.shape().begin(), c.shape().end() - 2);
    shape.insert(shape.end(), x.shape().end() - 2, x.shape().end());
    return broadcast_to(x, shape);
  };
  const Array x = over_batch(batched(a), batched(b), c);
  const bool is_complex_given = is_complex(a.dtype()) || is_complex(b.dtype()) || is_complex(c.dtype());
  return is_complex_given ? x : real(x);
}

std::pair<Array, Array> expm_frechet(const Operand& a, const Operand& e) {
  const Array at = a.array() + 0.0, along = e.array() + 0.0;
  if (at.shape() != along.shape())
    throw_user_error("expected A and E to be the same shape, got A.shape={} E.shape={} [{}]", text_of(at.shape()), text_of(along.shape()),
                     a.where().text());
  return jvp([](const Array& x) { return expm(x); }, std::tuple{at}, std::tuple{along.astype(at.dtype())});
}

QrMultiplyResult qr_multiply(const Operand& a, const Operand& c, std::string_view mode, bool conjugate) {
  if (mode != "right" && mode != "left") throw_user_error("mode must be 'right' or 'left', got '{}' [{}]", mode, a.where().text());
  const auto [q, r] = qr(a);
  const Array factor = conjugate ? conj(q) : q;
  return {mode == "left" ? matmul(factor, c) : matmul(c, factor), r};
}

Array invpascal(std::int64_t n, std::string_view kind, std::source_location where) {
  const Array lower = pascal(n, "lower", where), i = expand_dims(arange(n), 1), j = arange(n);
  const Array inverse = where_even(i + j, lower);
  if (kind == "lower") return inverse;
  if (kind == "upper") return inverse.T();
  if (kind != "symmetric")
    throw_user_error("Expected kind to be one of: ['symmetric', 'lower', 'upper']; got {} [{}]", kind, Where::from(where).text());
  return dot(inverse.T(), inverse);
}

}  // namespace shardlab::linalg
