// reduce_sum, reduce_prod, reduce_max, reduce_min, reduce_and, reduce_or: combine the elements along axes.
#include <algorithm>

#include "runtime/ops/derive.h"
#include "runtime/ops/moves.h"
#include "runtime/ops/reduce_kernel.h"

namespace shardlab::ops {
namespace {

using namespace reduction;

template <typename F>
void kernel(const KernelArgs& args) {
  const ConstView& operand = args.operands[0];
  std::vector<bool> is_reduced(operand.type.shape.size(), false);
  for (std::int64_t axis : args.attrs.integers("axes")) is_reduced[std::size_t(axis)] = true;
  visit_dtype(operand.type.dtype, [&](auto sample) {
    using T = decltype(sample);
    if constexpr (kTakes<F, Widened<T>> && Half<T>)
      reduce_half<F, T>(operand, args.results[0], is_reduced);
    else if constexpr (kTakes<F, T>)
      reduce<F, T>(operand, args.results[0], is_reduced);
    else
      throw InternalError("a reduction of a dtype that its shape rule refuses");
  });
}

template <typename F>
bool takes(DType dtype) {
  return visit_dtype(dtype, [](auto sample) { return kTakes<F, Widened<decltype(sample)>>; });
}

template <typename F>
std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  if (!takes<F>(types[0].dtype)) {
    std::vector<DType> accepted;
    for (const DTypeInfo& each : all_dtypes())
      if (takes<F>(each.dtype)) accepted.push_back(each.dtype);
    throw_dtype_refused(op, types[0].dtype, accepted);
  }
  const auto& axes = required_integers(op, attrs, "axes");
  Shape shape;
  std::vector<bool> is_reduced(std::size_t(types[0].rank()), false);
  for (std::int64_t axis : axes) {
    if (axis < 0 || axis >= types[0].rank() || is_reduced[std::size_t(axis)])
      throw_user_error("{}: axes must be different dimensions of the operand, got {} for shape {}", op.name, text_of(axes),
                       text_of(types[0].shape));
    is_reduced[std::size_t(axis)] = true;
  }
  for (std::size_t d = 0; d < is_reduced.size(); ++d)
    if (!is_reduced[d]) shape.push_back(types[0].shape[d]);
  return {{types[0].dtype, shape}};
}

FactorRule rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs) {
  FactorRule rule(operands, results);
  const auto& axes = attrs.integers("axes");
  int next_result = 0;
  for (int d = 0; d < operands[0].rank(); ++d) {
    bool reduces = std::find(axes.begin(), axes.end(), d) != axes.end();
    rule.add(operands[0].shape[std::size_t(d)], {d}, {reduces ? -1 : next_result++}, reduces ? FactorKind::kReduce : FactorKind::kPass);
  }
  return rule;
}

Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  int rank = b.type(x).rank();
  std::vector<int> axes;
  for (int d = 0; d < rank; ++d) axes.push_back(d);
  if (auto given = axes_of(op.name, attrs, "axes", rank)) axes = *given;
  std::sort(axes.begin(), axes.end());
  return b.emit(op, {x}, Attrs{{"axes", integers_of(axes)}});
}

std::vector<Batched> batch(GraphBuilder& b, const BatchArgs& args) {
  auto [x, dim] = args.operands[0];
  std::vector<std::int64_t> axes = dims_in_batch(args.attrs.integers("axes"), dim);
  int before = int(std::count_if(axes.begin(), axes.end(), [dim = dim](std::int64_t axis) { return axis < dim; }));
  return {{b.emit1(args.op, {x}, Attrs{{"axes", axes}}), dim - before}};
}

Shape kept_shape_of(const JvpArgs& args, Shape shape) {
  for (std::int64_t axis : args.attrs.integers("axes")) shape[std::size_t(axis)] = 1;
  return shape;
}

// The mean of the tangents where the operand is the result (several where it occurs more than once). Source: jax.lax.
Values extremum_jvp(GraphBuilder& b, const JvpArgs& args) {
  ValueId x = args.operands[0], g = args.tangents[0];
  const TensorType type = b.type(x);
  ValueId kept = broadcast_to(b, reshaped(b, args.results[0], kept_shape_of(args, type.shape)), type.shape);
  ValueId is_result = converted(b, b.emit1(kEqual, {x, kept}), type.dtype);
  ValueId count = b.emit1(kReduceSum, {is_result}, args.attrs);
  return {b.emit1(kDiv, {b.emit1(kReduceSum, {b.emit1(kMul, {g, is_result})}, args.attrs), count})};
}

