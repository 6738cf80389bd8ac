#include "runtime/transform/lighten_emitter.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/graph/barrier.h"
#include "runtime/graph/dead_parts.h"
#include "runtime/ops/lower.h"
#include "runtime/ops/primitives.h"
#include "runtime/ops/shapes.h"
#include "runtime/transform/fold_integers.h"

namespace shardlab::transform {
namespace {

bool is_commutative(const OpDef& op) {
  static const OpDef* const kCommutative[] = {&ops::kAdd, &ops::kMul, &ops::kMaximum, &ops::kMinimum, &ops::kAnd,
                                              &ops::kOr,  &ops::kXor, &ops::kEqual,   &ops::kNotEqual};
  return std::find(std::begin(kCommutative), std::end(kCommutative), &op) != std::end(kCommutative);
}

}  // namespace

LightEmitter::LightEmitter(const Graph& original, const LieAlike& lie_alike)
    : lie_alike_(lie_alike), original_(original), uses_(original.values.size()), b_(original.name) {
  for (const Node& node : original.nodes)
    for (ValueId id : node.operands) ++uses_[std::size_t(id)];
  for (ValueId id : original.results) ++uses_[std::size_t(id)];
  auto is_transpose = [](const Node& node) { return node.op == &ops::kTranspose; };
  if (std::any_of(original.nodes.begin(), original.nodes.end(), is_transpose)) turned_.emplace(b_, numbers_);
}

const Node* LightEmitter::producer(ValueId id) const {
  const NodeId node = graph().values[std::size_t(id)].producer;
  return node < 0 ? nullptr : &graph().nodes[std::size_t(node)];
}

ValueId LightEmitter::named_by(ValueId id) const {
  auto is_name = [&](const Node& node) {
    if (node.op->is_constraint) return are_one(node.operands[0], lies_[std::size_t(id)]);
    return node.op == &ops::kReshape && type(id) == type(node.operands[0]);
  };
  for (const Node* node = producer(id); node != nullptr && is_name(*node); node = producer(id)) id = node->operands[0];
  return id;
}

const Node* LightEmitter::producer(ValueId id, const OpDef& op) const {
  const Node* node = producer(named_by(id));
  return node != nullptr && node->op == &op ? node : nullptr;
}

template <typename T>
concept Floating = Real<T> || Half<T>;

// What an elementwise op of floats makes of numbers, by its own kernel.
std::optional<double> evaluated(const OpDef& op, const std::vector<double>& operands, DType dtype) {
  const std::vector<DType> dtypes(operands.size(), dtype);
  const TileFn tile = op.tile == nullptr ? nullptr : op.tile(dtypes, dtype);
  if (tile == nullptr) return std::nullopt;
  return visit_dtype(dtype, [&]<typename T>(T) -> std::optional<double> {
    if constexpr (Floating<T>) {
      std::vector<T> given;
      for (double number : operands) given.push_back(element_from<T>(number));
      std::vector<const void*> places;
      for (const T& number : given) places.push_back(&number);
      const std::vector<int> strides(given.size(), 1);
      T result{};
      tile(places.data(), strides.data(), &result, 1);
      return element_from<double>(result);
    }
    return std::nullopt;
  });
}

// The number where it is the same one in the dtype.
std::optional<double> converted_exactly(std::optional<double> number, DType dtype) {
  if (!number || !(std::abs(*number) < 0x1p53)) return std::nullopt;
  return visit_dtype(dtype, [&]<typename T>(T) -> std::optional<double> {
    if constexpr (Floating<T>)
      if (element_from<double>(element_from<T>(*number)) == *number) return number;
    return std::nullopt;
  });
}

// Of a broadcast of what elementwise ops make of numbers, or of such numbers as another dtype.
std::optional<double> LightEmitter::computed_filling(ValueId id) const {
  const Node* node = producer(id);
  while (node != nullptr && (node->op == &ops::kBroadcastInDim || node->op == &ops::kReshape)) node = producer(node->operands[0]);
  if (node != nullptr && node->op == &ops::kConvert) return converted_exactly(filling(node->operands[0]), type(id).dtype);
  if (node == nullptr || !node->op->elementwise || !node->attrs.entries().empty() || type(node->results[0]).rank() > 0) return std::nullopt;
  const DType dtype = type(node->results[0]).dtype;
  std::vector<double> numbers;
  for (ValueId operand : node->operands) {
    const std::optional<double> number = type(operand).dtype == dtype ? filling(operand) : std::nullopt;
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers.empty() ? std::nullopt : evaluated(*node->op, numbers, dtype);
}

std::optional<double> LightEmitter::filling(ValueId id) const {
  const Literal* literal = constant_spread(graph(), id);
  if (literal == nullptr) return computed_filling(id);
  if (literal->type.elements() == 0) return std::nullopt;
  return visit_dtype(literal->type.dtype, [&]<typename T>(T) -> std::optional<double> {
    if constexpr (Floating<T> || Whole<T>) {
      const T* elements = literal->data->as<T>();
      if (std::all_of(elements, elements + literal->type.elements(), [&](T element) { return element == elements[0]; }))
        return element_from<double>(elements[0]);
    }
    return std::nullopt;
  });
}

LiesAs LightEmitter::like(ValueId original) const {
  std::vector<int> dims(original_.type(original).shape.size());
  std::iota(dims.begin(), dims.end(), 0);
  return {original, std::move(dims)};
}

ValueId LightEmitter::add_param(ValueId original) {
  const ValueId id = b_.param(original_.type(original));
  note({id}, {like(original)}, false, false);
  return id;
}

void LightEmitter::note(const std::vector<ValueId>& results, const std::vector<LiesAs>& lies, bool is_free, bool is_constant) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    lies_.push_back(lies[i]);
    numbers_.push_back(results[i]);
    is_free_.push_back(is_free);
    is_constant_.push_back(is_constant);
  }
}

