#include "runtime/transform/lighten_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/ops/primitives.h"
#include "runtime/ops/shapes.h"
#include "runtime/ops/unary.h"

namespace shardlab::transform {
namespace {

bool is_any_of(const OpDef* op, std::initializer_list<const OpDef*> ops) { return std::find(ops.begin(), ops.end(), op) != ops.end(); }

// Whether op(x, x) is x.
bool is_idempotent(const OpDef* op) { return is_any_of(op, {&ops::kMaximum, &ops::kMinimum, &ops::kAnd, &ops::kOr}); }

// What the op gives where an operand is this number: the other operand.
struct Neutral {
  const OpDef* op;
  double number;
  bool on_both_sides;
};

bool is_neutral(const LightEmitter& e, const OpDef* op, ValueId number, bool is_first) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static const Neutral kNeutrals[] = {{&ops::kAdd, 0, true},
                                      {&ops::kSub, 0, false},
                                      {&ops::kMul, 1, true},
                                      {&ops::kDiv, 1, false},
                                      {&ops::kMaximum, -kInfinity, true},
                                      {&ops::kMinimum, kInfinity, true}};
  return std::any_of(std::begin(kNeutrals), std::end(kNeutrals), [&](const Neutral& each) {
    return each.op == op && (each.on_both_sides || !is_first) && e.is_filled_with(number, each.number);
  });
}

// Of real floats, NaN aside: integers overflow.
bool is_never_negative(const LightEmitter& e, ValueId id) {
  const Node* node = e.producer(e.named_by(id));
  if (node == nullptr || !is_floating(e.type(id).dtype)) return false;
  return is_any_of(node->op, {&ops::kAbs, &ops::kExp, &ops::kSqrt, &ops::kRelu}) ||
         (node->op == &ops::kMul && e.are_equal(node->operands[0], node->operands[1]));
}

// Whether x is what the op gave for y already, so that it gives it once more: maximum(maximum(y, z), y), relu(relu(y)), maximum(relu(y),
// y).
bool has_taken(const LightEmitter& e, const OpDef* op, ValueId x, ValueId y) {
  const Node* node = e.producer(e.named_by(x));
  if (node == nullptr || !is_idempotent(op)) return false;
  const bool is_alike = node->op == op || (op == &ops::kMaximum && node->op == &ops::kRelu);
  return is_alike && std::any_of(node->operands.begin(), node->operands.end(), [&](ValueId id) { return e.are_equal(id, y); });
}

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

std::vector<int> where_set(const std::vector<bool>& mask) {
  std::vector<int> dims;
  for (std::size_t d = 0; d < mask.size(); ++d)
    if (mask[d]) dims.push_back(int(d));
  return dims;
}

Shape sizes_at(const Shape& shape, const std::vector<int>& dims) {
  Shape sizes;
  for (int d : dims) sizes.push_back(shape[std::size_t(d)]);
  return sizes;
}

// The op that makes of the reductions of two parts the one of both; nullptr of what is no reduction.
const OpDef* combiner_of(const OpDef& op) {
  static const std::pair<const OpDef*, const OpDef*> kCombiners[] = {{&ops::kReduceSum, &ops::kAdd},     {&ops::kReduceProd, &ops::kMul},
                                                                     {&ops::kReduceMax, &ops::kMaximum}, {&ops::kReduceMin, &ops::kMinimum},
                                                                     {&ops::kReduceAnd, &ops::kAnd},     {&ops::kReduceOr, &ops::kOr}};
  for (const auto& [reduction, combiner] : kCombiners)
    if (reduction == &op) return combiner;
  return nullptr;
}
bool is_reduction(const OpDef& op) { return combiner_of(op) != nullptr; }

// The number of equal elements.
std::int64_t repeats(const Shape& shape, const std::vector<bool>& varies) {
  std::int64_t times = 1;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (!varies[d]) times *= shape[d];
  return times;
}

int place_of(int dim, const std::vector<int>& dims) { return int(std::find(dims.begin(), dims.end(), dim) - dims.begin()); }

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

// The site's reduction of x, where that is one of the same kind, which nobody else uses.
std::optional<ValueId> reduced_at_once(LightEmitter& e, const LightSite& site, ValueId x) {
  const Node* inner = e.is_used_once(site.node.operands[0]) ? e.producer(x, *site.node.op) : nullptr;
  if (inner == nullptr) return std::nullopt;
  const ValueId whole = inner->operands[0];
  std::vector<bool> is_left(e.type(whole).shape.size(), true);
  for (std::int64_t axis : inner->attrs.integers("axes")) is_left[std::size_t(axis)] = false;
  const std::vector<int> dims = where_set(is_left);
  for (std::int64_t axis : site.node.attrs.integers("axes")) is_left[std::size_t(dims[std::size_t(axis)])] = false;
  is_left.flip();
  return e.emit(*site.node.op, {whole}, Attrs{{"axes", ops::integers_of(where_set(is_left))}}, e.like(site.node.results[0]));
}

}  // namespace

