#include "runtime/spmd/contraction.h"

#include <algorithm>

namespace shardlab::spmd {
namespace {

bool overlaps_any(const AxisPiece& piece, const Axes& others) {
  return std::any_of(others.begin(), others.end(), [&](const AxisPiece& other) { return overlaps(piece, other); });
}

Axes pieces_of(const Projection& tensor) {
  Axes all;
  for (const FactorSharding& sharding : tensor) all.insert(all.end(), sharding.axes.begin(), sharding.axes.end());
  return all;
}

class Contraction {
 public:
  Contraction(const OpShape& op, const std::vector<Spec>& forms, const Axes& atoms) : rule_(op.rule) {
    const std::size_t operands = rule_.operands.size();
    for (std::size_t i = 0; i < forms.size(); ++i)
      tensors_.push_back(project(forms[i], i < operands ? rule_.operands[i] : rule_.results[i - operands], rule_.factors));
    for (const AxisPiece& atom : atoms)
      if (std::none_of(tensors_.begin(), tensors_.end(), [&](const Projection& tensor) { return overlaps_any(atom, pieces_of(tensor)); }))
        idle_ *= atom.size;
  }

  std::int64_t parts(int factor) const {
    std::vector<std::size_t> holders, cut;
    for (std::size_t i = 0; i < rule_.operands.size(); ++i)
      if (const FactorSharding* sharding = find(tensors_[i], factor)) {
        holders.push_back(i);
        if (!sharding->axes.empty()) cut.push_back(i);
      }
    if (holders.size() != 2 || cut.empty()) return 1;
    const Axes& first = axes(cut.front(), factor);
    if (cut.size() == 2) {
      const Axes& second = axes(cut.back(), factor);
      const bool are_free = !is_any_in_result(first) && !is_any_in_result(second);
      if (first == second) return 1;  // all of it is propagated
      if (are_free) return part_count(first) == part_count(second) ? part_count(first) : 1;
    }
    if (!std::all_of(cut.begin(), cut.end(), [&](std::size_t i) { return is_worth_summing(i, factor); })) return 1;
    if (cut.size() == 1 && idle_ == 1 && !is_any_in_result(first)) return part_count(first);
    auto can_go_idle = [&](std::size_t i) {
      const Axes& own = axes(i, factor);
      const Axes other = pieces_of(tensors_[holders[0] == i ? holders[1] : holders[0]]), result = pieces_of(tensors_.back());
      auto is_taken = [&](const AxisPiece& piece) { return overlaps_any(piece, other) && overlaps_any(piece, result); };
      return std::all_of(own.begin(), own.end(), is_taken) && idle_ % part_count(own) == 0;
    };
    return std::all_of(cut.begin(), cut.end(), can_go_idle) ? idle_ : 1;
  }

 private:
  const Axes& axes(std::size_t operand, int factor) const { return find(tensors_[operand], factor)->axes; }

  bool is_any_in_result(const Axes& axes) const {
    const Axes result = pieces_of(tensors_.back());
    return std::any_of(axes.begin(), axes.end(), [&](const AxisPiece& piece) { return overlaps_any(piece, result); });
  }

  // A device's elements of a tensor, whole along one factor.
  std::int64_t elements(std::size_t tensor, int whole = -1) const {
    std::int64_t count = 1;
    for (const FactorSharding& sharding : tensors_[tensor]) {
      const std::int64_t size = rule_.factors[std::size_t(sharding.factor)].size;
      count *= sharding.factor == whole ? size : size / part_count(sharding.axes);
    }
    return count;
  }
  bool is_worth_summing(std::size_t operand, int factor) const { return elements(tensors_.size() - 1) < elements(operand, factor); }

  const FactorRule& rule_;
  std::vector<Projection> tensors_;  // operands, result
  std::int64_t idle_ = 1;            // parts of the axes that cut nothing
};

}  // namespace

std::int64_t parts_of_contraction(const OpShape& op, const std::vector<Spec>& forms, const Axes& atoms) {
  if (op.rule.results.size() != 1) return 1;
  const Contraction contraction(op, forms, atoms);
  for (int f = 0; f < int(op.rule.factors.size()); ++f) {
    const Factor& factor = op.rule.factors[std::size_t(f)];
    if (factor.kind != FactorKind::kReduce || !op.can_cut[std::size_t(f)]) continue;
    if (const std::int64_t parts = contraction.parts(f); parts > 1 && factor.size % parts == 0) return parts;
  }
  return 1;
}

}  // namespace shardlab::spmd
