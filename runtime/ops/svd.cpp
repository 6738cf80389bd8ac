// svd: U diag(s) V^H = x with unitary U and V.
#include <Eigen/SVD>
#include <limits>

#include "runtime/ops/decompositions.h"

namespace shardlab::ops {
namespace {

bool has_vectors(const Attrs& attrs) { return attrs.flag("compute_uv", true); }

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  const TensorType& x = types[0];
  check_matrix(op, x);
  const std::int64_t rows = x.shape[x.shape.size() - 2], columns = x.shape.back(), count = std::min(rows, columns);
  const bool full = attrs.flag("full_matrices", true);
  std::vector<TensorType> results{{real_dtype(x.dtype), like_matrix(x, {count}).shape}};
  if (!has_vectors(attrs)) return results;
  results.push_back(like_matrix(x, {rows, full ? rows : count}));
  results.push_back(like_matrix(x, {full ? columns : count, columns}));
  return results;
}

template <typename T>
void set_nan(const KernelArgs& args, std::int64_t i) {
  const RealOf<T> nan = std::numeric_limits<RealOf<T>>::quiet_NaN();
  vector_at<RealOf<T>>(args.results[0], i).setConstant(nan);
  for (std::size_t r = 1; r < args.results.size(); ++r) matrix_at<T>(args.results[r], i).setConstant(T(nan));
}

template <typename T>
void decompose(const KernelArgs& args, std::int64_t i) {
  using D = InDouble<T>;
  auto x = matrix_at<T>(args.operands[0], i);
  if (!x.allFinite()) return set_nan<T>(args, i);
  const bool vectors = has_vectors(args.attrs), full = args.attrs.flag("full_matrices", true);
  const unsigned wanted = !vectors ? 0 : full ? Eigen::ComputeFullU | Eigen::ComputeFullV : Eigen::ComputeThinU | Eigen::ComputeThinV;
  const Eigen::BDCSVD<Eigen::Matrix<D, Eigen::Dynamic, Eigen::Dynamic>> found(x.template cast<D>(), wanted);
  if (found.info() != Eigen::Success) return set_nan<T>(args, i);
  auto values = vector_at<RealOf<T>>(args.results[0], i);
  values = found.singularValues().template cast<RealOf<T>>();
  if (!vectors) return;
  auto u = matrix_at<T>(args.results[1], i), v_adjoint = matrix_at<T>(args.results[2], i);
  for (Eigen::Index k = 0; k < u.cols(); ++k) {
    auto column = found.matrixU().col(k);
    const D phase = free_phase(column);
    u.col(k) = (column * phase).template cast<T>();
    if (k < values.size()) v_adjoint.row(k) = (found.matrixV().col(k) * phase).adjoint().template cast<T>();
  }
  for (Eigen::Index k = values.size(); k < v_adjoint.rows(); ++k) {
    auto column = found.matrixV().col(k);
    v_adjoint.row(k) = (column * free_phase(column)).adjoint().template cast<T>();
  }
}

void kernel(const KernelArgs& args) {
  if (args.operands[0].type.elements() == 0) {
    for (std::size_t r = 1; r < args.results.size(); ++r)
      visit_matrix_dtype(args.results[r].type.dtype, [&](auto sample) {
        using T = decltype(sample);
        for (std::int64_t i = 0; i < matrix_count(args.operands[0]); ++i) matrix_at<T>(args.results[r], i).setIdentity();
      });
    return;
  }
  visit_matrix_dtype(args.operands[0].type.dtype, [&](auto sample) {
    for (std::int64_t i = 0; i < matrix_count(args.operands[0]); ++i) decompose<decltype(sample)>(args, i);
  });
}

// Of simple singular values, not of the vectors that full matrices have beside theirs. Source: Giles, "An extended collection of matrix
// derivative results" (2008), section 3.2.
Values jvp(GraphBuilder& b, const JvpArgs& args) {
  Term x(b, args.operands[0]), tangent(b, args.tangents[0]);
  const std::int64_t rows = x.size(-2), columns = x.size(-1);
  const bool vectors = has_vectors(args.attrs);
  if (vectors && args.attrs.flag("full_matrices", true) && rows != columns)
    throw_user_error("{}: Singular value decomposition JVP not implemented for full matrices; take full_matrices=False", args.op.name);
  std::vector<Term> thin;
  if (vectors)
    for (ValueId result : args.results) thin.emplace_back(b, result);
  else
    thin = call_all(b, "svd", {x}, Attrs{{"full_matrices", false}});
  const Term &s = thin[0], &u = thin[1], &v_adjoint = thin[2];
  Term v = adjoint(v_adjoint), inner = matrix_product(matrix_product(adjoint(u), tangent), v);
  Term of_values = real_part(diagonal(inner));
  if (!vectors) return {of_values.id()};
  Term down = expanded(s, s.rank() - 1), across = expanded(s, s.rank()), one = unit_matrix(s, s.size(-1));  // s along columns, along rows
  Term apart = converted(1.0 / ((down + across) * (down - across) + one) - one, x.dtype());
  Term left = converted(down, x.dtype()) * inner, right = converted(across, x.dtype()) * inner;
  Term none = converted(s == 0.0, s.dtype()), inverse = 1.0 / (s + none) - none;
  Term of_u = apart * (left + adjoint(left));
  if (is_complex(x.dtype()))
    of_u = of_u + 0.5 * (inner - adjoint(inner)) * converted(one * expanded(inverse, inverse.rank() - 1), x.dtype());
  Term du = matrix_product(u, of_u), dv = matrix_product(v, apart * (right + adjoint(right)));
  // What x changes outside of the spaces that its vectors span.
  auto outside = [&](const Term& basis, const Term& change) {
    return (change - matrix_product(basis, matrix_product(adjoint(basis), change))) / converted(down, x.dtype());
  };
  if (rows > columns) du = du + outside(u, matrix_product(tangent, v));
  if (columns > rows) dv = dv + outside(v, matrix_product(adjoint(tangent), u));
  if (is_complex(x.dtype())) {
    Term turn = phase_change(u, du);
    du = du + u * turn;
    dv = dv + v * turn;
  }
  return {of_values.id(), du.id(), adjoint(dv).id()};
}

std::vector<Sample> samples() {
  auto sample = [](DType dtype, Shape shape, bool full, bool vectors) {
    return Sample{{{dtype, std::move(shape)}}, Attrs{{"full_matrices", full}, {"compute_uv", vectors}}};
  };
  return {sample(DType::kFloat32, {3, 3}, true, true),   sample(DType::kFloat64, {4, 4, 2}, false, true),
          sample(DType::kFloat64, {2, 3}, false, true),  sample(DType::kComplex128, {2, 3, 2}, false, true),
          sample(DType::kComplex64, {2, 2}, true, true), sample(DType::kFloat32, {3, 2}, true, true),
          sample(DType::kFloat64, {2, 3}, true, true),   sample(DType::kComplex64, {2, 3, 3}, false, false),
          sample(DType::kFloat32, {0, 3}, true, true)};
}

constexpr AttrDef kAttrs[] = {
    {"full_matrices", AttrDef::Kind::kFlag, false, "whether U and V are square; else they have min(m, n) vectors. By default they are"},
    {"compute_uv", AttrDef::Kind::kFlag, false, "whether U and V^H are given beside the singular values; by default they are"},
};

}  // namespace

const OpDef kSvd = decomposition(
    {.name = "svd",
     .doc = "Singular values [..., min(m, n)], descending, U [..., m, k] and V^H [..., k, n] of matrices [..., m, n]. The largest "
            "element of a vector of U is real and positive. By Eigen.",
     .attrs = kAttrs,
     .infer = infer,
     .kernel = kernel,
     .jvp = jvp,
     .samples = samples});

}  // namespace shardlab::ops
