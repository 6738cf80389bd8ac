#include "runtime/spmd/cost_table.h"

#include "runtime/spmd/reduce.h"

namespace shardlab::spmd {

CostTable::CostTable(Problem& problem) : problem_(problem) {
  std::map<Shape, int> numbers;
  for (const Value& value : problem.graph().values)
    shapes_.push_back(numbers.try_emplace(value.type.shape, int(numbers.size())).first->second);
}

SpecId CostTable::id_of(const Spec& spec) {
  auto [found, is_new] = ids_.try_emplace(spec, SpecId(specs_.size()));
  if (is_new) specs_.push_back(spec);
  return found->second;
}

std::int64_t CostTable::move_bytes(ValueId value, SpecId from, SpecId to) {
  if (from == to) return 0;
  constexpr int kSpecBits = 22;
  std::uint64_t key =
      (std::uint64_t(shapes_[std::size_t(value)]) << (2 * kSpecBits)) | (std::uint64_t(from) << kSpecBits) | std::uint64_t(to);
  auto [found, is_new] = moves_.try_emplace(key);
  if (is_new) found->second = problem_.reshards().elements(problem_.type(value).shape, spec(from), spec(to));
  return found->second * item_bytes(value);
}

std::int64_t CostTable::reduction_bytes(ValueId value, SpecId from, const Axes& partial, SpecId to) {
  auto [found, is_new] = reductions_.try_emplace({shapes_[std::size_t(value)], from, partial, to});
  if (is_new)
    found->second = reduction_elements(problem_.reshards(), problem_.mesh(), {problem_.type(value).shape, spec(from), partial}, spec(to));
  return found->second * item_bytes(value);
}

}  // namespace shardlab::spmd
