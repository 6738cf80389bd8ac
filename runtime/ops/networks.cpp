// dot_product_attention, standardize, segment_sum and other functions of jax.nn, jax.ops and jax.lax, made of primitives.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/ops/loops.h"
#include "runtime/ops/reductions.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// softmax(q k^T / sqrt(width)) v, heads and groups of heads apart: [batch, length, heads, width].
Values expand_attention(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::vector<Term> qkv = promoted_terms(b, args.first(3));
  bool is_single = qkv[0].rank() == 3;
  for (Term& each : qkv) {
    if (is_single && each.rank() == 3) each = expanded(each, 0);
    if (each.rank() != 4) throw_user_error("{}: query, key and value must have 3 or 4 dimensions, got {}", op.name, each.text());
  }
  Term q = qkv[0], k = qkv[1], v = qkv[2];
  std::int64_t batch = q.size(0), length = q.size(1), heads = q.size(2), width = q.size(3), keys = k.size(1), groups = k.size(2);
  if (k.size(0) != batch || v.size(0) != batch || v.shape() != k.shape() || k.size(3) != width || groups == 0 || heads % groups != 0)
    throw_user_error("{}: shapes do not fit: query {}, key {}, value {}", op.name, q.text(), k.text(), v.text());
  std::int64_t per_group = heads / groups;
  double scale = attrs.has("scale") ? attrs.number("scale") : 1 / std::sqrt(double(width));
  Term grouped = reshaped(q, {batch, length, groups, per_group, width});
  Term logits = call(b, "einsum", {grouped, k}, Attrs{{"subscripts", std::string("btngh,bsnh->bntgs")}});
  if (is_half(logits.dtype())) logits = converted(logits, DType::kFloat32);
  logits = transposed(logits * scale, {3, 0, 1, 2, 4});  // [heads of a group, batch, groups, queries, keys]
  auto shaped = [&](const Arg& arg) {                    // [batch, heads, length, keys], or sizes of 1
    Term x = term(b, arg);
    while (x.rank() < 4) x = expanded(x, 0);
    if (x.rank() != 4) throw_user_error("{}: bias and mask have 4 dimensions, got {}", op.name, x.text());
    Shape shape = x.shape();
    check_broadcasts_to(op.name, shape, {batch, heads, length, keys});
    if (shape[1] == heads && heads != 1) return transposed(reshaped(x, {shape[0], groups, per_group, shape[2], shape[3]}), {2, 0, 1, 3, 4});
    return reshaped(x, {1, shape[0], 1, shape[2], shape[3]});
  };
  const std::size_t by_place = args.size() - attrs.has("bias") - attrs.has("mask");
  auto operand = [&](std::string_view name, std::size_t place) {
    auto given = named_operand(op, args, attrs, name);
    return !given && place < by_place ? std::optional(args[place]) : given;
  };
  if (auto bias = operand("bias", 3)) logits = logits + shaped(*bias);
  double least = -0.7 * double(std::numeric_limits<float>::max());
  if (auto mask = operand("mask", 4)) logits = where(shaped(*mask), logits, least);
  if (attrs.flag("is_causal")) {
    Term ones(b, filled(b, {DType::kBool, {length, keys}}, 1.0));
    logits = where(call("tril", ones), logits, least);
  }
  Term weights = converted(call("softmax", logits, Attrs{{"axis", std::int64_t(-1)}}), k.dtype());
  Term result = call(b, "einsum", {weights, v}, Attrs{{"subscripts", std::string("gbnts,bsnh->btngh")}});
  Shape shape{batch, length, heads, width};
  if (is_single) shape.erase(shape.begin());
  return {reshaped(result, shape).id()};
}

Values expand_standardize(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = as_inexact(term(b, args[0]));
  Attrs kept{{"keepdims", true}};
  kept.set("axis", attrs.has("axis") ? integer_list_of(attrs, "axis") : std::vector<std::int64_t>{-1});
  std::optional<Arg> mask = named_operand(op, args, attrs, "where");
  if (args.size() > 1 && !mask) throw_user_error("{}: takes one operand; give which elements take part as 'where'", op.name);
  auto mean = [&](const Term& t) {
    if (!mask) return call("mean", t, kept);
    Attrs own = kept;
    return call(b, "mean", {t, term(b, *mask)}, own.set("where", std::int64_t(1)));
  };
  Term centre = mean(x);
  Term spread = call(b, "maximum", {mean(x * x) - centre * centre, 0.0});
  double epsilon = attrs.has("epsilon") ? attrs.number("epsilon") : 1e-5;
  return {((x - centre) * call("rsqrt", spread + epsilon)).id()};
}