const std::vector<ValueId>* LightEmitter::equal_of(const Key& key, const Attrs& attrs) const {
  auto [first, last] = seen_.equal_range(key);
  auto found = std::find_if(first, last, [&](const auto& each) { return producer(each.second[0])->attrs == attrs; });
  return found == last ? nullptr : &found->second;
}

bool LightEmitter::are_one(ValueId existing, const LiesAs& lies) const { return lie_alike(lies, lies_[std::size_t(existing)]); }

std::vector<ValueId> LightEmitter::emit_all(const OpDef& op, const std::vector<ValueId>& operands, const Attrs& attrs,
                                            const std::vector<LiesAs>& lies) {
  const bool is_plain = op.region == RegionKind::kNone && op.collective.empty() && !op.is_constraint && !is_barrier(op) && !lies.empty();
  Key key{&op, {}};
  for (ValueId id : operands) key.second.push_back(numbers_[std::size_t(id)]);
  if (is_commutative(op)) std::sort(key.second.begin(), key.second.end());
  const std::vector<ValueId>* equal = is_plain ? equal_of(key, attrs) : nullptr;
  auto is_free_operand = [&](ValueId id) { return bool(is_free_[std::size_t(id)]); };
  const bool folds = (op.elementwise || op.folds) && is_plain && !operands.empty();
  const bool is_free = op.constant || (folds && std::all_of(operands.begin(), operands.end(), is_free_operand)) ||
                       (op.broadcasts && type(operands[0]).rank() == 0);
  if (equal != nullptr && !is_free) {
    bool all = true;
    for (std::size_t i = 0; i < lies.size(); ++i) all = all && are_one((*equal)[i], lies[i]);
    if (all) {
      has_merged_ = true;
      return *equal;
    }
    // What each device has whole it has in parts as well; and it reduces its part of an operand once, wherever the results go.
    const bool computes_much = !op.elementwise && !op.folds && !op.broadcasts;
    const bool reduces_alike = op.reduction && op.needs == nullptr && operands.size() == 1 && producer((*equal)[0])->operands == operands;
    if (reduces_alike || (computes_much && std::all_of(equal->begin(), equal->end(), [&](ValueId id) { return is_whole(lies_as(id)); }))) {
      has_merged_ = true;
      const std::vector<ValueId> earlier = *equal;
      std::vector<ValueId> names;
      for (std::size_t i = 0; i < lies.size(); ++i) names.push_back(as(earlier[i], lies[i]));
      return names;
    }
  }
  const bool may_be_turned = turned_ && is_plain && !is_free && lies.size() == 1 && !op.uses_position && !op.member;
  const auto computed = may_be_turned ? turned_->computed(op, operands, attrs) : std::nullopt;
  if (computed)
    if (const std::optional<ValueId> value = turned_back(*computed, lies[0])) return {*value};
  const std::vector<int> same = equal == nullptr ? std::vector<int>{} : [&] {
    std::vector<int> numbers;
    for (ValueId id : *equal) numbers.push_back(numbers_[std::size_t(id)]);
    return numbers;
  }();
  std::vector<ValueId> results = b_.emit(op, operands, attrs);
  const bool follows = folds && std::all_of(operands.begin(), operands.end(), [&](ValueId id) { return follows_from_constants(id); });
  note(results, lies, is_free, op.constant || follows);
  for (std::size_t i = 0; i < same.size(); ++i) numbers_[std::size_t(results[i])] = same[i];
  if (is_barrier(op))  // what is equal before it is so behind it
    for (std::size_t i = 0; i < results.size(); ++i)
      for (std::size_t j = i; j > 0; --j)
        if (are_equal(operands[j - 1], operands[i])) numbers_[std::size_t(results[i])] = numbers_[std::size_t(results[j - 1])];
  if (is_plain) seen_.emplace(std::move(key), results);
  if (computed) turned_->add(*computed, results[0]);
  if (turned_ && &op == &ops::kTranspose) turned_->add_transpose(results[0]);
  return results;
}

