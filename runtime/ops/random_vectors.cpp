// multivariate_normal, orthogonal: random vectors and matrices made of normal numbers; equal to JAX's where those of the decomposition are.
#include <algorithm>

#include "runtime/ops/compose.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {
namespace {

// A matrix whose product with its adjoint is the covariance.
Term factor_of(const OpDef& op, const Term& covariance, const std::string& method) {
  GraphBuilder& b = covariance.builder();
  if (method == "cholesky") return call("linalg.cholesky", covariance);
  if (method == "eigh") {
    const std::vector<Term> found = call_all(b, "linalg.eigh", {covariance});
    return found[1] * expanded(call("sqrt", found[0]), found[0].rank() - 1);
  }
  if (method == "svd") {
    const std::vector<Term> found = call_all(b, "linalg.svd", {covariance});
    return found[0] * expanded(call("sqrt", found[1]), found[1].rank() - 1);
  }
  throw_user_error("{}: method argument must be one of 'cholesky', 'eigh', 'svd', got '{}'", op.name, method);
}

Values expand_multivariate_normal(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const DType dtype = attrs.has("dtype") ? attrs.dtype("dtype") : inexact(promoted_dtype(b, args.subspan(1)));
  if (!is_floating(dtype)) throw_user_error("dtype argument to `multivariate_normal` must be a float dtype, got {}", name_of(dtype));
  const Term mean(b, value_of(b, args[1], dtype)), covariance(b, value_of(b, args[2], dtype));
  if (mean.rank() < 1) throw_user_error("multivariate_normal requires mean.ndim >= 1, got mean.ndim == {}", mean.rank());
  if (covariance.rank() < 2) throw_user_error("multivariate_normal requires cov.ndim >= 2, got cov.ndim == {}", covariance.rank());
  const std::int64_t n = mean.size(-1);
  if (covariance.size(-1) != n || covariance.size(-2) != n)
    throw_user_error("multivariate_normal requires cov.shape == (..., n, n) for n={}, but got cov.shape == {}.", n,
                     text_of(covariance.shape()));
  Shape of_mean = mean.shape(), of_covariance = covariance.shape();
  of_mean.resize(of_mean.size() - 1);
  of_covariance.resize(of_covariance.size() - 2);
  const Shape own = broadcast_shapes(op.name, {of_mean, of_covariance});
  Shape shape = attrs.has("shape") ? integer_list_of(attrs, "shape") : own;
  check_shape(op.name, shape);
  check_broadcasts_to(op.name, own, shape);
  shape.push_back(n);
  const Term samples = call(b, "random.normal", {term(b, args[0])}, Attrs{{"shape", shape}, {"dtype", dtype}});
  const Term factor = factor_of(op, covariance, attrs.has("method") ? attrs.string("method") : "cholesky");
  return {(mean + call(b, "einsum", {factor, samples}, Attrs{{"subscripts", std::string("...ij,...j->...i")}})).id()};
}

Values expand_orthogonal(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const std::int64_t n = static_integer(op, args, 1, attrs, "n"), m = attrs.integer("m", n);
  Shape shape = attrs.has("shape") ? integer_list_of(attrs, "shape") : Shape{};
  shape.insert(shape.end(), {std::max(n, m), std::min(n, m)});
  check_shape(op.name, shape);
  const Term z = call(b, "random.normal", {term(b, args[0])}, Attrs{{"shape", shape}, {"dtype", dtype_or(b, attrs, WeakKind::kReal)}});
  const std::vector<Term> found = call_all(b, "linalg.qr", {z});
  const Term diagonal = call("diagonal", found[1], Attrs{{"axis1", std::int64_t(-2)}, {"axis2", std::int64_t(-1)}});
  const Term x = found[0] * expanded(call("sign", diagonal), diagonal.rank() - 1);
  return {n < m ? call("matrix_transpose", x).id() : x.id()};
}

using Kind = AttrDef::Kind;
constexpr AttrDef kFloat = {"dtype", Kind::kDType, false, "float32 by default"};
constexpr AttrDef kNormalAttrs[] = {
    {"shape", Kind::kIntegers, false, "the shape of the result without its vectors; that of the parameters by default"},
    kFloat,
    {"method", Kind::kString, false, "cholesky (the default), eigh or svd: how the covariance is factored"}};
constexpr AttrDef kOrthogonalAttrs[] = {{"n", Kind::kInteger, false, "the rows, where it is no operand"},
                                        {"shape", Kind::kIntegers, false, "how many matrices; one by default"},
                                        kFloat,
                                        {"m", Kind::kInteger, false, "the columns; as many as rows by default"}};

}  // namespace

extern const OpDef kRandomMultivariateNormal, kRandomOrthogonal;

const OpDef kRandomMultivariateNormal = composite_of(
    {"random.multivariate_normal", "Normal vectors: args key, mean, covariance.", expand_multivariate_normal, 3, 3, kNormalAttrs});
const OpDef kRandomOrthogonal = composite_of({"random.orthogonal", "Matrices with orthonormal columns, or rows: args [key] or [key, n].",
                                              expand_orthogonal, 1, 2, kOrthogonalAttrs});

}  // namespace shardlab::ops
