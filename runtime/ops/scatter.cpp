// scatter, scatter_add, scatter_mul, scatter_min, scatter_max: the operand with windows at computed places replaced or combined.
#include <algorithm>
#include <cstring>

#include "runtime/ops/combine.h"
#include "runtime/ops/gather_dims.h"
#include "runtime/ops/gather_rules.h"
#include "runtime/ops/index_values.h"
#include "runtime/ops/lower.h"
#include "runtime/ops/reducers.h"
#include "runtime/ops/regions.h"
#include "runtime/ops/window_offsets.h"

namespace shardlab::ops {
namespace {

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  GatherDims dims(attrs);
  dims.check(op.name, types[0], types[1]);
  if (types[2].dtype != types[0].dtype)
    throw_user_error("{} requires arguments to have the same dtypes, got {} and {}; convert the updates", op.name, name_of(types[0].dtype),
                     name_of(types[2].dtype));
  std::vector<int> windows = dims.window_dims(types[0].rank()), batches = dims.batch_dims(types[2].rank());
  bool fits = types[2].rank() == types[1].rank() - 1 + int(dims.offset.size());
  for (std::size_t i = 0; fits && i < windows.size(); ++i)
    fits = types[2].shape[std::size_t(dims.offset[i])] <= types[0].shape[std::size_t(windows[i])];
  for (std::size_t i = 0; fits && i < batches.size(); ++i) fits = types[2].shape[std::size_t(batches[i])] == types[1].shape[i];
  if (!fits)
    throw_user_error(
        "{}: updates of shape {} do not fit: their update_window_dims {} must lie within the operand's, shape {}, the others be "
        "those of the indices, shape {}",
        op.name, text_of(types[2].shape), text_of(dims.offset), text_of(types[0].shape), text_of(types[1].shape));
  if (op.reduction == Reduction::kSum || op.reduction == Reduction::kProd) {
    if (types[0].dtype == DType::kBool) throw_user_error("{} does not accept dtype bool; use scatter", op.name);
  }
  return {types[0]};
}

// Operand and result are one; parts of the updates combine where the op has a reduction.
template <bool kReduces>
FactorRule rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs) {
  FactorRule rule(operands, results);
  GatherDims dims(attrs);
  const TensorType& updates = operands[2];
  std::vector<int> windows = dims.window_dims(operands[0].rank()), batches = dims.batch_dims(updates.rank());
  for (std::size_t i = 0; i < windows.size(); ++i) {
    std::int64_t size = operands[0].shape[std::size_t(windows[i])], own = updates.shape[std::size_t(dims.offset[i])];
    if (size == own) {
      rule.add(size, {windows[i], -1, int(dims.offset[i])}, {windows[i]});
    } else {
      rule.add(size, {windows[i], -1, -1}, {windows[i]});  // each part takes what of the windows falls into it
      rule.add(own, {-1, -1, int(dims.offset[i])}, {-1}, FactorKind::kReplicate);
    }
  }
  for (std::int64_t d : dims.collapsed) rule.add(operands[0].shape[std::size_t(d)], {int(d), -1, -1}, {int(d)});
  for (std::size_t i = 0; i < batches.size(); ++i) {
    auto batching = std::find(dims.indices_batching.begin(), dims.indices_batching.end(), std::int64_t(i));
    if (batching != dims.indices_batching.end()) {
      int d = int(dims.operand_batching[std::size_t(batching - dims.indices_batching.begin())]);
      rule.add(updates.shape[std::size_t(batches[i])], {d, int(i), batches[i]}, {d});
    } else {
      rule.add(updates.shape[std::size_t(batches[i])], {-1, int(i), batches[i]}, {-1},
               kReduces ? FactorKind::kReduce : FactorKind::kReplicate);
    }
  }
  rule.add(operands[1].shape.back(), {-1, operands[1].rank() - 1, -1}, {-1}, FactorKind::kReplicate);
  return rule;
}

const OpDef& reduction_op(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return kReduceSum;
    case Reduction::kProd:
      return kReduceProd;
    case Reduction::kMax:
      return kReduceMax;
    case Reduction::kMin:
      return kReduceMin;
    default:
      throw InternalError("scatter: no such reduction");
  }
}

