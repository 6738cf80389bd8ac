// qr: Q R = x with unitary Q and upper triangular R, by Householder's reflections.
#include <Eigen/QR>

#include "runtime/ops/decompositions.h"

namespace shardlab::ops {
namespace {

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  const TensorType& x = types[0];
  check_matrix(op, x);
  const std::int64_t rows = x.shape[x.shape.size() - 2], columns = x.shape.back();
  const std::int64_t kept = attrs.flag("full_matrices", true) ? rows : std::min(rows, columns);
  return {like_matrix(x, {rows, kept}), like_matrix(x, {kept, columns})};
}

void kernel(const KernelArgs& args) {
  visit_matrix_dtype(args.operands[0].type.dtype, [&](auto sample) {
    using T = decltype(sample);
    for (std::int64_t i = 0; i < matrix_count(args.operands[0]); ++i) {
      auto q = matrix_at<T>(args.results[0], i), r = matrix_at<T>(args.results[1], i);
      if (args.operands[0].type.elements() == 0) {
        q.setIdentity();
        r.setZero();
        continue;
      }
      Eigen::HouseholderQR<RowMajor<T>> found(matrix_at<T>(args.operands[0], i));
      q.setIdentity();
      q.applyOnTheLeft(found.householderQ());
      r = found.matrixQR().topRows(r.rows()).template triangularView<Eigen::Upper>();
    }
  });
}

struct Change {
  Term q, r;
};

// Of at least as many rows as columns, of the leading columns of Q. Source: Townsend, "Differentiating the QR decomposition" (2018).
Change thin_change(const Term& q, const Term& r, const Term& tangent) {
  Term right = triangular_solution(r, tangent, {});
  Term inner = matrix_product(adjoint(q), right);
  Term below = lower_triangle(inner, -1);
  Term turn = below - adjoint(below);
  if (is_complex(q.dtype())) turn = turn + unit_matrix(q, r.size(-1)) * (inner - converted(call("real", inner), q.dtype()));
  return {matrix_product(q, turn - inner) + right, matrix_product(inner - turn, r)};
}

// More rows than columns and all of Q. Source: "QR decomposition's derivative" (2409.13374), equations 32 and 33: Q - 1 has as many
// independent columns as there are reflections, so the other columns follow from the leading ones.
Term other_columns_change(const Term& q, const Term& thin, std::int64_t columns) {
  const int row = q.rank() - 2, column = q.rank() - 1;
  const std::int64_t rows = q.size(-1);
  auto upper = [&](const Term& x) { return sliced(x, row, 0, columns); };
  auto lower = [&](const Term& x) { return sliced(x, row, columns, rows); };
  Term leading = sliced(q, column, 0, columns), others = sliced(q, column, columns, rows);
  std::vector<Term> factors = call_all(q.builder(), "lu", {upper(leading) - unit_matrix(q, columns)});
  Term z_adjoint = lu_solution(factors[0], factors[2], adjoint(lower(leading)), true), z = adjoint(z_adjoint);
  return matrix_product(thin, z_adjoint) -
         matrix_product(leading + matrix_product(others, z), adjoint(lower(thin) - matrix_product(z, upper(thin))));
}

Values jvp(GraphBuilder& b, const JvpArgs& args) {
  Term x(b, args.operands[0]), q(b, args.results[0]), r(b, args.results[1]), tangent(b, args.tangents[0]);
  const std::int64_t rows = x.size(-2), columns = x.size(-1);
  const int row = x.rank() - 2, column = x.rank() - 1;
  if (rows < columns) {  // the leading columns are decomposed, the others follow them
    Change leading = thin_change(q, sliced(r, column, 0, rows), sliced(tangent, column, 0, rows));
    Term others = matrix_product(adjoint(leading.q), sliced(x, column, rows, columns)) +
                  matrix_product(adjoint(q), sliced(tangent, column, rows, columns));
    return {leading.q.id(), joined({leading.r, others}, column).id()};
  }
  const bool is_full = q.size(-1) > columns;
  Term leading = is_full ? sliced(q, column, 0, columns) : q;
  Change thin = thin_change(leading, is_full ? sliced(r, row, 0, columns) : r, tangent);
  if (!is_full) return {thin.q.id(), thin.r.id()};
  Term none = filled_like(sliced(r, row, columns, rows), 0.0);
  return {joined({thin.q, other_columns_change(q, thin.q, columns)}, column).id(), joined({thin.r, none}, row).id()};
}

std::vector<Sample> samples() {
  auto sample = [](DType dtype, Shape shape, bool full) { return Sample{{{dtype, std::move(shape)}}, Attrs{{"full_matrices", full}}}; };
  return {sample(DType::kFloat32, {3, 3}, false),       sample(DType::kFloat64, {4, 4, 2}, false), sample(DType::kFloat64, {2, 4}, false),
          sample(DType::kComplex128, {2, 3, 2}, false), sample(DType::kFloat64, {4, 2}, true),     sample(DType::kComplex64, {2, 2}, true),
          sample(DType::kFloat32, {3, 0}, true)};
}

constexpr AttrDef kAttrs[] = {
    {"full_matrices", AttrDef::Kind::kFlag, false, "whether Q is square; else it has min(m, n) columns. By default it is"}};

}  // namespace

const OpDef kQr =
    decomposition({.name = "qr",
                   .doc = "Q R = x, of matrices [..., m, n], with unitary Q [..., m, k] and upper triangular R [..., k, n], whose diagonal "
                          "is real. By Eigen.",
                   .attrs = kAttrs,
                   .infer = infer,
                   .kernel = kernel,
                   .jvp = jvp,
                   .samples = samples});

}  // namespace shardlab::ops
