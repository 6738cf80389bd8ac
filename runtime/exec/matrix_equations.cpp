#include "runtime/exec/matrix_equations.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/autodiff.h"
#include "runtime/exec/control_flow.h"
#include "runtime/exec/indexing.h"
#include "runtime/exec/linalg.h"
#include "runtime/exec/varying_types.h"
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
  return fori_loop(0, n, column, zeros_like(f));
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

// Diagonal after diagonal, as F commutes with T. Source: Golub, Van Loan, "Matrix Computations", algorithm 11.1.1.
Array funm(const Operand& a, const std::function<Array(const Array&)>& function) {
  const Array at = a.array() + 0.0;
  if (at.ndim() != 2 || at.shape()[0] != at.shape()[1])
    throw_user_error("funm: expected a square matrix, got {} [{}]", at.type().text(), a.where().text());
  const std::int64_t n = at.shape()[0];
  const auto [t, z] = schur(at);
  const Array rows = expand_dims(arange(n), 1), columns = arange(n), values = diag(t);
  const Array apart = expand_dims(values, 1) - values, is_equal = apart == 0.0;
  auto next = [&](const Array& p, const Array& f) {
    const Array difference = dot(f, t) - dot(t, f);
    const Array found = where(is_equal, -difference, difference / where(is_equal, 1.0, apart));
    return where(columns - rows == p, found, f);
  };
  const Array f = fori_loop(1, n, next, diag(function(values)).astype(t.dtype()));
  return dot(dot(z, f), adjoint(z));
}

// Reflections of the columns' lower parts. Source: LAPACK's gehrd, whose signs these are.
HessenbergResult hessenberg(const Operand& a, bool calc_q) {
  const Array at = a.array() + 0.0;
  if (at.ndim() != 2 || at.shape()[0] != at.shape()[1])
    throw_user_error("hessenberg: expected a square matrix, got {} [{}]", at.type().text(), a.where().text());
  const std::int64_t n = at.shape()[0];
  const Array rows = arange(n);
  auto reflected = [&](const Array& k, const std::pair<Array, Array>& found) {
    const auto& [h, q] = found;
    const Array column = where(rows > k, dynamic_index_in_dim(h, k, 1, false), 0.0);
    const Array below = where(rows > k + 1, column, 0.0), alpha = sum(column - below), tail = sum(real(below * conj(below)));
    const Array length = sqrt(tail + real(alpha * conj(alpha))), is_done = logical_and(tail == 0.0, imag(alpha) == 0.0);
    const Array beta = where(real(alpha) > 0.0, -length, length);
    const Array tau = where(is_done, 0.0, (beta - conj(alpha)) / where(beta == 0.0, 1.0, beta)).astype(h.dtype());
    const Array scale = alpha - beta;
    const Array v = where(rows == k + 1, 1.0, below / where(is_done, 1.0, scale)).astype(h.dtype());
    auto from_right = [&](const Array& x) { return x - outer(dot(x, v), conj(v)) * conj(tau); };
    const Array left = h - outer(v, dot(conj(v), h)) * tau;
    const Array cleared = where(logical_and(expand_dims(rows, 1) > k + 1, rows == k), 0.0, from_right(left)).astype(h.dtype());
    return std::pair{cleared, from_right(q)};
  };
  const auto [h, q] = fori_loop(0, std::max<std::int64_t>(n - 1, 0), reflected, std::pair{at, varying_like(eye(n, at.dtype()), at)});
  return {h, calc_q ? q : Array()};
}

Array eigh_tridiagonal(const Operand& d, const Operand& e, std::optional<std::pair<std::int64_t, std::int64_t>> select_range) {
  const Array middle = d.array() + 0.0, beside = e.array() + 0.0;
  if (middle.ndim() != 1 || beside.ndim() != 1 || middle.size() != beside.size() + 1)
    throw_user_error("eigh_tridiagonal: expected vectors of n and n - 1 elements, got {} and {} [{}]", middle.type().text(),
                     beside.type().text(), d.where().text());
  if (is_complex(middle.dtype()) || is_complex(beside.dtype()))
    throw_user_error("eigh_tridiagonal: the diagonals must be real, got {} and {} [{}]", middle.type().text(), beside.type().text(),
                     d.where().text());
  const Array values = eigvalsh(diag(middle) + diag(beside, 1) + diag(beside, -1));
  if (!select_range) return values;
  if (select_range->first < 0 || select_range->second >= middle.size() || select_range->first > select_range->second)
    throw_user_error("eigh_tridiagonal: Got empty index range in select_range. [{}]", d.where().text());
  return slice_in_dim(values, select_range->first, select_range->second + 1);
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

namespace shardlab {

// The associated Legendre functions, normalised, by their recurrences along the order and then the degree.
Array sph_harm_y(const Operand& given_n, const Operand& given_m, const Operand& theta, const Operand& phi,
                 std::optional<std::int64_t> n_max) {
  const Array colatitude = theta.array() + 0.0, order = abs(given_m);
  if (!n_max) n_max = max(given_n).astype(int32).fetch_at(given_n.where(), "the n_max of sph_harm_y").as<std::int32_t>()[0];
  const Array n = minimum(given_n, *n_max), x = cos(colatitude), m2 = square(order.astype(x.dtype()));
  auto along_order = [&](const Array& k, const Array& p) {
    const Array degree = k.astype(x.dtype());
    return where(k <= order, -p * sin(colatitude) * sqrt((2.0 * degree + 1.0) / (2.0 * degree)), p);
  };
  const Array start = fori_loop(1, *n_max + 1, along_order, full_like(x * m2, std::sqrt(0.25 / M_PI)));
  auto along_degree = [&](const Array& k, const std::pair<Array, Array>& found) {
    const auto& [p, before] = found;
    const Array l2 = square(k.astype(x.dtype())), below = square((k - 1).astype(x.dtype()));
    const Array is_above = logical_and(k > order, k <= n), room = where(is_above, l2 - m2, 1.0);
    const Array next = sqrt((4.0 * l2 - 1.0) / room) * (x * p - sqrt(where(is_above, below - m2, 0.0) / (4.0 * below - 1.0)) * before);
    return std::pair{where(is_above, next, p), where(is_above, p, before)};
  };
  const Array legendre = fori_loop(1, *n_max + 1, along_degree, std::pair{start, zeros_like(start)}).first;
  const Array angle = order * phi, sign = where(order % 2 == 0, 1.0, -1.0);
  const Array harmonic = legendre * (cos(angle) + std::complex<double>(0, 1) * sin(angle));
  return where(given_m.array() < 0, sign * conj(harmonic), harmonic);
}

}  // namespace shardlab