// Halves are multiplied until one factor is left, which holds where factors are 0. Source: JAX's derivative of reduce_prod, whose product
// is that of the halves, too.
Values prod_jvp(GraphBuilder& b, const JvpArgs& args) {
  const auto& axes = args.attrs.integers("axes");
  Shape shape = b.shape(args.operands[0]);
  std::vector<int> order;
  std::int64_t n = 1;
  for (std::int64_t axis : axes) {
    order.push_back(int(axis));
    n *= shape[std::size_t(axis)];
  }
  if (n == 0) return {kZero};
  Shape kept, flat{n};
  for (int d = 0; d < int(shape.size()); ++d)
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) {
      order.push_back(d);
      kept.push_back(shape[std::size_t(d)]);
    }
  flat.insert(flat.end(), kept.begin(), kept.end());
  ValueId x = reshaped(b, transposed(b, args.operands[0], order), flat), dx = reshaped(b, transposed(b, args.tangents[0], order), flat);
  for (std::int64_t half = (n + 1) / 2; n > 1; n = half, half = (n + 1) / 2) {
    auto second_half = [&](ValueId of, double neutral) {
      ValueId second = slice_in_dim(b, of, 0, {half, n});
      if (n == 2 * half) return second;
      std::vector<std::int64_t> padding(3 * flat.size(), 0);
      padding[1] = 1;
      return b.emit1(kPad, {second, scalar_constant(b, b.type(of).dtype, neutral)}, Attrs{{"padding", padding}});
    };
    ValueId x1 = slice_in_dim(b, x, 0, {0, half}), x2 = second_half(x, 1);
    ValueId dx1 = slice_in_dim(b, dx, 0, {0, half}), dx2 = second_half(dx, 0);
    x = b.emit1(kMul, {x1, x2});
    dx = b.emit1(kAdd, {b.emit1(kMul, {dx1, x2}), b.emit1(kMul, {x1, dx2})});
  }
  args.results[0] = reshaped(b, x, kept);
  return {reshaped(b, dx, kept)};
}

// The cotangent, repeated along the reduced axes.
Values sum_transpose(GraphBuilder& b, const TransposeArgs& args) {
  const auto& axes = args.attrs.integers("axes");
  const Shape& shape = args.operand_types[0].shape;
  std::vector<std::int64_t> kept;
  for (std::int64_t d = 0; d < std::int64_t(shape.size()); ++d)
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) kept.push_back(d);
  return {b.emit1(kBroadcastInDim, {args.cotangents[0]}, Attrs{{"shape", shape}, {"dims", kept}})};
}

template <typename F>
std::vector<Sample> samples() {
  std::vector<Sample> samples;
  auto add = [&](DType dtype, Shape shape, std::vector<std::int64_t> axes) {
    samples.push_back({{{dtype, std::move(shape)}}, Attrs{{"axes", std::move(axes)}}});
  };
  for (const auto& [dtype, name, size] : all_dtypes()) {
    if (!takes<F>(dtype)) continue;
    add(dtype, {4, 6}, {0});
    if (!is_main_dtype(dtype)) continue;
    add(dtype, {4, 6}, {1});
    add(dtype, {4, 6}, {0, 1});
    add(dtype, {2, 3, 4}, {0, 2});
    add(dtype, {7}, {0});
    add(dtype, {}, {});
    add(dtype, {0, 3}, {0});
  }
  DType dtype = takes<F>(DType::kFloat32) ? DType::kFloat32 : DType::kInt32;
  add(dtype, {40, 3, 6}, {0});
  add(dtype, {4, 4, 20, 2}, {1, 3});
  add(dtype, {2, 600}, {1});
  return samples;
}

constexpr AttrDef kAttrs[] = {{"axes", AttrDef::Kind::kScalarOrIntegers, false, "the dimensions to reduce; all by default"}};

template <typename F>
constexpr OpDef reduction_op(std::string_view name, std::string_view doc, Reduction reduction, JvpRule jvp = nullptr,
                             TransposeRule transpose = nullptr) {
  return {.name = name,
          .doc = doc,
          .attrs = kAttrs,
          .expand = expand,
          .infer = infer<F>,
          .rule = rule,
          .reduction = reduction,
          .kernel = kernel<F>,
          .jvp = jvp,
          .transpose = transpose,
          .batch = batch,
          .samples = samples<F>};
}

}  // namespace

const OpDef kReduceSum =
    reduction_op<Sum>("reduce_sum", "The sum along axes; integers wrap around.", Reduction::kSum, linear_jvp, sum_transpose);
const OpDef kReduceProd = reduction_op<Prod>("reduce_prod", "The product along axes; integers wrap around.", Reduction::kProd, prod_jvp);
const OpDef kReduceMax = reduction_op<Max>("reduce_max", "The largest element along axes; NaN wins.", Reduction::kMax, extremum_jvp);
const OpDef kReduceMin = reduction_op<Min>("reduce_min", "The smallest element along axes; NaN wins.", Reduction::kMin, extremum_jvp);
const OpDef kReduceAnd =
    reduction_op<And>("reduce_and", "Whether all elements along axes are true; bit by bit for integers.", Reduction::kAnd);
const OpDef kReduceOr = reduction_op<Or>("reduce_or", "Whether any element along axes is true; bit by bit for integers.", Reduction::kOr);

}  // namespace shardlab::ops
