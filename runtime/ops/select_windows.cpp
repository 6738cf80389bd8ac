// select_and_gather_add and select_and_scatter_add: what the windows of a max or min choose by one array, of another array; the derivative
// of reduce_window and its transpose. Source: jax.lax, windowed_reductions.py; StableHLO's specification of select_and_scatter.
#include <limits>

#include "runtime/ops/derive.h"
#include "runtime/ops/regions.h"
#include "runtime/ops/select_windows.h"

namespace shardlab::ops {
namespace {

using List = std::vector<std::int64_t>;

void check_types(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  for (std::string_view name : {"window_dimensions", "window_strides", "pads", "base_dilation", "window_dilation"})
    required_integers(op, attrs, name);
  const std::string& reducer = attrs.string("reducer");
  if (reducer != "max" && reducer != "min") throw_user_error("{}: reducer is '{}', wanted max or min", op.name, reducer);
  if (types[0].dtype != types[1].dtype)
    throw_user_error("{} requires arguments to have the same dtypes, got {} and {}; convert one", op.name, name_of(types[0].dtype),
                     name_of(types[1].dtype));
  if (is_complex(types[0].dtype) || types[0].dtype == DType::kBool)
    throw_user_error("{} does not accept dtype {}; real numbers have an order", op.name, name_of(types[0].dtype));
}

// --- The window's choice: as JAX's, of equal ones the first; what is no number is replaced by the next, padding included.

template <typename Wide>
Wide worst(bool is_max) {
  using Limits = std::numeric_limits<Wide>;
  if constexpr (Limits::has_infinity) return is_max ? -Limits::infinity() : Limits::infinity();
  return is_max ? Limits::lowest() : Limits::max();
}

template <typename T>
auto comparable(T x) {
  if constexpr (Half<T>)
    return float(x);
  else
    return x;
}

// Dispatches on the dtype of real numbers.
template <typename F>
void visit_real(DType dtype, F&& f) {
  visit_dtype(dtype, [&](auto sample) {
    using T = decltype(sample);
    if constexpr (std::is_same_v<T, bool> || Cplx<T>)
      throw InternalError("windows that choose, without an order");
    else
      f(sample);
  });
}

// --- select_and_gather_add

std::vector<TensorType> gather_infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  check_types(op, types, attrs);
  if (types[0].shape != types[1].shape)
    throw_user_error("{} tangents and operand shapes must match, got {} and {}.", op.name, text_of(types[1].shape),
                     text_of(types[0].shape));
  return {{types[0].dtype, window_results(op.name, types[0].shape, attrs)}};
}

FactorRule gather_rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs) {
  FactorRule rule(operands, results);
  std::vector<ConvWindow> windows = windows_of(attrs);
  for (int d = 0; d < results[0].rank(); ++d)
    rule.add(results[0].shape[std::size_t(d)], {d, d}, {d}, is_trivial(windows[std::size_t(d)]) ? FactorKind::kPass : FactorKind::kPermute);
  return rule;
}

std::vector<NeededBox> gather_needs(const std::vector<TensorType>& operands, const std::vector<TensorType>&, const Attrs& attrs,
                                    const Box& result) {
  std::vector<ConvWindow> windows = windows_of(attrs);
  Box box;
  for (std::size_t d = 0; d < windows.size(); ++d) box.push_back(windows[d].elements_of(result[d], operands[0].shape[d]));
  return {{box, {}}, {box, {}}};
}

void gather_kernel(const KernelArgs& args) {
  const ConstView &operand = args.operands[0], &tangents = args.operands[1];
  const MutableView& out = args.results[0];
  const bool is_max = args.attrs.string("reducer") == "max";
  visit_real(out.type.dtype, [&](auto sample) {
    using T = decltype(sample);
    using Wide = decltype(comparable(T()));
    // The two operands may have different boxes.
    WindowWalk walk(windows_of(args.attrs), *operand.box);
    const Shape strides = strides_of(tangents.type.shape);
    const T *x = operand.as<T>(), *t = tangents.as<T>();
    T* result = out.as<T>();
    each_index(*out.box, [&](const Shape& index) {
      Wide best = worst<Wide>(is_max);
      T chosen = T(0);
      walk.each(index, [&](std::int64_t offset, const Shape& place) {
        Wide here = offset == WindowWalk::kPadding ? worst<Wide>(is_max) : comparable(x[offset]);
        if (is_max ? best >= here : best <= here) return;
        best = here;
        chosen = T(0);
        if (offset == WindowWalk::kPadding) return;
        std::int64_t from = 0;
        for (std::size_t d = 0; d < place.size(); ++d) from += (place[d] - (*tangents.box)[d].start) * strides[d];
        chosen = t[from];
      });
      *result++ = chosen;
    });
  });
}

