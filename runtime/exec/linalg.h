// jax.numpy.linalg, jax.scipy.linalg's solvers and jax.lax.linalg: of matrices in the last two dimensions, the leading ones a batch, which
// may be cut. Shapes, dtypes and errors: docs/ops.md. Where JAX gives named tuples these are structs of the same names.
#pragma once

#include "runtime/exec/ops.h"

namespace shardlab::linalg {

// A norm's order as NumPy takes it: nothing (the root of squares), a number, infinities included, "fro", "nuc".
struct NormOrder {
  NormOrder() = default;
  NormOrder(double number) : value(number) {}                // NOLINT: implicit on purpose
  NormOrder(const char* name) : value(std::string(name)) {}  // NOLINT
  std::optional<AttrValue> value;
};
// Of all elements, along an axis (of vectors) or two (of matrices). Of matrices
// order 2 is the largest singular value, -2 the smallest, "nuc" their sum.
Array norm(const Operand& x, const AxisList& axis = AxisList::all(), const NormOrder& ord = {}, bool keepdims = false);
Array vector_norm(const Operand& x, const AxisList& axis = AxisList::all(), const NormOrder& ord = {}, bool keepdims = false);
Array matrix_norm(const Operand& x, const NormOrder& ord = {}, bool keepdims = false);  // of the last two dimensions
Array matrix_power(const Operand& x, std::int64_t n);                                   // of a negative n the inverse's
Array multi_dot(const Operands& arrays);

// The lower factor (or the upper one) of Hermitian positive definite matrices; NaN where they are not.
Array cholesky(const Operand& x, bool upper = false, bool symmetrize_input = true);

struct QrResult {
  Array Q, R;
};
enum class QrMode : std::uint8_t { kReduced, kComplete };
QrResult qr(const Operand& x, QrMode mode = QrMode::kReduced);

struct EighResult {
  Array eigenvalues, eigenvectors;  // ascending [..., n]; columns [..., n, n]
};
EighResult eigh(const Operand& x, char uplo = 'L', bool symmetrize_input = true);
Array eigvalsh(const Operand& x, char uplo = 'L', bool symmetrize_input = true);

struct EigResult {
  Array eigenvalues, eigenvectors;  // complex, in no order; columns of length 1
};
EigResult eig(const Operand& x);
Array eigvals(const Operand& x);
struct SchurResult {
  Array T, Z;  // x = Z T Z^H, both complex
};
// `output` "complex": the triangular form. The quasi-triangular one of real matrices has no op, and is an error.
SchurResult schur(const Operand& x, const std::string& output = "complex");
Array sqrtm(const Operand& x);

struct SvdResult {
  Array U, S, Vh;  // S descending
};
SvdResult svd(const Operand& x, bool full_matrices = true);
Array svdvals(const Operand& x);

// x with A x = b: b is [m], or [..., m, k].
Array solve(const Operand& a, const Operand& b);
Array inv(const Operand& x);
// Of an array as the matrix of its first `ind` dimensions and the others.
Array tensorinv(const Operand& x, std::int64_t ind = 2);
// The array whose tensordot with `a` is `b`; `axes` of `a` go last before.
Array tensorsolve(const Operand& a, const Operand& b, const std::vector<std::int64_t>& axes = {});
// jax.scipy.linalg's: matrices along the diagonal of one.
Array block_diag(const Operands& blocks);
// jax.scipy.linalg's factors, and what they solve. Of pivots, the row that each step exchanged with its own.
struct LuFactorResult {
  Array lu, pivots;
};
LuFactorResult lu_factor(const Operand& x);
// `trans` 1: of A's transpose, 2: of its conjugate transpose.
Array lu_solve(const LuFactorResult& factors, const Operand& b, int trans = 0);
Array lu_pivots_to_permutation(const Operand& pivots, std::int64_t permutation_size);
// Of Hermitian positive definite matrices; cho_solve takes it.
Array cho_factor(const Operand& x, bool lower = false);
// A unitary and a Hermitian matrix whose product x is; `side` right: U P, left: P U.
std::pair<Array, Array> polar(const Operand& x, std::string_view side = "right", std::string_view method = "qdwh");
Array expm(const Operand& x, bool upper_triangular = false, std::int64_t max_squarings = 16);
// Diagonals [..., n], b [..., n, k]; the first number below the diagonal and the last above it are not used.
Array tridiagonal_solve(const Operand& below, const Operand& diagonal, const Operand& above, const Operand& b);

// Matrices that vectors say: by their first column and row (or last row, of hankel), births and rates, or a polynomial's coefficients.
Array toeplitz(const Operand& column, const std::optional<Operand>& row = {});
Array hankel(const Operand& column, const std::optional<Operand>& last_row = {});
Array circulant(const Operand& column);
Array convolution_matrix(const Operand& x, std::int64_t n, std::string_view mode = "full");
Array companion(const Operand& coefficients);
Array fiedler(const Operand& x);
Array leslie(const Operand& births, const Operand& rates);
// Matrices that sizes say.
Array hilbert(std::int64_t n, std::source_location where = std::source_location::current());
Array invhilbert(std::int64_t n, std::source_location where = std::source_location::current());
Array hadamard(std::int64_t n, std::optional<DType> dtype = {}, std::source_location where = std::source_location::current());
Array pascal(std::int64_t n, std::string_view kind = "symmetric", std::source_location where = std::source_location::current());
Array helmert(std::int64_t n, bool full = false, std::source_location where = std::source_location::current());
// `scale`: "", "sqrtn" or "n".
Array dft(std::int64_t n, std::string_view scale = "", std::source_location where = std::source_location::current());

struct TriangularOptions {
  bool lower = false;
  int trans = 0;  // 1: of A's transpose, 2: of its conjugate transpose
  bool unit_diagonal = false;
};
Array solve_triangular(const Operand& a, const Operand& b, const TriangularOptions& options = {});
Array cho_solve(const Operand& factor, const Operand& b, bool lower = false);

struct SlogdetResult {
  Array sign, logabsdet;
};
SlogdetResult slogdet(const Operand& x);
Array det(const Operand& x);

Array pinv(const Operand& x, std::optional<double> rtol = {});
Array matrix_rank(const Operand& x, std::optional<double> rtol = {});  // int32
struct LstsqResult {
  Array x, residuals, rank, s;
};
LstsqResult lstsq(const Operand& a, const Operand& b, std::optional<double> rcond = {});
Array cond(const Operand& x, const NormOrder& p = {});

// jax.lax.linalg's: L and U in one matrix, the row that each step exchanged with its own, and the rows' permutation.
struct LuResult {
  Array lu, pivots, permutation;
};
LuResult lu(const Operand& x);
// x with A x = b, or x A = b (the default, as JAX has it).
struct TriangularSolveOptions {
  bool left_side = false, lower = false, transpose_a = false, conjugate_a = false, unit_diagonal = false;
};
Array triangular_solve(const Operand& a, const Operand& b, const TriangularSolveOptions& options = {});

}  // namespace shardlab::linalg
