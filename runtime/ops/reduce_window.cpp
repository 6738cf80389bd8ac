// reduce_window: windows sliding over any dimensions, each combined to one element; and the pools that are made of it.
#include <algorithm>
#include <limits>

#include "runtime/ops/derive.h"
#include "runtime/ops/gather_dims.h"
#include "runtime/ops/reducers.h"
#include "runtime/ops/regions.h"
#include "runtime/ops/select_windows.h"

namespace shardlab::ops {

extern const OpDef kReduceWindow;

namespace {

using List = std::vector<std::int64_t>;

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  for (std::string_view name : {"window_dimensions", "window_strides", "pads", "base_dilation", "window_dilation"})
    required_integers(op, attrs, name);
  const std::string& reducer = attrs.string("reducer");
  if (reducer != "sum" && reducer != "prod" && reducer != "max" && reducer != "min")
    throw_user_error("{}: reducer is '{}', wanted sum, prod, max or min", op.name, reducer);
  if (types[0].dtype == DType::kBool) throw_user_error("operand to {}_{} must have a number dtype, got bool; convert it", op.name, reducer);
  return {{types[0].dtype, window_results(op.name, types[0].shape, attrs)}};
}

FactorRule rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs) {
  FactorRule rule(operands, results);
  std::vector<ConvWindow> windows = windows_of(attrs);
  for (int d = 0; d < results[0].rank(); ++d)
    rule.add(results[0].shape[std::size_t(d)], {d}, {d}, is_trivial(windows[std::size_t(d)]) ? FactorKind::kPass : FactorKind::kPermute);
  return rule;
}

std::vector<NeededBox> needs(const std::vector<TensorType>& operands, const std::vector<TensorType>&, const Attrs& attrs,
                             const Box& result) {
  std::vector<ConvWindow> windows = windows_of(attrs);
  Box box;
  for (std::size_t d = 0; d < windows.size(); ++d) box.push_back(windows[d].elements_of(result[d], operands[0].shape[d]));
  return {{box, {}}};
}

// --- The kernel. Sums and products are wide: of floats in double, of integers modulo 2^64.

struct Sum {
  template <typename T>
  static auto first() {
    if constexpr (Whole<T>)
      return std::uint64_t(0);
    else if constexpr (Cplx<T>)
      return Complex128(0);
    else
      return 0.0;
  }
  template <typename W, typename T>
  static W next(W w, T x) {
    return w + W(x);
  }
};
struct Prod {
  template <typename T>
  static auto first() {
    return decltype(Sum::first<T>())(1);
  }
  template <typename W, typename T>
  static W next(W w, T x) {
    return w * W(x);
  }
};
// NaN wins. Complex numbers are ordered as pairs, from an infinity without imaginary part, and give way to what is not ordered, as in JAX.
template <bool is_max>
struct Extreme {
  template <typename T>
  static T first() {
    if constexpr (Cplx<T>) {
      return {first<typename T::value_type>(), 0};
    } else {
      using Limits = std::numeric_limits<T>;
      if constexpr (Limits::has_infinity) return is_max ? -Limits::infinity() : Limits::infinity();
      return is_max ? Limits::lowest() : Limits::max();
    }
  }
  template <typename T>
  static T next(T best, T x) {
    if constexpr (Cplx<T>)
      return (is_max ? reduction::greater(best, x) : reduction::greater(x, best)) ? best : x;
    else
      return (is_max ? x > best : x < best) | (x != x) ? x : best;
  }
};

// The last dimensions that windows leave alone (features) are walked as rows.
template <typename F, typename T>
void run(const KernelArgs& args, std::vector<ConvWindow> windows) {
  Box from = *args.operands[0].box, to = *args.results[0].box;
  std::int64_t features = 1;
  while (windows.size() > 1 && is_trivial(windows.back()) && from.back() == to.back()) {
    features *= from.back().size();
    windows.pop_back(), from.pop_back(), to.pop_back();
  }
  WindowWalk walk(windows, from);
  const T* x = args.operands[0].as<T>();
  T* result = args.results[0].as<T>();
  const auto first = F::template first<T>();
  std::vector<std::remove_const_t<decltype(first)>> values(std::size_t(features), first);
  each_index(to, [&](const Shape& index) {
    std::fill(values.begin(), values.end(), first);
    walk.each(index, [&](std::int64_t offset, const Shape&) {
      if (offset == WindowWalk::kPadding) return;
      const T* row = x + offset * features;
      auto* value = values.data();
      for (std::int64_t i = 0; i < features; ++i) value[i] = F::next(value[i], row[i]);
    });
    for (std::int64_t i = 0; i < features; ++i) *result++ = T(values[std::size_t(i)]);
  });
}