Values chooser_jvp(GraphBuilder& b, const JvpArgs& args) {
  return {args.tangents[1] == kZero ? kZero : b.emit1(args.op, {args.operands[0], args.tangents[1]}, args.attrs)};
}

// The windows of select_and_scatter_add lie within the operand: it is padded and dilated first, and what is due to padding is cut away.
Values gather_transpose(GraphBuilder& b, const TransposeArgs& args) {
  const std::string reducer = args.attrs.string("reducer");
  const TensorType type = args.operand_types[0];
  const ValueId ct = args.cotangents[0];
  if (type.elements() == 0 || b.type(ct).elements() == 0) return {kZero, kZero};
  std::vector<ConvWindow> windows = windows_of(args.attrs), inside;
  List padding, start, limit, stride, back;
  bool is_padded = false, is_cut = false;
  for (std::size_t d = 0; d < windows.size(); ++d) {
    const ConvWindow& w = windows[d];
    std::int64_t dilated = (type.shape[d] - 1) * w.lhs_dilation + 1;
    padding.insert(padding.end(), {w.low, w.high, w.lhs_dilation - 1});
    is_padded |= w.low != 0 || w.high != 0 || w.lhs_dilation != 1;
    is_cut |= w.low < 0 || w.high < 0;
    start.push_back(std::max<std::int64_t>(w.low, 0));
    limit.push_back(start[d] + dilated);
    stride.push_back(w.lhs_dilation);
    back.insert(back.end(), {std::max<std::int64_t>(-w.low, 0), std::max<std::int64_t>(-w.high, 0), 0});
    inside.push_back({w.size, w.stride, 0, 0, 1, w.rhs_dilation});
  }
  auto pad = [&](ValueId x, double value, const List& by) {
    return b.emit1(kPad, {x, scalar_constant(b, b.type(x).dtype, value)}, Attrs{{"padding", by}});
  };
  const double infinity = is_floating(type.dtype) ? std::numeric_limits<double>::infinity() : 0;
  ValueId x = args.operands[0];
  if (is_padded) x = pad(x, reducer == "max" ? -infinity : infinity, padding);
  ValueId out = b.emit1(kSelectAndScatterAdd, {x, ct}, window_attrs(reducer, inside));
  if (is_cut) out = pad(out, 0.0, back);
  if (is_padded) out = b.emit1(kSlice, {out}, Attrs{{"start", start}, {"limit", limit}, {"stride", stride}});
  return {kZero, out};
}

// The batch's dimension has windows of one element.
std::vector<Batched> batch(GraphBuilder& b, const BatchArgs& args) {
  const int dim = args.operands[0].dim == kNotBatched ? args.operands[1].dim : args.operands[0].dim;
  std::vector<ConvWindow> windows = windows_of(args.attrs);
  windows.insert(windows.begin() + dim, {1, 1, 0, 0, 1, 1});
  Values operands;
  for (const Batched& operand : args.operands) operands.push_back(batched_at(b, operand, dim, args.size));
  return {{b.emit1(args.op, operands, window_attrs(args.attrs.string("reducer"), windows)), dim}};
}

// --- select_and_scatter_add

std::vector<TensorType> scatter_infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  check_types(op, types, attrs);
  for (const ConvWindow& w : windows_of(attrs))
    if (w.low != 0 || w.high != 0 || w.lhs_dilation != 1) throw_user_error("{}: its windows lie within the operand; pad it first", op.name);
  Shape sources = window_results(op.name, types[0].shape, attrs);
  if (types[1].shape != sources)
    throw_user_error("{}: the source must have an element for each window, shape {}, got {}", op.name, text_of(sources),
                     text_of(types[1].shape));
  return {types[0]};
}

