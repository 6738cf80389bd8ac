// triangular_solve: x with op(A) x = b or x op(A) = b, of triangular matrices A.
#include "runtime/ops/decompositions.h"

namespace shardlab::ops {
namespace {

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  const TensorType &a = types[0], &b = types[1];
  check_square_matrix(op, a);
  check_matrix(op, b, 1);
  if (a.dtype != b.dtype) throw_user_error("{}: requires arguments to have the same dtypes, got {} and {}", op.name, a.text(), b.text());
  const Shape batch(a.shape.begin(), a.shape.end() - 2);
  const std::int64_t meets = b.shape[b.shape.size() - (attrs.flag("left_side") ? 2 : 1)];
  if (batch != Shape(b.shape.begin(), b.shape.end() - 2) || meets != a.shape.back())
    throw_user_error("Incompatible shapes for arguments to triangular_solve: {} and {}.", text_of(a.shape), text_of(b.shape));
  return {b};
}

// b's other dimension is the results': a device solves for what it holds. Nothing propagates along it, as of JAX's calls of LAPACK.
FactorRule rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs) {
  FactorRule rule(operands, results);
  const int rank = operands[0].rank(), row = rank - 2, column = rank - 1;
  const bool left = attrs.flag("left_side");
  for (int d = 0; d < rank - 2; ++d) rule.add(operands[0].shape[std::size_t(d)], {d, d}, {d});
  const std::int64_t size = operands[0].shape.back();
  for (int d : {row, column}) rule.add(size, {d, -1}, {-1}, FactorKind::kReplicate, true);
  const int solved = left ? row : column, other = left ? column : row;
  rule.add(size, {-1, solved}, {solved}, FactorKind::kReplicate, true);
  rule.add(operands[1].shape[std::size_t(other)], {-1, other}, {other}, FactorKind::kPass, true);
  return rule;
}

template <unsigned kMode, typename A, typename X>
void solve_in_place(const A& a, X& x, bool left) {
  if (left)
    a.template triangularView<kMode>().solveInPlace(x);
  else
    a.template triangularView<kMode>().template solveInPlace<Eigen::OnTheRight>(x);
}
template <typename A, typename X>
void solve_in_place(const A& a, X& x, bool left, bool lower, bool unit) {
  if (lower && unit)
    solve_in_place<Eigen::UnitLower>(a, x, left);
  else if (lower)
    solve_in_place<Eigen::Lower>(a, x, left);
  else if (unit)
    solve_in_place<Eigen::UnitUpper>(a, x, left);
  else
    solve_in_place<Eigen::Upper>(a, x, left);
}

void kernel(const KernelArgs& args) {
  const bool left = args.attrs.flag("left_side"), lower = args.attrs.flag("lower"), unit = args.attrs.flag("unit_diagonal");
  const bool transposed = args.attrs.flag("transpose_a"), conjugated = args.attrs.flag("conjugate_a");
  visit_matrix_dtype(args.operands[0].type.dtype, [&](auto sample) {
    using T = decltype(sample);
    for (std::int64_t i = 0; i < matrix_count(args.operands[0]); ++i) {
      RowMajor<T> a = matrix_at<T>(args.operands[0], i);
      if (conjugated) a = a.conjugate().eval();
      if (transposed) a.transposeInPlace();
      auto x = matrix_at<T>(args.results[0], i);
      x = matrix_at<T>(args.operands[1], i);
      if (x.size() > 0) solve_in_place(a, x, left, lower != transposed, unit);
    }
  });
}

TriangularSolve how(const Attrs& attrs) {
  return {attrs.flag("left_side"), attrs.flag("lower"), attrs.flag("transpose_a"), attrs.flag("conjugate_a"), attrs.flag("unit_diagonal")};
}

Values expand(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  const DType dtype = inexact(promoted_dtype(b, args));
  return {triangular_solution(Term(b, value_of(b, args[0], dtype)), Term(b, value_of(b, args[1], dtype)), how(attrs)).id()};
}

