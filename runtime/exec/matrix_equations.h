// jax.scipy.linalg's functions that are made of others: Sylvester's equation, functions of matrices, Hessenberg's form, products with Q,
// matrices of sizes and polynomials; and spherical harmonics, which are made so as well.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "runtime/exec/ops.h"

namespace shardlab::linalg {

// X with A X + X B = C, by Schur forms; has no derivative, as in JAX.
Array solve_sylvester(const Operand& a, const Operand& b, const Operand& c);
// The exponential of A, and how it changes along E.
std::pair<Array, Array> expm_frechet(const Operand& a, const Operand& e);
// The matrix function that continues `function` of numbers, by the Schur form; complex.
Array funm(const Operand& a, const std::function<Array(const Array&)>& function);
// H, zero below the first diagonal below the main one, and where calc_q says so Q, with Q H Q^H = a; else Q is empty.
struct HessenbergResult {
  Array H, Q;
};
HessenbergResult hessenberg(const Operand& a, bool calc_q = false);
// The eigenvalues of the symmetric matrix with the diagonal d and e beside it, ascending: all, or those from `first` to `last`, both
// included. JAX, too, gives no eigenvectors.
Array eigh_tridiagonal(const Operand& d, const Operand& e, std::optional<std::pair<std::int64_t, std::int64_t>> select_range = {});
// c Q ("right") or Q c ("left") for the factors of a, and R. `conjugate`: of Q's conjugate.
struct QrMultiplyResult {
  Array product, R;
};
QrMultiplyResult qr_multiply(const Operand& a, const Operand& c, std::string_view mode = "right", bool conjugate = false);
// The inverse of pascal(n, kind).
Array invpascal(std::int64_t n, std::string_view kind = "symmetric", std::source_location where = std::source_location::current());

}  // namespace shardlab::linalg

namespace shardlab {

// The spherical harmonic of degree n and order m, |m| <= n <= n_max, at the colatitude theta and the longitude phi; of vectors. Inside jit
// n_max must be told.
Array sph_harm_y(const Operand& n, const Operand& m, const Operand& theta, const Operand& phi, std::optional<std::int64_t> n_max = {});

}  // namespace shardlab
