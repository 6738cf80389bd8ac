#include "runtime/transform/lighten_rules.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "runtime/ops/primitives.h"
#include "runtime/ops/shapes.h"
#include "runtime/ops/unary.h"
#include "runtime/transform/fold_integers.h"
#include "runtime/transform/reductions.h"

namespace shardlab::transform {

bool is_any_of(const OpDef* op, std::initializer_list<const OpDef*> ops) { return std::find(ops.begin(), ops.end(), op) != ops.end(); }

std::vector<int> where_set(const std::vector<bool>& mask) {
  std::vector<int> dims;
  for (std::size_t d = 0; d < mask.size(); ++d)
    if (mask[d]) dims.push_back(int(d));
  return dims;
}

namespace {

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

// NaN aside; of signed integers nothing is known, since they overflow.
bool is_never_negative(const LightEmitter& e, ValueId id) {
  if (is_unsigned_integer(e.type(id).dtype)) return true;
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

// Whether x is held on that side of the number already: maximum(clamp(0, y, 1), 0), maximum(relu(y), 0), minimum(minimum(y, 1), 2), and the
// maximum of what has no sign and 0.
bool is_held_by(const LightEmitter& e, const OpDef* op, ValueId x, ValueId number) {
  if (op == &ops::kMaximum && is_unsigned_integer(e.type(x).dtype) && e.is_filled_with(number, 0)) return true;
  const Node* node = is_any_of(op, {&ops::kMaximum, &ops::kMinimum}) ? e.producer(e.named_by(x)) : nullptr;
  const std::optional<double> bound = node != nullptr ? e.filling(number) : std::nullopt;
  if (!bound) return false;
  const bool is_low = op == &ops::kMaximum;
  auto holds = [&](std::optional<double> by) { return by && (is_low ? *by >= *bound : *by <= *bound); };
  if (node->op == &ops::kRelu) return is_low && holds(0);
  if (node->op == op) return holds(e.filling(node->operands[0])) || holds(e.filling(node->operands[1]));
  if (node->op != &ops::kClamp) return false;
  const std::optional<double> low = e.filling(node->operands[0]), high = e.filling(node->operands[2]);
  return low && high && *low <= *high && holds(is_low ? low : high);
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

// Whether each value of the first is one of the second, so that nothing is lost between them.
bool is_within(DType a, DType b) {
  if (a == b || a == DType::kBool) return a == b || is_integer(b) || is_floating(b);
  if (is_integer(a) && is_integer(b)) {
    const bool keeps_sign = is_unsigned_integer(a) || !is_unsigned_integer(b);
    return keeps_sign && (is_unsigned_integer(a) == is_unsigned_integer(b) ? size_of(a) <= size_of(b) : size_of(a) < size_of(b));
  }
  return is_floating(a) && is_floating(b) && size_of(a) < size_of(b);
}

// What was converted without loss before.
std::optional<ValueId> converted_once(LightEmitter& e, const LightSite& site) {
  const Node* first = e.producer(site.operands[0], ops::kConvert);
  if (first == nullptr || !is_within(e.type(first->operands[0]).dtype, e.type(site.operands[0]).dtype)) return std::nullopt;
  const ValueId x = first->operands[0];
  if (e.type(x) == e.type_of_original(site.node.results[0])) return x;
  return e.emit(ops::kConvert, {x}, site.node.attrs, e.like(site.node.results[0]));
}

}  // namespace

std::optional<ValueId> operand_alone(LightEmitter& e, const LightSite& site) {
  const OpDef* op = site.node.op;
  const ValueId x = site.operands.empty() ? kZero : site.operands[0];
  if (op == &ops::kConvert) return converted_once(e, site);
  if (op->is_constraint && constant_spread(e.graph(), x) != nullptr) return x;  // constants are computed in whatever form is asked for
  if (is_any_of(op, {&ops::kAbs, &ops::kRelu}) && is_never_negative(e, x)) return x;
  if (is_any_of(op, {&ops::kNeg, &ops::kConj, &ops::kNot}))
    if (const Node* once = e.producer(x, *op)) return once->operands[0];
  if (const Node* exp = op == &ops::kLog && is_floating(e.type(x).dtype) ? e.producer(x, ops::kExp) : nullptr) return exp->operands[0];
  if (const Node* reshape = op == &ops::kReshape ? e.producer(x, ops::kReshape) : nullptr)
    if (e.type(reshape->operands[0]) == e.type_of_original(site.node.results[0])) return reshape->operands[0];
  const bool goes_along_axis = is_any_of(op, {&ops::kSort, &ops::kCumsum, &ops::kCumprod, &ops::kCummax, &ops::kCummin});
  if (goes_along_axis && site.operands.size() == 1 && e.type(x) == e.type_of_original(site.node.results[0]) &&
      e.type(x).shape[std::size_t(site.node.attrs.integer("axis"))] == 1)
    return x;
  if (is_any_of(op, {&ops::kArgmax, &ops::kArgmin}) && e.type(x).shape[std::size_t(site.node.attrs.integer("axis"))] == 1)
    return e.filled(e.type_of_original(site.node.results[0]), 0);
  if (op == &ops::kDynamicUpdateSlice && e.type(x) == e.type(site.operands[1])) return site.operands[1];  // a start that fits is 0
  if (!op->elementwise || site.operands.size() != 2) return std::nullopt;
  const ValueId y = site.operands[1];
  if (e.type(x).shape != e.type(y).shape) return std::nullopt;
  if (is_idempotent(op) && e.are_equal(x, y)) return x;
  if (has_taken(e, op, x, y)) return x;
  if (has_taken(e, op, y, x)) return y;
  if (is_held_by(e, op, x, y)) return x;
  if (is_held_by(e, op, y, x)) return y;
  if (is_neutral(e, op, y, false)) return x;
  if (is_neutral(e, op, x, true)) return y;
  return std::nullopt;
}

std::optional<ValueId> started_where_it_fits(LightEmitter& e, const LightSite& site) {
  const OpDef* op = site.node.op;
  if (!is_any_of(op, {&ops::kDynamicSlice, &ops::kDynamicUpdateSlice})) return std::nullopt;
  const Shape whole = e.type(site.operands[0]).shape;
  const Shape part = op == &ops::kDynamicSlice ? e.type_of_original(site.node.results[0]).shape : e.type(site.operands[1]).shape;
  if (op == &ops::kDynamicSlice && part == whole) return site.operands[0];
  std::vector<ValueId> operands = site.operands;
  const std::size_t first = operands.size() - whole.size();
  for (std::size_t d = 0; d < whole.size(); ++d) {
    ValueId& start = operands[first + d];
    if (part[d] == whole[d] && !e.is_filled_with(start, 0)) start = e.filled(e.type(start), 0);
  }
  if (operands == site.operands) return std::nullopt;
  return e.emit(*op, operands, site.node.attrs, e.like(site.node.results[0]));
}

std::optional<ValueId> added_where_updated(LightEmitter& e, const LightSite& site) {
  if (site.node.op != &ops::kAdd) return std::nullopt;
  for (std::size_t i : {0, 1}) {
    const Node* update = e.producer(site.operands[i], ops::kDynamicUpdateSlice);
    if (update == nullptr || !e.is_used_once(site.node.operands[i]) || !e.is_filled_with(update->operands[0], 0)) continue;
    const ValueId x = site.operands[1 - i], added = update->operands[1];
    const LiesAs whole = e.like(site.node.results[0]);
    std::vector<int> cut;
    for (int d = 0; d < e.type(x).rank(); ++d)
      if (e.type(x).shape[std::size_t(d)] != e.type(added).shape[std::size_t(d)]) cut.push_back(d);
    if (!e.is_whole_along(whole, cut)) continue;
    const std::vector<ValueId> starts(update->operands.begin() + 2, update->operands.end());
    std::vector<ValueId> sliced{x}, updated{x, -1};
    for (std::vector<ValueId>* operands : {&sliced, &updated}) operands->insert(operands->end(), starts.begin(), starts.end());
    const LiesAs lies = e.lies_as(added);
    const ValueId there = e.emit(ops::kDynamicSlice, sliced, Attrs{{"sizes", e.type(added).shape}}, lies);
    updated[1] = e.emit(ops::kAdd, {there, added}, {}, lies);
    return e.emit(ops::kDynamicUpdateSlice, updated, {}, whole);
  }
  return std::nullopt;
}

std::optional<ValueId> padding_alone(LightEmitter& e, const LightSite& site) {
  const TensorType result = e.type_of_original(site.node.results[0]);
  std::vector<ValueId> operands = site.operands;
  Attrs attrs = site.node.attrs;
  TensorType padded = result;
  Box seen = whole(result.shape);
  if (site.node.op == &ops::kSlice) {
    const Node* pad = e.producer(site.operands[0], ops::kPad);
    if (pad == nullptr) return std::nullopt;
    padded = e.type(site.operands[0]);
    seen = ops::kSlice.needs({padded}, {result}, site.node.attrs, seen)[0].box;
    operands = pad->operands;
    attrs = pad->attrs;
  } else if (site.node.op != &ops::kPad) {
    return std::nullopt;
  }
  const auto needed = ops::kPad.needs({e.type(operands[0]), e.type(operands[1])}, {padded}, attrs, seen);
  if (result.elements() == 0 || element_count(needed[0].box) > 0) return std::nullopt;
  const Attrs everywhere{{"shape", result.shape}, {"dims", std::vector<std::int64_t>{}}};
  return e.emit(ops::kBroadcastInDim, {operands[1]}, everywhere, e.like(site.node.results[0]));
}

namespace {

// What the elements of an op's result are taken from, where it puts operands together; empty of other ops.
std::vector<ValueId> put_together(const LightSite& site) {
  const OpDef* op = site.node.op;
  if (op == &ops::kConcatenate) return site.operands;
  if (op == &ops::kPad || op == &ops::kDynamicUpdateSlice) return {site.operands[0], site.operands[1]};
  if (op == &ops::kDynamicSlice) return {site.operands[0]};
  return {};
}

// As filled in by one element, since 0 and -0 are equal; integers that a double holds exactly.
std::optional<double> repeated_number(const LightEmitter& e, ValueId id) {
  constexpr double kExact = 0x1p53;
  const Literal* literal = constant_spread(e.graph(), id);
  if (literal != nullptr && literal->type.elements() != 1) return std::nullopt;
  const std::optional<double> number = e.filling(id);
  return number && is_integer(e.type(id).dtype) && std::abs(*number) >= kExact ? std::nullopt : number;
}

}  // namespace

std::optional<ValueId> filled_throughout(LightEmitter& e, const LightSite& site) {
  const std::vector<ValueId> parts = put_together(site);
  if (parts.empty()) return std::nullopt;
  const std::optional<double> number = repeated_number(e, parts[0]);
  if (!number) return std::nullopt;
  for (ValueId part : parts) {
    const std::optional<double> other = repeated_number(e, part);
    if (!other || *other != *number || std::signbit(*other) != std::signbit(*number)) return std::nullopt;
  }
  return e.filled(e.type_of_original(site.node.results[0]), *number);
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
  if (op == &ops::kMul && left != nullptr && right != nullptr && e.are_equal(left->operands[0], right->operands[0]) &&
      !is_complex(e.type(left->operands[0]).dtype))
    return made(*op, {left->operands[0], right->operands[0]});
  if (is_any_of(op, {&ops::kMul, &ops::kDiv}) && negs[0] != nullptr && negs[1] != nullptr)
    return made(*op, {negs[0]->operands[0], negs[1]->operands[0]});
  if (op == &ops::kAdd && negs[1] != nullptr) return made(ops::kSub, {x, negs[1]->operands[0]});
  if (op == &ops::kAdd && negs[0] != nullptr) return made(ops::kSub, {y, negs[0]->operands[0]});
  if (op == &ops::kSub && negs[1] != nullptr) return made(ops::kAdd, {x, negs[1]->operands[0]});
  return std::nullopt;
}

std::optional<ValueId> reduced_at_once(LightEmitter& e, const LightSite& site) {
  return is_reduction(*site.node.op) ? reduced_at_once(e, site, site.operands[0]) : std::nullopt;
}

std::optional<ValueId> added_before_reducing(LightEmitter& e, const LightSite& site) {
  const TensorType type = e.type_of_original(site.node.results[0]);
  if (!is_any_of(site.node.op, {&ops::kAdd, &ops::kSub}) || is_half(type.dtype)) return std::nullopt;
  std::vector<const Node*> sums;
  for (std::size_t i : {0, 1}) {
    const Node* sum = e.is_used_once(site.node.operands[i]) ? e.producer(site.operands[i]) : nullptr;
    if (sum == nullptr || sum->op != &ops::kReduceSum) return std::nullopt;
    sums.push_back(sum);
  }
  const ValueId x = sums[0]->operands[0], y = sums[1]->operands[0];
  const Attrs attrs = sums[0]->attrs;
  if (attrs != sums[1]->attrs || e.type(x) != e.type(y) || !e.lie_alike(e.lies_as(x), e.lies_as(y))) return std::nullopt;
  return e.emit(ops::kReduceSum, {e.emit(*site.node.op, {x, y}, {}, e.lies_as(x))}, attrs, e.like(site.node.results[0]));
}

namespace {

// What a value is joined from along a dimension.
struct Joined {
  std::vector<ValueId> parts;
  std::int64_t axis = 0;
};

// A part of a join, reshaped or transposed, and the dimension that it is joined along then.
using MakePart = std::function<ValueId(ValueId part, const OpDef& op, const Attrs& attrs, std::int64_t axis)>;

std::optional<Joined> joined_and_turned(const LightEmitter& e, ValueId id, const MakePart& make_part) {
  const Node* turned = e.producer(id, ops::kTranspose);
  const Node* join = turned != nullptr ? e.producer(turned->operands[0], ops::kConcatenate) : nullptr;
  if (join == nullptr) return std::nullopt;
  const Attrs attrs = turned->attrs;
  const auto& axes = attrs.integers("axes");
  Joined joined{{}, std::find(axes.begin(), axes.end(), join->attrs.integer("axis")) - axes.begin()};
  const std::vector<ValueId> parts = join->operands;
  for (ValueId part : parts) joined.parts.push_back(make_part(part, ops::kTranspose, attrs, joined.axis));
  return joined;
}

// Of a join, of a transpose of one, or of a reshape that leaves its parts one behind the other.
std::optional<Joined> joined_from(const LightEmitter& e, ValueId id, const MakePart& make_part) {
  if (const Node* join = e.producer(id, ops::kConcatenate)) return Joined{join->operands, join->attrs.integer("axis")};
  if (auto joined = joined_and_turned(e, id, make_part)) return joined;
  const Node* reshaped = e.producer(id, ops::kReshape);
  const Node* join = reshaped != nullptr ? e.producer(reshaped->operands[0], ops::kConcatenate) : nullptr;
  if (join == nullptr || e.type(id).elements() == 0) return std::nullopt;
  const Shape from = e.type(reshaped->operands[0]).shape, to = e.type(id).shape;
  const std::size_t axis = std::size_t(join->attrs.integer("axis"));
  const std::int64_t before = std::accumulate(from.begin(), from.begin() + std::ptrdiff_t(axis), std::int64_t(1), std::multiplies<>());
  // The dimension before which as many elements are counted as before the joined one.
  std::size_t d = 0;
  for (std::int64_t passed = 1; d < to.size() && (passed < before || to[d] == 1);) passed *= to[d++];
  const std::int64_t inner =
      std::accumulate(to.begin() + std::ptrdiff_t(std::min(d + 1, to.size())), to.end(), before, std::multiplies<>());
  if (d == to.size() || inner * to[d] != e.type(id).elements()) return std::nullopt;
  auto fits = [&](ValueId part) { return e.type(part).elements() % inner == 0; };
  if (!std::all_of(join->operands.begin(), join->operands.end(), fits)) return std::nullopt;
  Joined joined{{}, std::int64_t(d)};
  const std::vector<ValueId> parts = join->operands;
  for (ValueId part : parts) {
    Shape shape = to;
    shape[d] = e.type(part).elements() / inner;
    joined.parts.push_back(make_part(part, ops::kReshape, Attrs{{"shape", shape}}, joined.axis));
  }
  return joined;
}

}  // namespace

std::optional<ValueId> reduced_before_joining(LightEmitter& e, const LightSite& site) {
  if (!is_reduction(*site.node.op)) return std::nullopt;
  const auto joined = joined_from(e, site.operands[0], [&](ValueId part, const OpDef& op, const Attrs& attrs, std::int64_t axis) {
    LiesAs lies = e.like(site.node.operands[0]);
    lies.dims[std::size_t(axis)] = -1;
    return e.emit(op, {part}, attrs, lies);
  });
  if (!joined) return std::nullopt;
  const auto& axes = site.node.attrs.integers("axes");
  const bool is_along = std::find(axes.begin(), axes.end(), joined->axis) != axes.end();
  const std::vector<ValueId>& parts = joined->parts;
  auto first_equal = [&](std::size_t i) {
    return std::size_t(std::find_if(parts.begin(), parts.end(), [&](ValueId id) { return e.are_equal(id, parts[i]); }) - parts.begin());
  };
  bool any_is_repeated = false;
  for (std::size_t i = 0; i < parts.size(); ++i) any_is_repeated |= first_equal(i) < i;
  auto is_single = [&](ValueId part) {
    return std::all_of(axes.begin(), axes.end(), [&](std::int64_t axis) { return e.type(part).shape[std::size_t(axis)] == 1; });
  };
  const bool all_are_single = is_along && std::all_of(parts.begin(), parts.end(), is_single) &&
                              e.is_whole_along(e.like(site.node.operands[0]), {int(joined->axis)});
  if (!any_is_repeated && !all_are_single) return std::nullopt;
  // Whose elements others want as well is there: they may have moved it to where its reduction moves nothing.
  if (!is_along && !e.is_used_once(site.node.operands[0])) return std::nullopt;
  const LiesAs lies = e.like(site.node.results[0]);
  std::vector<int> kept;  // of a part's dimensions
  for (int d = 0; d < e.type(parts[0]).rank(); ++d)
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) kept.push_back(d);
  std::vector<ValueId> reduced;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const LiesAs part_lies = is_along ? lies : LightEmitter::part_of(e.lies_as(parts[i]), kept);
    reduced.push_back(first_equal(i) < i ? reduced[first_equal(i)] : e.emit(*site.node.op, {parts[i]}, site.node.attrs, part_lies));
  }
  if (!is_along) {
    const std::int64_t axis = std::find(kept.begin(), kept.end(), int(joined->axis)) - kept.begin();
    return e.emit(ops::kConcatenate, reduced, Attrs{{"axis", axis}}, lies);
  }
  const OpDef* combiner = combiner_of(*site.node.op);
  ValueId all = kZero;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t first = first_equal(i);
    all = i == 0 ? reduced[0] : first < i && is_idempotent(combiner) ? all : e.emit(*combiner, {all, reduced[i]}, {}, lies);
  }
  return all;
}

std::optional<ValueId> reduced_before_reshaping(LightEmitter& e, const LightSite& site) {
  const Node* reshape = is_reduction(*site.node.op) ? e.producer(site.operands[0], ops::kReshape) : nullptr;
  if (reshape == nullptr || e.type_of_original(site.node.results[0]).rank() > 0) return std::nullopt;
  const ValueId whole = reshape->operands[0];
  std::vector<int> axes(e.type(whole).shape.size());
  if (axes.empty()) return std::nullopt;
  std::iota(axes.begin(), axes.end(), 0);
  return e.emit(*site.node.op, {whole}, Attrs{{"axes", ops::integers_of(axes)}}, e.like(site.node.results[0]));
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
