// top_k: the k largest elements along a dimension and their places. The primitive knows the last dimension alone, as HLO's does.
#include <algorithm>
#include <numeric>

#include "runtime/ops/derive.h"
#include "runtime/ops/gather_dims.h"
#include "runtime/ops/order.h"
#include "runtime/ops/top_k.h"

namespace shardlab::ops {
namespace {

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  if (types[0].rank() == 0) throw_user_error("{} operand must have >= 1 dimension, got {}", op.name, text_of(types[0].shape));
  if (!attrs.has("k")) throw_user_error("{}: attribute 'k' is missing", op.name);
  if (is_complex(types[0].dtype)) throw_user_error("{} is not compatible with complex inputs, got {}", op.name, types[0].text());
  std::int64_t k = attrs.integer("k"), size = types[0].shape.back();
  if (k < 0) throw_user_error("{}: k argument to top_k must be nonnegative, got {}", op.name, k);
  if (k > size)
    throw_user_error("{}: k argument to top_k must be no larger than size along axis; got k={} with shape={} and axis={}", op.name, k,
                     text_of(types[0].shape), types[0].rank() - 1);
  Shape shape = types[0].shape;
  shape.back() = k;
  return {{types[0].dtype, shape}, {DType::kInt32, shape}};
}

// Rows are looked at whole. Where all of each is wanted, in another order, how they are cut passes through; and where they are the first of
// what is sorted, as it does through a sort and a slice.
FactorRule rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs) {
  FactorRule rule(operands, results);
  int last = operands[0].rank() - 1;
  for (int d = 0; d < last; ++d) rule.add(operands[0].shape[std::size_t(d)], {d}, {d, d});
  if (attrs.flag(kOfSorted)) {
    const bool is_alone = operands[0].elements() == operands[0].shape.back();
    rule.add(operands[0].shape.back(), {last}, {last, last}, FactorKind::kReplicate, is_alone);
    return rule;
  }
  const bool is_all = operands[0].shape.back() == results[0].shape.back();
  rule.add(operands[0].shape.back(), {last}, {last, last}, is_all ? FactorKind::kPermute : FactorKind::kReplicate, !is_all);
  return rule;
}

void kernel(const KernelArgs& args) {
  const ConstView& operand = args.operands[0];
  std::int64_t size = operand.type.shape.back(), k = args.results[0].type.shape.back();
  std::int64_t rows = size == 0 ? 0 : operand.type.elements() / size;
  std::vector<std::int32_t> order(static_cast<std::size_t>(size));
  visit_dtype(operand.type.dtype, [&](auto sample) {
    using T = decltype(sample);
    if constexpr (!Cplx<T>)  // infer refuses those
      for (std::int64_t row = 0; row < rows; ++row) {
        const T* x = operand.as<T>() + row * size;
        std::iota(order.begin(), order.end(), 0);
        std::partial_sort(order.begin(), order.begin() + k, order.end(),
                          [&](std::int32_t a, std::int32_t b) { return ranks_before(x[b], x[a]) || (!ranks_before(x[a], x[b]) && a < b); });
        for (std::int64_t i = 0; i < k; ++i) {
          args.results[0].as<T>()[row * k + i] = x[order[std::size_t(i)]];
          args.results[1].as<std::int32_t>()[row * k + i] = order[std::size_t(i)];
        }
      }
  });
}

Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  int rank = b.type(x).rank();
  if (rank == 0) throw_user_error("{} operand must have >= 1 dimension, got {}", op.name, b.type(x).text());
  Attrs own;
  if (attrs.has("k")) own.set("k", attrs.integer("k"));
  return largest_along(b, x, normalized_axis(op.name, attrs.integer("axis", -1), rank), own);
}

Values jvp(GraphBuilder& b, const JvpArgs& args) {
  return {along_dim(b, args.tangents[0], args.results[1], b.type(args.operands[0]).rank() - 1), kZero};
}

std::vector<Batched> batch(GraphBuilder& b, const BatchArgs& args) {
  Values results = b.emit(args.op, {batched_at(b, args.operands[0], 0, args.size)}, args.attrs);
  return {{results[0], 0}, {results[1], 0}};
}

std::vector<Sample> samples() {
  auto sample = [](DType dtype, Shape shape, std::int64_t k) { return Sample{{{dtype, std::move(shape)}}, Attrs{{"k", k}}}; };
  return {sample(DType::kFloat32, {4, 6}, 2), sample(DType::kInt32, {2, 3, 8}, 3), sample(DType::kBool, {4, 6}, 6),
          sample(DType::kUint32, {4, 7}, 0), sample(DType::kFloat32, {0, 3}, 1)};
}

constexpr AttrDef kAttrs[] = {{"k", AttrDef::Kind::kInteger, true, "how many of each row"},
                              {"axis", AttrDef::Kind::kInteger, false, "along which rows lie; the last by default"}};

}  // namespace

Values largest_along(GraphBuilder& b, ValueId x, int axis, const Attrs& attrs) {
  const int rank = b.type(x).rank();
  if (axis == rank - 1) return b.emit(kTopK, {x}, attrs);
  std::vector<int> swapped(static_cast<std::size_t>(rank));
  std::iota(swapped.begin(), swapped.end(), 0);
  std::swap(swapped[std::size_t(axis)], swapped.back());
  Values results = b.emit(kTopK, {transposed(b, x, swapped)}, attrs);
  for (ValueId& result : results) result = transposed(b, result, swapped);
  return results;
}

const OpDef kTopK = {.name = "top_k",
                     .doc =
                         "The k largest elements of each row along an axis, the largest first, and their places, int32; of equal ones "
                         "the first. NaN is largest, negative NaN least, -0 less than 0.",
                     .attrs = kAttrs,
                     .expand = expand,
                     .infer = infer,
                     .rule = rule,
                     .kernel = kernel,
                     .jvp = jvp,
                     .batch = batch,
                     .samples = samples};

}  // namespace shardlab::ops