Values expand_sparse_plus(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  Term x = as_inexact_beside(term(b, args[0]), WeakKind::kReal), y = x + 1.0;
  return {where(x <= -1.0, 0.0, where(x >= 1.0, x, y * y / 4.0)).id()};
}
Values expand_sparse_sigmoid(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  return {(0.5 * call(b, "clip", {as_inexact_beside(term(b, args[0]), WeakKind::kReal) + 1.0, 0.0, 2.0})).id()};
}
Values expand_log1mexp(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  const Term x = as_inexact(term(b, args[0]));
  auto value = [](const Terms& at) {
    return where(at[0] < std::log(2.0), call("log", -call("expm1", -at[0])), call("log1p", -call("exp", -at[0])));
  };
  auto tangent = [](const Terms& at, const Term&, const Terms& tangents) { return tangents[0] / call("expm1", at[0]); };
  return {with_derivative({x}, {value, tangent}).id()};
}
Values expand_logmeanexp(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = as_inexact(term(b, args[0]));
  double count = double(reduced_count(b, x.id(), reduced_axes(b, op, x.id(), attrs)));
  return {(call("logsumexp", x, attrs) - std::log(count)).id()};
}

// --- jax.ops: rows combined by the segment that each belongs to.

Term neutral(const Term& x, std::string_view op, const Shape& shape) {
  GraphBuilder& b = x.builder();
  TensorType type{x.dtype(), shape};
  if (op == "segment_sum") return Term(b, filled(b, type, 0.0));
  if (op == "segment_prod") return Term(b, filled(b, type, 1.0));
  bool is_max = op == "segment_max";
  if (is_inexact(x.dtype())) return Term(b, filled(b, type, is_max ? -kInfinity : kInfinity));
  Term none(b, filled(b, {x.dtype(), shape}, 0.0));
  if (x.dtype() == DType::kBool) return Term(b, filled(b, type, is_max ? 0.0 : 1.0));
  if (is_unsigned_integer(x.dtype())) return is_max ? none : call("invert", none);
  std::int64_t bits = 8 * std::int64_t(size_of(x.dtype()));
  auto least = std::int64_t(~std::uint64_t(0) << (bits - 1));
  return Term(b, filled(b, type, Scalar{is_max ? least : ~least}));
}

Values expand_segment(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = term(b, args[0]), segments = term(b, args[1]);
  if (!is_integer(segments.dtype())) throw_user_error("{}: segment_ids must be integers, got {}", op.name, segments.text());
  if (segments.rank() != 1 || x.rank() == 0 || x.size(0) != segments.size(0))
    throw_user_error("{}: wanted a segment for each row, got {} for {}", op.name, segments.text(), x.text());
  if (args.size() < 3 && !attrs.has("num_segments"))
    throw_user_error("{}: 'num_segments' is missing; it is the shape of the result, which cannot depend on values", op.name);
  Shape shape = x.shape();
  shape[0] = static_integer(op, args, 2, attrs, "num_segments");
  check_shape(op.name, shape);
  std::string_view how = op.name == "segment_sum"    ? "scatter_add"
                         : op.name == "segment_prod" ? "scatter_mul"
                         : op.name == "segment_max"  ? "scatter_max"
                                                     : "scatter_min";
  std::vector<std::int64_t> window, first{0};
  for (int d = 1; d < x.rank(); ++d) window.push_back(d);
  return {call(b, how, {neutral(x, op.name, shape), expanded(segments, 1), x},
               Attrs{{"update_window_dims", window}, {"collapsed_slice_dims", first}, {"start_index_map", first}})
              .id()};
}

// --- jax.lax.

Values expand_batch_matmul(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  std::vector<Term> both = promoted_terms(b, args);
  int rank = both[0].rank();
  if (rank < 2 || both[1].rank() != rank)
    throw_user_error("{}: Arguments to batch_matmul must be at least 2D and of equal rank, got {}, {}", op.name, both[0].text(),
                     both[1].text());
  std::vector<std::int64_t> batch;
  for (int d = 0; d < rank - 2; ++d) batch.push_back(d);
  std::vector<std::int64_t> twice = batch;
  twice.insert(twice.end(), batch.begin(), batch.end());
  return {call(b, "dot_general", {both[0], both[1]}, Attrs{{"contract", std::vector<std::int64_t>{rank - 1, rank - 2}}, {"batch", twice}})
              .id()};
}

Values expand_collapse(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = term(b, args[0]);
  std::int64_t rank = x.rank(), start = static_integer(op, args, 1, attrs, "start_dimension"),
               stop = static_integer(op, args, 2, attrs, "stop_dimension", rank);
  if (start < 0) start += rank;
  if (stop < 0) stop += rank;
  if (start < 0 || stop > rank || start > stop)
    throw_user_error("{}: dimensions {} to {} are not those of {}", op.name, start, stop, x.text());
  Shape shape = x.shape(), result(shape.begin(), shape.begin() + start);
  result.push_back(element_count(Shape(shape.begin() + start, shape.begin() + stop)));
  result.insert(result.end(), shape.begin() + stop, shape.end());
  return {reshaped(x, result).id()};
}