// What combines with anything to that: a reduction of nothing.
void fill_with_identity(Reduction reduction, const MutableView& result) {
  TensorType nothing{result.type.dtype, {0}}, one{result.type.dtype, {}};
  Box nothing_box{{0, 0}}, one_box;
  alignas(16) std::byte identity[16];
  ConstView from{nothing, identity, &nothing_box, &nothing.shape};
  MutableView to{one, identity, &one_box};
  Attrs axes{{"axes", std::vector<std::int64_t>{0}}};
  reduction_op(reduction).kernel({{&from, 1}, {&to, 1}, axes});
  fill_elements(result.data, identity, result.type.elements(), size_of(result.type.dtype));
}

// Combines or copies a window, row by row of its last dimension.
class WindowWriter {
 public:
  WindowWriter(std::optional<Reduction> reduction, DType dtype) : reduction_(reduction), dtype_(dtype), item_(size_of(dtype)) {}

  void write(const Shape& shape, const ConstRegion& from, const MutableRegion& to) const {
    if (!reduction_) return copy_region(shape, from, to, item_);
    combine_dims(shape, 0, from.data + from.offset * item_, from.strides, to.data + to.offset * item_, to.strides);
  }

 private:
  void combine_dims(const Shape& shape, std::size_t d, const std::byte* from, const Shape& from_strides, std::byte* to,
                    const Shape& to_strides) const {
    if (d == shape.size()) return combine(*reduction_, dtype_, to, to, from, 1);
    if (d + 1 == shape.size() && from_strides[d] == 1 && to_strides[d] == 1) return combine(*reduction_, dtype_, to, to, from, shape[d]);
    for (std::int64_t i = 0; i < shape[d]; ++i)
      combine_dims(shape, d + 1, from + i * from_strides[d] * item_, from_strides, to + i * to_strides[d] * item_, to_strides);
  }
  std::optional<Reduction> reduction_;
  DType dtype_;
  std::int64_t item_;
};

template <int kReduction>
struct Combined;  // how two elements of a scatter are combined
template <>
struct Combined<int(Reduction::kSum)> : reduction::Sum {};
template <>
struct Combined<int(Reduction::kProd)> : reduction::Prod {};
template <>
struct Combined<int(Reduction::kMin)> : reduction::Min {};
template <>
struct Combined<int(Reduction::kMax)> : reduction::Max {};