// op(A) x = b: op(A) dx = db - op(dA) x. The cheaper of two orders of products, as JAX has it.
Values jvp(GraphBuilder& b, const JvpArgs& args) {
  const TriangularSolve given = how(args.attrs);
  Term a(b, args.operands[0]), x(b, args.results[0]);
  ValueId of_b = kZero, of_a = kZero;
  if (args.tangents[1] != kZero) of_b = triangular_solution(a, Term(b, args.tangents[1]), given).id();
  if (args.tangents[0] != kZero) {
    const std::int64_t k = given.unit_diagonal ? 1 : 0;
    Term change(b, args.tangents[0]);
    change = -(given.lower ? lower_triangle(change, -k) : upper_triangle(change, k));
    if (given.transpose_a) change = call("matrix_transpose", change);
    if (given.conjugate_a && is_complex(change.dtype())) change = call("conj", change);
    const std::int64_t rows = x.size(-2), columns = x.size(-1);
    auto inverse = [&](const Term& right) { return triangular_solution(a, right, given); };
    Term moved = given.left_side ? (rows > columns ? inverse(matrix_product(change, x)) : matrix_product(inverse(change), x))
                                 : (rows < columns ? inverse(matrix_product(x, change)) : matrix_product(x, inverse(change)));
    of_a = moved.id();
  }
  return {add_tangents(b, of_b, of_a)};
}

Values transpose(GraphBuilder& b, const TransposeArgs& args) {
  TriangularSolve given = how(args.attrs);
  given.transpose_a = !given.transpose_a;
  return {kZero, triangular_solution(Term(b, args.operands[0]), Term(b, args.cotangents[0]), given).id()};
}

// Where A is the same for all, the batch's right-hand sides stand beside each other.
std::vector<Batched> batch(GraphBuilder& b, const BatchArgs& args) {
  const Batched &a = args.operands[0], &right = args.operands[1];
  if (a.dim != kNotBatched) return batch_matrices(b, args);
  const bool left = args.attrs.flag("left_side");
  const int rank = b.type(right.value).rank();
  const int to = left ? rank - 1 : rank - 2;  // beside the dimension that is not solved for
  ValueId moved = moved_dim(b, right.value, right.dim, to);
  const Shape apart = b.shape(moved);
  Shape together = apart;
  const std::size_t first = std::size_t(left ? rank - 2 : rank - 3);
  together[first] *= together[first + 1];
  together.erase(together.begin() + std::ptrdiff_t(first) + 1);
  ValueId solved = b.emit1(kTriangularSolve, {a.value, reshaped(b, moved, together)}, args.attrs);
  return {{reshaped(b, solved, apart), to}};
}

Sample sample(DType dtype, Shape a, Shape b, TriangularSolve given) {
  return {{{dtype, std::move(a)}, {dtype, std::move(b)}},
          Attrs{{"left_side", given.left_side},
                {"lower", given.lower},
                {"transpose_a", given.transpose_a},
                {"conjugate_a", given.conjugate_a},
                {"unit_diagonal", given.unit_diagonal}}};
}
std::vector<Sample> samples() {
  return {sample(DType::kFloat32, {3, 3}, {3, 2}, {.left_side = true, .lower = true}),
          sample(DType::kFloat64, {4, 3, 3}, {4, 3, 2}, {.left_side = true, .transpose_a = true}),
          sample(DType::kFloat64, {2, 2}, {4, 2}, {.lower = true, .unit_diagonal = true}),
          sample(DType::kComplex128, {2, 2, 2}, {2, 3, 2}, {.transpose_a = true, .conjugate_a = true}),
          sample(DType::kComplex64, {3, 3}, {3, 1}, {.left_side = true, .lower = true, .transpose_a = true, .unit_diagonal = true}),
          sample(DType::kFloat32, {0, 0}, {0, 2}, {.left_side = true})};
}

constexpr AttrDef kAttrs[] = {
    {"left_side", AttrDef::Kind::kFlag, false, "whether A stands on the left of x"},
    {"lower", AttrDef::Kind::kFlag, false, "whether A's lower triangle is taken; its upper by default"},
    {"transpose_a", AttrDef::Kind::kFlag, false, "whether A is transposed"},
    {"conjugate_a", AttrDef::Kind::kFlag, false, "whether A is conjugated"},
    {"unit_diagonal", AttrDef::Kind::kFlag, false, "whether A's diagonal is taken as 1, and not read"},
};

}  // namespace

const OpDef kTriangularSolve = {.name = "triangular_solve",
                                .doc =
                                    "x with A x = b, or x A = b (the default), of triangular A [..., n, n] and b [..., m, k]: "
                                    "args [A, b]. By Eigen.",
                                .operands_min = 2,
                                .operands_max = 2,
                                .attrs = kAttrs,
                                .expand = expand,
                                .infer = infer,
                                .rule = rule,
                                .kernel = kernel,
                                .jvp = jvp,
                                .transpose = transpose,
                                .batch = batch,
                                .samples = samples};

}  // namespace shardlab::ops
