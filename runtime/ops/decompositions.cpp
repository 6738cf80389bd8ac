#include "runtime/ops/decompositions.h"

#include <numeric>

namespace shardlab::ops {

void check_matrix(const OpDef& op, const TensorType& type, std::size_t operand) {
  if (type.rank() < 2)
    throw_user_error("Input {} to {} must have rank at least 2, but got shape={}", operand, op.name, text_of(type.shape));
  bool has_kernel = false;
  visit_matrix_dtype(type.dtype, [&](auto) { has_kernel = true; });
  if (!has_kernel)
    throw_user_error("{}: Unsupported dtype {}; convert to float32, float64, complex64 or complex128, and back", op.name,
                     name_of(type.dtype));
}

void check_square_matrix(const OpDef& op, const TensorType& type, std::size_t operand) {
  check_matrix(op, type, operand);
  const Shape& shape = type.shape;
  if (shape[shape.size() - 2] != shape.back())
    throw_user_error("The input to {} must be a square matrix. Got shape {}.", op.name, text_of(shape));
}

TensorType like_matrix(const TensorType& operand, const Shape& dims) {
  Shape shape(operand.shape.begin(), operand.shape.end() - 2);
  shape.insert(shape.end(), dims.begin(), dims.end());
  return {operand.dtype, shape};
}

FactorRule matrix_rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs&) {
  FactorRule rule(operands, results);
  const int batch = operands[0].rank() - 2;
  for (int d = 0; d < batch; ++d)
    rule.add(operands[0].shape[std::size_t(d)], std::vector<int>(operands.size(), d), std::vector<int>(results.size(), d));
  for (std::size_t i = 0; i < operands.size() + results.size(); ++i) {
    const bool is_operand = i < operands.size();
    const TensorType& type = is_operand ? operands[i] : results[i - operands.size()];
    for (int d = batch; d < type.rank(); ++d) {
      std::vector<int> of_operands(operands.size(), -1), of_results(results.size(), -1);
      (is_operand ? of_operands[i] : of_results[i - operands.size()]) = d;
      rule.add(type.shape[std::size_t(d)], of_operands, of_results, FactorKind::kReplicate, true);
    }
  }
  return rule;
}

std::vector<Batched> batch_matrices(GraphBuilder& b, const BatchArgs& args) {
  Values operands;
  for (const Batched& x : args.operands) operands.push_back(batched_at(b, x, 0, args.size));
  std::vector<Batched> results;
  for (ValueId value : b.emit(args.op, operands, args.attrs)) results.push_back({value, 0});
  return results;
}

Values expand_matrices(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Values operands;
  DType dtype = inexact(promoted_dtype(b, args));
  for (const Arg& arg : args) operands.push_back(value_of(b, arg, dtype));
  return b.emit(op, operands, attrs);
}

Term adjoint(const Term& x) {
  Term transposed = call("matrix_transpose", x);
  return is_complex(x.dtype()) ? call("conj", transposed) : transposed;
}
Term matrix_product(const Term& x, const Term& y) { return call(x.builder(), "matmul", {x, y}); }
Term lower_triangle(const Term& x, std::int64_t k) { return call("tril", x, Attrs{{"k", k}}); }
Term upper_triangle(const Term& x, std::int64_t k) { return call("triu", x, Attrs{{"k", k}}); }
Term diagonal(const Term& x) { return call("diagonal", x, Attrs{{"axis1", std::int64_t(-2)}, {"axis2", std::int64_t(-1)}}); }
Term unit_matrix(const Term& like, std::int64_t size) {
  return converted(call(like.builder(), "eye", {size}, Attrs{{"dtype", DType::kFloat32}}), like.dtype());
}
Term real_part(const Term& x) { return is_complex(x.dtype()) ? call("real", x) : x; }

Term hermitian_of(const Term& x, bool lower) {
  Term beside = lower ? lower_triangle(x, -1) : upper_triangle(x, 1);
  Term on = is_complex(x.dtype()) ? converted(real_part(x), x.dtype()) : x;
  return beside + adjoint(beside) + on * unit_matrix(x, x.size(-1));
}

Term phase_change(const Term& v, const Term& change) {
  Term sizes = call("abs", v);
  Term is_first = call("argmax", sizes, Attrs{{"axis", std::int64_t(-2)}, {"keepdims", true}});
  Term row = call(v.builder(), "arange", {v.size(-2)}, Attrs{{"dtype", DType::kInt32}});
  Term mask = converted(call(v.builder(), "equal", {expanded(row, 1), is_first}), sizes.dtype());
  auto chosen = [&](const Term& x) { return summed(x * mask, {v.rank() - 2}, true); };
  Term turn = -chosen(call("imag", change)) / chosen(sizes);
  return converted(turn, v.dtype()) * Scalar{std::complex<double>(0, 1)};
}

Term triangular_solution(const Term& a, const Term& b, const TriangularSolve& how) {
  if (is_half(b.dtype()))
    return converted(triangular_solution(converted(a, DType::kFloat32), converted(b, DType::kFloat32), how), b.dtype());
  return {a.builder(), a.builder().emit1(kTriangularSolve, {a.id(), b.id()},
                                         Attrs{{"left_side", how.left_side},
                                               {"lower", how.lower},
                                               {"transpose_a", how.transpose_a},
                                               {"conjugate_a", how.conjugate_a},
                                               {"unit_diagonal", how.unit_diagonal}})};
}

namespace {

constexpr TriangularSolve kByLower{.left_side = true, .lower = true, .unit_diagonal = true}, kByUpper{.left_side = true};

TriangularSolve adjoint_of(TriangularSolve how) {
  how.transpose_a = how.conjugate_a = true;
  return how;
}

}  // namespace

Term permuted_rows(const Term& x, const Term& order) {
  if (x.elements() == 0) return x;
  const std::int64_t row = x.rank() - 2;
  std::vector<std::int64_t> batch(std::size_t(row), 0);
  std::iota(batch.begin(), batch.end(), 0);
  Shape sizes(std::size_t(row) + 1, 1);
  sizes.push_back(x.size(-1));
  const Attrs attrs{{"offset_dims", std::vector<std::int64_t>{row + 1}},
                    {"collapsed_slice_dims", std::vector<std::int64_t>{row}},
                    {"start_index_map", std::vector<std::int64_t>{row}},
                    {"operand_batching_dims", batch},
                    {"start_indices_batching_dims", batch},
                    {"slice_sizes", sizes},
                    {"is_masked", true}};  // none lies out of bounds
  return {x.builder(), x.builder().emit1(kGather, {x.id(), expanded(order, order.rank()).id()}, attrs)};
}

Term lower_solution(const Term& factors, const Term& permutation, const Term& b) {
  return triangular_solution(factors, permuted_rows(b, permutation), kByLower);
}
Term lu_solution(const Term& factors, const Term& permutation, const Term& b, bool adjoint) {
  if (!adjoint) return triangular_solution(factors, lower_solution(factors, permutation, b), kByUpper);
  const Term x = triangular_solution(factors, triangular_solution(factors, b, adjoint_of(kByUpper)), adjoint_of(kByLower));
  return permuted_rows(x, call("argsort", permutation));
}

std::int64_t matrix_count(const ConstView& view) {
  std::int64_t count = 1;
  for (std::size_t d = 0; d + 2 < view.type.shape.size(); ++d) count *= view.type.shape[d];
  return count;
}

}  // namespace shardlab::ops
