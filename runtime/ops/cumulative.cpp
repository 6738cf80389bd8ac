// cumsum, cumprod, cummax, cummin: running combinations along one dimension.
//
// Rows are combined in chunks of 16, whose totals are combined likewise: errors of sums grow with the logarithm of the length, and
// every step is a loop over many neighbouring elements. Source: Blelloch's two-level scan.
#include <cstring>
#include <limits>

#include "runtime/ops/combine.h"
#include "runtime/ops/prefix_scan.h"
#include "runtime/ops/regions.h"

namespace shardlab::ops {
namespace {

constexpr std::int64_t kChunk = 16;

// data[i] = data[0] (op) … (op) data[i], for `count` rows of `width` elements.
void scan_rows(Reduction reduction, DType dtype, std::byte* data, std::int64_t count, std::int64_t width) {
  std::int64_t item = size_of(dtype), row = width * item, chunks = count / kChunk;
  auto combine_rows = [&](std::int64_t first) {
    for (std::int64_t i = std::max<std::int64_t>(first, 1); i < count; ++i)
      combine(reduction, dtype, data + i * row, data + i * row, data + (i - 1) * row, width);
  };
  if (chunks < 2) return combine_rows(1);
  // Element k of every chunk side by side.
  std::vector<std::byte> turned(std::size_t(chunks * kChunk * row));
  Shape shape{chunks, kChunk, width}, plain{kChunk * width, width, 1}, sideways{width, chunks * width, 1};
  copy_region(shape, {data, 0, plain}, {turned.data(), 0, sideways}, item);
  std::int64_t side = chunks * row;
  for (std::int64_t k = 1; k < kChunk; ++k)
    combine(reduction, dtype, turned.data() + k * side, turned.data() + k * side, turned.data() + (k - 1) * side, chunks * width);
  std::vector<std::byte> totals(turned.end() - side, turned.end());
  scan_rows(reduction, dtype, totals.data(), chunks, width);
  for (std::int64_t k = 0; k < kChunk; ++k) {
    std::byte* behind = turned.data() + k * side + row;
    combine(reduction, dtype, behind, behind, totals.data(), (chunks - 1) * width);
  }
  copy_region(shape, {turned.data(), 0, sideways}, {data, 0, plain}, item);
  combine_rows(chunks * kChunk);
}

template <Reduction kReduction>
std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  if (!attrs.has("axis")) throw_user_error("{}: attribute 'axis' is missing", op.name);
  std::int64_t axis = attrs.integer("axis");
  if (axis < 0 || axis >= types[0].rank())
    throw_user_error("{}: axis {} is out of bounds for array of shape {}", op.name, axis, text_of(types[0].shape));
  bool is_sum = kReduction == Reduction::kSum || kReduction == Reduction::kProd;
  if (is_sum && types[0].dtype == DType::kBool) throw_user_error("{} does not accept dtype bool; convert to int32", op.name);
  return {types[0]};
}

// A window of size 1 passes through, as in Shardy's rule of reduce_window.
FactorRule rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs) {
  FactorRule rule(operands, results);
  for (int d = 0; d < operands[0].rank(); ++d) {
    std::int64_t size = operands[0].shape[std::size_t(d)];
    rule.add(size, {d}, {d}, d == attrs.integer("axis") && size > 1 ? FactorKind::kPermute : FactorKind::kPass);
  }
  return rule;
}

// What comes before, too.
std::vector<NeededBox> needs(const std::vector<TensorType>& operands, const std::vector<TensorType>&, const Attrs& attrs,
                             const Box& result) {
  std::size_t axis = std::size_t(attrs.integer("axis"));
  NeededBox needed{result};
  Interval& along = needed.box[axis];
  if (along.size() == 0)
    along = {};
  else if (attrs.flag("reverse"))
    along.stop = operands[0].shape[axis];
  else
    along.start = 0;
  return {needed};
}

