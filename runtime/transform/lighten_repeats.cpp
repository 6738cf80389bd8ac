// Work on what repeats, done once.
#include <algorithm>
#include <numeric>

#include "runtime/ops/primitives.h"
#include "runtime/ops/shapes.h"
#include "runtime/transform/lighten_rules.h"
#include "runtime/transform/reductions.h"

namespace shardlab::transform {
namespace {

// The dimensions along which an operand of an elementwise op differs from element to element; all where it is made otherwise.
std::vector<bool> varying_dims(const LightEmitter& e, ValueId id, const Shape& shape) {
  std::vector<bool> varies(shape.size(), e.type(id).rank() > 0);
  const Node* spread = e.producer(id, ops::kBroadcastInDim);
  if (spread == nullptr || e.type(id).shape != shape) return varies;
  const Shape& from = e.type(spread->operands[0]).shape;
  const auto& dims = spread->attrs.integers("dims");
  std::vector<bool> mapped(shape.size(), false);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (from[i] != shape[std::size_t(dims[i])]) return varies;
    mapped[std::size_t(dims[i])] = true;
  }
  return mapped;
}

Shape sizes_at(const Shape& shape, const std::vector<int>& dims) {
  Shape sizes;
  for (int d : dims) sizes.push_back(shape[std::size_t(d)]);
  return sizes;
}

// The number of equal elements.
std::int64_t repeats(const Shape& shape, const std::vector<bool>& varies) {
  std::int64_t times = 1;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (!varies[d]) times *= shape[d];
  return times;
}

ValueId spread(LightEmitter& e, ValueId id, const Shape& shape, const std::vector<int>& dims, const LiesAs& lies) {
  if (e.type(id).shape == shape) return id;
  return e.emit(ops::kBroadcastInDim, {id}, Attrs{{"shape", shape}, {"dims", ops::integers_of(dims)}}, lies);
}

// An operand that varies at most along `dims`, without the others.
ValueId along(LightEmitter& e, ValueId id, const Shape& shape, const std::vector<int>& dims, const LiesAs& lies) {
  if (e.type(id).rank() == 0) return id;
  const Node* node = e.producer(id, ops::kBroadcastInDim);
  std::vector<int> places;
  for (std::int64_t d : node->attrs.integers("dims")) places.push_back(place_of(int(d), dims));
  return spread(e, node->operands[0], sizes_at(shape, dims), places, lies);
}

// For each dimension of the operand that varies the result's that it becomes, where the node only places dimensions; else -1.
std::optional<std::vector<int>> placed_dims(const LightEmitter& e, const LightSite& site, const std::vector<bool>& varies) {
  const Node& node = site.node;
  const Shape &from = e.type(site.operands[0]).shape, &to = e.type_of_original(node.results[0]).shape;
  std::vector<int> dims;
  if (node.op == &ops::kBroadcastInDim) {
    const auto& given = node.attrs.integers("dims");
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] != to[std::size_t(given[i])]) return std::nullopt;
      dims.push_back(int(given[i]));
    }
    return dims;
  }
  if (node.op == &ops::kTranspose) {
    const auto& axes = node.attrs.integers("axes");
    dims.resize(from.size());
    for (std::size_t d = 0; d < axes.size(); ++d) dims[std::size_t(axes[d])] = int(d);
    return dims;
  }
  // A reshape leaves the dimensions that vary where they are when as many elements precede them as before.
  if (node.op != &ops::kReshape || e.type(site.operands[0]).elements() == 0) return std::nullopt;
  std::int64_t before = 1, passed = 1;
  std::size_t next = 0;
  for (std::size_t d = 0; d < from.size(); ++d) {
    dims.push_back(-1);
    if (varies[d]) {
      while (next < to.size() && (passed != before || to[next] != from[d])) passed *= to[next++];
      if (next == to.size()) return std::nullopt;
      dims.back() = int(next);
      passed *= to[next++];
    }
    before *= from[d];
  }
  return dims;
}

}  // namespace

