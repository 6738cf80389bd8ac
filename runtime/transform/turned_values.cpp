#include "runtime/transform/turned_values.h"

#include <algorithm>
#include <numeric>

#include "runtime/ops/primitives.h"
#include "runtime/ops/shapes.h"
#include "runtime/transform/reductions.h"

namespace shardlab::transform {
TurnedValues::Turned TurnedValues::turned(ValueId id) const {
  const int number = numbers_[std::size_t(id)];
  if (auto found = turned_.find(number); found != turned_.end()) return found->second;
  Turned self{number, std::vector<int>(builder_.type(id).shape.size())};
  std::iota(self.dims.begin(), self.dims.end(), 0);
  return self;
}

const Node* TurnedValues::spread(ValueId id) const {
  const NodeId producer = builder_.graph().values[std::size_t(numbers_[std::size_t(id)])].producer;
  const Node* node = producer < 0 ? nullptr : &builder_.graph().nodes[std::size_t(producer)];
  return node != nullptr && node->op == &ops::kBroadcastInDim ? node : nullptr;
}

// As it would be if its dimensions were turned back from `dims`.
int TurnedValues::number_of_spread(const Node& spread, const std::vector<int>& dims) {
  const Turned source = turned(spread.operands[0]);
  const Shape& shape = builder_.type(spread.results[0]).shape;
  const auto& mapped = spread.attrs.integers("dims");
  std::vector<std::int64_t> key{source.number};
  std::vector<std::int64_t> back(mapped.size()), sizes(shape.size());
  for (std::size_t i = 0; i < mapped.size(); ++i) back[std::size_t(source.dims[i])] = dims[std::size_t(mapped[i])];
  for (std::size_t d = 0; d < shape.size(); ++d) sizes[std::size_t(dims[d])] = shape[d];
  key.insert(key.end(), back.begin(), back.end());
  key.push_back(-1);
  key.insert(key.end(), sizes.begin(), sizes.end());
  auto [place, is_new] = spreads_.emplace(std::move(key), 0);
  if (is_new) place->second = --made_;
  return place->second;
}

std::optional<TurnedValues::Computed> TurnedValues::computed(const OpDef& op, const std::vector<ValueId>& operands, const Attrs& attrs) {
  Computed made{{&op, {}}, attrs, {}};
  if (is_reduction(op)) {
    const Turned operand = turned(operands[0]);
    std::vector<int> reduced, kept, kept_before;
    for (std::int64_t axis : attrs.integers("axes")) reduced.push_back(operand.dims[std::size_t(axis)]);
    std::sort(reduced.begin(), reduced.end());
    for (int dim : operand.dims)
      if (place_of(dim, reduced) == int(reduced.size())) kept.push_back(dim);
    kept_before = kept;
    std::sort(kept_before.begin(), kept_before.end());
    for (int dim : kept) made.dims.push_back(place_of(dim, kept_before));
    made.attrs.set("axes", ops::integers_of(reduced));
    made.key.second.push_back(operand.number);
    return made;
  }
  auto turns = [&](ValueId id) { return builder_.type(id).rank() > 0 && spread(id) == nullptr; };
  auto first = std::find_if(operands.begin(), operands.end(), turns);
  if (!op.elementwise || first == operands.end()) return std::nullopt;
  made.dims = turned(*first).dims;
  for (ValueId id : operands) {
    const Turned operand = turned(id);
    const Node* repeats = spread(id);
    if (builder_.type(id).rank() > 0 && repeats == nullptr && operand.dims != made.dims) return std::nullopt;
    made.key.second.push_back(repeats == nullptr ? operand.number : number_of_spread(*repeats, made.dims));
  }
  return made;
}

std::optional<TurnedValues::Found> TurnedValues::equal_of(const Computed& computed) const {
  auto [first, last] = seen_.equal_range(computed.key);
  auto found = std::find_if(first, last, [&](const auto& each) { return each.second.attrs == computed.attrs; });
  if (found == last) return std::nullopt;
  const std::vector<int> dims = turned(found->second.value).dims;
  Found equal{found->second.value, {}};
  for (int dim : computed.dims) equal.axes.push_back(place_of(dim, dims));
  return equal;
}

void TurnedValues::add(const Computed& computed, ValueId result) {
  const int number = numbers_[std::size_t(result)];
  if (number != result) return;
  const std::optional<Found> equal = equal_of(computed);
  turned_[number] = {equal ? turned(equal->value).number : --made_, computed.dims};
  if (!equal) seen_.emplace(computed.key, Seen{computed.attrs, result});
}

void TurnedValues::add_transpose(ValueId result) {
  const Node& node = builder_.graph().nodes[std::size_t(builder_.graph().values[std::size_t(result)].producer)];
  Turned before = turned(node.operands[0]), after{before.number, {}};
  for (std::int64_t axis : node.attrs.integers("axes")) after.dims.push_back(before.dims[std::size_t(axis)]);
  if (numbers_[std::size_t(result)] == result) turned_[int(result)] = std::move(after);
}

}  // namespace shardlab::transform