// As Shardy's: what is of one size passes, else the operand's dimension is the result's and the source's is its own. Operands are in XLA's
// order, which decides where two disagree.
FactorRule scatter_rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs&) {
  FactorRule rule(operands, results);
  for (int d = 0; d < results[0].rank(); ++d) {
    std::int64_t size = operands[0].shape[std::size_t(d)], own = operands[1].shape[std::size_t(d)];
    if (size == own) {
      rule.add(size, {d, d}, {d});
    } else {
      rule.add(size, {d, -1}, {d}, FactorKind::kPermute);
      rule.add(own, {-1, d}, {-1}, FactorKind::kReplicate);
    }
  }
  return rule;
}

// The windows that see something of an interval of the operand.
Interval windows_over(const ConvWindow& w, const Interval& elements, std::int64_t windows) {
  if (elements.size() == 0) return {};
  std::int64_t span = (w.size - 1) * w.rhs_dilation + 1;
  std::int64_t first = std::max<std::int64_t>(elements.start - span + 1, 0);
  Interval seen{std::min(windows, (first + w.stride - 1) / w.stride), std::min(windows, (elements.stop - 1) / w.stride + 1)};
  return seen.size() <= 0 ? Interval{} : seen;
}

std::vector<NeededBox> scatter_needs(const std::vector<TensorType>& operands, const std::vector<TensorType>&, const Attrs& attrs,
                                     const Box& result) {
  std::vector<ConvWindow> windows = windows_of(attrs);
  Box sources, seen;
  for (std::size_t d = 0; d < windows.size(); ++d) {
    sources.push_back(windows_over(windows[d], result[d], operands[1].shape[d]));
    seen.push_back(windows[d].elements_of(sources[d], operands[0].shape[d]));
  }
  return {{seen, {}}, {sources, {}}};
}

// Every window that sees something of the result adds its source where it chooses, if that is here.
void scatter_kernel(const KernelArgs& args) {
  const ConstView &operand = args.operands[0], &source = args.operands[1];
  const MutableView& out = args.results[0];
  const bool is_max = args.attrs.string("reducer") == "max";
  const std::vector<ConvWindow> windows = windows_of(args.attrs);
  Box over;
  for (std::size_t d = 0; d < windows.size(); ++d) over.push_back(windows_over(windows[d], (*out.box)[d], (*source.array)[d]));
  visit_real(out.type.dtype, [&](auto sample) {
    using T = decltype(sample);
    using Wide = decltype(comparable(T()));
    WindowWalk walk(windows, *operand.box);
    const Shape from_strides = strides_of(source.type.shape), to_strides = strides_of(out.type.shape);
    std::vector<Wide> sums(std::size_t(out.type.elements()), Wide(0));
    const T *x = operand.as<T>(), *values = source.as<T>();
    Shape chosen(windows.size());
    each_index(over, [&](const Shape& index) {
      bool is_first = true;
      Wide best{};
      walk.each(index, [&](std::int64_t offset, const Shape& place) {
        if (offset == WindowWalk::kPadding) return;
        Wide here = comparable(x[offset]);
        if (!is_first && (is_max ? best >= here : best <= here)) return;
        is_first = false;
        best = here;
        chosen = place;
      });
      std::int64_t from = 0, to = 0;
      for (std::size_t d = 0; d < chosen.size(); ++d) {
        const Interval& here = (*out.box)[d];
        if (chosen[d] < here.start || chosen[d] >= here.stop) return;
        from += (index[d] - (*source.box)[d].start) * from_strides[d];
        to += (chosen[d] - here.start) * to_strides[d];
      }
      sums[std::size_t(to)] += comparable(values[from]);
    });
    for (std::size_t i = 0; i < sums.size(); ++i) out.as<T>()[i] = T(sums[i]);
  });
}

Values scatter_transpose(GraphBuilder& b, const TransposeArgs& args) {
  return {kZero, b.emit1(kSelectAndGatherAdd, {args.operands[0], args.cotangents[0]}, args.attrs)};
}