std::optional<ValueId> operand_alone(LightEmitter& e, const LightSite& site) {
  const OpDef* op = site.node.op;
  const ValueId x = site.operands.empty() ? kZero : site.operands[0];
  if (op == &ops::kAbs && is_never_negative(e, x)) return x;
  if (op == &ops::kRelu && e.producer(e.named_by(x)) != nullptr && e.producer(e.named_by(x))->op == &ops::kRelu) return x;
  if (const Node* neg = op == &ops::kNeg ? e.producer(x, ops::kNeg) : nullptr) return neg->operands[0];
  const bool goes_along_axis = is_any_of(op, {&ops::kSort, &ops::kCumsum, &ops::kCumprod, &ops::kCummax, &ops::kCummin});
  if (goes_along_axis && site.operands.size() == 1 && e.type(x) == e.type_of_original(site.node.results[0]) &&
      e.type(x).shape[std::size_t(site.node.attrs.integer("axis"))] == 1)
    return x;
  if (op == &ops::kDynamicUpdateSlice && e.type(x) == e.type(site.operands[1])) return site.operands[1];  // a start that fits is 0
  if (!op->elementwise || site.operands.size() != 2) return std::nullopt;
  const ValueId y = site.operands[1];
  if (e.type(x).shape != e.type(y).shape) return std::nullopt;
  if (is_idempotent(op) && e.are_equal(x, y)) return x;
  if (has_taken(e, op, x, y)) return x;
  if (has_taken(e, op, y, x)) return y;
  if (is_neutral(e, op, y, false)) return x;
  if (is_neutral(e, op, x, true)) return y;
  return std::nullopt;
}

std::optional<ValueId> without_signs(LightEmitter& e, const LightSite& site) {
  const OpDef* op = site.node.op;
  if (op == &ops::kReduceSum)
    if (const Node* neg = e.producer(site.operands[0], ops::kNeg)) {
      const LiesAs lies = e.like(site.node.results[0]);
      const ValueId x = neg->operands[0];
      const std::optional<ValueId> at_once = reduced_at_once(e, site, x);
      return e.emit(ops::kNeg, {at_once ? *at_once : e.emit(*op, {x}, site.node.attrs, lies)}, {}, lies);
    }
  if (!op->elementwise || site.operands.empty()) return std::nullopt;
  std::vector<const Node*> negs;
  for (ValueId id : site.operands) negs.push_back(e.producer(id, ops::kNeg));
  auto made = [&](const OpDef& other, const std::vector<ValueId>& operands) {
    return e.emit(other, operands, site.node.attrs, e.like(site.node.results[0]));
  };
  if (is_any_of(op, {&ops::kAbs, &ops::kCos}) && negs[0] != nullptr) return made(*op, {negs[0]->operands[0]});
  if (site.operands.size() != 2) return std::nullopt;
  const ValueId x = site.operands[0], y = site.operands[1];
  const Node *left = e.producer(x, ops::kAbs), *right = e.producer(y, ops::kAbs);
  if (op == &ops::kMul && left != nullptr && right != nullptr && e.are_equal(left->operands[0], right->operands[0]))
    return made(*op, {left->operands[0], right->operands[0]});
  if (is_any_of(op, {&ops::kMul, &ops::kDiv}) && negs[0] != nullptr && negs[1] != nullptr)
    return made(*op, {negs[0]->operands[0], negs[1]->operands[0]});
  if (op == &ops::kAdd && negs[1] != nullptr) return made(ops::kSub, {x, negs[1]->operands[0]});
  if (op == &ops::kAdd && negs[0] != nullptr) return made(ops::kSub, {y, negs[0]->operands[0]});
  if (op == &ops::kSub && negs[1] != nullptr) return made(ops::kAdd, {x, negs[1]->operands[0]});
  return std::nullopt;
}

