// What decompositions share: they take matrices in the last two dimensions, for each element of the leading ones, a batch.
#pragma once

#include <Eigen/Core>
#include <complex>

#include "runtime/ops/compose.h"
#include "runtime/ops/derive.h"

namespace shardlab::ops {

extern const OpDef kCholesky, kEigh, kLu, kQr, kSvd, kTriangularSolve;

// Refuses what is no matrix, or of a dtype that is not float32, float64, complex64 or complex128.
void check_matrix(const OpDef& op, const TensorType& type, std::size_t operand = 0);
void check_square_matrix(const OpDef& op, const TensorType& type, std::size_t operand = 0);
// The type of a result: the operand's leading dimensions and those given, of its dtype.
TensorType like_matrix(const TensorType& operand, const Shape& dims);

// The leading dimensions pass; matrices are computed from whole ones, and nothing propagates along their rows and columns, as of JAX's
// calls of LAPACK.
FactorRule matrix_rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs);
// The batch becomes the first of the leading dimensions.
std::vector<Batched> batch_matrices(GraphBuilder& b, const BatchArgs& args);
// A user's call: integers and bool become floats, shapes stay.
Values expand_matrices(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs);

// A decomposition's definition: what all of them have alike is set here.
constexpr OpDef decomposition(OpDef op) {
  op.expand = expand_matrices;
  op.rule = matrix_rule;
  op.batch = batch_matrices;
  return op;
}

// Terms over matrices, batched ones too: conjugate transpose, x y, triangles, the diagonal as a vector, a unit matrix that broadcasts.
Term adjoint(const Term& x);
Term matrix_product(const Term& x, const Term& y);
Term lower_triangle(const Term& x, std::int64_t k = 0);
Term upper_triangle(const Term& x, std::int64_t k = 0);
Term diagonal(const Term& x);
Term unit_matrix(const Term& like, std::int64_t size);
Term real_part(const Term& x);
// The Hermitian matrix with this triangle.
Term hermitian_of(const Term& x, bool lower);
// Vectors have their largest element real (free_phase): what the change of each column of `v` must have added of i times that column, so
// that it stays so; a row vector, imaginary. 0 for real ones.
Term phase_change(const Term& v, const Term& change);

struct TriangularSolve {
  bool left_side = false, lower = false, transpose_a = false, conjugate_a = false, unit_diagonal = false;
};
Term triangular_solution(const Term& a, const Term& b, const TriangularSolve& how);
// Of each matrix the rows in an order, a permutation.
Term permuted_rows(const Term& x, const Term& order);
// x with A x = b (or A^H x = b), from the factors of A and its rows' permutation; b: [..., n, k].
Term lu_solution(const Term& factors, const Term& permutation, const Term& b, bool adjoint = false);
// L^-1 P b, the first half of it.
Term lower_solution(const Term& factors, const Term& permutation, const Term& b);

// --- Kernels.

template <typename T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <typename T>
using RealOf = typename Eigen::NumTraits<T>::Real;

// What eigenvalues and singular values are computed in, so that their long algorithms are compiled for real and for complex numbers once.
template <typename T>
using InDouble = std::conditional_t<Eigen::NumTraits<T>::IsComplex, std::complex<double>, double>;

// Calls f(sample) with a sample of the element type.
template <typename F>
void visit_matrix_dtype(DType dtype, F&& f) {
  visit_dtype(dtype, [&](auto sample) {
    using T = decltype(sample);
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::complex<float>> ||
                  std::is_same_v<T, std::complex<double>>)
      f(sample);
  });
}

// Matrix `i` of a view, of the sizes of its last two dimensions.
template <typename T>
Eigen::Map<const RowMajor<T>> matrix_at(const ConstView& view, std::int64_t i) {
  std::int64_t rows = view.type.shape[view.type.shape.size() - 2], columns = view.type.shape.back();
  return {view.as<T>() + i * rows * columns, rows, columns};
}
template <typename T>
Eigen::Map<RowMajor<T>> matrix_at(const MutableView& view, std::int64_t i) {
  std::int64_t rows = view.type.shape[view.type.shape.size() - 2], columns = view.type.shape.back();
  return {view.as<T>() + i * rows * columns, rows, columns};
}
// Vector `i` of a view: its last dimension.
template <typename T>
Eigen::Map<Eigen::Vector<T, Eigen::Dynamic>> vector_at(const MutableView& view, std::int64_t i) {
  return {view.as<T>() + i * view.type.shape.back(), view.type.shape.back()};
}
// How many matrices a view has.
std::int64_t matrix_count(const ConstView& view);

// Eigenvectors and singular vectors have a free sign (a phase, where complex): the factor that makes the largest element of `v` real and
// positive, the first of equally large ones. So values are the same on every device and backend.
template <typename Vector>
auto free_phase(const Vector& v) {
  using T = typename Vector::Scalar;
  Eigen::Index at = 0;
  if (v.size() > 0) v.cwiseAbs().maxCoeff(&at);
  RealOf<T> size = v.size() > 0 ? std::abs(v[at]) : RealOf<T>(0);
  return size > 0 ? T(Eigen::numext::conj(v[at]) / size) : T(1);
}

}  // namespace shardlab::ops
