// cholesky: L with L L^H = x, of Hermitian positive definite matrices.
#include <Eigen/Cholesky>
#include <limits>

#include "runtime/ops/decompositions.h"

namespace shardlab::ops {
namespace {

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs&) {
  check_square_matrix(op, types[0]);
  return types;
}

// Reads the lower triangle. What has no factor is NaN, as LAPACK's status makes it in JAX.
void kernel(const KernelArgs& args) {
  visit_matrix_dtype(args.operands[0].type.dtype, [&](auto sample) {
    using T = decltype(sample);
    for (std::int64_t i = 0; i < matrix_count(args.operands[0]); ++i) {
      auto result = matrix_at<T>(args.results[0], i);
      Eigen::LLT<RowMajor<T>, Eigen::Lower> found(matrix_at<T>(args.operands[0], i));
      if (found.info() == Eigen::Success && (result.size() == 0 || found.matrixLLT().diagonal().allFinite()))
        result = RowMajor<T>(found.matrixL());
      else
        result = RowMajor<T>(RowMajor<T>::Constant(result.rows(), result.cols(), T(std::numeric_limits<RealOf<T>>::quiet_NaN()))
                                 .template triangularView<Eigen::Lower>());
    }
  });
}

// Source: Murray, "Differentiation of the Cholesky decomposition" (1602.07527), equation 8.
Values jvp(GraphBuilder& b, const JvpArgs& args) {
  Term factor(b, args.results[0]);
  Term tangent = hermitian_of(Term(b, args.tangents[0]), true);
  Term half = triangular_solution(factor, tangent, {.lower = true, .transpose_a = true, .conjugate_a = true});
  Term inner = lower_triangle(triangular_solution(factor, half, {.left_side = true, .lower = true}));
  return {matrix_product(factor, inner / (unit_matrix(factor, factor.size(-1)) + 1.0)).id()};
}

// Samples are filled at random, which is positive definite nowhere: of one element the square root is compared, of more that all are NaN or
// right. tests/ops/linalg_test.cpp has matrices that have a factor.
std::vector<Sample> samples() {
  return {{{{DType::kFloat32, {3, 1, 1}}}, {}},
          {{{DType::kFloat64, {4, 2, 2}}}, {}},
          {{{DType::kComplex64, {2, 2, 2}}}, {}},
          {{{DType::kFloat32, {0, 0}}}, {}}};
}

}  // namespace

const OpDef kCholesky =
    decomposition({.name = "cholesky",
                   .doc = "Lower triangular L with L L^H = x, of Hermitian positive definite matrices [..., n, n], of which the lower "
                          "triangle is read; NaN where x is not positive definite. By Eigen.",
                   .infer = infer,
                   .kernel = kernel,
                   .jvp = jvp,
                   .samples = samples});

}  // namespace shardlab::ops