template <typename T>
void reduce(const KernelArgs& args, const std::vector<ConvWindow>& windows, const std::string& reducer) {
  if (reducer == "sum") return run<Sum, T>(args, windows);
  if (reducer == "prod") return run<Prod, T>(args, windows);
  if (reducer == "max") return run<Extreme<true>, T>(args, windows);
  return run<Extreme<false>, T>(args, windows);
}

// 16-bit floats are widened as a whole, and the result rounded.
template <typename H>
void reduce_half(const KernelArgs& args, const std::vector<ConvWindow>& windows, const std::string& reducer) {
  const ConstView& in = args.operands[0];
  const MutableView& out = args.results[0];
  std::vector<float> wide(std::size_t(in.type.elements())), result(std::size_t(out.type.elements()));
  for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = float(in.as<H>()[i]);
  ConstView from{{DType::kFloat32, in.type.shape}, reinterpret_cast<const std::byte*>(wide.data()), in.box, in.array};
  MutableView to{{DType::kFloat32, out.type.shape}, reinterpret_cast<std::byte*>(result.data()), out.box};
  reduce<float>({std::span(&from, 1), std::span(&to, 1), args.attrs}, windows, reducer);
  for (std::size_t i = 0; i < result.size(); ++i) out.as<H>()[i] = element_from<H>(std::complex<double>(result[i]));
}

void kernel(const KernelArgs& args) {
  const std::vector<ConvWindow> windows = windows_of(args.attrs);
  const std::string& reducer = args.attrs.string("reducer");
  visit_dtype(args.results[0].type.dtype, [&](auto sample) {
    using T = decltype(sample);
    if constexpr (std::is_same_v<T, bool>)
      throw InternalError("a window of bool");
    else if constexpr (Half<T>)
      reduce_half<T>(args, windows, reducer);
    else
      reduce<T>(args, windows, reducer);
  });
}

// --- Derivatives.

// The elements that tap number `tap` of every window sees, of an operand padded and dilated already.
ValueId seen_by(GraphBuilder& b, ValueId padded, const std::vector<ConvWindow>& windows, const List& tap, const Shape& results) {
  List start, limit, stride;
  for (std::size_t d = 0; d < windows.size(); ++d) {
    start.push_back(tap[d] * windows[d].rhs_dilation);
    limit.push_back(start[d] + (results[d] - 1) * windows[d].stride + 1);
    stride.push_back(windows[d].stride);
  }
  return b.emit1(kSlice, {padded}, Attrs{{"start", start}, {"limit", limit}, {"stride", stride}});
}

ValueId padded(GraphBuilder& b, ValueId x, const std::vector<ConvWindow>& windows, double value) {
  List padding;
  for (const ConvWindow& w : windows) padding.insert(padding.end(), {w.low, w.high, w.lhs_dilation - 1});
  return b.emit1(kPad, {x, scalar_constant(b, b.type(x).dtype, value)}, Attrs{{"padding", padding}});
}

// Tap by tap: the product so far, and its tangent.
Values product_jvp(GraphBuilder& b, const JvpArgs& args) {
  std::vector<ConvWindow> windows = windows_of(args.attrs);
  const TensorType type = b.type(args.results[0]);
  if (type.elements() == 0) return {kZero};
  ValueId x = padded(b, args.operands[0], windows, 1.0), dx = padded(b, args.tangents[0], windows, 0.0);
  List tap(windows.size(), 0);
  ValueId value = kZero, tangent = kZero;
  while (true) {
    ValueId here = seen_by(b, x, windows, tap, type.shape), along = seen_by(b, dx, windows, tap, type.shape);
    if (value == kZero) {
      value = here;
      tangent = along;
    } else {
      tangent = b.emit1(kAdd, {b.emit1(kMul, {tangent, here}), b.emit1(kMul, {along, value})});
      value = b.emit1(kMul, {value, here});
    }
    std::size_t d = windows.size();
    while (d > 0 && ++tap[d - 1] == windows[d - 1].size) tap[--d] = 0;
    if (d == 0) return {tangent};
  }
}

