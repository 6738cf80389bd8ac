// Conjugate gradients and their like. Source: jax/_src/scipy/sparse/linalg.py, whose numbers these are.
#include <algorithm>
#include <limits>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/control_flow.h"
#include "runtime/exec/implicit.h"
#include "runtime/exec/indexing.h"
#include "runtime/exec/linalg.h"
#include "runtime/exec/varying_types.h"
#include "runtime/exec/vectors.h"

namespace shardlab::detail {
namespace {

using List = std::vector<Array>;

template <typename F>
List each(const F& f, const List& a, const List& b) {
  List all;
  for (std::size_t i = 0; i < a.size(); ++i) all.push_back(f(a[i], b[i]));
  return all;
}
List operator+(const List& a, const List& b) {
  return each([](const Array& x, const Array& y) { return x + y; }, a, b);
}
List operator-(const List& a, const List& b) {
  return each([](const Array& x, const Array& y) { return x - y; }, a, b);
}
List operator*(const Array& scalar, const List& a) {
  List all;
  for (const Array& x : a) all.push_back(scalar * x);
  return all;
}
List chosen(const Array& which, const List& a, const List& b) {
  return each([&](const Array& x, const Array& y) { return where(which, x, y); }, a, b);
}
Array dot_of(const List& a, const List& b) {
  Array total = vdot(a.at(0), b.at(0));
  for (std::size_t i = 1; i < a.size(); ++i) total = total + vdot(a[i], b[i]);
  return total;
}
Array real_dot(const List& a, const List& b) { return real(dot_of(a, b)); }
Array norm_of(const List& a) { return sqrt(real_dot(a, a)); }
DType dtype_of_all(const List& a) { return dot_of(a, a).dtype(); }
double epsilon(DType dtype) {
  const bool is_wide = dtype == DType::kFloat64 || dtype == DType::kComplex128;
  return is_wide ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
}
Array number(double value, DType dtype) { return full({}, value, dtype); }
Array counter() { return full({}, 0, int32); }

struct Setting {
  ArrayFunction M;
  List x0;
  Array atol2;  // the square of what the residual may be
  std::int64_t maxiter = 0;
};
Setting setting(const List& b, const Vectors& options) {
  Setting found{options.M ? options.M : [](const List& x) { return x; }, options.x0, {}, 0};
  std::int64_t size = 0;
  for (const Array& x : b) size += x.size();
  if (found.x0.empty())
    for (const Array& x : b) found.x0.push_back(zeros_like(x));
  found.maxiter = options.maxiter.value_or(10 * size);
  found.atol2 = maximum(options.tol * options.tol * real_dot(b, b), options.atol * options.atol);
  return found;
}

void check_guess(const List& x0, const List& b, Where where) {
  for (std::size_t i = 0; i < b.size() && !x0.empty(); ++i)
    if (x0.size() != b.size() || x0[i].shape() != b[i].shape())
      throw_user_error("arrays in x0 and b must have matching shapes: {} vs {} [{}]", i < x0.size() ? text_of(x0[i].shape()) : "nothing",
                       text_of(b[i].shape()), where.text());
}

List solved(const ArrayFunction& a, const List& b, const SolveFunction& solve, bool symmetric, Where where) {
  return custom_linear_solve(LinearSystem{a, solve, symmetric ? SolveFunction() : solve, symmetric}, b, where);
}

}  // namespace

ArrayFunction times_matrix(const Array& a) {
  if (a.ndim() != 2 || a.shape()[0] != a.shape()[1])
    throw_user_error("linear operator must be a square matrix, but has shape: {}", text_of(a.shape()));
  return [a](const List& x) { return List{dot(a, x.at(0))}; };
}

List cg(const ArrayFunction& a, const List& right, const Vectors& options, Where called_at) {
  check_guess(options.x0, right, called_at);
  auto iterate = [&](const ArrayFunction& A, const List& b) {
    const Setting s = setting(b, options);
    const List r0 = b - A(s.x0), z0 = s.M(r0);
    const DType dtype = dtype_of_all(z0);
    using State = std::tuple<List, List, Array, List, Array>;
    auto goes_on = [&](const State& state) {
      const auto& [x, r, gamma, p, k] = state;
      return ((options.M ? real_dot(r, r) : real(gamma)) > s.atol2) & (k < s.maxiter);
    };
    auto step = [&](const State& state) {
      const auto& [x, r, gamma, p, k] = state;
      const List Ap = A(p);
      const Array alpha = gamma / real_dot(p, Ap).astype(dtype);
      const List next = r - alpha * Ap, z = s.M(next);
      const Array gamma_next = real_dot(next, z).astype(dtype);
      return State{x + alpha * p, next, gamma_next, z + (gamma_next / gamma) * p, k + 1};
    };
    return std::get<0>(while_loop(goes_on, step, varying_like(State{s.x0, r0, real_dot(r0, z0).astype(dtype), z0, counter()}, r0.at(0))));
  };
  const bool is_real = std::none_of(right.begin(), right.end(), [](const Array& x) { return is_complex(x.dtype()); });
  return solved(a, right, iterate, is_real, called_at);
}

List bicgstab(const ArrayFunction& a, const List& right, const Vectors& options, Where called_at) {
  check_guess(options.x0, right, called_at);
  auto iterate = [&](const ArrayFunction& A, const List& b) {
    const Setting s = setting(b, options);
    const List r0 = b - A(s.x0);
    const Array one = number(1, dtype_of_all(b));
    using State = std::tuple<List, List, std::array<Array, 3>, List, List, Array>;  // x, r, (alpha, omega, rho), p, q, k
    auto goes_on = [&](const State& state) {
      const List& r = std::get<1>(state);
      const Array& k = std::get<5>(state);
      return (real_dot(r, r) > s.atol2) & (k < s.maxiter) & (k >= 0);
    };
    auto step = [&](const State& state) {
      const auto& [x, r, scalars, p, q, k] = state;
      const auto& [alpha, omega, rho] = scalars;
      const Array rho_next = dot_of(r0, r), beta = rho_next / rho * alpha / omega;
      const List p_next = r + beta * (p - omega * q), phat = s.M(p_next), q_next = A(phat);
      const Array alpha_next = rho_next / dot_of(r0, q_next);
      const List half = r - alpha_next * q_next, shat = s.M(half), t = A(shat);
      const Array is_early = real_dot(half, half) < s.atol2, omega_next = dot_of(t, half) / dot_of(t, t);
      const List near = alpha_next * phat;
      Array count = where((omega_next == 0) | (alpha_next == 0), -11, k + 1);
      return State{chosen(is_early, x + near, x + (near + omega_next * shat)),
                   chosen(is_early, half, half - omega_next * t),
                   {alpha_next, omega_next, rho_next},
                   p_next,
                   q_next,
                   where(rho_next == 0, -10, count).astype(int32)};
    };
    return std::get<0>(while_loop(goes_on, step, varying_like(State{s.x0, r0, {one, one, one}, r0, r0, counter()}, r0.at(0))));
  };
  return solved(a, right, iterate, false, called_at);
}

namespace {

struct Normalized {
  List unit;
  Array norm;  // real; 0 where it is below the threshold, and the vector then too
};
Normalized normalized(const List& x, const std::optional<Array>& threshold = {}) {
  const DType dtype = dtype_of_all(x);
  const Array norm = norm_of(x), is_used = norm > (threshold ? *threshold : number(epsilon(dtype), norm.dtype()));
  const Array divisor = norm.astype(dtype);
  List unit;
  for (const Array& each : x) unit.push_back(where(is_used, each / divisor, 0.0).astype(each.dtype()));
  return {unit, where(is_used, norm, 0.0).astype(norm.dtype())};
}

// Columns are the last dimension of each array.
Array projected(const List& columns, const List& v) {
  std::optional<Array> total;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const Array part = einsum("...n,...->n", conj(columns[i]), v[i]);
    total = total ? *total + part : part;
  }
  return *total;
}
List combined(const List& columns, const Array& weights) {
  List all;
  for (const Array& each : columns) all.push_back(dot(each, weights));
  return all;
}
List column(const List& columns, const Array& k) {
  List all;
  for (const Array& each : columns) all.push_back(dynamic_index_in_dim(each, k, each.ndim() - 1, false));
  return all;
}

// A vector that an operator made of the last column, without its parts in the columns, as the next one; and its overlaps with all.
struct Arnoldi {
  List columns;
  Array overlaps, is_done;  // done: what is left is nothing
};
Arnoldi with_next_column(const ArrayFunction& a, const ArrayFunction& M, const List& columns, const Array& k) {
  const List v = M(a(column(columns, k)));
  const Array overlaps = projected(columns, v);
  const auto [unit, norm] = normalized(v - combined(columns, overlaps), epsilon(dtype_of_all(v)) * normalized(v).norm);
  List wider;
  for (std::size_t i = 0; i < v.size(); ++i)
    wider.push_back(dynamic_update_index_in_dim(columns[i], unit[i], k + 1, columns[i].ndim() - 1));
  return {wider, overlaps.at(k + 1).set(norm.astype(overlaps.dtype())), norm == 0};
}

// One round in a Krylov space: of a guess and its residual.
struct Round {
  List x, unit;
  Array norm;
};
struct Krylov {
  const ArrayFunction& a;
  const List& b;
  const Setting& s;
  std::int64_t restart;
  Array ptol;
};
List first_column(const Krylov& how, const List& unit) {
  List all;
  for (const Array& x : unit) {
    std::vector<std::pair<std::int64_t, std::int64_t>> width(std::size_t(x.ndim()), {0, 0});
    width.push_back({0, how.restart});
    all.push_back(pad(expand_dims(x, -1), width));
  }
  return all;
}
Round rounded(const Krylov& how, const List& x, const List& columns, const Array& weights) {
  List used;
  for (const Array& each : columns) used.push_back(slice_in_dim(each, 0, how.restart, each.ndim() - 1));
  const List next = x + combined(used, weights);
  auto [unit, norm] = normalized(how.s.M(how.b - how.a(next)));
  return {next, unit, norm};
}

// By a dense problem of least squares at the end.
Round batched_round(const Krylov& how, const Round& from) {
  const DType dtype = dtype_of_all(how.b);
  using State = std::tuple<List, Array, Array, Array>;  // columns, overlaps by row, whether nothing is left, k
  auto goes_on = [&](const State& state) { return (std::get<3>(state) < how.restart) & logical_not(std::get<2>(state)); };
  auto step = [&](const State& state) {
    const auto& [columns, rows, is_done, k] = state;
    const Arnoldi next = with_next_column(how.a, how.s.M, columns, k);
    return State{next.columns, dynamic_update_index_in_dim(rows, next.overlaps, k, 0), next.is_done, k + 1};
  };
  const auto [columns, rows, is_done, k] =
      while_loop(goes_on, step,
                 varying_like(State{first_column(how, from.unit), eye(how.restart, how.restart + 1, 0, dtype), full({}, false), counter()},
                              from.norm));
  const Array target = zeros({how.restart + 1}, dtype).at(0).set(from.norm.astype(dtype));
  const Array a = rows.T(), square = dot(conj(rows), a);
  return rounded(how, from.x, columns, linalg::cho_solve(linalg::cho_factor(square), dot(conj(rows), target)));
}

Array rotated(const Array& x, const Array& i, const Array& cosine, const Array& sine) {
  const Array a = dynamic_index_in_dim(x, i, 0, false), b = dynamic_index_in_dim(x, i + 1, 0, false);
  return x.at(i).set(conj(cosine) * a - conj(sine) * b).at(i + 1).set(sine * a + cosine * b);
}
// The rotation that makes nothing of b. Source: _givens_rotation.
std::pair<Array, Array> rotation_of(const Array& a, const Array& b) {
  const Array is_zero = abs(b) == 0, is_less = abs(a) < abs(b);
  const Array t = -where(is_less, a, b) / where(is_less, b, a), r = rsqrt(1 + square(abs(t))).astype(t.dtype());
  return {where(is_zero, 1, where(is_less, r * t, r)).astype(t.dtype()), where(is_zero, 0, where(is_less, r, r * t)).astype(t.dtype())};
}

// With the triangular factor kept as the space grows, which stops as soon as the residual is small enough.
Round incremental_round(const Krylov& how, const Round& from) {
  const DType dtype = dtype_of_all(how.b);
  using State = std::tuple<Array, Array, List, Array, Array, Array>;  // k, residual, columns, rows, target, rotations
  auto goes_on = [&](const State& state) { return (std::get<0>(state) < how.restart) & (std::get<1>(state) > how.ptol); };
  auto step = [&](const State& state) {
    const auto& [k, residual, columns, rows, target, rotations] = state;
    const Arnoldi next = with_next_column(how.a, how.s.M, columns, k);
    auto earlier = [&, &turns = rotations](const Array& i, const Array& row) {
      const Array turn = dynamic_index_in_dim(turns, i, 0, false);
      return rotated(row, i, turn[0], turn[1]);
    };
    Array row = fori_loop(0, k, earlier, next.overlaps);
    const auto [cosine, sine] = rotation_of(dynamic_index_in_dim(row, k, 0, false), dynamic_index_in_dim(row, k + 1, 0, false));
    row = rotated(row, k, cosine, sine);
    const Array target_next = rotated(target, k, cosine, sine);
    return State{k + 1,        abs(dynamic_index_in_dim(target_next, k + 1, 0, false)).astype(residual.dtype()),
                 next.columns, dynamic_update_index_in_dim(rows, row, k, 0),
                 target_next,  dynamic_update_index_in_dim(rotations, stack({cosine, sine}), k, 0)};
  };
  const auto [k, residual, columns, rows, target, rotations] =
      while_loop(goes_on, step,
                 varying_like(State{counter(), from.norm, first_column(how, from.unit), eye(how.restart, how.restart + 1, 0, dtype),
                                    zeros({how.restart + 1}, dtype).at(0).set(from.norm.astype(dtype)), zeros({how.restart, 2}, dtype)},
                              from.norm));
  const Array triangle = slice_in_dim(rows, 0, how.restart, 1).T();
  return rounded(how, from.x, columns, linalg::solve_triangular(triangle, slice_in_dim(target, 0, how.restart)));
}

}  // namespace