// The common case: windows go through whole dimensions or have one element in them, and are cut as the operand is. False where it is
// another one, and nothing is done.
template <int kReduction>
bool scatter_whole_windows(const KernelArgs& args, const GatherDims& dims, const WindowWriter& writer) {
  const ConstView &operand = args.operands[0], &indices = args.operands[1], &updates = args.operands[2];
  const MutableView& result = args.results[0];
  const std::vector<int> windows = dims.window_dims(operand.type.rank()), batches = dims.batch_dims(updates.type.rank());
  const Shape result_strides = strides_of(result.type.shape), update_strides = strides_of(updates.type.shape);
  Shape window, from_strides, to_strides, batch_shape, batch_strides;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const std::size_t d = std::size_t(windows[i]), u = std::size_t(dims.offset[i]);
    const bool is_indexed = std::find(dims.index_map.begin(), dims.index_map.end(), std::int64_t(d)) != dims.index_map.end();
    if (is_indexed || (*updates.array)[u] != (*operand.array)[d] || (*updates.box)[u] != (*result.box)[d]) return false;
    window.push_back((*updates.box)[u].size());
    from_strides.push_back(update_strides[u]);
    to_strides.push_back(result_strides[d]);
  }
  for (int d : batches) {
    batch_shape.push_back(updates.type.shape[std::size_t(d)]);
    batch_strides.push_back(update_strides[std::size_t(d)]);
  }
  WindowOffsets offsets(indices, batch_shape);
  std::vector<bool> is_told(operand.type.shape.size(), false);
  for (int d : windows) is_told[std::size_t(d)] = true;
  const auto dim = [&](std::size_t d) { return WindowOffsets::Dim{(*result.box)[d], result_strides[d]}; };
  for (std::size_t i = 0; i < dims.index_map.size(); ++i) {
    offsets.add_index(std::int64_t(i), dim(std::size_t(dims.index_map[i])));
    is_told[std::size_t(dims.index_map[i])] = true;
  }
  for (std::size_t i = 0; i < dims.operand_batching.size(); ++i) {
    const std::size_t d = std::size_t(dims.operand_batching[i]), index_dim = std::size_t(dims.indices_batching[i]);
    offsets.add_batch(index_dim, (*indices.box)[index_dim].start, dim(d));
    is_told[d] = true;
  }
  if (std::find(is_told.begin(), is_told.end(), false) != is_told.end()) return false;

  if (element_count(window) != 1) {
    offsets.each(batch_strides, [&](std::int64_t place, std::int64_t at) {
      writer.write(window, {updates.data, at, from_strides}, {result.data, place, to_strides});
    });
    return true;
  }
  visit_dtype(result.type.dtype, [&](auto sample) {
    using T = decltype(sample);
    const auto each = [&](auto combined) {
      offsets.each(batch_strides, [&, from = updates.as<T>(), to = reinterpret_cast<T*>(result.data)](std::int64_t place, std::int64_t at) {
        to[place] = combined(to[place], from[at]);
      });
    };
    if constexpr (kReduction < 0)
      each([](T, T update) { return update; });
    else if constexpr (std::is_same_v<T, bool> || Half<T>)
      each([&](T a, T b) {
        T both;
        combine(Reduction(kReduction), result.type.dtype, reinterpret_cast<std::byte*>(&both), reinterpret_cast<const std::byte*>(&a),
                reinterpret_cast<const std::byte*>(&b), 1);
        return both;
      });
    else
      each([](T a, T b) { return Combined<kReduction>::combine(a, b); });
  });
  return true;
}

// A part of the operand takes what of the windows falls into it; windows that leave the whole operand are dropped. Where the updates
// are cut, only the first part starts from the operand, the others from the reduction's identity.
template <int kReduction>  // -1: replaces
void kernel(const KernelArgs& args) {
  constexpr bool kReplaces = kReduction < 0;
  std::optional<Reduction> reduction;
  if constexpr (!kReplaces) reduction = Reduction(kReduction);
  const ConstView& operand = args.operands[0];
  const ConstView& indices = args.operands[1];
  const ConstView& updates = args.operands[2];
  const MutableView& result = args.results[0];
  GatherDims dims(args.attrs);
  bool is_first = true;
  for (std::size_t i = 0; i < indices.box->size(); ++i)
    is_first &= (*indices.box)[i].start == 0 ||
                std::find(dims.indices_batching.begin(), dims.indices_batching.end(), std::int64_t(i)) != dims.indices_batching.end();
  if (is_first || kReplaces)
    std::memcpy(result.data, operand.data, std::size_t(result.type.bytes()));
  else
    fill_with_identity(*reduction, result);
  if (updates.type.elements() == 0 || result.type.elements() == 0) return;

  std::vector<int> windows = dims.window_dims(operand.type.rank()), batches = dims.batch_dims(updates.type.rank());
  Shape result_strides = strides_of(result.type.shape), update_strides = strides_of(updates.type.shape), from_strides, to_strides;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    from_strides.push_back(update_strides[std::size_t(dims.offset[i])]);
    to_strides.push_back(result_strides[std::size_t(windows[i])]);
  }
  WindowWriter writer(reduction, result.type.dtype);
  if (scatter_whole_windows<kReduction>(args, dims, writer)) return;
  std::int64_t depth = indices.type.shape.back(), count = 1;
  for (int d : batches) count *= updates.type.shape[std::size_t(d)];
  Shape batch(batches.size(), 0), start(operand.type.shape.size());
  for (std::int64_t n = 0; n < count; ++n) {
    std::fill(start.begin(), start.end(), 0);
    for (std::int64_t i = 0; i < depth; ++i) start[std::size_t(dims.index_map[std::size_t(i)])] = index_value(indices, n * depth + i);
    for (std::size_t i = 0; i < dims.operand_batching.size(); ++i) {
      std::size_t index_dim = std::size_t(dims.indices_batching[i]);
      start[std::size_t(dims.operand_batching[i])] = (*indices.box)[index_dim].start + batch[index_dim];
    }
    std::int64_t from = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) from += batch[i] * update_strides[std::size_t(batches[i])];
    bool is_whole = true, is_here = true;
    for (std::size_t d = 0; d < start.size(); ++d) {
      if (!dims.is_collapsed(std::int64_t(d))) continue;
      is_whole &= start[d] >= 0 && start[d] < (*operand.array)[d];
      is_here &= start[d] >= (*result.box)[d].start && start[d] < (*result.box)[d].stop;
    }
    // Of each window dimension the part of the updates that is here, in the part of the operand that is here.
    Shape shape, first = start;
    for (std::size_t i = 0; i < windows.size() && is_whole && is_here; ++i) {
      std::size_t d = std::size_t(windows[i]), u = std::size_t(dims.offset[i]);
      is_whole &= start[d] >= 0 && start[d] <= (*operand.array)[d] - (*updates.array)[u];
      Interval own = (*updates.box)[u], part = (*result.box)[d];
      std::int64_t low = std::max(part.start, start[d] + own.start), high = std::min(part.stop, start[d] + own.stop);
      shape.push_back(std::max<std::int64_t>(high - low, 0));
      first[d] = low;
      from += (low - start[d] - own.start) * from_strides[i];
    }
    if (is_whole && is_here && element_count(shape) > 0)
      writer.write(shape, {updates.data, from, from_strides}, {result.data, offset_in(*result.box, first), to_strides});
    for (std::size_t i = batch.size(); i-- > 0;) {
      if (++batch[i] < updates.type.shape[std::size_t(batches[i])]) break;
      batch[i] = 0;
    }
  }
}