Values jvp(GraphBuilder& b, const JvpArgs& args) {
  const std::string& reducer = args.attrs.string("reducer");
  if (reducer == "sum") return linear_jvp(b, args);
  if (reducer == "prod") return product_jvp(b, args);
  return {b.emit1(kSelectAndGatherAdd, {args.operands[0], args.tangents[0]}, args.attrs)};
}

// Every element gets the sum of the cotangents of the windows that see it: the cotangents spread by the strides, in windows of the same
// size. Source: jax.lax, _reduce_window_sum_transpose_rule.
Values transpose(GraphBuilder& b, const TransposeArgs& args) {
  std::vector<ConvWindow> windows = windows_of(args.attrs), back;
  const Shape &in = args.operand_types[0].shape, out = b.shape(args.cotangents[0]);
  if (element_count(out) == 0 || element_count(in) == 0) return {kZero};
  List padding;
  for (std::size_t d = 0; d < windows.size(); ++d) {
    const ConvWindow& w = windows[d];
    std::int64_t span = (w.size - 1) * w.rhs_dilation + 1, dilated = (in[d] - 1) * w.lhs_dilation + 1, spread = (out[d] - 1) * w.stride + 1;
    std::int64_t low = span - w.low - 1;
    padding.insert(padding.end(), {low, dilated + span - 1 - spread - low, w.stride - 1});
    back.push_back({w.size, w.lhs_dilation, 0, 0, 1, w.rhs_dilation});
  }
  ValueId ct = b.emit1(kPad, {args.cotangents[0], scalar_constant(b, b.type(args.cotangents[0]).dtype, 0.0)}, Attrs{{"padding", padding}});
  return b.emit(args.op, {ct}, window_attrs("sum", back));
}

// The batch's dimension has windows of one element.
std::vector<Batched> batch(GraphBuilder& b, const BatchArgs& args) {
  auto [x, dim] = args.operands[0];
  std::vector<ConvWindow> windows = windows_of(args.attrs);
  windows.insert(windows.begin() + dim, {1, 1, 0, 0, 1, 1});
  return {{b.emit1(args.op, {x}, window_attrs(args.attrs.string("reducer"), windows)), dim}};
}

// --- Users' calls.

List list_or(const OpDef& op, const Attrs& attrs, std::string_view name, std::size_t count, std::int64_t otherwise) {
  if (!attrs.has(name)) return List(count, otherwise);
  List list = integer_list_of(attrs, name);
  if (list.size() == 1) list.assign(count, list[0]);
  if (list.size() != count) throw_user_error("{}: {} must have {} numbers, got {}", op.name, name, count, text_of(list));
  return list;
}