// The strides of a box's elements in a matrix that has the axis as rows, and the other dimensions in order within a row.
Shape strides_as_rows(const Box& box, std::size_t axis) {
  Shape strides(box.size());
  std::int64_t stride = 1;
  for (std::size_t d = box.size(); d-- > 0;) {
    if (d == axis) continue;
    strides[d] = stride;
    stride *= box[d].size();
  }
  strides[axis] = stride;
  return strides;
}

// Halves of the box along the other dimensions, the outer ones first, until each has no more elements than are wanted.
template <typename F>
void in_blocks(const Box& box, std::size_t axis, std::int64_t elements, const F& f) {
  for (std::size_t d = 0; d < box.size() && element_count(box) > elements; ++d) {
    if (d == axis || box[d].size() < 2) continue;
    const std::int64_t middle = box[d].start + box[d].size() / 2;
    Box half = box;
    half[d].stop = middle;
    in_blocks(half, axis, elements, f);
    half[d] = {middle, box[d].stop};
    in_blocks(half, axis, elements, f);
    return;
  }
  f(box);
}

// A block, combined from its end of the axis on, and what of it is in the result.
template <Reduction kReduction>
void block_kernel(const KernelArgs& args, const Box& block, std::size_t axis, bool reverse, std::vector<std::byte>& rows) {
  const ConstView& operand = args.operands[0];
  const MutableView& result = args.results[0];
  const std::int64_t item = size_of(result.type.dtype), count = block[axis].size(), width = element_count(block) / count;
  rows.resize(std::size_t(element_count(block) * item));
  Shape as_rows = strides_as_rows(block, axis), first, first_result;
  const std::int64_t start = reverse ? (count - 1) * as_rows[axis] : 0;  // of the block's first element in the rows
  if (reverse) as_rows[axis] = -as_rows[axis];
  Box wanted = block;
  wanted[axis] = (*result.box)[axis];
  for (std::size_t d = 0; d < block.size(); ++d) {
    first.push_back(block[d].start);
    first_result.push_back(wanted[d].start);
  }
  copy_region(shape_of(block), {operand.data, offset_in(*operand.box, first), strides_of(operand.type.shape)},
              {rows.data(), start, as_rows}, item);
  scan_rows(kReduction, result.type.dtype, rows.data(), count, width);
  const std::int64_t skipped = wanted[axis].start - block[axis].start;
  copy_region(shape_of(wanted), {rows.data(), start + skipped * as_rows[axis], as_rows},
              {result.data, offset_in(*result.box, first_result), strides_of(result.type.shape)}, item);
}

template <Reduction kReduction>
void kernel(const KernelArgs& args) {
  constexpr std::int64_t kBlockElements = 32 * 1024;  // a block and its copies stay in the second-level cache
  if (args.results[0].type.elements() == 0) return;
  const std::size_t axis = std::size_t(args.attrs.integer("axis"));
  const bool reverse = args.attrs.flag("reverse");
  Box box = *args.results[0].box;  // of what is combined
  (reverse ? box[axis].stop : box[axis].start) = reverse ? (*args.operands[0].array)[axis] : 0;
  std::vector<std::byte> rows;
  in_blocks(box, axis, kBlockElements, [&](const Box& block) { block_kernel<kReduction>(args, block, axis, reverse, rows); });
}

double neutral(Reduction reduction, DType dtype) {
  bool is_whole = is_integer(dtype) || dtype == DType::kBool;
  auto bound = [&](bool low) {
    if (!is_whole) return low ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    return visit_dtype(dtype, [&](auto sample) {
      using T = decltype(sample);
      if constexpr (std::is_integral_v<T>)
        return double(low ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max());
      else
        return 0.0;
    });
  };
  switch (reduction) {
    case Reduction::kProd:
      return 1;
    case Reduction::kMax:
      return bound(true);
    case Reduction::kMin:
      return bound(false);
    default:
      return 0;
  }
}