std::optional<ValueId> repeated_at_once(LightEmitter& e, const LightSite& site) {
  if (!is_any_of(site.node.op, {&ops::kBroadcastInDim, &ops::kReshape, &ops::kTranspose})) return std::nullopt;
  const Node* inner = e.producer(site.operands[0], ops::kBroadcastInDim);
  if (inner == nullptr) return std::nullopt;
  const Shape &source = e.type(inner->operands[0]).shape, &between = e.type(site.operands[0]).shape;
  const std::vector<bool> varies = varying_dims(e, site.operands[0], between);
  if (repeats(between, varies) <= 1) return std::nullopt;
  const auto placed = placed_dims(e, site, varies);
  if (!placed) return std::nullopt;
  std::vector<int> dims;
  for (std::int64_t d : inner->attrs.integers("dims")) dims.push_back((*placed)[std::size_t(d)]);
  if (std::find(dims.begin(), dims.end(), -1) != dims.end() || dims.size() != source.size()) return std::nullopt;
  const ValueId result = site.node.results[0];
  std::vector<int> order(dims.size());  // of the source's dimensions as they stand in the result
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) { return dims[std::size_t(a)] < dims[std::size_t(b)]; });
  ValueId value = inner->operands[0];
  if (!std::is_sorted(dims.begin(), dims.end())) {
    std::sort(dims.begin(), dims.end());
    value = e.emit(ops::kTranspose, {value}, Attrs{{"axes", ops::integers_of(order)}}, LightEmitter::like(result, dims));
  }
  return spread(e, value, e.type_of_original(result).shape, dims, e.like(result));
}

std::optional<ValueId> sliced_before_repeating(LightEmitter& e, const LightSite& site) {
  const Node* inner = site.node.op == &ops::kSlice ? e.producer(site.operands[0], ops::kBroadcastInDim) : nullptr;
  if (inner == nullptr) return std::nullopt;
  const Shape between = e.type(site.operands[0]).shape, shape = e.type_of_original(site.node.results[0]).shape;
  if (repeats(between, varying_dims(e, site.operands[0], between)) <= 1) return std::nullopt;
  const auto& given = inner->attrs.integers("dims");
  const std::vector<int> dims(given.begin(), given.end());
  ValueId value = inner->operands[0];
  if (sizes_at(shape, dims) != e.type(value).shape) {
    Attrs attrs = site.node.attrs;
    for (std::string_view name : {"start", "limit", "stride"})
      if (attrs.find(name) != nullptr) attrs.set(name, sizes_at(attrs.integers(name), dims));
    value = e.emit(ops::kSlice, {value}, attrs, LightEmitter::like(site.node.results[0], dims));
  }
  return spread(e, value, shape, dims, e.like(site.node.results[0]));
}

namespace {

// An operand of an elementwise op, and how what it stands for lies.
struct Operand {
  ValueId value;
  LiesAs lies;
};

// The op on what the operands repeat, spread to `shape`; nothing where they do not all repeat along a dimension.
std::optional<ValueId> computed_once(LightEmitter& e, const Node& node, const std::vector<Operand>& given, const Shape& shape,
                                     const LiesAs& lies) {
  std::vector<bool> varies(shape.size(), false);
  for (const Operand& operand : given) {
    if (e.type(operand.value).rank() > 0 && e.type(operand.value).shape != shape) return std::nullopt;
    const std::vector<bool> own = varying_dims(e, operand.value, shape);
    for (std::size_t d = 0; d < varies.size(); ++d) varies[d] = varies[d] || own[d];
  }
  if (repeats(shape, varies) <= 1) return std::nullopt;
  const std::vector<int> dims = where_set(varies);
  const LiesAs inside = LightEmitter::part_of(lies, dims);
  std::vector<ValueId> operands;
  for (const Operand& operand : given) {
    const ValueId value = along(e, operand.value, shape, dims, inside);
    operands.push_back(e.type(value).rank() == 0 ? value : e.as(value, LightEmitter::part_of(operand.lies, dims)));
  }
  return spread(e, e.emit(*node.op, operands, node.attrs, inside), shape, dims, lies);
}

bool is_plain_elementwise(const LightSite& site) {
  const OpDef& op = *site.node.op;
  return op.elementwise && !op.is_constraint && !op.uses_position && !op.member && op.collective.empty() && !site.operands.empty();
}

}  // namespace