// SAME: as many results as the operand has elements, over the stride; the odd one of the padding at the high side. VALID: none.
void set_padding(const OpDef& op, const Attrs& attrs, const Shape& shape, std::vector<ConvWindow>& windows, std::size_t first,
                 std::size_t count) {
  if (attrs.has("pads")) {
    List pads = integer_list_of(attrs, "pads");
    if (pads.size() != 2 * count)
      throw_user_error("{}: pads must have [low, high] for each of {} dimensions, got {}", op.name, count, text_of(pads));
    for (std::size_t i = 0; i < count; ++i) {
      windows[first + i].low = pads[2 * i];
      windows[first + i].high = pads[2 * i + 1];
    }
    return;
  }
  const std::string mode = attrs.has("padding") ? attrs.string("padding") : "VALID";
  if (mode != "SAME" && mode != "SAME_LOWER" && mode != "VALID")
    throw_user_error("Unknown padding type: {}; use SAME, SAME_LOWER, VALID, or 'pads' with [low, high] for each dimension", mode);
  if (mode == "VALID") return;
  for (std::size_t d = first; d < first + count; ++d) {
    ConvWindow& w = windows[d];
    std::int64_t dilated = shape[d] == 0 ? 0 : (shape[d] - 1) * w.lhs_dilation + 1, span = (w.size - 1) * w.rhs_dilation + 1;
    std::int64_t total = std::max<std::int64_t>(((dilated + w.stride - 1) / w.stride - 1) * w.stride + span - dilated, 0);
    w.low = mode == "SAME_LOWER" ? total - total / 2 : total / 2;
    w.high = total - w.low;
  }
}

Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  const Shape shape = b.shape(x);
  const std::size_t rank = shape.size();
  std::vector<ConvWindow> windows;
  List sizes = list_or(op, attrs, "window_dimensions", rank, 1), strides = list_or(op, attrs, "window_strides", rank, 1);
  List base = list_or(op, attrs, "base_dilation", rank, 1), dilation = list_or(op, attrs, "window_dilation", rank, 1);
  for (std::size_t d = 0; d < rank; ++d) windows.push_back({sizes[d], strides[d], 0, 0, base[d], dilation[d]});
  set_padding(op, attrs, shape, windows, 0, rank);
  const std::string reducer = attrs.has("reducer") ? attrs.string("reducer") : "sum";
  const bool is_order_of_truths = b.type(x).dtype == DType::kBool && (reducer == "max" || reducer == "min");
  if (is_order_of_truths) x = converted(b, x, DType::kUint8);
  const ValueId result = b.emit1(op, {x}, window_attrs(reducer, windows));
  return {is_order_of_truths ? converted(b, result, DType::kBool) : result};
}

// Source: flax.linen's pools: [batch…, spatial…, features], windows over the spatial dimensions.
Values pooled(GraphBuilder& b, const OpDef& op, ValueId x, const Attrs& attrs, std::string_view reducer) {
  const Shape shape = b.shape(x);
  List sizes = integer_list_of(attrs, "window_shape");
  if (shape.size() < sizes.size() + 1)
    throw_user_error("{}: a window {} needs an operand of rank {} or more ([batch, spatial dimensions, features]), got {}", op.name,
                     text_of(sizes), sizes.size() + 1, b.type(x).text());
  const std::size_t first = shape.size() - 1 - sizes.size();
  List strides = list_or(op, attrs, "strides", sizes.size(), 1);
  std::vector<ConvWindow> windows(shape.size(), ConvWindow{1, 1, 0, 0, 1, 1});
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    windows[first + i].size = sizes[i];
    windows[first + i].stride = strides[i];
  }
  set_padding(op, attrs, shape, windows, first, sizes.size());
  return b.emit(kReduceWindow, {x}, window_attrs(reducer, windows));
}

Values expand_max_pool(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  return pooled(b, op, value_of(b, args[0]), attrs, "max");
}
Values expand_min_pool(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  return pooled(b, op, value_of(b, args[0]), attrs, "min");
}
Values expand_avg_pool(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  x = converted(b, x, inexact(b.type(x).dtype));
  ValueId total = pooled(b, op, x, attrs, "sum")[0];
  if (attrs.flag("count_include_pad", true)) return {binary(b, kDiv, total, double(element_count(integer_list_of(attrs, "window_shape"))))};
  return {b.emit1(kDiv, {total, pooled(b, op, filled(b, b.type(x), 1.0), attrs, "sum")[0]})};
}