// Blocks alone, then the totals of the blocks before each: only the totals cross between parts.
template <Reduction kReduction, const OpDef* kCombine, const OpDef* kReduce, const OpDef* kSelf>
Values in_parts(GraphBuilder& b, const Values& operands, const Attrs& attrs, int factor, std::int64_t parts) {
  std::int64_t axis = attrs.integer("axis");
  Shape shape = b.shape(operands[0]);
  std::int64_t size = shape[std::size_t(axis)];
  if (factor != axis || parts < 2 || size % parts != 0 || size == parts) return {};
  DType dtype = b.type(operands[0]).dtype;
  if (size_of(dtype) == 8 && is_integer(dtype)) return {};  // its bounds are no doubles
  bool reverse = attrs.flag("reverse");
  Shape blocks = shape;
  blocks[std::size_t(axis)] = size / parts;
  blocks.insert(blocks.begin() + axis, parts);
  auto along = [&](std::int64_t dimension) {
    Attrs own{{"axis", dimension}};
    if (reverse) own.set("reverse", true);
    return own;
  };
  ValueId x = reshaped(b, operands[0], blocks);
  ValueId inside = b.emit1(*kSelf, {x}, along(axis + 1));
  ValueId totals = b.emit1(*kReduce, {x}, Attrs{{"axes", std::vector<std::int64_t>{axis + 1}}});
  ValueId through = b.emit1(*kSelf, {totals}, along(axis));
  std::vector<std::int64_t> shift(3 * shape.size(), 0);
  shift[3 * std::size_t(axis)] = reverse ? -1 : 1;
  shift[3 * std::size_t(axis) + 1] = reverse ? 1 : -1;
  ValueId nothing = scalar_constant(b, dtype, neutral(kReduction, dtype));
  ValueId before = b.emit1(kPad, {through, nothing}, Attrs{{"padding", shift}});
  std::vector<std::int64_t> dims;
  for (std::int64_t d = 0; d < std::int64_t(blocks.size()); ++d)
    if (d != axis + 1) dims.push_back(d);
  ValueId spread = b.emit1(kBroadcastInDim, {before}, Attrs{{"shape", blocks}, {"dims", dims}});
  return {reshaped(b, b.emit1(*kCombine, {inside, spread}), shape)};
}

// jax.numpy's: over the elements in row-major order where there is no axis; sums of bool count in the default integers.
Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  bool is_sum = op.name == "cumsum" || op.name == "cumprod";  // of jax.numpy; the others are jax.lax's, along dimension 0 by default
  if (is_sum && !attrs.has("axis")) x = reshaped(b, x, {b.type(x).elements()});  // first, as in JAX: truths are moved in bytes
  if (attrs.has("dtype")) x = converted(b, x, attrs.dtype("dtype"));
  if (is_sum && b.type(x).dtype == DType::kBool) x = as_default_integer(b, x);
  Attrs own{{"axis", std::int64_t(normalized_axis(op.name, attrs.integer("axis", 0), b.type(x).rank()))}};
  if (attrs.flag("reverse")) own.set("reverse", true);
  Values result = b.emit(op, {x}, own);
  if (!attrs.flag("include_initial")) return result;
  if (!is_sum) throw_user_error("{}: include_initial is for sums and products alone", op.name);
  Shape first = b.shape(x);
  first[std::size_t(own.integer("axis"))] = 1;
  ValueId initial = filled(b, {b.type(x).dtype, first}, op.name == "cumprod" ? 1.0 : 0.0);
  return b.emit(kConcatenate, {initial, result[0]}, Attrs{{"axis", own.integer("axis")}});
}

// From the other end.
Values transpose_sum(GraphBuilder& b, const TransposeArgs& args) {
  Attrs attrs{{"axis", args.attrs.integer("axis")}};
  if (!args.attrs.flag("reverse")) attrs.set("reverse", true);
  return b.emit(args.op, {args.cotangents[0]}, attrs);
}