// --- Definitions

std::vector<Sample> gather_samples() {
  auto sample = [](DType dtype, Shape shape, std::string_view reducer, const std::vector<ConvWindow>& windows) {
    return Sample{{{dtype, shape}, {dtype, shape}}, window_attrs(reducer, windows)};
  };
  return {sample(DType::kFloat32, {6, 5}, "max", {{2, 2, 0, 0, 1, 1}, {3, 2, 1, 1, 1, 1}}),
          sample(DType::kFloat32, {8}, "min", {{2, 1, 0, 1, 1, 2}}),
          sample(DType::kFloat32, {2, 4, 3}, "max", {{1, 1, 0, 0, 1, 1}, {3, 2, 2, 1, 2, 1}, {2, 1, -1, 1, 1, 1}}),
          sample(DType::kInt32, {7, 2}, "max", {{3, 1, 1, 1, 1, 1}, {1, 1, 0, 0, 1, 1}}),
          sample(DType::kBfloat16, {6}, "min", {{3, 1, 0, 0, 1, 1}})};
}

std::vector<Sample> scatter_samples() {
  auto sample = [](DType dtype, Shape shape, Shape source, std::string_view reducer, const std::vector<ConvWindow>& windows) {
    return Sample{{{dtype, std::move(shape)}, {dtype, std::move(source)}}, window_attrs(reducer, windows)};
  };
  return {sample(DType::kFloat32, {6, 8}, {3, 4}, "max", {{2, 2, 0, 0, 1, 1}, {2, 2, 0, 0, 1, 1}}),
          sample(DType::kFloat32, {6, 6}, {4, 6}, "min", {{3, 1, 0, 0, 1, 1}, {1, 1, 0, 0, 1, 1}}),
          sample(DType::kFloat32, {9}, {3}, "max", {{2, 3, 0, 0, 1, 2}}), sample(DType::kInt32, {7}, {4}, "max", {{1, 2, 0, 0, 1, 1}}),
          sample(DType::kBfloat16, {8}, {5}, "max", {{4, 1, 0, 0, 1, 1}})};
}

constexpr AttrDef kAttrs[] = {{"reducer", AttrDef::Kind::kString, true, "max or min"},
                              {"window_dimensions", AttrDef::Kind::kIntegers, true, "the window's size in each dimension"},
                              {"window_strides", AttrDef::Kind::kIntegers, true, "its steps"},
                              {"pads", AttrDef::Kind::kIntegers, true, "low and high of each dimension"},
                              {"base_dilation", AttrDef::Kind::kIntegers, true, "the step between the operand's elements"},
                              {"window_dilation", AttrDef::Kind::kIntegers, true, "the step between the window's elements"}};

}  // namespace

const OpDef kSelectAndGatherAdd = {
    .name = "select_and_gather_add",
    .doc =
        "Of each window, the element of operand 1 that lies where the largest or smallest of operand 0 does: the derivative of "
        "reduce_window.",
    .operands_min = 2,
    .operands_max = 2,
    .attrs = kAttrs,
    .expand = expand_plain,
    .infer = gather_infer,
    .rule = gather_rule,
    .kernel = gather_kernel,
    .needs = gather_needs,
    .uses_position = true,
    .jvp = chooser_jvp,
    .transpose = gather_transpose,
    .batch = batch,
    .samples = gather_samples};

const OpDef kSelectAndScatterAdd = {
    .name = "select_and_scatter_add",
    .doc =
        "Zeros of the shape of operand 0, to which each window adds its element of operand 1 where its largest or smallest element of "
        "operand 0 lies: the gradient of max pooling. The windows lie within the operand: no padding, no base_dilation.",
    .operands_min = 2,
    .operands_max = 2,
    .attrs = kAttrs,
    .expand = expand_plain,
    .infer = scatter_infer,
    .rule = scatter_rule,
    .kernel = scatter_kernel,
    .needs = scatter_needs,
    .uses_position = true,
    .jvp = chooser_jvp,
    .transpose = scatter_transpose,
    .batch = batch,
    .samples = scatter_samples};

}  // namespace shardlab::ops