Values expand_slice_in_dim(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = term(b, args[0]);
  int axis = normalized_axis(op.name, attrs.integer("axis", 0), x.rank());
  std::int64_t size = x.size(axis), start = attrs.integer("start_index", 0), stop = attrs.integer("limit_index", size),
               stride = attrs.integer("stride", 1);
  if (start < 0) start += size;
  if (stop < 0) stop += size;
  Shape starts(std::size_t(x.rank()), 0), stops = x.shape(), strides(std::size_t(x.rank()), 1);
  starts[std::size_t(axis)] = start;
  stops[std::size_t(axis)] = stop;
  strides[std::size_t(axis)] = stride;
  return b.call(kSlice, std::vector<Arg>{x.id()}, Attrs{{"start", starts}, {"limit", stops}, {"stride", strides}}, Where{});
}

Values expand_index_in_dim(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = term(b, args[0]);
  std::int64_t index = static_integer(op, args, 1, attrs, "index");
  int axis = normalized_axis(op.name, attrs.integer("axis", 0), x.rank());
  std::int64_t size = x.size(axis);
  if (index < -size || index >= size)
    throw_user_error("{}: index {} is out of bounds for axis {} with size {}", op.name, index, axis, size);
  if (index < 0) index += size;
  return {attrs.flag("keepdims", true) ? sliced(x, axis, index, index + 1).id() : part(x, axis, index).id()};
}

Values expand_dynamic_slice_in_dim(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = term(b, args[0]);
  int axis = normalized_axis(op.name, attrs.integer("axis", 0), x.rank());
  Shape sizes = x.shape();
  sizes[std::size_t(axis)] = static_integer(op, args, 2, attrs, "slice_size");
  std::vector<Arg> operands{x.id()};
  for (int d = 0; d < x.rank(); ++d) operands.push_back(d == axis ? args[1] : Arg{Scalar{std::int64_t(0)}});
  return b.call(kDynamicSlice, operands, Attrs{{"sizes", sizes}}, Where{});
}
Values expand_dynamic_update_slice_in_dim(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = term(b, args[0]);
  int axis = normalized_axis(op.name, attrs.integer("axis", 0), x.rank());
  std::vector<Arg> operands{x.id(), args[1]};
  for (int d = 0; d < x.rank(); ++d) operands.push_back(d == axis ? args[2] : Arg{Scalar{std::int64_t(0)}});
  return b.call(kDynamicUpdateSlice, operands, {}, Where{});
}

Values expand_integer_pow(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::int64_t y = static_integer(op, args, 1, attrs, "y");
  return {call(b, "power", {term(b, args[0]), y}).id()};
}

using Kind = AttrDef::Kind;
constexpr AttrDef kAttentionAttrs[] = {{"bias", kNamedOperand, false, "added to the logits: [batch, heads, length, keys] or sizes of 1"},
                                       {"mask", kNamedOperand, false, "which keys each query sees, of the same shape"},
                                       {"scale", Kind::kNumber, false, "of the logits; 1 / sqrt(width) by default"},
                                       {"is_causal", Kind::kFlag, false, "whether a query sees no later key"}};
constexpr AttrDef kStandardizeAttrs[] = {{"axis", Kind::kScalarOrIntegers, false, "over which; the last by default"},
                                         {"epsilon", Kind::kNumber, false, "added to the variance; 1e-5 by default"},
                                         {"where", kNamedOperand, false, "which elements take part in mean and variance"}};
constexpr AttrDef kReduceAttrs[] = {{"axis", Kind::kScalarOrIntegers, false, "the axis or axes to reduce; all by default"},
                                    {"keepdims", Kind::kFlag, false, "whether reduced axes stay, with size 1"}};
constexpr AttrDef kSegmentAttrs[] = {{"num_segments", Kind::kInteger, false, "how many segments, where it is no operand"},
                                     {"indices_are_sorted", Kind::kFlag, false, "accepted for JAX's sake"},
                                     {"unique_indices", Kind::kFlag, false, "accepted for JAX's sake"}};
constexpr AttrDef kCollapseAttrs[] = {{"start_dimension", Kind::kInteger, false, "the first one, where it is no operand"},
                                      {"stop_dimension", Kind::kInteger, false, "the one after the last; all that follow by default"}};
