// sliding_windows: the windows that slide along a dimension, without arithmetic.
#include "runtime/ops/sliding_windows.h"

#include "runtime/ops/compose.h"
#include "runtime/ops/derive.h"
#include "runtime/ops/regions.h"

namespace shardlab::ops {
namespace {

struct Sliding {
  int dimension;
  std::int64_t size, stride, dilation;

  explicit Sliding(const Attrs& attrs)
      : dimension(int(attrs.integer("dimension"))),
        size(attrs.integer("size")),
        stride(attrs.integer("stride", 1)),
        dilation(attrs.integer("dilation", 1)) {}
  // The elements between a window's first and the one after its last.
  std::int64_t extent() const { return size == 0 ? 0 : (size - 1) * dilation + 1; }
};

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  const Sliding how(attrs);
  TensorType type = types[0];
  if (how.dimension < 0 || how.dimension >= type.rank())
    throw_user_error("{}: dimension {} is out of range for shape {}", op.name, how.dimension, text_of(type.shape));
  if (how.size < 0 || how.stride < 1 || how.dilation < 1)
    throw_user_error("{}: wanted size >= 0, stride and dilation >= 1, got {}, {} and {}", op.name, how.size, how.stride, how.dilation);
  std::int64_t& count = type.shape[std::size_t(how.dimension)];
  const bool fits = how.size < 2 || how.dilation <= (count - 1) / (how.size - 1);  // (extent() may be beyond all numbers)
  count = !fits || count < how.extent() ? 0 : (count - how.extent()) / how.stride + 1;
  type.shape.push_back(how.size);
  return {type};
}

FactorRule rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs) {
  FactorRule rule(operands, results);
  const Sliding how(attrs);
  for (int d = 0; d < operands[0].rank(); ++d) {
    const auto size = operands[0].shape[std::size_t(d)];
    rule.add(size, {d}, {d}, d == how.dimension ? FactorKind::kPermute : FactorKind::kPass);
  }
  rule.add(how.size, {-1}, {operands[0].rank()}, FactorKind::kReplicate, true);
  return rule;
}

std::vector<NeededBox> needs(const std::vector<TensorType>&, const std::vector<TensorType>&, const Attrs& attrs, const Box& result) {
  const Sliding how(attrs);
  NeededBox needed{Box(result.begin(), result.end() - 1)};
  const Interval &windows = result[std::size_t(how.dimension)], &places = result.back();
  Interval& elements = needed.box[std::size_t(how.dimension)];
  elements = {windows.start * how.stride + places.start * how.dilation,
              (windows.stop - 1) * how.stride + (places.stop - 1) * how.dilation + 1};
  if (element_count(result) == 0) elements = {0, 0};
  return {needed};
}

void kernel(const KernelArgs& args) {
  const ConstView& operand = args.operands[0];
  const MutableView& result = args.results[0];
  if (result.type.elements() == 0) return;
  const SlidingRegion from = sliding_region(args);
  copy_region(result.type.shape, {operand.data, from.offset, from.strides}, {result.data, 0, strides_of(result.type.shape)},
              size_of(result.type.dtype));
}

Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const ValueId x = value_of(b, args[0]);
  for (std::string_view name : {"dimension", "size"})
    if (!attrs.has(name)) throw_user_error("{}: attribute '{}' is missing", op.name, name);
  return b.emit(op, {x},
                Attrs{{"dimension", std::int64_t(normalized_axis(op.name, attrs.integer("dimension"), b.type(x).rank()))},
                      {"size", attrs.integer("size")},
                      {"stride", attrs.integer("stride", 1)},
                      {"dilation", attrs.integer("dilation", 1)}});
}