// args [x, indices, updates]. Without dimension numbers, x.at[indices] of the first dimension: negative indices count from the end,
// updates broadcast.
Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  DType dtype = b.type(x).dtype;
  ValueId indices = value_of(b, args[1]), updates = converted(b, value_of(b, args[2]), dtype);
  if (attrs.has("update_window_dims") || attrs.has("offset_dims")) {
    Attrs full;
    GatherDims dims(attrs);
    if (attrs.has("update_window_dims")) dims.offset = integer_list_of(attrs, "update_window_dims");
    dims.set(full);
    return b.emit(op, {x, indices, updates}, full);
  }
  Shape shape = b.shape(x), index_shape = b.shape(indices), update_shape = index_shape;
  if (shape.empty()) throw_user_error("{}: a scalar has no rows to update", op.name);
  if (!is_integer(b.type(indices).dtype))
    throw_user_error("{}: indices must have an integer type, got {}", op.name, b.type(indices).text());
  update_shape.insert(update_shape.end(), shape.begin() + 1, shape.end());
  check_broadcasts_to(op.name, b.shape(updates), update_shape);
  ValueId is_negative = binary(b, kLess, indices, 0.0);
  indices = b.emit1(kSelect, {is_negative, binary(b, kAdd, indices, double(shape[0])), indices});
  GatherDims dims;
  for (std::size_t d = index_shape.size(); d < update_shape.size(); ++d) dims.offset.push_back(std::int64_t(d));
  dims.collapsed = dims.index_map = {0};
  index_shape.push_back(1);
  Attrs full;
  dims.set(full);
  return b.emit(op, {x, reshaped(b, indices, index_shape), broadcast_to(b, updates, update_shape)}, full);
}

