// lu: L U = x with its rows permuted, by elimination with pivots.
#include <Eigen/LU>
#include <numeric>

#include "runtime/ops/decompositions.h"

namespace shardlab::ops {
namespace {

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs&) {
  const TensorType& x = types[0];
  check_matrix(op, x);
  const std::int64_t rows = x.shape[x.shape.size() - 2], steps = std::min(rows, x.shape.back());
  return {x, {DType::kInt32, like_matrix(x, {steps}).shape}, {DType::kInt32, like_matrix(x, {rows}).shape}};
}

// Column by column, with the largest element on and below the diagonal as pivot, in panels of so many columns: what stands right of a panel
// is made by products. A column of zeros is passed over, as LAPACK does. Source: Golub, Van Loan, Matrix Computations, 3.4.
constexpr Eigen::Index kPanel = 64;

// LAPACK compares complex numbers by the sum of their parts' sizes.
template <typename Column>
auto column_sizes(const Column& column) {
  if constexpr (Eigen::NumTraits<typename Column::Scalar>::IsComplex)
    return (column.real().cwiseAbs() + column.imag().cwiseAbs()).eval();
  else
    return column.cwiseAbs().eval();
}

template <typename T>
void eliminate(Eigen::Map<RowMajor<T>> x, std::int32_t* pivots, std::int32_t* permutation) {
  const Eigen::Index rows = x.rows(), columns = x.cols(), steps = std::min(rows, columns);
  std::iota(permutation, permutation + rows, 0);
  for (Eigen::Index begin = 0; begin < steps; begin += kPanel) {
    const Eigen::Index end = std::min(begin + kPanel, steps), width = end - begin, right = columns - end, below = rows - end;
    for (Eigen::Index k = begin; k < end; ++k) {
      Eigen::Index pivot = 0;
      column_sizes(x.col(k).tail(rows - k)).maxCoeff(&pivot);
      pivot += k;
      pivots[k] = std::int32_t(pivot);
      if (pivot != k) {
        x.row(k).swap(x.row(pivot));
        std::swap(permutation[k], permutation[pivot]);
      }
      if (x(k, k) == T(0)) continue;
      x.col(k).tail(rows - k - 1) /= x(k, k);
      x.block(k + 1, k + 1, rows - k - 1, end - k - 1).noalias() -= x.col(k).tail(rows - k - 1) * x.row(k).segment(k + 1, end - k - 1);
    }
    if (right == 0) continue;
    auto beside = x.block(begin, end, width, right);
    x.block(begin, begin, width, width).template triangularView<Eigen::UnitLower>().solveInPlace(beside);
    x.bottomRightCorner(below, right).noalias() -= x.block(end, begin, below, width) * beside;
  }
}

void kernel(const KernelArgs& args) {
  visit_matrix_dtype(args.operands[0].type.dtype, [&](auto sample) {
    using T = decltype(sample);
    const std::int64_t steps = args.results[1].type.shape.back(), rows = args.results[2].type.shape.back();
    for (std::int64_t i = 0; i < matrix_count(args.operands[0]); ++i) {
      auto result = matrix_at<T>(args.results[0], i);
      result = matrix_at<T>(args.operands[0], i);
      std::int32_t *pivots = args.results[1].as<std::int32_t>() + i * steps, *permutation = args.results[2].as<std::int32_t>() + i * rows;
      if (steps > 0)
        eliminate<T>(result, pivots, permutation);
      else
        std::iota(permutation, permutation + rows, 0);
    }
  });
}

// Source: de Hoog, Anderssen, Lukas, "Differentiation of matrix functionals using triangular factorization" (2011): L^-1 P dx U^-1, its
// strictly lower part before L, the rest behind U. L and U are made square by ones.
Values jvp(GraphBuilder& b, const JvpArgs& args) {
  Term factors(b, args.results[0]), permutation(b, args.results[2]), tangent(b, args.tangents[0]);
  const std::int64_t rows = factors.size(-2), columns = factors.size(-1), steps = std::min(rows, columns);
  auto widened = [&](const Term& x, std::int64_t to_rows, std::int64_t to_columns) {
    std::vector<std::int64_t> padding(std::size_t(3 * x.rank()), 0);  // low, high, between
    padding[padding.size() - 5] = to_rows - x.size(-2);
    padding[padding.size() - 2] = to_columns - x.size(-1);
    return Term(b, b.emit1(kPad, {x.id(), scalar_constant(b, x.dtype(), 0.0)}, Attrs{{"padding", padding}}));
  };
  const int rank = factors.rank();
  Term lower = widened(lower_triangle(sliced(factors, rank - 1, 0, steps), -1), rows, rows) + unit_matrix(factors, rows);
  Term upper = widened(upper_triangle(sliced(factors, rank - 2, 0, steps)), columns, columns);
  if (columns > steps) {
    Term row = call(b, "arange", {columns}, Attrs{{"dtype", DType::kInt32}});
    upper = upper + where(expanded(row >= steps, 1), unit_matrix(factors, columns), 0.0);
  }
  Term inner = triangular_solution(lower, permuted_rows(tangent, permutation), {.left_side = true, .lower = true, .unit_diagonal = true});
  inner = triangular_solution(upper, inner, {});
  Term change = matrix_product(lower, lower_triangle(inner, -1)) + matrix_product(upper_triangle(inner), upper);
  return {change.id(), kZero, kZero};
}

std::vector<Sample> samples() {
  return {{{{DType::kFloat32, {3, 3}}}, {}},       {{{DType::kFloat64, {4, 4, 2}}}, {}}, {{{DType::kFloat64, {2, 5}}}, {}},
          {{{DType::kComplex128, {2, 3, 3}}}, {}}, {{{DType::kComplex64, {2, 2}}}, {}},  {{{DType::kFloat32, {2, 0}}}, {}}};
}

}  // namespace

const OpDef kLu =
    decomposition({.name = "lu",
                   .doc = "x with its rows permuted as L U, of matrices [..., m, n]: L (without its diagonal of ones) and U in one matrix; "
                          "the row that each step exchanged with its own, int32 [..., min(m, n)]; the rows' permutation, int32 [..., m].",
                   .infer = infer,
                   .kernel = kernel,
                   .jvp = jvp,
                   .samples = samples});

}  // namespace shardlab::ops