std::vector<Sample> samples() {
  auto sample = [](DType dtype, Shape shape, std::string_view reducer, std::vector<ConvWindow> windows) {
    return Sample{{{dtype, std::move(shape)}}, window_attrs(reducer, windows)};
  };
  return {sample(DType::kFloat32, {4, 6}, "sum", {{1, 1, 0, 0, 1, 1}, {3, 1, 1, 1, 1, 1}}),
          sample(DType::kFloat32, {6, 5}, "max", {{2, 2, 0, 0, 1, 1}, {3, 2, 1, 1, 1, 1}}),
          sample(DType::kFloat32, {8}, "min", {{2, 1, 0, 1, 1, 2}}),
          sample(DType::kFloat32, {5}, "prod", {{3, 1, 1, 1, 1, 1}}),
          sample(DType::kFloat32, {2, 4, 3}, "sum", {{1, 1, 0, 0, 1, 1}, {3, 2, 2, 1, 2, 1}, {2, 1, -1, 1, 1, 1}}),
          sample(DType::kInt32, {7, 2}, "max", {{3, 1, 1, 1, 1, 1}, {1, 1, 0, 0, 1, 1}}),
          sample(DType::kInt32, {6}, "sum", {{2, 2, 0, 0, 1, 1}}),
          sample(DType::kComplex64, {6}, "sum", {{2, 2, 0, 0, 1, 1}}),
          sample(DType::kComplex64, {6}, "max", {{3, 1, 1, 1, 1, 1}}),
          sample(DType::kComplex128, {7}, "min", {{3, 2, 0, 0, 1, 1}}),
          sample(DType::kBfloat16, {6}, "sum", {{3, 1, 0, 0, 1, 1}})};
}

constexpr AttrDef kAttrs[] = {
    {"reducer", AttrDef::Kind::kString, false, "sum (default), prod, max or min; it begins with its identity"},
    {"window_dimensions", AttrDef::Kind::kScalarOrIntegers, true, "the window's size in each dimension"},
    {"window_strides", AttrDef::Kind::kScalarOrIntegers, false, "its steps; 1 by default"},
    {"padding", AttrDef::Kind::kString, false, "SAME, SAME_LOWER or VALID (default)"},
    {"pads", AttrDef::Kind::kIntegerLists, false, "or [low, high] for each dimension"},
    {"base_dilation", AttrDef::Kind::kScalarOrIntegers, false, "the step between the operand's elements; 1 by default"},
    {"window_dilation", AttrDef::Kind::kScalarOrIntegers, false, "the step between the window's elements; 1 by default"}};
constexpr AttrDef kPoolAttrs[] = {{"window_shape", AttrDef::Kind::kIntegers, true, "the window's size in each spatial dimension"},
                                  {"strides", AttrDef::Kind::kScalarOrIntegers, false, "its steps; 1 by default"},
                                  {"padding", AttrDef::Kind::kString, false, "SAME, SAME_LOWER or VALID (default)"},
                                  {"pads", AttrDef::Kind::kIntegerLists, false, "or [low, high] for each spatial dimension"}};
constexpr AttrDef kAveragePoolAttrs[] = {
    {"window_shape", AttrDef::Kind::kIntegers, true, "the window's size in each spatial dimension"},
    {"strides", AttrDef::Kind::kScalarOrIntegers, false, "its steps; 1 by default"},
    {"padding", AttrDef::Kind::kString, false, "SAME, SAME_LOWER or VALID (default)"},
    {"pads", AttrDef::Kind::kIntegerLists, false, "or [low, high] for each spatial dimension"},
    {"count_include_pad", AttrDef::Kind::kFlag, false, "whether padding counts as zeros; true by default"}};

}  // namespace

const OpDef kReduceWindow = {.name = "reduce_window",
                             .doc = "Windows sliding over the operand, each combined to one element of the result.",
                             .attrs = kAttrs,
                             .expand = expand,
                             .infer = infer,
                             .rule = rule,
                             .kernel = kernel,
                             .needs = needs,
                             .uses_position = true,
                             .jvp = jvp,
                             .transpose = transpose,
                             .batch = batch,
                             .samples = samples};

extern const OpDef kMaxPool, kMinPool, kAvgPool;
const OpDef kMaxPool = {.name = "max_pool",
                        .doc = "The largest element of each window over the spatial dimensions of [batch, spatial dimensions, features].",
                        .attrs = kPoolAttrs,
                        .expand = expand_max_pool};
const OpDef kMinPool = {.name = "min_pool",
                        .doc = "The smallest element of each window over the spatial dimensions of [batch, spatial dimensions, features].",
                        .attrs = kPoolAttrs,
                        .expand = expand_min_pool};
const OpDef kAvgPool = {.name = "avg_pool",
                        .doc = "The mean of each window over the spatial dimensions of [batch, spatial dimensions, features].",
                        .attrs = kAveragePoolAttrs,
                        .expand = expand_avg_pool};

}  // namespace shardlab::ops