std::vector<Sample> samples() {
  using List = std::vector<std::int64_t>;
  auto sample = [](DType dtype, Shape shape, Shape indices, Shape updates, List offset, List collapsed, List map,
                   List operand_batching = {}, List indices_batching = {}) {
    Attrs attrs;
    GatherDims dims;
    dims.offset = std::move(offset);
    dims.collapsed = std::move(collapsed);
    dims.index_map = std::move(map);
    dims.operand_batching = std::move(operand_batching);
    dims.indices_batching = std::move(indices_batching);
    dims.set(attrs);
    return Sample{{{dtype, std::move(shape)}, {DType::kInt32, std::move(indices)}, {dtype, std::move(updates)}}, attrs};
  };
  return {sample(DType::kFloat32, {6, 4}, {4, 1}, {4, 4}, {1}, {0}, {0}),              // rows
          sample(DType::kInt32, {6, 4}, {2, 3, 1}, {6, 2, 3}, {0}, {1}, {1}),          // columns
          sample(DType::kComplex64, {4, 6}, {6, 2}, {6}, {}, {0, 1}, {0, 1}),          // elements
          sample(DType::kUint32, {8, 4}, {2, 1}, {2, 3, 4}, {1, 2}, {}, {0}),          // windows
          sample(DType::kFloat32, {4, 6}, {4, 3, 1}, {4, 3}, {}, {1}, {1}, {0}, {0}),  // along with the indices
          sample(DType::kFloat32, {6, 4}, {0, 1}, {0, 4}, {1}, {0}, {0})};
}

constexpr AttrDef kAttrs[] = {
    {"update_window_dims", AttrDef::Kind::kScalarOrIntegers, false, "the updates' dimensions that are the windows'"},
    {"offset_dims", AttrDef::Kind::kScalarOrIntegers, false, "the same, as in gather"},
    {"collapsed_slice_dims", AttrDef::Kind::kScalarOrIntegers, false, "the operand's dimensions that windows lack"},
    {"start_index_map", AttrDef::Kind::kScalarOrIntegers, false, "the operand's dimension for each number of an index vector"},
    {"operand_batching_dims", AttrDef::Kind::kScalarOrIntegers, false, "the operand's dimensions that go along with the indices'"},
    {"start_indices_batching_dims", AttrDef::Kind::kScalarOrIntegers, false, "the indices' dimensions that go along with the operand's"}};

constexpr JvpRule jvp_of(Reduction reduction) {
  if (reduction == Reduction::kSum) return scatter_add_jvp;
  return reduction == Reduction::kProd ? scatter_mul_jvp : JvpRule(scatter_extremal_jvp);
}
constexpr TransposeRule transpose_of(Reduction reduction) {
  if (reduction == Reduction::kSum) return scatter_add_transpose;
  return reduction == Reduction::kProd ? scatter_mul_transpose : TransposeRule(nullptr);
}

template <Reduction kReduction>
constexpr OpDef combining_op(std::string_view name, std::string_view doc) {
  return {.name = name,
          .doc = doc,
          .operands_min = 3,
          .operands_max = 3,
          .attrs = kAttrs,
          .weakness = Weakness::kOfFirst,
          .expand = expand,
          .infer = infer,
          .rule = rule<true>,
          .reduction = kReduction,
          .kernel = kernel<int(kReduction)>,
          .uses_position = true,
          .jvp = jvp_of(kReduction),
          .transpose = transpose_of(kReduction),
          .batch = scatter_batch,
          .samples = samples};
}

}  // namespace

const OpDef kScatter = {.name = "scatter",
                        .doc =
                            "The operand with windows replaced: args [x, indices, updates]. Without dimension numbers the indices are "
                            "those of rows; updates outside the operand are dropped.",
                        .operands_min = 3,
                        .operands_max = 3,
                        .attrs = kAttrs,
                        .weakness = Weakness::kOfFirst,
                        .expand = expand,
                        .infer = infer,
                        .rule = rule<false>,
                        .kernel = kernel<-1>,
                        .uses_position = true,
                        .jvp = scatter_jvp,
                        .batch = scatter_batch,
                        .samples = samples};
const OpDef kScatterAdd = combining_op<Reduction::kSum>("scatter_add", "The operand with updates added to windows, as in scatter.");
const OpDef kScatterMul = combining_op<Reduction::kProd>("scatter_mul", "The operand with windows multiplied by updates, as in scatter.");
const OpDef kScatterMin =
    combining_op<Reduction::kMin>("scatter_min", "The operand with the lesser of windows and updates, as in scatter.");
const OpDef kScatterMax =
    combining_op<Reduction::kMax>("scatter_max", "The operand with the greater of windows and updates, as in scatter.");

}  // namespace shardlab::ops