constexpr AttrDef kAxis = {"axis", Kind::kInteger, false, "along which; 0 by default"};
constexpr AttrDef kSliceAttrs[] = {{"start_index", Kind::kInteger, false, "the first index; 0 by default"},
                                   {"limit_index", Kind::kInteger, false, "the one after the last; the size by default"},
                                   {"stride", Kind::kInteger, false, "the step; 1 by default"},
                                   kAxis};
constexpr AttrDef kIndexAttrs[] = {{"index", Kind::kInteger, false, "which, where it is no operand"},
                                   kAxis,
                                   {"keepdims", Kind::kFlag, false, "whether the dimension stays, with size 1; true by default"}};
constexpr AttrDef kDynamicAttrs[] = {{"slice_size", Kind::kInteger, false, "how many indices, where it is no operand"}, kAxis};
constexpr AttrDef kUpdateAttrs[] = {kAxis};
constexpr AttrDef kPowerAttrs[] = {{"y", Kind::kInteger, false, "the power, where it is no operand"}};

}  // namespace

extern const OpDef kDotProductAttention, kStandardize, kSparsePlus, kSparseSigmoid, kLog1mexp, kLogmeanexp, kSegmentSum, kSegmentProd,
    kSegmentMax, kSegmentMin, kBatchMatmul, kCollapse, kSliceInDim, kIndexInDim, kDynamicSliceInDim, kDynamicUpdateSliceInDim, kIntegerPow;

const OpDef kDotProductAttention =
    composite_of({"dot_product_attention",
                  "softmax(q k^T scale) v of [batch, length, heads, width]: args [query, key, value]; fewer key heads serve groups.",
                  expand_attention, 3, 5, kAttentionAttrs});
const OpDef kStandardize =
    compiled_alone(composite_of({"standardize", "Less the mean, by the standard deviation.", expand_standardize, 1, 2, kStandardizeAttrs}));
const OpDef kSparsePlus = compiled_alone(
    weak_composite_of({"sparse_plus", "softplus' sparse kin: 0 to -1, x from 1 on, (x + 1)^2 / 4 between.", expand_sparse_plus}));
const OpDef kSparseSigmoid =
    compiled_alone(weak_composite_of({"sparse_sigmoid", "(x + 1) / 2 held between 0 and 1.", expand_sparse_sigmoid}));
const OpDef kLog1mexp = weak_composite_of({"log1mexp", "log(1 - exp(-x)), accurate for small x.", expand_log1mexp});
const OpDef kLogmeanexp =
    compiled_alone(composite_of({"logmeanexp", "log(mean(exp(x))) over axes, without overflow.", expand_logmeanexp, 1, 1, kReduceAttrs}));
const OpDef kSegmentSum =
    composite_of({"segment_sum", "The sum of each segment's rows: args [rows, segments, number].", expand_segment, 2, 3, kSegmentAttrs});
const OpDef kSegmentProd = composite_of(
    {"segment_prod", "The product of each segment's rows: args [rows, segments, number].", expand_segment, 2, 3, kSegmentAttrs});
const OpDef kSegmentMax = composite_of(
    {"segment_max", "The greatest of each segment's rows: args [rows, segments, number].", expand_segment, 2, 3, kSegmentAttrs});
const OpDef kSegmentMin =
    composite_of({"segment_min", "The least of each segment's rows: args [rows, segments, number].", expand_segment, 2, 3, kSegmentAttrs});
const OpDef kBatchMatmul =
    composite_of({"batch_matmul", "Matrix products, one for each index of the dimensions before the last two.", expand_batch_matmul, 2, 2});
const OpDef kCollapse = composite_of(
    {"collapse", "Neighbouring dimensions as one: args [x, first, one after the last].", expand_collapse, 1, 3, kCollapseAttrs});
const OpDef kSliceInDim = composite_of({"slice_in_dim", "A range of one dimension.", expand_slice_in_dim, 1, 1, kSliceAttrs});
const OpDef kIndexInDim =
    composite_of({"index_in_dim", "One index of a dimension: args [x] or [x, index].", expand_index_in_dim, 1, 2, kIndexAttrs});
const OpDef kDynamicSliceInDim =
    composite_of({"dynamic_slice_in_dim", "A computed range of one dimension: args [x, start] or [x, start, size].",
                  expand_dynamic_slice_in_dim, 2, 3, kDynamicAttrs});
const OpDef kDynamicUpdateSliceInDim =
    composite_of({"dynamic_update_slice_in_dim", "The operand with a computed range of one dimension replaced: args [x, update, start].",
                  expand_dynamic_update_slice_in_dim, 3, 3, kUpdateAttrs});
const OpDef kIntegerPow = composite_of({"integer_pow", "x to a whole power: args [x] or [x, y].", expand_integer_pow, 1, 2, kPowerAttrs});

}  // namespace shardlab::ops