namespace {

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
  if (site.node.op != &ops::kBroadcastInDim && site.node.op != &ops::kReshape) return std::nullopt;
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
  return spread(e, inner->operands[0], e.type_of_original(site.node.results[0]).shape, dims, e.like(site.node.results[0]));
}

std::optional<ValueId> repeated_after(LightEmitter& e, const LightSite& site) {
  const OpDef& op = *site.node.op;
  if (!op.elementwise || op.is_constraint || op.uses_position || op.member || !op.collective.empty() || site.operands.empty())
    return std::nullopt;
  const ValueId result = site.node.results[0];
  const TensorType& type = e.type_of_original(result);
  std::vector<bool> varies(type.shape.size(), false);
  for (ValueId id : site.operands) {
    if (e.type(id).rank() > 0 && e.type(id).shape != type.shape) return std::nullopt;
    const std::vector<bool> own = varying_dims(e, id, type.shape);
    for (std::size_t d = 0; d < varies.size(); ++d) varies[d] = varies[d] || own[d];
  }
  if (repeats(type.shape, varies) <= 1) return std::nullopt;
  const std::vector<int> dims = where_set(varies);
  const LiesAs inside = LightEmitter::like(result, dims);
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < site.operands.size(); ++i) {
    const ValueId operand = along(e, site.operands[i], type.shape, dims, inside);
    const bool is_scalar = e.type(operand).rank() == 0;
    operands.push_back(is_scalar ? operand : e.as(operand, LightEmitter::like(site.node.operands[i], dims)));
  }
  return spread(e, e.emit(op, operands, site.node.attrs, inside), type.shape, dims, e.like(result));
}

std::optional<ValueId> reduced_before_repeating(LightEmitter& e, const LightSite& site) {
  const OpDef& op = *site.node.op;
  if (!is_any_of(&op, {&ops::kReduceSum, &ops::kReduceMax, &ops::kReduceMin, &ops::kReduceAnd, &ops::kReduceOr})) return std::nullopt;
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
  if (times == 0 || (is_sum && times > 1 && (is_half(type.dtype) || times > (1 << 24)))) return std::nullopt;
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

std::optional<ValueId> reduced_at_once(LightEmitter& e, const LightSite& site) {
  return is_reduction(*site.node.op) ? reduced_at_once(e, site, site.operands[0]) : std::nullopt;
}

std::optional<ValueId> reduced_before_joining(LightEmitter& e, const LightSite& site) {
  const Node* join = is_reduction(*site.node.op) ? e.producer(site.operands[0], ops::kConcatenate) : nullptr;
  if (join == nullptr) return std::nullopt;
  const auto& axes = site.node.attrs.integers("axes");
  if (std::find(axes.begin(), axes.end(), join->attrs.integer("axis")) == axes.end()) return std::nullopt;
  const std::vector<ValueId> parts = join->operands;
  auto first_equal = [&](std::size_t i) {
    return std::size_t(std::find_if(parts.begin(), parts.end(), [&](ValueId id) { return e.are_equal(id, parts[i]); }) - parts.begin());
  };
  bool any_is_repeated = false;
  for (std::size_t i = 0; i < parts.size(); ++i) any_is_repeated |= first_equal(i) < i;
  if (!any_is_repeated) return std::nullopt;
  const LiesAs lies = e.like(site.node.results[0]);
  const OpDef* combiner = combiner_of(*site.node.op);
  std::vector<ValueId> reduced;
  ValueId all = kZero;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t first = first_equal(i);
    reduced.push_back(first < i ? reduced[first] : e.emit(*site.node.op, {parts[i]}, site.node.attrs, lies));
    all = i == 0 ? reduced[0] : first < i && is_idempotent(combiner) ? all : e.emit(*combiner, {all, reduced[i]}, {}, lies);
  }
  return all;
}

std::optional<ValueId> reshaped_reduction(LightEmitter& e, const LightSite& site) {
  const OpDef& op = *site.node.op;
  if (!is_reduction(op)) return std::nullopt;
  const ValueId result = site.node.results[0];
  const TensorType& type = e.type_of_original(result);
  if (type.elements() != e.type(site.operands[0]).elements() || type.elements() == 0) return std::nullopt;
  if (type.rank() == e.type(site.operands[0]).rank()) return site.operands[0];
  return e.emit(ops::kReshape, site.operands, Attrs{{"shape", type.shape}}, e.like(result));
}

}  // namespace shardlab::transform
