// jax.scipy.linalg's functions that are made of others: Sylvester's equation, derivatives of exponentials, products with Q, matrices of
// sizes and polynomials.
#pragma once

#include <utility>

#include "runtime/exec/ops.h"

namespace shardlab::linalg {

// X with A X + X B = C, by Schur forms; has no derivative, as in JAX.
Array solve_sylvester(const Operand& a, const Operand& b, const Operand& c);
// The exponential of A, and how it changes along E.
std::pair<Array, Array> expm_frechet(const Operand& a, const Operand& e);
// c Q ("right") or Q c ("left") for the factors of a, and R. `conjugate`: of Q's conjugate.
struct QrMultiplyResult {
  Array product, R;
};
QrMultiplyResult qr_multiply(const Operand& a, const Operand& c, std::string_view mode = "right", bool conjugate = false);
// The inverse of pascal(n, kind).
Array invpascal(std::int64_t n, std::string_view kind = "symmetric", std::source_location where = std::source_location::current());

}  // namespace shardlab::linalg