std::pair<List, Array> gmres(const ArrayFunction& a, const List& right, const Vectors& options, Where called_at) {
  check_guess(options.x0, right, called_at);
  if (options.solve_method != "batched" && options.solve_method != "incremental")
    throw_user_error("invalid solve_method {}, must be either 'incremental' or 'batched' [{}]", options.solve_method, called_at.text());
  std::int64_t size = 0;
  for (const Array& x : right) size += x.size();
  auto iterate = [&](const ArrayFunction& A, const List& b) {
    const Setting s = setting(b, options);
    const Array b_norm = norm_of(right), atol = maximum(options.tol * b_norm, options.atol),
                ptol = norm_of(s.M(right)) * minimum(1.0, atol / b_norm);
    const Krylov how{A, b, s, std::min(options.restart, size), ptol};
    using State = std::tuple<List, Array, List, Array>;
    auto goes_on = [&](const State& state) { return (std::get<1>(state) < s.maxiter) & (std::get<3>(state) > atol); };
    auto step = [&](const State& state) {
      const auto& [x, k, unit, norm] = state;
      const Round next = (options.solve_method == "batched" ? batched_round : incremental_round)(how, {x, unit, norm});
      return State{next.x, k + 1, next.unit, next.norm};
    };
    const auto [unit, norm] = normalized(s.M(b - A(s.x0)));
    return std::get<0>(while_loop(goes_on, step, varying_like(State{s.x0, counter(), unit, norm}, norm)));
  };
  const List x = solved(a, right, iterate, false, called_at);
  return {x, where(isnan(norm_of(x)), -1, 0)};
}

}  // namespace shardlab::detail
