#include "runtime/exec/linalg.h"

#include "runtime/exec/op_call.h"

namespace shardlab::linalg {
namespace {

using shardlab::detail::all;
using shardlab::detail::one;

Attrs normed(Attrs attrs, const NormOrder& ord) {
  if (ord.value) attrs.set("ord", *ord.value);
  return attrs;
}
Attrs reduction(const AxisList& axis, bool keepdims) { return shardlab::detail::on(axis, {{"keepdims", keepdims}}); }
Attrs optional(std::string_view name, std::optional<double> value) {
  Attrs attrs;
  if (value) attrs.set(name, *value);
  return attrs;
}
Attrs of_eigh(char uplo, bool symmetrize_input) { return {{"UPLO", std::string(1, uplo)}, {"symmetrize_input", symmetrize_input}}; }

}  // namespace

Array norm(const Operand& x, const AxisList& axis, const NormOrder& ord, bool keepdims) {
  return one("linalg.norm", {x}, normed(reduction(axis, keepdims), ord));
}
Array vector_norm(const Operand& x, const AxisList& axis, const NormOrder& ord, bool keepdims) {
  return one("linalg.vector_norm", {x}, normed(reduction(axis, keepdims), ord));
}
Array matrix_norm(const Operand& x, const NormOrder& ord, bool keepdims) {
  return one("linalg.matrix_norm", {x}, normed(Attrs{{"keepdims", keepdims}}, ord));
}
Array matrix_power(const Operand& x, std::int64_t n) { return one("linalg.matrix_power", {x}, {{"n", n}}); }
Array multi_dot(const Operands& arrays) { return one("linalg.multi_dot", arrays.operands()); }

Array cholesky(const Operand& x, bool upper, bool symmetrize_input) {
  return one("linalg.cholesky", {x}, {{"upper", upper}, {"symmetrize_input", symmetrize_input}});
}
QrResult qr(const Operand& x, QrMode mode) {
  std::vector<Array> found = all("linalg.qr", {x}, {{"mode", std::string(mode == QrMode::kComplete ? "complete" : "reduced")}});
  return {found.at(0), found.at(1)};
}
EighResult eigh(const Operand& x, char uplo, bool symmetrize_input) {
  std::vector<Array> found = all("linalg.eigh", {x}, of_eigh(uplo, symmetrize_input));
  return {found.at(0), found.at(1)};
}
Array eigvalsh(const Operand& x, char uplo, bool symmetrize_input) { return one("linalg.eigvalsh", {x}, of_eigh(uplo, symmetrize_input)); }
EigResult eig(const Operand& x) {
  std::vector<Array> found = all("eig", {x});
  return {found.at(0), found.at(1)};
}
Array eigvals(const Operand& x) { return one("linalg.eigvals", {x}); }
SchurResult schur(const Operand& x, const std::string& output) {
  std::vector<Array> found = all("linalg.schur", {x}, {{"output", output}});
  return {found.at(0), found.at(1)};
}
Array sqrtm(const Operand& x) { return one("linalg.sqrtm", {x}); }
SvdResult svd(const Operand& x, bool full_matrices) {
  std::vector<Array> found = all("linalg.svd", {x}, {{"full_matrices", full_matrices}});
  return {found.at(0), found.at(1), found.at(2)};
}
Array svdvals(const Operand& x) { return one("linalg.svdvals", {x}); }

Array solve(const Operand& a, const Operand& b) { return one("linalg.solve", {a, b}); }
Array inv(const Operand& x) { return one("linalg.inv", {x}); }
Array tensorinv(const Operand& x, std::int64_t ind) { return one("linalg.tensorinv", {x}, {{"ind", ind}}); }
Array tensorsolve(const Operand& a, const Operand& b, const std::vector<std::int64_t>& axes) {
  return one("linalg.tensorsolve", {a, b}, axes.empty() ? Attrs{} : Attrs{{"axes", axes}});
}
Array block_diag(const Operands& blocks) { return one("linalg.block_diag", blocks.operands()); }
Array solve_triangular(const Operand& a, const Operand& b, const TriangularOptions& options) {
  return one("linalg.solve_triangular", {a, b},
             {{"lower", options.lower}, {"trans", std::int64_t(options.trans)}, {"unit_diagonal", options.unit_diagonal}});
}
Array cho_solve(const Operand& factor, const Operand& b, bool lower) { return one("linalg.cho_solve", {factor, b}, {{"lower", lower}}); }

SlogdetResult slogdet(const Operand& x) {
  std::vector<Array> found = all("linalg.slogdet", {x});
  return {found.at(0), found.at(1)};
}
Array det(const Operand& x) { return one("linalg.det", {x}); }

Array pinv(const Operand& x, std::optional<double> rtol) { return one("linalg.pinv", {x}, optional("rtol", rtol)); }
Array matrix_rank(const Operand& x, std::optional<double> rtol) { return one("linalg.matrix_rank", {x}, optional("rtol", rtol)); }
LstsqResult lstsq(const Operand& a, const Operand& b, std::optional<double> rcond) {
  std::vector<Array> found = all("linalg.lstsq", {a, b}, optional("rcond", rcond));
  return {found.at(0), found.at(1), found.at(2), found.at(3)};
}
Array cond(const Operand& x, const NormOrder& p) {
  Attrs attrs;
  if (p.value) attrs.set("p", *p.value);
  return one("linalg.cond", {x}, attrs);
}

LuResult lu(const Operand& x) {
  std::vector<Array> found = all("lu", {x});
  return {found.at(0), found.at(1), found.at(2)};
}
Array triangular_solve(const Operand& a, const Operand& b, const TriangularSolveOptions& options) {
  return one("triangular_solve", {a, b},
             {{"left_side", options.left_side},
              {"lower", options.lower},
              {"transpose_a", options.transpose_a},
              {"conjugate_a", options.conjugate_a},
              {"unit_diagonal", options.unit_diagonal}});
}

LuFactorResult lu_factor(const Operand& x) {
  std::vector<Array> found = all("linalg.lu_factor", {x});
  return {found[0], found[1]};
}
Array lu_solve(const LuFactorResult& factors, const Operand& b, int trans) {
  return one("linalg.lu_solve", {Operand(factors.lu, b.where()), Operand(factors.pivots, b.where()), b}, {{"trans", std::int64_t(trans)}});
}
Array lu_pivots_to_permutation(const Operand& pivots, std::int64_t permutation_size) {
  return one("lu_pivots_to_permutation", {pivots}, {{"permutation_size", permutation_size}});
}
Array cho_factor(const Operand& x, bool lower) { return one("linalg.cho_factor", {x}, {{"lower", lower}}); }
std::pair<Array, Array> polar(const Operand& x, std::string_view side, std::string_view method) {
  std::vector<Array> found = all("linalg.polar", {x}, {{"side", std::string(side)}, {"method", std::string(method)}});
  return {found[0], found[1]};
}
Array expm(const Operand& x, bool upper_triangular, std::int64_t max_squarings) {
  return one("linalg.expm", {x}, {{"upper_triangular", upper_triangular}, {"max_squarings", max_squarings}});
}
Array tridiagonal_solve(const Operand& below, const Operand& diagonal, const Operand& above, const Operand& b) {
  return one("tridiagonal_solve", {below, diagonal, above, b});
}

namespace {

Array with_second(std::string_view op, const Operand& first, const std::optional<Operand>& second) {
  return second ? one(op, {first, *second}) : one(op, {first});
}
Array of_size(std::string_view op, std::int64_t n, std::source_location where, Attrs attrs = {}) {
  return std::move(apply(op, {}, attrs.set("n", n), Where::from(where)).at(0));
}

}  // namespace

Array toeplitz(const Operand& column, const std::optional<Operand>& row) { return with_second("linalg.toeplitz", column, row); }
Array hankel(const Operand& column, const std::optional<Operand>& last_row) { return with_second("linalg.hankel", column, last_row); }
Array circulant(const Operand& column) { return one("linalg.circulant", {column}); }
Array convolution_matrix(const Operand& x, std::int64_t n, std::string_view mode) {
  return one("linalg.convolution_matrix", {x}, {{"n", n}, {"mode", std::string(mode)}});
}
Array companion(const Operand& coefficients) { return one("linalg.companion", {coefficients}); }
Array fiedler(const Operand& x) { return one("linalg.fiedler", {x}); }
Array leslie(const Operand& births, const Operand& rates) { return one("linalg.leslie", {births, rates}); }
Array hilbert(std::int64_t n, std::source_location where) { return of_size("linalg.hilbert", n, where); }
Array invhilbert(std::int64_t n, std::source_location where) { return of_size("linalg.invhilbert", n, where); }
Array hadamard(std::int64_t n, std::optional<DType> dtype, std::source_location where) {
  return of_size("linalg.hadamard", n, where, dtype ? Attrs{{"dtype", *dtype}} : Attrs{});
}
Array pascal(std::int64_t n, std::string_view kind, std::source_location where) {
  return of_size("linalg.pascal", n, where, {{"kind", std::string(kind)}});
}
Array helmert(std::int64_t n, bool full, std::source_location where) { return of_size("linalg.helmert", n, where, {{"full", full}}); }
Array dft(std::int64_t n, std::string_view scale, std::source_location where) {
  return of_size("linalg.dft", n, where, scale.empty() ? Attrs{} : Attrs{{"scale", std::string(scale)}});
}

}  // namespace shardlab::linalg
