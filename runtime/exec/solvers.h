// jax.scipy.sparse.linalg and jax.scipy.optimize: linear systems by iterations, and minima.
//
//   auto [x, info] = linalg::cg(A, b);                        // A: a matrix, or the function of x that gives A x
//   auto found = optimize::minimize(f, x0, {.method = "BFGS"});
#pragma once

#include <cmath>
#include <concepts>

#include "runtime/exec/implicit.h"
#include "runtime/exec/tree.h"
#include "runtime/exec/vectors.h"

namespace shardlab::linalg {

template <typename T>
struct SolverOptions {
  std::optional<T> x0 = {};  // zeros by default
  double tol = 1e-5, atol = 0;
  std::optional<std::int64_t> maxiter = {};  // ten times the number of unknowns
  std::function<T(const T&)> M = {};         // near to A's inverse
};
template <typename T>
struct GmresOptions : SolverOptions<T> {
  std::int64_t restart = 20;
  std::string solve_method = "batched";  // or incremental
};

// The solution; `info` is empty, as JAX's, but of gmres, where it is 0, or -1 where there is no solution.
template <typename T>
struct Solved {
  T x;
  Array info;
};

namespace detail {

template <typename T>
shardlab::detail::Vectors flat_options(const SolverOptions<T>& options, const T& b) {
  shardlab::detail::Vectors all;
  all.x0 = options.x0 ? tree::leaves(*options.x0) : std::vector<Array>();
  all.tol = options.tol;
  all.atol = options.atol;
  all.maxiter = options.maxiter;
  if (options.M) all.M = [&options, &b](const std::vector<Array>& x) { return tree::leaves(options.M(tree::unflatten(b, x))); };
  return all;
}
// A as a function of leaves: of trees, or of the one array that a matrix multiplies.
template <typename A, typename T>
ArrayFunction operator_of(const A& a, const T& b) {
  if constexpr (std::is_same_v<A, Array>)
    return shardlab::detail::times_matrix(a);
  else
    return shardlab::detail::as_list_function(a, b);
}

}  // namespace detail

// Conjugate gradients, for Hermitian positive definite A. Derivatives are solutions by the same method, not the iteration's.
template <typename A, typename T>
Solved<T> cg(const A& a, const T& b, const SolverOptions<T>& options = {}, std::source_location line = std::source_location::current()) {
  return {tree::unflatten(
              b, shardlab::detail::cg(detail::operator_of(a, b), tree::leaves(b), detail::flat_options(options, b), Where::from(line))),
          {}};
}
// Stabilised biconjugate gradients, for any A.
template <typename A, typename T>
Solved<T> bicgstab(const A& a, const T& b, const SolverOptions<T>& options = {},
                   std::source_location line = std::source_location::current()) {
  return {tree::unflatten(b, shardlab::detail::bicgstab(detail::operator_of(a, b), tree::leaves(b), detail::flat_options(options, b),
                                                        Where::from(line))),
          {}};
}
// Minimal residuals within Krylov spaces of `restart` dimensions, for any A.
template <typename A, typename T>
Solved<T> gmres(const A& a, const T& b, const GmresOptions<T>& options = {}, std::source_location line = std::source_location::current()) {
  shardlab::detail::Vectors flat = detail::flat_options<T>(options, b);
  flat.restart = options.restart;
  flat.solve_method = options.solve_method;
  auto [x, info] = shardlab::detail::gmres(detail::operator_of(a, b), tree::leaves(b), flat, Where::from(line));
  return {tree::unflatten(b, x), info};
}

}  // namespace shardlab::linalg

namespace shardlab::optimize {

// Every field is an array. `status`: 0 converged, 1 out of iterations, 3 to 5 no step was found.
struct OptimizeResults {
  Array x, success, status, fun, jac, hess_inv, nfev, nit;
};
SHARDLAB_TREE(OptimizeResults, x, success, status, fun, jac, hess_inv, nfev, nit)

struct MinimizeOptions {
  std::string method = "BFGS";
  double gtol = 1e-5;                                     // of the gradient's norm
  double norm = std::numeric_limits<double>::infinity();  // which norm
  std::optional<std::int64_t> maxiter = {};               // two hundred times the number of unknowns
  std::int64_t line_search_maxiter = 10;
};
// A minimum of f, a function of a vector with a real scalar as its result, from x0 on.
OptimizeResults minimize(const std::function<Array(const Array&)>& f, const Array& x0, const MinimizeOptions& options = {},
                         std::source_location where = std::source_location::current());

}  // namespace shardlab::optimize