// What stands at one place of each window, back where it came from, for each place.
Values transpose_rule(GraphBuilder& b, const TransposeArgs& args) {
  const Sliding how(args.attrs);
  const Term ct(b, args.cotangents[0]);
  const TensorType type = args.operand_types[0];
  Term sum(b, filled(b, type, 0.0));
  const std::int64_t count = ct.size(how.dimension), spread = count == 0 ? 0 : (count - 1) * how.stride + 1;
  for (std::int64_t k = 0; k < how.size && count > 0; ++k) {
    std::vector<std::int64_t> padding(std::size_t(type.rank()) * 3, 0);
    const std::int64_t low = k * how.dilation;
    padding[std::size_t(how.dimension) * 3] = low;
    padding[std::size_t(how.dimension) * 3 + 1] = type.shape[std::size_t(how.dimension)] - low - spread;
    padding[std::size_t(how.dimension) * 3 + 2] = how.stride - 1;
    const ValueId zero = scalar_constant(b, type.dtype, 0.0);
    sum = sum + Term(b, b.emit1(kPad, {part(ct, type.rank(), k).id(), zero}, Attrs{{"padding", padding}}));
  }
  return {sum.id()};
}

std::vector<Batched> batch(GraphBuilder& b, const BatchArgs& args) {
  const int dim = args.operands[0].dim;
  Attrs attrs = args.attrs;
  const std::int64_t dimension = attrs.integer("dimension");
  attrs.set("dimension", std::int64_t(dim_in_batch(int(dimension), dim)));
  return {{b.emit1(args.op, {args.operands[0].value}, attrs), dim}};
}

std::vector<Sample> samples() {
  auto sample = [](DType dtype, Shape shape, std::int64_t dimension, std::int64_t size, std::int64_t stride = 1,
                   std::int64_t dilation = 1) {
    return Sample{{{dtype, std::move(shape)}}, Attrs{{"dimension", dimension}, {"size", size}, {"stride", stride}, {"dilation", dilation}}};
  };
  return {
      sample(DType::kFloat32, {8, 4}, 0, 3),         sample(DType::kFloat32, {4, 9}, 1, 2, 3), sample(DType::kInt32, {2, 8, 3}, 1, 3, 2, 2),
      sample(DType::kComplex64, {6}, 0, 6),          sample(DType::kBool, {4, 7}, 1, 1),       sample(DType::kFloat32, {4, 2}, 1, 3),
      sample(DType::kBfloat16, {12, 4}, 0, 4, 2, 1), sample(DType::kFloat32, {0, 4}, 1, 2)};
}

using Kind = AttrDef::Kind;
constexpr AttrDef kAttrs[] = {{"dimension", Kind::kInteger, true, "along which they slide"},
                              {"size", Kind::kInteger, true, "how many elements each has"},
                              {"stride", Kind::kInteger, false, "the step from window to window; 1 by default"},
                              {"dilation", Kind::kInteger, false, "the step between a window's elements; 1 by default"}};

}  // namespace

SlidingRegion sliding_region(const KernelArgs& args) {
  const Sliding how(args.attrs);
  const ConstView& operand = args.operands[0];
  const Box& box = *args.results[0].box;
  SlidingRegion region{0, strides_of(operand.type.shape)};
  Shape first;
  for (const Interval& interval : box) first.push_back(interval.start);
  const std::size_t d = std::size_t(how.dimension);
  first[d] = first[d] * how.stride + first.back() * how.dilation;
  first.pop_back();
  region.offset = offset_in(*operand.box, first);
  region.strides.push_back(region.strides[d] * how.dilation);
  region.strides[d] *= how.stride;
  return region;
}

const OpDef kSlidingWindows = {.name = "sliding_windows",
                               .doc = "The windows that slide along a dimension: [..., windows, ..., elements of one].",
                               .attrs = kAttrs,
                               .expand = expand,
                               .infer = infer,
                               .rule = rule,
                               .kernel = kernel,
                               .needs = needs,
                               .uses_position = true,
                               .jvp = linear_jvp,
                               .transpose = transpose_rule,
                               .batch = batch,
                               .samples = samples};

}  // namespace shardlab::ops
