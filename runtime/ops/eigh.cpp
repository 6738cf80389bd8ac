// eigh: eigenvectors and eigenvalues of Hermitian matrices.
#include <Eigen/Eigenvalues>
#include <limits>

#include "runtime/ops/decompositions.h"

namespace shardlab::ops {
namespace {

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs&) {
  check_square_matrix(op, types[0]);
  return {types[0], {real_dtype(types[0].dtype), like_matrix(types[0], {types[0].shape.back()}).shape}};
}

void kernel(const KernelArgs& args) {
  if (args.operands[0].type.elements() == 0) return;
  const bool lower = args.attrs.flag("lower", true);
  visit_matrix_dtype(args.operands[0].type.dtype, [&](auto sample) {
    using T = decltype(sample);
    using D = InDouble<T>;
    using Matrix = Eigen::Matrix<D, Eigen::Dynamic, Eigen::Dynamic>;
    for (std::int64_t i = 0; i < matrix_count(args.operands[0]); ++i) {
      auto x = matrix_at<T>(args.operands[0], i);
      auto vectors = matrix_at<T>(args.results[0], i);
      auto values = vector_at<RealOf<T>>(args.results[1], i);
      Eigen::SelfAdjointEigenSolver<Matrix> found(lower ? Matrix(x.template cast<D>())
                                                        : Matrix(x.adjoint().template cast<D>()));  // it reads the lower triangle
      if (found.info() != Eigen::Success || !x.allFinite()) {
        vectors.setConstant(T(std::numeric_limits<RealOf<T>>::quiet_NaN()));
        values.setConstant(std::numeric_limits<RealOf<T>>::quiet_NaN());
        continue;
      }
      values = found.eigenvalues().template cast<RealOf<T>>();
      for (Eigen::Index k = 0; k < vectors.cols(); ++k) {
        auto vector = found.eigenvectors().col(k);
        vectors.col(k) = (vector * free_phase(vector)).template cast<T>();
      }
    }
  });
}

// Of simple eigenvalues. Source: Giles, "An extended collection of matrix derivative results" (2008), section 3.1.
Values jvp(GraphBuilder& b, const JvpArgs& args) {
  Term v(b, args.results[0]), values(b, args.results[1]);
  Term tangent(b, args.tangents[0]);
  if (!args.attrs.flag("is_hermitian")) tangent = hermitian_of(tangent, args.attrs.flag("lower", true));
  Term w = converted(values, v.dtype()), one = unit_matrix(v, v.size(-1));
  Term apart = 1.0 / (one + expanded(w, w.rank() - 1) - expanded(w, w.rank())) - one;
  Term inner = matrix_product(matrix_product(adjoint(v), tangent), v);
  Term change = matrix_product(v, apart * inner);
  if (is_complex(v.dtype())) change = change + v * phase_change(v, change);
  return {change.id(), real_part(diagonal(inner)).id()};
}

std::vector<Sample> samples() {
  auto sample = [](DType dtype, Shape shape, bool lower) { return Sample{{{dtype, std::move(shape)}}, Attrs{{"lower", lower}}}; };
  return {sample(DType::kFloat32, {3, 3}, true), sample(DType::kFloat64, {4, 3, 3}, false), sample(DType::kComplex128, {2, 2, 2}, true),
          sample(DType::kComplex64, {3, 3}, false), sample(DType::kFloat32, {0, 0}, true)};
}

constexpr AttrDef kAttrs[] = {
    {"lower", AttrDef::Kind::kFlag, false, "whether the lower triangle is read, else the upper one; the lower by default"},
    {"is_hermitian", AttrDef::Kind::kFlag, false,
     "whether the other triangle is known to say the same, so that a derivative may take both"}};

}  // namespace

const OpDef kEigh = decomposition(
    {.name = "eigh",
     .doc = "Eigenvectors, as columns [..., n, n], and ascending eigenvalues [..., n] of Hermitian matrices [..., n, n], of which "
            "one triangle is read. A vector's largest element is real and positive. By Eigen.",
     .attrs = kAttrs,
     .infer = infer,
     .kernel = kernel,
     .jvp = jvp,
     .samples = samples});

}  // namespace shardlab::ops
