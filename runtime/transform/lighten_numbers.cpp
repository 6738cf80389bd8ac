// Chains of arithmetic with numbers.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "runtime/ops/primitives.h"
#include "runtime/ops/shapes.h"
#include "runtime/ops/unary.h"
#include "runtime/transform/lighten_rules.h"

namespace shardlab::transform {
namespace {

// x * factor + shift where one of the two does nothing, or shift - x.
struct Affine {
  ValueId x = kZero;
  double factor = 1, shift = 0;
};

bool may_hold(DType dtype, double number) {
  if (!is_floating(dtype)) return is_exact_in(dtype, number);
  const double size = std::abs(number);
  return size == 0 || (size <= std::numeric_limits<float>::max() && size >= std::numeric_limits<float>::min());
}

// Of one operand that varies and a number.
std::optional<Affine> affine_of(const LightEmitter& e, const OpDef* op, ValueId first, ValueId second, DType dtype) {
  const std::optional<double> left = e.filling(first), right = e.filling(second);
  if (left.has_value() == right.has_value()) return std::nullopt;
  const ValueId x = left ? second : first;
  const double number = left ? *left : *right;
  if (op == &ops::kMul) return Affine{.x = x, .factor = number};
  if (op == &ops::kDiv && right && is_floating(dtype) && number != 0) return Affine{.x = x, .factor = 1 / number};
  if (op == &ops::kAdd) return Affine{.x = x, .shift = number};
  if (op == &ops::kSub && right) return Affine{.x = x, .shift = -number};
  if (op == &ops::kSub) return Affine{.x = x, .factor = -1, .shift = number};
  return std::nullopt;
}

}  // namespace

bool is_exact_in(DType dtype, double number) {
  return visit_dtype(dtype, [&]<typename T>(T) {
    if constexpr (std::is_integral_v<T>)
      return number >= double(std::numeric_limits<T>::min()) && number <= double(std::numeric_limits<T>::max()) &&
             std::abs(number) < 0x1p53;
    return false;
  });
}

std::optional<ValueId> computed_at_once(LightEmitter& e, const LightSite& site) {
  const OpDef* op = site.node.op;
  const bool scales = op == &ops::kMul || op == &ops::kDiv;
  if (!scales && op != &ops::kAdd && op != &ops::kSub) return std::nullopt;
  const TensorType type = e.type_of_original(site.node.results[0]);
  const bool is_real = is_floating(type.dtype) ? !is_half(type.dtype) : type.dtype != DType::kBool;
  if (!is_real) return std::nullopt;
  const auto outer = affine_of(e, op, site.operands[0], site.operands[1], type.dtype);
  if (!outer || (!scales && outer->factor != 1) || e.type(outer->x) != type) return std::nullopt;
  // A reshape between them may come first as well.
  const Node* between = e.producer(outer->x, ops::kReshape);
  const ValueId before_it = between != nullptr ? between->operands[0] : outer->x;
  std::optional<Affine> inner;
  for (const OpDef* before : {scales ? &ops::kMul : &ops::kAdd, scales ? &ops::kDiv : &ops::kSub})
    if (const Node* node = e.producer(before_it, *before)) inner = affine_of(e, before, node->operands[0], node->operands[1], type.dtype);
  if (!inner || e.type(inner->x).shape != e.type(before_it).shape) return std::nullopt;
  Affine all{inner->x, inner->factor * outer->factor, inner->shift + outer->shift};
  if (!may_hold(type.dtype, all.factor) || !may_hold(type.dtype, all.shift)) return std::nullopt;
  const LiesAs lies = e.like(site.node.results[0]);
  if (between != nullptr) all.x = e.emit(ops::kReshape, {all.x}, Attrs{{"shape", type.shape}}, lies);
  if (all.factor == 1 && all.shift == 0) return all.x;
  if (scales) return e.emit(ops::kMul, {all.x, e.filled(type, all.factor)}, {}, lies);
  const ValueId shift = e.filled(type, all.shift);
  return all.factor == 1 ? e.emit(ops::kAdd, {all.x, shift}, {}, lies) : e.emit(ops::kSub, {shift, all.x}, {}, lies);
}

namespace {

bool is_power_of_two(const LightEmitter& e, ValueId id) {
  int exponent = 0;
  return std::frexp(std::abs(e.filling(id).value_or(0)), &exponent) == 0.5;
}

// A number that scales before another factor does, which XLA takes to that factor whatever the rounding: x * number * factor.
bool scales_first_in_xla(const LightEmitter& e, ValueId id) {
  const double number = e.filling(id).value_or(0);
  return number != 0 && std::isfinite(number);
}

}  // namespace

std::optional<ValueId> scaled_at_once(LightEmitter& e, const LightSite& site) {
  const ValueId result = site.node.results[0];
  const TensorType type = e.type_of_original(result);
  if (site.node.op != &ops::kMul || !is_floating(type.dtype) || is_half(type.dtype)) return std::nullopt;
  auto scalar_in = [&](ValueId id) {
    const Node* spread = e.producer(id, ops::kBroadcastInDim);
    return spread != nullptr && e.type(spread->operands[0]).rank() == 0 ? spread->operands[0] : kZero;
  };
  for (std::size_t outer : {0, 1}) {
    const Node* product = e.producer(site.operands[1 - outer], ops::kMul);
    if (product == nullptr || scalar_in(site.operands[outer]) == kZero) continue;
    for (std::size_t inner : {0, 1}) {
      if (scalar_in(product->operands[inner]) == kZero) continue;
      if (!is_power_of_two(e, site.operands[outer]) && !scales_first_in_xla(e, product->operands[inner])) continue;
      const ValueId x = product->operands[1 - inner], first = scalar_in(product->operands[inner]), second = scalar_in(site.operands[outer]);
      const LiesAs lies = e.like(result);
      return e.emit(ops::kMul,
                    {x, e.emit(ops::kBroadcastInDim, {e.emit(ops::kMul, {first, second}, {}, {})},
                               Attrs{{"shape", type.shape}, {"dims", std::vector<std::int64_t>{}}}, lies)},
                    {}, lies);
    }
  }
  return std::nullopt;
}

std::optional<ValueId> scaled_together(LightEmitter& e, const LightSite& site) {
  const ValueId result = site.node.results[0];
  const TensorType type = e.type_of_original(result);
  if (site.node.op != &ops::kMul || !is_floating(type.dtype) || is_half(type.dtype)) return std::nullopt;
  std::array<ValueId, 2> values{}, factors{};
  for (std::size_t i : {0, 1}) {
    const Node* product = e.is_used_once(site.node.operands[i]) ? e.producer(site.operands[i], ops::kMul) : nullptr;
    if (product == nullptr) return std::nullopt;
    const std::size_t at = e.filling(product->operands[0]) ? 0 : 1;
    factors[i] = product->operands[at];
    values[i] = product->operands[1 - at];
    if (!e.filling(factors[i]) || e.filling(values[i])) return std::nullopt;
  }
  // Of powers of two nothing is rounded otherwise; of small ones that do not shrink what they scale nothing overflows or vanishes, either.
  constexpr double kFactorMax = 16;
  const double factor = *e.filling(factors[0]) * *e.filling(factors[1]);
  for (ValueId each : factors)
    if (!is_power_of_two(e, each) || std::abs(*e.filling(each)) < 1) return std::nullopt;
  if (std::abs(factor) > kFactorMax) return std::nullopt;
  const LiesAs lies = e.like(result);
  return e.emit(ops::kMul, {e.emit(ops::kMul, {values[0], values[1]}, {}, lies), e.filled(type, factor)}, {}, lies);
}

std::optional<ValueId> scaled_before_repeating(LightEmitter& e, const LightSite& site) {
  const ValueId result = site.node.results[0];
  const TensorType type = e.type_of_original(result);
  if (site.node.op != &ops::kMul || !is_floating(type.dtype) || is_half(type.dtype)) return std::nullopt;
  // What the value is a broadcast of, if that is smaller and lies as the result does.
  auto repeated = [&](ValueId id) -> const Node* {
    const Node* spread = e.producer(id, ops::kBroadcastInDim);
    if (spread == nullptr || e.type(spread->operands[0]).elements() >= type.elements()) return nullptr;
    std::vector<int> dims;
    for (std::int64_t d : spread->attrs.integers("dims")) dims.push_back(int(d));
    const bool lies_so = e.lie_alike(LightEmitter::like(result, dims), e.lies_as(spread->operands[0]));
    return lies_so && !dims.empty() ? spread : nullptr;
  };
  for (std::size_t outer : {0, 1}) {
    const Node* product = e.producer(site.operands[1 - outer], ops::kMul);
    if (product == nullptr) continue;
    for (std::size_t inner : {0, 1}) {
      const ValueId first = product->operands[inner], second = site.operands[outer], x = product->operands[1 - inner];
      const bool scales_first = is_power_of_two(e, second);
      const Node* spread = scales_first ? repeated(first) : scales_first_in_xla(e, first) ? repeated(second) : nullptr;
      if (spread == nullptr) continue;
      const ValueId smaller = spread->operands[0], scale = scales_first ? second : first;
      const Attrs attrs = spread->attrs;
      const LiesAs lies = e.like(result);
      const ValueId scaled = e.emit(ops::kMul, {smaller, e.filled(e.type(smaller), *e.filling(scale))}, {}, e.lies_as(smaller));
      return e.emit(ops::kMul, {x, e.emit(ops::kBroadcastInDim, {scaled}, attrs, lies)}, {}, lies);
    }
  }
  return std::nullopt;
}

std::optional<ValueId> multiplied_by_constants_at_once(LightEmitter& e, const LightSite& site) {
  const TensorType type = e.type_of_original(site.node.results[0]);
  if (site.node.op != &ops::kMul || !is_inexact(type.dtype) || is_half(type.dtype)) return std::nullopt;
  for (std::size_t outer : {0, 1}) {
    const Node* product = e.producer(site.operands[1 - outer], ops::kMul);
    if (product == nullptr || !e.follows_from_constants(site.operands[outer])) continue;
    for (std::size_t inner : {0, 1}) {
      const ValueId x = product->operands[1 - inner], first = product->operands[inner];
      if (!e.follows_from_constants(first) || e.follows_from_constants(x)) continue;
      if (e.filling(first) && e.filling(site.operands[outer])) continue;  // what rounds them to 0 or infinity is told apart above
      const LiesAs lies = e.like(site.node.results[0]);
      return e.emit(ops::kMul, {x, e.emit(ops::kMul, {first, site.operands[outer]}, {}, lies)}, {}, lies);
    }
  }
  return std::nullopt;
}

std::optional<ValueId> scaled_before_multiplying(LightEmitter& e, const LightSite& site) {
  const ValueId result = site.node.results[0];
  const TensorType type = e.type_of_original(result);
  if (site.node.op != &ops::kMul || !is_floating(type.dtype) || is_half(type.dtype)) return std::nullopt;
  for (std::size_t outer : {0, 1}) {
    const ValueId scale = site.operands[outer];
    if (!is_power_of_two(e, scale) || !e.is_used_once(site.node.operands[1 - outer])) continue;
    ValueId turned = site.operands[1 - outer];
    std::vector<ValueId> turns;  // transposes behind the product, the last one first
    while (const Node* turn = e.producer(turned, ops::kTranspose)) {
      turns.push_back(e.named_by(turned));
      turned = turn->operands[0];
    }
    turned = e.named_by(turned);
    const Node* product = e.producer(turned, ops::kDotGeneral);
    if (product == nullptr) continue;
    const Attrs attrs = product->attrs;
    const auto& batch = attrs.integers("batch");
    if (!attrs.integers("contract").empty()) continue;
    std::vector<ValueId> operands = product->operands;
    const LiesAs whole = turns.empty() ? e.like(result) : e.lies_as(turned);
    if (whole.value < 0) continue;
    for (std::size_t side : {0, 1}) {
      const TensorType smaller = e.type(operands[side]);
      if (smaller.shape.size() != batch.size() / 2 || smaller.elements() >= type.elements()) continue;
      std::vector<int> dims(smaller.shape.size());  // of the product
      for (std::size_t i = 0; i < dims.size(); ++i) dims[std::size_t(batch[side * dims.size() + i])] = int(i);
      const LiesAs lies = LightEmitter::part_of(whole, dims);
      if (!e.lie_alike(lies, e.lies_as(operands[side]))) continue;
      operands[side] = e.emit(ops::kMul, {operands[side], e.filled(smaller, *e.filling(scale))}, {}, lies);
      ValueId scaled = e.emit(ops::kDotGeneral, operands, attrs, whole);
      for (auto turn = turns.rbegin(); turn != turns.rend(); ++turn) {
        const Attrs axes = e.producer(*turn)->attrs;
        scaled = e.emit(ops::kTranspose, {scaled}, axes, e.lies_as(*turn));
      }
      return scaled;
    }
  }
  return std::nullopt;
}

std::optional<ValueId> multiplied_turned(LightEmitter& e, const LightSite& site) {
  if (site.node.op != &ops::kTranspose || !e.is_used_once(site.node.operands[0])) return std::nullopt;
  const Node* product = e.producer(site.operands[0], ops::kDotGeneral);
  if (product == nullptr) return std::nullopt;
  // The result has the batch, then what is left of each side.
  const auto halves = [&](const char* name) {
    const auto& both = product->attrs.integers(name);
    return std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>{{both.begin(), both.begin() + std::ptrdiff_t(both.size() / 2)},
                                                                           {both.begin() + std::ptrdiff_t(both.size() / 2), both.end()}};
  };
  const auto batch = halves("batch"), contract = halves("contract");
  const std::size_t batched = batch.first.size(), rank = e.type(site.operands[0]).shape.size();
  const std::size_t left = e.type(product->operands[0]).shape.size() - batched - contract.first.size();
  std::vector<std::int64_t> turned;
  for (std::size_t d = 0; d < batched; ++d) turned.push_back(std::int64_t(d));
  for (std::size_t d = batched + left; d < rank; ++d) turned.push_back(std::int64_t(d));
  for (std::size_t d = batched; d < batched + left; ++d) turned.push_back(std::int64_t(d));
  if (site.node.attrs.integers("axes") != turned) return std::nullopt;
  const ValueId result = site.node.results[0];
  std::vector<int> dims(rank);  // of the result
  for (std::size_t d = 0; d < rank; ++d) dims[std::size_t(turned[d])] = int(d);
  if (!e.lie_alike(LightEmitter::like(result, dims), e.lies_as(site.operands[0]))) return std::nullopt;
  Attrs attrs = product->attrs;
  auto exchanged = [](const auto& sides) {
    std::vector<std::int64_t> both = sides.second;
    both.insert(both.end(), sides.first.begin(), sides.first.end());
    return both;
  };
  attrs.set("batch", exchanged(batch));
  attrs.set("contract", exchanged(contract));
  return e.emit(ops::kDotGeneral, {product->operands[1], product->operands[0]}, attrs, e.like(result));
}

namespace {

constexpr int kStepsMax = 8;  // from constants

// The least and the greatest of integers that follow from constants.
struct Bounds {
  double low = 0, high = 0;
};
std::optional<bool> known_truth(const LightEmitter& e, ValueId id, int steps = kStepsMax);

std::optional<Bounds> bounds_of_constant(const Literal& literal) {
  return visit_dtype(literal.type.dtype, [&]<typename T>(T) -> std::optional<Bounds> {
    if constexpr (std::is_integral_v<T>) {
      const T* elements = literal.data->as<T>();
      if (literal.type.elements() == 0) return std::nullopt;
      const auto [low, high] = std::minmax_element(elements, elements + literal.type.elements());
      const Bounds bounds{double(*low), double(*high)};
      if (is_exact_in(literal.type.dtype, bounds.low) && is_exact_in(literal.type.dtype, bounds.high)) return bounds;
    }
    return std::nullopt;
  });
}

// Of array constants, too: an index that is known is known to be in bounds.
std::optional<Bounds> bounds_of(const LightEmitter& e, ValueId id, int steps) {
  if (const std::optional<double> number = e.filling(id)) return Bounds{*number, *number};
  const DType dtype = e.type(id).dtype;
  if (steps == 0 || !e.follows_from_constants(id) || !is_integer(dtype)) return std::nullopt;
  const Node* node = e.producer(e.named_by(id));
  if (node == nullptr) return std::nullopt;
  const OpDef* op = node->op;
  if (op == &ops::kConstant) return bounds_of_constant(node->attrs.literal("value"));
  if (is_any_of(op, {&ops::kBroadcastInDim, &ops::kReshape, &ops::kTranspose, &ops::kSlice}))
    return bounds_of(e, node->operands[0], steps - 1);
  if (op == &ops::kSelect)
    if (const std::optional<bool> truth = known_truth(e, node->operands[0], steps - 1))
      return bounds_of(e, node->operands[*truth ? 1 : 2], steps - 1);
  if (!is_any_of(op, {&ops::kAdd, &ops::kSub, &ops::kSelect})) return std::nullopt;
  const std::size_t first = op == &ops::kSelect;
  const auto x = bounds_of(e, node->operands[first], steps - 1), y = bounds_of(e, node->operands[first + 1], steps - 1);
  if (!x || !y) return std::nullopt;
  if (op == &ops::kSelect) return Bounds{std::min(x->low, y->low), std::max(x->high, y->high)};
  const Bounds sum = op == &ops::kAdd ? Bounds{x->low + y->low, x->high + y->high} : Bounds{x->low - y->high, x->high - y->low};
  return is_exact_in(dtype, sum.low) && is_exact_in(dtype, sum.high) ? std::optional(sum) : std::nullopt;
}

// Whether x is less than y, or no greater, everywhere or nowhere.
std::optional<bool> is_below(const Bounds& x, const Bounds& y, bool or_equal) {
  if (or_equal ? x.high <= y.low : x.high < y.low) return true;
  if (or_equal ? x.low > y.high : x.low >= y.high) return false;
  return std::nullopt;
}

// What a comparison of known numbers says everywhere, also negated or joined with others.
std::optional<bool> known_truth(const LightEmitter& e, ValueId id, int steps) {
  if (steps == 0) return std::nullopt;
  const Node* node = e.producer(e.named_by(id));
  while (node != nullptr && (node->op == &ops::kBroadcastInDim || node->op == &ops::kReshape)) node = e.producer(node->operands[0]);
  if (node == nullptr) return std::nullopt;
  const OpDef* op = node->op;
  if (op == &ops::kNot) {
    const std::optional<bool> x = known_truth(e, node->operands[0], steps - 1);
    return x ? std::optional(!*x) : std::nullopt;
  }
  if (is_any_of(op, {&ops::kAnd, &ops::kOr})) {
    const std::optional<bool> x = known_truth(e, node->operands[0], steps - 1), y = known_truth(e, node->operands[1], steps - 1);
    const bool decides = op == &ops::kOr;
    if (x == decides || y == decides) return decides;
    return x && y ? std::optional(!decides) : std::nullopt;
  }
  if (!is_any_of(op, {&ops::kEqual, &ops::kNotEqual, &ops::kLess, &ops::kLessEqual, &ops::kGreater, &ops::kGreaterEqual}))
    return std::nullopt;
  const std::optional<double> x = e.filling(node->operands[0]), y = e.filling(node->operands[1]);
  // |z| is no less than 0, be it NaN, as XLA has it; nor is what has no sign.
  const bool has_no_sign =
      is_unsigned_integer(e.type(node->operands[0]).dtype) || e.producer(e.named_by(node->operands[0]), ops::kAbs) != nullptr;
  if (y == 0 && is_any_of(op, {&ops::kLess, &ops::kGreaterEqual}) && has_no_sign) return op == &ops::kGreaterEqual;
  // max(z, low) is never less than a number up to low.
  const Node* held = op == &ops::kLess && y ? e.producer(node->operands[0], ops::kMaximum) : nullptr;
  if (held != nullptr)
    for (ValueId low : held->operands)
      if (e.filling(low) >= y) return false;
  if (!x || !y) {
    const bool is_less = is_any_of(op, {&ops::kLess, &ops::kLessEqual}), is_greater = is_any_of(op, {&ops::kGreater, &ops::kGreaterEqual});
    if (!is_less && !is_greater) return std::nullopt;
    const auto left = bounds_of(e, node->operands[0], steps - 1), right = bounds_of(e, node->operands[1], steps - 1);
    if (!left || !right) return std::nullopt;
    return is_less ? is_below(*left, *right, op == &ops::kLessEqual) : is_below(*right, *left, op == &ops::kGreaterEqual);
  }
  if (op == &ops::kEqual) return *x == *y;
  if (op == &ops::kNotEqual) return *x != *y;
  if (op == &ops::kLess) return *x < *y;
  if (op == &ops::kLessEqual) return *x <= *y;
  return op == &ops::kGreater ? *x > *y : *x >= *y;
}

}  // namespace

std::optional<ValueId> chosen_at_once(LightEmitter& e, const LightSite& site) {
  const OpDef* op = site.node.op;
  if (op == &ops::kSelect) {
    if (e.are_equal(site.operands[1], site.operands[2])) return site.operands[1];
    const std::optional<bool> truth = known_truth(e, site.operands[0]);
    return truth ? std::optional(site.operands[*truth ? 1 : 2]) : std::nullopt;
  }
  if (!is_any_of(op, {&ops::kAnd, &ops::kOr}) || e.type_of_original(site.node.results[0]).dtype != DType::kBool) return std::nullopt;
  for (std::size_t i : {0, 1})
    if (known_truth(e, site.operands[i]) == (op == &ops::kAnd)) return site.operands[1 - i];
  return std::nullopt;
}

std::optional<ValueId> chosen_by_truth(LightEmitter& e, const LightSite& site) {
  if (site.node.op != &ops::kMul) return std::nullopt;
  const TensorType type = e.type_of_original(site.node.results[0]);
  for (std::size_t i : {0, 1}) {
    const Node* convert = e.producer(site.operands[i], ops::kConvert);
    if (convert == nullptr || e.type(convert->operands[0]) != TensorType{DType::kBool, type.shape}) continue;
    return e.emit(ops::kSelect, {convert->operands[0], site.operands[1 - i], e.filled(type, 0)}, {}, e.like(site.node.results[0]));
  }
  return std::nullopt;
}

std::optional<ValueId> compared_at_once(LightEmitter& e, const LightSite& site) {
  const Node* held = site.node.op == &ops::kGreater ? e.producer(e.named_by(site.operands[0])) : nullptr;
  const std::optional<double> bound = held != nullptr ? e.filling(site.operands[1]) : std::nullopt;
  if (!bound) return std::nullopt;
  auto compared = [&](ValueId x) { return e.emit(ops::kGreater, {x, site.operands[1]}, {}, e.like(site.node.results[0])); };
  if (held->op == &ops::kRelu && *bound >= 0) return compared(held->operands[0]);
  if (held->op != &ops::kMaximum) return std::nullopt;
  for (std::size_t i : {0, 1})
    if (const std::optional<double> low = e.filling(held->operands[i]); low && *bound >= *low) return compared(held->operands[1 - i]);
  return std::nullopt;
}

std::optional<ValueId> held_at_once(LightEmitter& e, const LightSite& site) {
  if (site.node.op != &ops::kMinimum) return std::nullopt;
  for (std::size_t outer : {0, 1}) {
    const Node* largest = e.is_used_once(site.node.operands[1 - outer]) ? e.producer(site.operands[1 - outer], ops::kMaximum) : nullptr;
    const std::optional<double> high = e.filling(site.operands[outer]);
    if (largest == nullptr || !high) continue;
    for (std::size_t inner : {0, 1}) {
      const std::optional<double> low = e.filling(largest->operands[inner]);
      if (!low || !(*low <= *high)) continue;
      return e.emit(ops::kClamp, {largest->operands[inner], largest->operands[1 - inner], site.operands[outer]}, {},
                    e.like(site.node.results[0]));
    }
  }
  return std::nullopt;
}

}  // namespace shardlab::transform