std::optional<ValueId> LightEmitter::turned_back(const TurnedValues::Computed& computed, const LiesAs& lies) {
  const std::optional<TurnedValues::Found> found = turned_->equal_of(computed);
  if (!found) return std::nullopt;
  const LiesAs there = part_of(lies_[std::size_t(found->value)], found->axes);
  if (lies.value < 0 || there.value < 0 || !lie_alike_(lies, there)) return std::nullopt;
  has_merged_ = true;
  if (std::is_sorted(found->axes.begin(), found->axes.end())) return found->value;
  return emit(ops::kTranspose, {found->value}, Attrs{{"axes", ops::integers_of(found->axes)}}, lies);
}

LiesAs LightEmitter::part_of(const LiesAs& whole, const std::vector<int>& dims) {
  LiesAs part{whole.value, {}};
  for (int d : dims) part.dims.push_back(whole.value < 0 ? -1 : whole.dims[std::size_t(d)]);
  return part;
}

std::vector<ValueId> LightEmitter::emit_copy(const Node& node, const std::vector<ValueId>& operands) {
  std::vector<LiesAs> lies;
  for (ValueId id : node.results) lies.push_back(like(id));
  std::vector<ValueId> results = emit_all(*node.op, operands, node.attrs, lies);
  if (node.op->is_constraint) numbers_[std::size_t(results[0])] = numbers_[std::size_t(operands[0])];
  return results;
}

// XLA has cut its module by then: users find the value as the one lies that is left out.
ValueId LightEmitter::as(ValueId value, const LiesAs& lies) {
  if (is_free_[std::size_t(value)] || are_one(value, lies)) return value;
  const ValueId name = emit(ops::kReshape, {value}, Attrs{{"shape", type(value).shape}}, lies);
  numbers_[std::size_t(name)] = numbers_[std::size_t(value)];
  return name;
}

ValueId LightEmitter::emit(const OpDef& op, const std::vector<ValueId>& operands, const Attrs& attrs, const LiesAs& lies) {
  return emit_all(op, operands, attrs, {lies})[0];
}

ValueId LightEmitter::filled(TensorType type, double number) {
  const ValueId id = ops::filled(b_, type, number);
  for (ValueId made = ValueId(lies_.size()); made < ValueId(graph().values.size()); ++made) note({made}, {LiesAs{}}, true, true);
  return id;
}

bool LightEmitter::is_whole_along(const LiesAs& lies, const std::vector<int>& dims) const {
  LiesAs whole = lies;
  for (int d : dims) whole.dims[std::size_t(d)] = -1;
  return lies.value >= 0 && lie_alike_(lies, whole);
}

bool LightEmitter::is_whole(const LiesAs& lies) const {
  std::vector<int> all(lies.dims.size());
  std::iota(all.begin(), all.end(), 0);
  return is_whole_along(lies, all);
}

LighterGraph LightEmitter::finish(const std::vector<ValueId>& renamed) {
  std::vector<ValueId> sources;
  LighterGraph lighter;
  lighter.graph = without_dead_nodes(b_.finish(), sources);
  std::vector<ValueId> left(lies_.size(), -1);
  for (std::size_t id = 0; id < sources.size(); ++id) {
    left[std::size_t(sources[id])] = ValueId(id);
    lighter.values.push_back(std::move(lies_[std::size_t(sources[id])]));
  }
  for (ValueId id : renamed) lighter.renamed.push_back(id < 0 ? -1 : left[std::size_t(id)]);
  return lighter;
}

}  // namespace shardlab::transform