std::optional<ValueId> repeated_after(LightEmitter& e, const LightSite& site) {
  if (!is_plain_elementwise(site)) return std::nullopt;
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < site.operands.size(); ++i) operands.push_back({site.operands[i], e.like(site.node.operands[i])});
  const ValueId result = site.node.results[0];
  return computed_once(e, site.node, operands, e.type_of_original(result).shape, e.like(result));
}

std::optional<ValueId> repeated_and_reshaped_after(LightEmitter& e, const LightSite& site) {
  if (!is_plain_elementwise(site)) return std::nullopt;
  const Shape& shape = e.type_of_original(site.node.results[0]).shape;
  auto is_one_number = [&](ValueId id) {
    const std::vector<bool> varies = varying_dims(e, id, shape);
    return std::find(varies.begin(), varies.end(), true) == varies.end();
  };
  // Where the operands that vary come from: all reshaped and turned alike, or reshaped alone.
  struct Source {
    ValueId value;
    Shape reshaped;
    std::vector<std::int64_t> axes;
  };
  auto source_of = [&](ValueId id) -> std::optional<Source> {
    const Node* turn = e.producer(id, ops::kTranspose);
    const ValueId reshaped = turn != nullptr ? turn->operands[0] : id;
    const Node* reshape = e.producer(reshaped, ops::kReshape);
    if (reshape == nullptr || e.type(id).shape != shape) return std::nullopt;
    return Source{reshape->operands[0], e.type(reshaped).shape,
                  turn != nullptr ? turn->attrs.integers("axes") : std::vector<std::int64_t>{}};
  };
  std::optional<Source> first;
  for (ValueId id : site.operands) {
    if (is_one_number(id)) continue;
    const std::optional<Source> source = source_of(id);
    if (!source) return std::nullopt;
    if (!first) first = source;
    if (e.type(first->value).shape != e.type(source->value).shape || first->axes != source->axes) return std::nullopt;
  }
  if (!first) return std::nullopt;
  const Shape whole = e.type(first->value).shape;
  const LiesAs lies = e.lies_as(first->value);
  std::vector<Operand> operands;
  for (ValueId id : site.operands) {
    if (is_one_number(id)) {
      const ValueId number = along(e, id, shape, {}, {});
      operands.push_back({e.type(id).rank() == 0 ? id : spread(e, number, whole, {}, lies), lies});
    } else {
      const ValueId before = source_of(id)->value;
      operands.push_back({before, e.lies_as(before)});
    }
  }
  const std::optional<ValueId> value = computed_once(e, site.node, operands, whole, lies);
  if (!value) return std::nullopt;
  const ValueId result = site.node.results[0];
  if (first->axes.empty()) return e.emit(ops::kReshape, {*value}, Attrs{{"shape", shape}}, e.like(result));
  std::vector<int> dims(shape.size());  // of the result, where the reshaped value's dimensions stand
  for (std::size_t d = 0; d < dims.size(); ++d) dims[std::size_t(first->axes[d])] = int(d);
  const ValueId reshaped = e.emit(ops::kReshape, {*value}, Attrs{{"shape", first->reshaped}}, LightEmitter::like(result, dims));
  return e.emit(ops::kTranspose, {reshaped}, Attrs{{"axes", first->axes}}, e.like(result));
}

