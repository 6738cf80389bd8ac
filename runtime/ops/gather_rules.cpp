#include "runtime/ops/gather_rules.h"

#include <algorithm>

#include "runtime/ops/gather_dims.h"
#include "runtime/ops/index_values.h"
#include "runtime/ops/moves.h"

namespace shardlab::ops {
namespace {

std::vector<std::int64_t> plus_one(std::vector<std::int64_t> list) {
  for (std::int64_t& value : list) ++value;
  return list;
}
std::vector<std::int64_t> with_first(std::int64_t first, std::vector<std::int64_t> list) {
  list.insert(list.begin(), first);
  return list;
}

// The greatest start of each number of an index vector, of the shape of the indices.
ValueId greatest_starts(GraphBuilder& b, const TensorType& indices, const GatherDims& dims, const Shape& operand, const Shape& windows) {
  Values columns;
  Shape one = indices.shape;
  one.back() = 1;
  for (std::int64_t d : dims.index_map)
    columns.push_back(filled(b, {indices.dtype, one}, double(operand[std::size_t(d)] - windows[std::size_t(d)])));
  if (columns.empty()) return filled(b, indices, 0.0);
  return joined(b, columns, indices.rank() - 1);
}

// The size of a window in each of the operand's dimensions.
Shape windows_of(const GatherDims& dims, int operand_rank, const Shape& updates) {
  Shape sizes(std::size_t(operand_rank), 1);
  std::vector<int> windows = dims.window_dims(operand_rank);
  for (std::size_t i = 0; i < windows.size(); ++i) sizes[std::size_t(windows[i])] = updates[std::size_t(dims.offset[i])];
  return sizes;
}

// The number that a value always is.
std::optional<std::int64_t> constant_number(const GraphBuilder& b, ValueId value) {
  const Node* constant = producer_of(b, value);
  if (constant == nullptr || constant->op != &kConstant || b.type(value).rank() != 0) return std::nullopt;
  const Literal& literal = constant->attrs.literal("value");
  return index_value({literal.type, literal.data->data(), nullptr, nullptr}, 0);
}

// A box of x at starts; where all of them are constants it is a slice, which may stay cut.
ValueId box_at(GraphBuilder& b, ValueId x, const Values& starts, const Shape& sizes) {
  Shape shape = b.shape(x), first, limit;
  for (std::size_t d = 0; d < starts.size(); ++d) {
    auto start = constant_number(b, starts[d]);
    if (!start) break;
    first.push_back(std::clamp<std::int64_t>(*start, 0, shape[d] - sizes[d]));
    limit.push_back(first[d] + sizes[d]);
  }
  if (first.size() == shape.size()) return b.emit1(kSlice, {x}, Attrs{{"start", first}, {"limit", limit}});
  Values operands{x};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return b.emit1(kDynamicSlice, operands, Attrs{{"sizes", sizes}});
}

// The starts of a dynamic slice for each element of a batch as index vectors [batch, rank].
ValueId start_vectors(GraphBuilder& b, std::span<const Batched> starts, std::int64_t size) {
  Values columns;
  for (const Batched& start : starts) columns.push_back(converted(b, reshaped(b, batched_at(b, start, 0, size), {size, 1}), DType::kInt32));
  return joined(b, columns, 1);
}

bool any_batched(std::span<const Batched> values) {
  return std::any_of(values.begin(), values.end(), [](const Batched& value) { return value.dim != kNotBatched; });
}

Values with_starts(Values first, std::span<const Batched> starts, ValueId zero) {
  first.push_back(zero);
  for (const Batched& start : starts) first.push_back(start.value);
  return first;
}

// Windows of all the operand's dimensions, one for each element of the batch, each from its own operand where that is batched.
GatherDims batch_of_windows(int rank, bool operand_is_batched) {
  GatherDims dims;
  for (int d = 0; d < rank; ++d) {
    dims.offset.push_back(d + 1);
    dims.index_map.push_back(operand_is_batched ? d + 1 : d);
  }
  if (operand_is_batched) dims.operand_batching = dims.indices_batching = {0};
  return dims;
}

}  // namespace

// ---- gather

Values gather_jvp(GraphBuilder& b, const JvpArgs& args) { return b.emit(args.op, {args.tangents[0], args.operands[1]}, args.attrs); }

// Whether a value is a scalar 0 in every element.
bool is_zero_everywhere(const GraphBuilder& b, ValueId value) {
  const Node* spread = producer_of(b, value);
  const Node* constant = spread != nullptr && spread->op == &kBroadcastInDim ? producer_of(b, spread->operands[0]) : nullptr;
  if (constant == nullptr || constant->op != &kConstant) return false;
  const Literal& literal = constant->attrs.literal("value");
  const std::byte* bytes = literal.data->data();
  return std::all_of(bytes, bytes + literal.type.bytes(), [](std::byte each) { return each == std::byte(0); });
}

// The cotangent of a gather before the mask of what lies inside was laid on it.
ValueId unmasked(const GraphBuilder& b, ValueId cotangent) {
  const Node* node = producer_of(b, cotangent);
  return node != nullptr && node->op == &kSelect && is_zero_everywhere(b, node->operands[2]) ? node->operands[1] : cotangent;
}

// Added back to where each came from. Starts out of bounds are moved, as the gather moved them; where what they give is masked, they need
// not be, for scatter_add drops what has no place. Nor need its cotangent be masked, where a mask follows the gather itself.
Values gather_transpose(GraphBuilder& b, const TransposeArgs& args) {
  GatherDims dims(args.attrs);
  const TensorType& operand = args.operand_types[0];
  TensorType type = args.operand_types[1];
  ValueId indices = args.operands[1], cotangent = args.cotangents[0];
  if (args.attrs.flag("is_filled")) cotangent = unmasked(b, cotangent);
  if (!args.attrs.flag("is_masked") && !args.attrs.flag("is_inside")) {
    ValueId last = greatest_starts(b, type, dims, operand.shape, args.attrs.integers("slice_sizes"));
    indices = b.emit1(kClamp, {filled(b, type, 0.0), indices, last});
  }
  Attrs attrs;
  if (!args.attrs.flag("is_filled") && !args.attrs.flag("drops")) attrs.set("is_inside", true);  // of these nothing is dropped
  dims.set(attrs);
  return {b.emit1(kScatterAdd, {filled(b, operand, 0.0), indices, cotangent}, attrs), kZero};
}

std::vector<Batched> gather_batch(GraphBuilder& b, const BatchArgs& args) {
  const Batched &x = args.operands[0], &indices = args.operands[1];
  GatherDims dims(args.attrs);
  std::vector<std::int64_t> sizes = args.attrs.integers("slice_sizes");
  bool has_operand = x.dim != kNotBatched, has_indices = indices.dim != kNotBatched;
  dims.offset = plus_one(dims.offset);
  if (has_operand) {
    dims.collapsed = plus_one(dims.collapsed);
    dims.index_map = plus_one(dims.index_map);
    dims.operand_batching = plus_one(dims.operand_batching);
  }
  if (has_indices) dims.indices_batching = plus_one(dims.indices_batching);
  if (has_operand && has_indices) {
    dims.operand_batching = with_first(0, dims.operand_batching);
    dims.indices_batching = with_first(0, dims.indices_batching);
    sizes = with_first(1, sizes);
  } else if (has_operand) {
    dims.offset = with_first(0, dims.offset);
    sizes = with_first(args.size, sizes);
  }
  Attrs attrs{{"slice_sizes", sizes}};
  for (const char* flag : {"is_masked", "is_filled", "is_inside", "drops"})
    if (args.attrs.flag(flag)) attrs.set(flag, true);
  dims.set(attrs);
  ValueId operand = has_operand ? moved_dim(b, x.value, x.dim, 0) : x.value;
  ValueId index = has_indices ? moved_dim(b, indices.value, indices.dim, 0) : indices.value;
  return {{b.emit1(kGather, {operand, index}, attrs), 0}};
}

// ---- scatter

Values scatter_add_jvp(GraphBuilder& b, const JvpArgs& args) {
  ValueId operand = instantiated(b, args.tangents[0], b.type(args.operands[0]));
  ValueId updates = instantiated(b, args.tangents[2], b.type(args.operands[2]));
  return b.emit(args.op, {operand, args.operands[1], updates}, args.attrs);
}

// By updates there is none, as in JAX: the same place may be multiplied several times.
Values scatter_mul_jvp(GraphBuilder& b, const JvpArgs& args) {
  if (args.tangents[2] != kZero)
    throw_user_error(
        "scatter_mul gradients are only implemented if `unique_indices=True`, which no index tells here; "
        "stop_gradient the updates, or multiply by a scatter of them");
  return {b.emit1(args.op, {args.tangents[0], args.operands[1], args.operands[2]}, args.attrs)};
}
Values scatter_mul_transpose(GraphBuilder& b, const TransposeArgs& args) {
  return {b.emit1(args.op, {args.cotangents[0], args.operands[1], args.operands[2]}, args.attrs), kZero, kZero};
}

// Updates are numbered from 1, and the numbers scattered: a place shows who won it, or 0. What lost is masked, and what is left added, in
// the values as in their tangents, so that masks lie as the values do. Source: JAX's rule.
Values scatter_jvp(GraphBuilder& b, const JvpArgs& args) {
  TensorType operand = b.type(args.operands[0]), updates = b.type(args.operands[2]);
  ValueId indices = args.operands[1];
  ValueId operand_tangent = instantiated(b, args.tangents[0], operand), update_tangent = instantiated(b, args.tangents[2], updates);
  if (updates.elements() == 0 || operand.elements() == 0) return {operand_tangent};
  Attrs counting{{"dtype", DType::kUint32}, {"shape", Shape{updates.elements()}}, {"dimension", std::int64_t(0)}};
  ValueId number = reshaped(b, binary(b, kAdd, b.emit1(kIota, {}, counting), 1.0), updates.shape);
  ValueId winners = b.emit1(kScatter, {filled(b, {DType::kUint32, operand.shape}, 0.0), indices, number}, args.attrs);
  GatherDims dims(args.attrs);
  Attrs gathering{{"slice_sizes", windows_of(dims, operand.rank(), updates.shape)}};
  dims.set(gathering);
  ValueId winner = b.emit1(kGather, {winners, indices}, gathering);
  auto masked = [&](ValueId from, ValueId to) {
    ValueId stays = b.emit1(kSelect, {binary(b, kEqual, winners, 0.0), from, filled(b, operand, 0.0)});
    ValueId comes = b.emit1(kSelect, {b.emit1(kEqual, {number, winner}), to, filled(b, updates, 0.0)});
    return b.emit1(kScatterAdd, {stays, indices, comes}, args.attrs);
  };
  args.results[0] = masked(args.operands[0], args.operands[2]);
  return {masked(operand_tangent, update_tangent)};
}

// Of those that are equal to the result each has an equal share: the updates, and the operand's element where it is, too.
Values scatter_extremal_jvp(GraphBuilder& b, const JvpArgs& args) {
  ValueId x = args.operands[0], indices = args.operands[1], updates = args.operands[2], result = args.results[0];
  TensorType operand = b.type(x), type = b.type(updates);
  ValueId operand_tangent = instantiated(b, args.tangents[0], operand), update_tangent = instantiated(b, args.tangents[2], type);
  if (type.elements() == 0 || operand.elements() == 0) return {operand_tangent};
  GatherDims dims(args.attrs);
  Attrs gathering{{"slice_sizes", windows_of(dims, operand.rank(), type.shape)},
                  {"is_masked", true},
                  {"drops", true}};  // what was dropped stays dropped
  dims.set(gathering);
  auto at_updates = [&](ValueId value) { return b.emit1(kGather, {value, indices}, gathering); };
  auto counted = [&](ValueId each) { return at_updates(b.emit1(kScatterAdd, {filled(b, operand, 0.0), indices, each}, args.attrs)); };
  ValueId ones = filled(b, type, 1.0), zeros = filled(b, type, 0.0), won = at_updates(result);
  ValueId is_winner = b.emit1(kEqual, {updates, won}), is_retained = b.emit1(kEqual, {at_updates(x), won});
  ValueId winners = counted(b.emit1(kSelect, {is_winner, ones, zeros})), all = counted(ones);
  ValueId share = b.emit1(kDiv, {ones, winners}), share_with_operand = b.emit1(kDiv, {ones, b.emit1(kAdd, {winners, ones})});
  ValueId of_update = b.emit1(kSelect, {is_winner, b.emit1(kSelect, {is_retained, share_with_operand, share}), zeros});
  ValueId lost = b.emit1(kSub, {b.emit1(kSelect, {is_retained, share_with_operand, zeros}), ones});
  ValueId of_operand = b.emit1(kDiv, {lost, all});
  ValueId change = b.emit1(kMul, {at_updates(operand_tangent), of_operand});
  return {
      b.emit1(kScatterAdd, {operand_tangent, indices, b.emit1(kAdd, {b.emit1(kMul, {update_tangent, of_update}), change})}, args.attrs)};
}

namespace {

// `from`, of the operand's shape, gathered where each update goes, and `otherwise` where an update was dropped.
ValueId gathered_updates(GraphBuilder& b, const TransposeArgs& args, ValueId from, ValueId otherwise) {
  GatherDims dims(args.attrs);
  TensorType updates = args.operand_types[2], type = args.operand_types[1];
  const Shape& operand = args.operand_types[0].shape;
  Shape sizes = windows_of(dims, int(operand.size()), updates.shape);
  ValueId indices = args.operands[1];
  Attrs attrs{{"slice_sizes", sizes}};
  dims.set(attrs);
  if (args.attrs.flag("is_inside")) return b.emit1(kGather, {from, indices}, attrs.set("is_inside", true));  // none was dropped
  ValueId above = b.emit1(kGreaterEqual, {indices, filled(b, type, 0.0)});
  ValueId below = b.emit1(kLessEqual, {indices, greatest_starts(b, type, dims, operand, sizes)});
  ValueId is_kept = b.emit1(kReduceAnd, {b.emit1(kAnd, {above, below})}, Attrs{{"axes", std::vector<std::int64_t>{type.rank() - 1}}});
  ValueId mask = is_kept;
  if (b.shape(mask) != updates.shape)
    mask = b.emit1(kBroadcastInDim, {mask}, Attrs{{"shape", updates.shape}, {"dims", integers_of(dims.batch_dims(updates.rank()))}});
  return b.emit1(kSelect, {mask, b.emit1(kGather, {from, indices}, attrs), otherwise});
}

bool has_updates(const TransposeArgs& args) {
  return args.operands[2] == kAsked && args.operand_types[2].elements() > 0 && args.operand_types[0].elements() > 0;
}

}  // namespace

Values scatter_add_transpose(GraphBuilder& b, const TransposeArgs& args) {
  Values results{args.operands[0] == kAsked ? args.cotangents[0] : kZero, kZero, kZero};
  if (has_updates(args)) results[2] = gathered_updates(b, args, args.cotangents[0], filled(b, args.operand_types[2], 0.0));
  return results;
}

std::vector<Batched> scatter_batch(GraphBuilder& b, const BatchArgs& args) {
  Values operands;
  for (const Batched& x : args.operands) operands.push_back(batched_at(b, x, 0, args.size));
  GatherDims dims(args.attrs);
  dims.offset = plus_one(dims.offset);
  dims.collapsed = plus_one(dims.collapsed);
  dims.index_map = plus_one(dims.index_map);
  dims.operand_batching = with_first(0, plus_one(dims.operand_batching));
  dims.indices_batching = with_first(0, plus_one(dims.indices_batching));
  Attrs attrs;
  if (args.attrs.flag("is_inside")) attrs.set("is_inside", true);
  dims.set(attrs);
  return {{b.emit1(args.op, operands, attrs), 0}};
}

// ---- dynamic_slice, dynamic_update_slice

// JAX makes gathers and scatters of them under vmap: XLA does not look for what covers all then (transform/whole_updates.h).
Attrs of_batch() { return {{"of_batch", true}}; }
Attrs attrs_of_update(const Attrs& of_slice) { return of_slice.flag("of_batch") ? of_batch() : Attrs{}; }

Values dynamic_slice_jvp(GraphBuilder& b, const JvpArgs& args) {
  Values operands(args.operands.begin(), args.operands.end());
  operands[0] = args.tangents[0];
  return b.emit(args.op, operands, args.attrs);
}

Values dynamic_slice_transpose(GraphBuilder& b, const TransposeArgs& args) {
  Values operands{filled(b, args.operand_types[0], 0.0), args.cotangents[0]};
  operands.insert(operands.end(), args.operands.begin() + 1, args.operands.end());
  Values results(args.operands.size(), kZero);
  results[0] = b.emit1(kDynamicUpdateSlice, operands, attrs_of_update(args.attrs));
  return results;
}

std::vector<Batched> dynamic_slice_batch(GraphBuilder& b, const BatchArgs& args) {
  const Batched& x = args.operands[0];
  std::span<const Batched> starts = args.operands.subspan(1);
  std::vector<std::int64_t> sizes = args.attrs.integers("sizes");
  bool has_operand = x.dim != kNotBatched;
  ValueId operand = has_operand ? moved_dim(b, x.value, x.dim, 0) : x.value;
  if (!any_batched(starts)) {
    Values operands = with_starts({operand}, starts, scalar_constant(b, DType::kInt32, 0.0));
    return {{b.emit1(kDynamicSlice, operands, Attrs{{"sizes", with_first(args.size, sizes)}, {"of_batch", true}}), 0}};
  }
  Attrs attrs{{"slice_sizes", has_operand ? with_first(1, sizes) : sizes}};
  batch_of_windows(int(starts.size()), has_operand).set(attrs);
  return {{b.emit1(kGather, {operand, start_vectors(b, starts, args.size)}, attrs), 0}};
}

Values dynamic_update_slice_jvp(GraphBuilder& b, const JvpArgs& args) {
  Values operands(args.operands.begin(), args.operands.end());
  for (std::size_t i : {0u, 1u}) operands[i] = instantiated(b, args.tangents[i], b.type(args.operands[i]));
  return b.emit(args.op, operands, args.attrs);
}

Values dynamic_update_slice_transpose(GraphBuilder& b, const TransposeArgs& args) {
  Values results(args.operands.size(), kZero), starts(args.operands.begin() + 2, args.operands.end());
  if (args.operands[0] == kAsked) {
    Values operands{args.cotangents[0], filled(b, args.operand_types[1], 0.0)};
    operands.insert(operands.end(), starts.begin(), starts.end());
    results[0] = b.emit1(kDynamicUpdateSlice, operands, args.attrs);
  }
  if (args.operands[1] == kAsked) results[1] = box_at(b, args.cotangents[0], starts, args.operand_types[1].shape);
  return results;
}

// Where each element has its own starts it is a scatter, with the starts moved into bounds as they would be.
std::vector<Batched> dynamic_update_slice_batch(GraphBuilder& b, const BatchArgs& args) {
  std::span<const Batched> starts = args.operands.subspan(2);
  ValueId operand = batched_at(b, args.operands[0], 0, args.size), update = batched_at(b, args.operands[1], 0, args.size);
  if (!any_batched(starts))
    return {{b.emit1(kDynamicUpdateSlice, with_starts({operand, update}, starts, scalar_constant(b, DType::kInt32, 0.0)), of_batch()), 0}};
  if (starts.empty()) return {{update, 0}};
  GatherDims dims = batch_of_windows(int(starts.size()), true);
  ValueId indices = start_vectors(b, starts, args.size);
  TensorType type = b.type(indices);
  ValueId last = greatest_starts(b, type, dims, b.shape(operand), windows_of(dims, int(starts.size()) + 1, b.shape(update)));
  indices = b.emit1(kClamp, {filled(b, type, 0.0), indices, last});
  Attrs attrs;
  dims.set(attrs);
  return {{b.emit1(kScatter, {operand, indices, update}, attrs), 0}};
}

}  // namespace shardlab::ops
