// polyfit, tensorsolve, tensorinv, and block_diag: systems of linear equations put another way, as jax.numpy does.
#include <algorithm>

#include "runtime/ops/compose.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {
namespace {

constexpr std::int64_t kDegreeMax = 4095;

// Rows of x and y are multiplied by the weights. Columns of powers are scaled to length 1 before they are fitted.
Values expand_polyfit(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const std::int64_t degree = static_integer(op, args, 2, attrs, "deg");
  const DType dtype = inexact(promoted_dtype(b, args.first(2)));
  const Term x(b, value_of(b, args[0], dtype));
  Term y(b, value_of(b, args[1], dtype));
  if (degree < 0 || degree > kDegreeMax) throw_user_error("{}: expected deg >= 0, and at most {}, got {}", op.name, kDegreeMax, degree);
  if (x.rank() != 1) throw_user_error("{}: expected 1D vector for x, got {}", op.name, x.text());
  if (x.elements() == 0) throw_user_error("{}: expected non-empty vector for x, got {}", op.name, x.text());
  if (y.rank() < 1 || y.rank() > 2) throw_user_error("{}: expected 1D or 2D array for y, got {}", op.name, y.text());
  if (y.size(0) != x.size(0)) throw_user_error("{}: expected x and y to have same length, got {} and {}", op.name, x.text(), y.text());
  Term powers = call("vander", x, Attrs{{"N", degree + 1}});
  if (args.size() > 3) {
    const Term w(b, value_of(b, args[3], dtype));
    if (w.rank() != 1) throw_user_error("{}: expected a 1-d array for weights, got {}", op.name, w.text());
    if (w.size(0) != y.size(0))
      throw_user_error("{}: expected w and y to have the same length, got {} and {}", op.name, w.text(), y.text());
    powers = powers * expanded(w, 1);
    y = y * (y.rank() == 2 ? expanded(w, 1) : w);
  }
  const Term scale = call("sqrt", summed(powers * powers, {0}));
  const double precision = dtype == DType::kFloat64 || dtype == DType::kComplex128 ? 0x1p-52 : 0x1p-23;
  const double rcond = attrs.has("rcond") ? attrs.number("rcond") : double(x.elements()) * precision;
  const Term found = call_all(b, "linalg.lstsq", {powers / expanded(scale, 0), y}, Attrs{{"rcond", rcond}}).at(0);
  return {(found / (found.rank() == 2 ? expanded(scale, 1) : scale)).id()};
}

Values expand_tensorinv(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Term x = as_inexact(term(b, args[0]));
  const std::int64_t ind = attrs.integer("ind", 2);
  if (ind <= 0) throw_user_error("{}: ind must be a positive integer; got ind={}", op.name, ind);
  const Shape shape = x.shape();
  const auto middle = shape.begin() + std::min<std::int64_t>(ind, x.rank());
  Shape result(middle, shape.end());
  const std::int64_t rows = element_count(Shape(shape.begin(), middle)), columns = element_count(result);
  if (rows != columns)
    throw_user_error(
        "{}: tensorinv is only possible when the product of the first `ind` dimensions equals that of the remaining dimensions. got "
        "arr.shape={} with ind={}.",
        op.name, text_of(shape), ind);
  result.insert(result.end(), shape.begin(), middle);
  return {reshaped(call("linalg.inv", reshaped(x, {rows, columns})), result).id()};
}

Values expand_tensorsolve(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::vector<Term> both = promoted_terms(b, args);
  Term a = as_inexact(both[0]);
  const Term right = as_inexact(both[1]);
  if (attrs.has("axes")) {
    std::vector<int> order, last;
    for (std::int64_t axis : integer_list_of(attrs, "axes")) last.push_back(normalized_axis(op.name, axis, a.rank()));
    for (int d = 0; d < a.rank(); ++d)
      if (std::find(last.begin(), last.end(), d) == last.end()) order.push_back(d);
    order.insert(order.end(), last.begin(), last.end());
    if (int(order.size()) != a.rank())
      throw_user_error("{}: axes {} names a dimension twice", op.name, text_of(integer_list_of(attrs, "axes")));
    a = transposed(a, order);
  }
  const Shape shape = a.shape();
  const auto middle = shape.begin() + std::min(right.rank(), a.rank());
  if (Shape(shape.begin(), middle) != right.shape())
    throw_user_error("{}: After moving axes to end, leading shape of a must match shape of b. got a.shape={}, b.shape={}", op.name,
                     text_of(shape), text_of(right.shape()));
  const Shape result(middle, shape.end());
  if (element_count(result) != right.elements())
    throw_user_error("{}: Input arrays must have prod(a.shape[:b.ndim]) == prod(a.shape[b.ndim:]); got a.shape={}, b.ndim={}.", op.name,
                     text_of(shape), right.rank());
  const std::int64_t n = right.elements();
  return {reshaped(call(b, "linalg.solve", {reshaped(a, {n, n}), raveled(right)}), result).id()};
}

Values expand_block_diag(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  std::vector<Term> blocks;
  const DType dtype = promoted_dtype(b, args);
  std::int64_t columns = 0, before = 0;
  for (const Arg& arg : args) {
    Term block(b, value_of(b, arg, dtype));
    if (block.rank() > 2)
      throw_user_error("Arguments to jax.scipy.linalg.block_diag must have at most 2 dimensions, got {} in {}.", block.text(), op.name);
    blocks.push_back(call("atleast_2d", block));
    columns += blocks.back().size(1);
  }
  for (Term& block : blocks) {
    const std::int64_t own = block.size(1);
    const std::vector<std::int64_t> padding{0, 0, 0, before, columns - own - before, 0};
    block = Term(b, b.emit1(kPad, {block.id(), scalar_constant(b, dtype, 0.0)}, Attrs{{"padding", padding}}));
    before += own;
  }
  return {joined(blocks, 0).id()};
}

using Kind = AttrDef::Kind;
constexpr AttrDef kFitAttrs[] = {
    {"deg", Kind::kInteger, false, "the degree, where it is no operand"},
    {"rcond", Kind::kNumber, false, "singular values below this share of the largest are taken as 0; by default by the dtype's precision"}};
constexpr AttrDef kInverseAttrs[] = {{"ind", Kind::kInteger, false, "how many of the first dimensions are rows; 2 by default"}};
constexpr AttrDef kSolveAttrs[] = {{"axes", Kind::kScalarOrIntegers, false, "dimensions that go last before; none by default"}};

}  // namespace

extern const OpDef kPolyfit, kTensorinv, kTensorsolve, kBlockDiag;

const OpDef kPolyfit = composite_of(
    {"polyfit", "The polynomial of least squares: args [x, y, deg] or [x, y, deg, weights].", expand_polyfit, 2, 4, kFitAttrs});
const OpDef kTensorinv =
    composite_of({"linalg.tensorinv", "The inverse of an array as a matrix of its dimensions.", expand_tensorinv, 1, 1, kInverseAttrs});
const OpDef kTensorsolve =
    composite_of({"linalg.tensorsolve", "The array whose tensordot with the first is the second.", expand_tensorsolve, 2, 2, kSolveAttrs});
const OpDef kBlockDiag =
    compiled_alone(composite_of({"linalg.block_diag", "Matrices along the diagonal of one, 0 elsewhere.", expand_block_diag, 1, -1}));

}  // namespace shardlab::ops