std::optional<ValueId> reduced_before_repeating(LightEmitter& e, const LightSite& site) {
  const OpDef& op = *site.node.op;
  if (!is_reduction(op)) return std::nullopt;
  const ValueId result = site.node.results[0];
  const TensorType type = e.type(site.operands[0]);
  const std::vector<bool> varies = varying_dims(e, site.operands[0], type.shape);
  if (repeats(type.shape, varies) <= 1) return std::nullopt;
  std::vector<bool> is_reduced(type.shape.size(), false);
  for (std::int64_t axis : site.node.attrs.integers("axes")) is_reduced[std::size_t(axis)] = true;
  const std::vector<int> inner = where_set(varies);
  std::vector<int> reduced, left;  // dimensions of what is repeated; those of the result that the rest of them become
  std::int64_t times = 1;
  int kept = 0;
  for (int d = 0; d < type.rank(); ++d) {
    if (is_reduced[std::size_t(d)] && varies[std::size_t(d)]) reduced.push_back(place_of(d, inner));
    if (is_reduced[std::size_t(d)] && !varies[std::size_t(d)]) times *= type.shape[std::size_t(d)];
    if (!is_reduced[std::size_t(d)] && varies[std::size_t(d)]) left.push_back(kept);
    kept += !is_reduced[std::size_t(d)];
  }
  // n times an integer, or what float32 holds exactly and adds up in no wider type, is a product.
  const bool is_sum = op.reduction == Reduction::kSum;
  if (times == 0 || (&op == &ops::kReduceProd && times > 1) || (is_sum && times > 1 && (is_half(type.dtype) || times > (1 << 24))))
    return std::nullopt;
  const LiesAs inside = LightEmitter::like(result, left);
  ValueId value = along(e, site.operands[0], type.shape, inner, {});
  if (!reduced.empty()) value = e.emit(op, {value}, Attrs{{"axes", ops::integers_of(reduced)}}, inside);
  if (is_sum && times > 1) value = e.emit(ops::kMul, {value, e.filled(e.type(value), double(times))}, {}, inside);
  return spread(e, value, e.type_of_original(result).shape, left, e.like(result));
}

std::optional<ValueId> multiplied_before_repeating(LightEmitter& e, const LightSite& site) {
  if (site.node.op != &ops::kDotGeneral) return std::nullopt;
  const ValueId result = site.node.results[0];
  const Shape& shape = e.type_of_original(result).shape;
  std::vector<bool> is_left(shape.size(), true);  // dimensions of the result in which it varies
  std::vector<std::vector<int>> kept;             // per operand
  std::size_t next = site.node.attrs.integers("batch").size() / 2;
  for (std::size_t side : {0, 1}) {
    const Shape own = e.type(site.operands[side]).shape;
    const std::vector<bool> varies = varying_dims(e, site.operands[side], own);
    std::vector<bool> is_free(own.size(), true), keeps(own.size(), true);
    for (std::string_view name : {"batch", "contract"}) {
      const auto& both = site.node.attrs.integers(name);
      for (std::size_t i = 0; i < both.size() / 2; ++i) is_free[std::size_t(both[side * both.size() / 2 + i])] = false;
    }
    for (std::size_t d = 0; d < own.size(); ++d) {
      if (!is_free[d]) continue;
      is_left[next++] = keeps[d] = varies[d] || own[d] == 1;
    }
    kept.push_back(where_set(keeps));
  }
  if (repeats(shape, is_left) <= 1) return std::nullopt;
  std::vector<ValueId> operands;
  Attrs attrs = site.node.attrs;
  for (std::size_t side : {0, 1}) {
    const Shape own = e.type(site.operands[side]).shape;
    const bool is_whole = kept[side].size() == own.size();
    operands.push_back(is_whole ? site.operands[side]
                                : along(e, site.operands[side], own, kept[side], LightEmitter::like(site.node.operands[side], kept[side])));
    for (std::string_view name : {"batch", "contract"}) {
      std::vector<std::int64_t> both = attrs.integers(name);
      for (std::size_t i = 0; i < both.size() / 2; ++i) {
        std::int64_t& dim = both[side * both.size() / 2 + i];
        dim = place_of(int(dim), kept[side]);
      }
      attrs.set(name, both);
    }
  }
  const std::vector<int> left = where_set(is_left);
  return spread(e, e.emit(ops::kDotGeneral, operands, attrs, LightEmitter::like(result, left)), shape, left, e.like(result));
}

}  // namespace shardlab::transform
