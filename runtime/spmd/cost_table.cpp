#include "runtime/spmd/cost_table.h"

#include <algorithm>

#include "runtime/spmd/layout.h"
#include "runtime/spmd/reduce.h"

namespace shardlab::spmd {

CostTable::CostTable(Problem& problem) : problem_(problem) {
  std::map<Shape, int> numbers;
  for (const Value& value : problem.graph().values)
    shapes_.push_back(numbers.try_emplace(value.type.shape, int(numbers.size())).first->second);
}

FormId CostTable::id_of(const Spec& spec) {
  auto [found, is_new] = ids_.try_emplace(spec, FormId(forms_.size()));
  if (is_new) forms_.push_back({spec, {}});
  return found->second;
}

FormId CostTable::id_of(const std::vector<Box>& windows) {
  std::vector<std::int64_t> bounds;
  for (const Box& box : windows)
    for (const Interval& interval : box) bounds.insert(bounds.end(), {interval.start, interval.stop});
  auto [found, is_new] = window_ids_.try_emplace(std::move(bounds), FormId(forms_.size()));
  if (is_new) forms_.push_back({{}, windows});
  return found->second;
}

std::int64_t CostTable::elements(const Shape& shape, FormId from, FormId to) {
  if (!is_windows(to)) return missing_elements(problem_.mesh(), shape, spec(from), spec(to));
  return missing_elements(boxes_of(shape, spec(from), problem_.mesh()), forms_[std::size_t(to)].windows);
}

bool CostTable::is_whole(FormId id) const {
  return !is_windows(id) && std::all_of(spec(id).begin(), spec(id).end(), [](const Axes& axes) { return axes.empty(); });
}

std::int64_t CostTable::move_bytes(ValueId value, FormId from, FormId to) {
  if (from == to) return 0;
  constexpr int kFormBits = 22;
  std::uint64_t key =
      (std::uint64_t(shapes_[std::size_t(value)]) << (2 * kFormBits)) | (std::uint64_t(from) << kFormBits) | std::uint64_t(to);
  std::int64_t& known = moves_[key];
  if (known == NumberTable::kUnknown) known = elements(problem_.type(value).shape, from, to);
  return known * item_bytes(value);
}

std::int64_t CostTable::reduction_bytes(ValueId value, FormId from, const Axes& partial, FormId to) {
  auto [found, is_new] = reductions_.try_emplace({shapes_[std::size_t(value)], from, partial, to});
  if (is_new)
    found->second = reduction_elements(problem_.reshards(), problem_.mesh(), {problem_.type(value).shape, spec(from), partial}, spec(to));
  return found->second * item_bytes(value);
}

}  // namespace shardlab::spmd
