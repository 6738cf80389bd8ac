// Functions whose values come out of an iteration, and their derivatives out of an equation: custom_linear_solve, custom_root.
//
//   auto x = custom_linear_solve(matvec, b, [](const auto& A, const Array& b) { return iterate(A, b); }, {.symmetric = true});
//   auto root = custom_root([&](const Array& x) { return x * x - a; }, guess, newton, [](const auto& g, const Array& y) { return y /
//   g(1.0); });
//
// What the functions capture may vary.
#pragma once

#include "runtime/exec/tree_function.h"

namespace shardlab {

// --- On flat lists of arrays.

// x of some b, where `system` gives A x for any x.
using SolveFunction = std::function<std::vector<Array>(const ArrayFunction& system, const std::vector<Array>& b)>;
struct LinearSystem {
  ArrayFunction matvec;
  SolveFunction solve;
  SolveFunction transpose_solve = {};  // of A's transpose; nothing: there is no reverse mode
  bool symmetric = false;              // A is its own transpose, and `solve` serves both
};
std::vector<Array> custom_linear_solve(const LinearSystem& system, const std::vector<Array>& b, Where where);

struct RootProblem {
  ArrayFunction function;
  SolveFunction solve;          // a root of the function, from a guess on
  SolveFunction tangent_solve;  // x with g(x) = y, for the linear function g
};
std::vector<Array> custom_root(const RootProblem& problem, const std::vector<Array>& guess, Where where);

// --- On trees.

namespace detail {

// A function of lists as one of trees like this one.
template <typename T>
auto of_tree(const ArrayFunction& function, const T& like) {
  return [&function, &like](const T& x) { return tree::unflatten(like, function(tree::leaves(x))); };
}
template <typename T, typename F>
SolveFunction as_solve(const F& solve, const T& like) {
  return [&solve, &like](const ArrayFunction& system, const std::vector<Array>& b) {
    return tree::leaves(T(solve(of_tree(system, like), tree::unflatten(like, b))));
  };
}
template <typename T, typename F>
ArrayFunction as_list_function(const F& function, const T& like) {
  return [&function, &like](const std::vector<Array>& x) { return tree::leaves(T(function(tree::unflatten(like, x)))); };
}

}  // namespace detail

struct LinearSolveOptions {
  bool symmetric = false;
};

// x with matvec(x) = b, by solve(matvec, b); as jax.lax.custom_linear_solve. In reverse mode the transposed system is solved by
// transpose_solve(vecmat, b), or by `solve` where the system is symmetric.
template <typename F, typename T, typename S>
T custom_linear_solve(const F& matvec, const T& b, const S& solve, LinearSolveOptions options = {},
                      std::source_location line = std::source_location::current()) {
  const LinearSystem system{detail::as_list_function(matvec, b), detail::as_solve(solve, b), {}, options.symmetric};
  return tree::unflatten(b, custom_linear_solve(system, tree::leaves(b), Where::from(line)));
}
template <typename F, typename T, typename S, typename R>
  requires(!std::is_same_v<R, LinearSolveOptions>)
T custom_linear_solve(const F& matvec, const T& b, const S& solve, const R& transpose_solve,
                      std::source_location line = std::source_location::current()) {
  const LinearSystem system{detail::as_list_function(matvec, b), detail::as_solve(solve, b), detail::as_solve(transpose_solve, b)};
  return tree::unflatten(b, custom_linear_solve(system, tree::leaves(b), Where::from(line)));
}

// The root that solve(f, guess) finds, differentiated by the implicit function theorem: tangent_solve(g, y) gives x with g(x) = y for the
// linear g that f is near its root. As jax.lax.custom_root.
template <typename F, typename T, typename S, typename R>
T custom_root(const F& f, const T& guess, const S& solve, const R& tangent_solve,
              std::source_location line = std::source_location::current()) {
  const SolveFunction tangents = [tangent_solve, guess](const ArrayFunction& system, const std::vector<Array>& b) {
    return tree::leaves(T(tangent_solve(detail::of_tree(system, guess), tree::unflatten(guess, b))));
  };
  const RootProblem problem{detail::as_list_function(f, guess), detail::as_solve(solve, guess), tangents};
  return tree::unflatten(guess, custom_root(problem, tree::leaves(guess), Where::from(line)));
}

}  // namespace shardlab