// As JAX: the derivative of the scan that makes it of pairs; the result is that scan's, too.
template <const OpDef* kCombine>
Values scanned_jvp(GraphBuilder& b, const JvpArgs& args) {
  if (b.type(args.operands[0]).elements() == 0) return {args.tangents[0]};
  auto [primal, tangent] = scanned_tangents(b, *kCombine, args.operands[0], args.tangents[0], std::size_t(args.attrs.integer("axis")),
                                            args.attrs.flag("reverse"));
  args.results[0] = primal;
  return {tangent};
}

std::vector<Batched> batch(GraphBuilder& b, const BatchArgs& args) {
  int dim = args.operands[0].dim;
  Attrs attrs = args.attrs;
  attrs.set("axis", std::int64_t(dim_in_batch(int(args.attrs.integer("axis")), dim)));
  return {{b.emit1(args.op, {args.operands[0].value}, attrs), dim}};
}

std::vector<Sample> samples() {
  auto sample = [](DType dtype, Shape shape, std::int64_t axis, bool reverse = false) {
    Attrs attrs{{"axis", axis}};
    if (reverse) attrs.set("reverse", true);
    return Sample{{{dtype, std::move(shape)}}, attrs};
  };
  return {sample(DType::kFloat32, {6, 4}, 0),      sample(DType::kInt32, {4, 6}, 1),     sample(DType::kFloat32, {2, 6, 4}, 1, true),
          sample(DType::kUint32, {7, 2}, 0, true), sample(DType::kComplex64, {4, 4}, 0), sample(DType::kInt32, {2, 300}, 1),
          sample(DType::kFloat32, {40, 2}, 0),     sample(DType::kFloat32, {0, 4}, 0),   sample(DType::kFloat32, {1, 4}, 0)};
}

constexpr AttrDef kAttrs[] = {{"axis", AttrDef::Kind::kInteger, false,
                               "along which it runs; sums and products: over all elements in row-major order by default, others: 0"},
                              {"reverse", AttrDef::Kind::kFlag, false, "whether it runs from the end"},
                              {"dtype", AttrDef::Kind::kDType, false, "the dtype to compute in"},
                              {"include_initial", AttrDef::Kind::kFlag, false, "of sums and products: whether 0 or 1 comes first"}};

template <Reduction kReduction, const OpDef* kCombine, const OpDef* kReduce, const OpDef* kSelf>
constexpr OpDef cumulative_op(std::string_view name, std::string_view doc, std::span<const std::string_view> aliases = {}) {
  return {.name = name,
          .doc = doc,
          .aliases = aliases,
          .attrs = kAttrs,
          .expand = expand,
          .infer = infer<kReduction>,
          .rule = rule,
          .kernel = kernel<kReduction>,
          .needs = needs,
          .in_parts = in_parts<kReduction, kCombine, kReduce, kSelf>,
          .uses_position = true,
          .jvp = kReduction == Reduction::kSum ? JvpRule(linear_jvp) : JvpRule(scanned_jvp<kCombine>),
          .transpose = kReduction == Reduction::kSum ? TransposeRule(transpose_sum) : nullptr,
          .batch = batch,
          .samples = samples};
}

constexpr std::string_view kSumAliases[] = {"cumulative_sum"};
constexpr std::string_view kProdAliases[] = {"cumulative_prod"};

}  // namespace

const OpDef kCumsum = compiled_alone(
    strong(cumulative_op<Reduction::kSum, &kAdd, &kReduceSum, &kCumsum>("cumsum", "The running sum along a dimension.", kSumAliases)));
const OpDef kCumprod = strong(
    cumulative_op<Reduction::kProd, &kMul, &kReduceProd, &kCumprod>("cumprod", "The running product along a dimension.", kProdAliases));
const OpDef kCummax =
    cumulative_op<Reduction::kMax, &kMaximum, &kReduceMax, &kCummax>("cummax", "The largest element so far along a dimension; NaN wins.");
const OpDef kCummin =
    cumulative_op<Reduction::kMin, &kMinimum, &kReduceMin, &kCummin>("cummin", "The smallest element so far along a dimension; NaN wins.");

}  // namespace shardlab::ops
