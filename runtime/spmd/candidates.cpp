#include "runtime/spmd/candidates.h"

#include <algorithm>

#include "runtime/spmd/layout.h"

namespace shardlab::spmd {
namespace {

bool holds(const FactorRule::TensorMap& map, int factor) {
  return std::any_of(map.begin(), map.end(), [&](const auto& dim) { return std::find(dim.begin(), dim.end(), factor) != dim.end(); });
}

bool any_holds(const std::vector<FactorRule::TensorMap>& maps, int factor) {
  return std::any_of(maps.begin(), maps.end(), [&](const auto& map) { return holds(map, factor); });
}

bool fits(const OpShape& op, int factor, std::int64_t parts) {
  return op.rule.factors[std::size_t(factor)].size % parts == 0 || may_be_uneven(op.rule, factor);
}

// False where a factor that is not cut in full is followed by one that is cut.
bool cut_tensor(const FactorRule& rule, const FactorRule::TensorMap& map, const std::vector<Axes>& pieces, Spec& spec) {
  for (const auto& dim : map) {
    Axes axes;
    bool stopped = false;
    for (int factor : dim) {
      const Axes& own = pieces[std::size_t(factor)];
      if (stopped && !own.empty()) return false;
      for (const AxisPiece& piece : own) push(axes, piece);
      stopped |= shardlab::part_count(own) < rule.factors[std::size_t(factor)].size;
    }
    spec.push_back(std::move(axes));
  }
  return true;
}

// Walks all assignments of atoms to factors.
class Enumeration {
 public:
  Enumeration(const OpShape& op, const Axes& atoms, bool unevenly_too = false)
      : op_(op), atoms_(atoms), unevenly_too_(unevenly_too), pieces_(op.rule.factors.size()) {
    for (int f = 0; f < int(op.rule.factors.size()); ++f)
      if (op.rule.factors[std::size_t(f)].size > 1 && op.can_cut[std::size_t(f)]) factors_.push_back(f);
  }

  // An upper bound on the number of assignments, sets only.
  double count() const {
    double count = 1;
    for (std::size_t i = 0; i < atoms_.size(); ++i) count *= double(factors_.size() + i + 1);  // new list, or a place in one
    return count;
  }

  std::vector<Candidate> run() {
    assign(0);
    return std::move(found_);
  }

 private:
  // Puts atom number `next` nowhere, or at each place of each factor's list.
  void assign(std::size_t next) {
    if (next == atoms_.size()) {
      if (auto candidate = cut_factors(op_, pieces_)) found_.push_back(std::move(*candidate));
      return;
    }
    assign(next + 1);
    for (int factor : factors_) {
      Axes& list = pieces_[std::size_t(factor)];
      const std::int64_t parts = shardlab::part_count(list) * atoms_[next].size;
      if (unevenly_too_ ? !fits(op_, factor, parts) : op_.rule.factors[std::size_t(factor)].size % parts != 0) continue;
      for (std::size_t place = 0; place <= list.size(); ++place) {
        list.insert(list.begin() + std::ptrdiff_t(place), atoms_[next]);
        assign(next + 1);
        list.erase(list.begin() + std::ptrdiff_t(place));
      }
    }
  }

  const OpShape& op_;
  const Axes& atoms_;
  bool unevenly_too_;
  std::vector<int> factors_;
  std::vector<Axes> pieces_;
  std::vector<Candidate> found_;
};

// Takes the forms of the tensors in one order, each as far as what is taken already allows.
std::vector<Axes> completed(const OpShape& op, const std::vector<Projection>& tensors, const std::vector<std::size_t>& order) {
  std::vector<Axes> pieces(op.rule.factors.size());
  Axes used;
  for (std::size_t tensor : order) {
    for (const FactorSharding& sharding : tensors[tensor]) {
      Axes& own = pieces[std::size_t(sharding.factor)];
      if (!own.empty() || !op.can_cut[std::size_t(sharding.factor)]) continue;
      for (const AxisPiece& piece : sharding.axes) {
        if (overlaps_any(piece, used) || !fits(op, sharding.factor, shardlab::part_count(own) * piece.size)) break;
        own.push_back(piece);
      }
      used.insert(used.end(), own.begin(), own.end());
    }
  }
  return pieces;
}

// Of operands and results, in the order of `forms`.
std::vector<Projection> projections(const OpShape& op, const std::vector<Spec>& forms) {
  std::vector<Projection> tensors;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    bool is_operand = i < op.rule.operands.size();
    tensors.push_back(project(forms[i], is_operand ? op.rule.operands[i] : op.rule.results[i - op.rule.operands.size()], op.rule.factors));
  }
  return tensors;
}

// A dimension of a matrix that is whole, by which another operand is solved.
bool is_of_solver(const FactorRule& rule, int factor) {
  const Factor& each = rule.factors[std::size_t(factor)];
  return rule.operands.size() > 1 && each.kind == FactorKind::kReplicate && each.blocked && !any_holds(rule.results, factor);
}

// Factors that operands and results share and reduced ones multiply; those of one side alone (reshape) are walked on that side only. As it
// is told of a program's work, what is solved by a matrix counts its elements.
std::int64_t work_of(const OpShape& op, const std::vector<Axes>& pieces) {
  const FactorRule& rule = op.rule;
  std::int64_t shared = 1, operands_alone = 1, results_alone = 1;
  for (int f = 0; f < int(rule.factors.size()); ++f) {
    if (!op.looked_up.empty() && op.looked_up[std::size_t(f)]) continue;
    if (is_of_solver(rule, f)) continue;
    std::int64_t parts = shardlab::part_count(pieces[std::size_t(f)]);
    std::int64_t size = (rule.factors[std::size_t(f)].size + parts - 1) / parts;
    bool in_operand = any_holds(rule.operands, f), in_result = any_holds(rule.results, f);
    if ((in_operand && in_result) || rule.factors[std::size_t(f)].kind == FactorKind::kReduce)
      shared *= size;
    else
      (in_operand ? operands_alone : results_alone) *= size;
  }
  return shared * std::max(operands_alone, results_alone);
}

// The pieces of the factor that all tensors which hold it agree upon; none where they do not.
Axes agreed_pieces(const std::vector<Projection>& tensors, int factor) {
  std::optional<Axes> agreed;
  for (const Projection& tensor : tensors) {
    const FactorSharding* sharding = find(tensor, factor);
    if (sharding == nullptr) continue;
    if (!agreed) agreed = sharding->axes;
    if (*agreed != sharding->axes) return {};
  }
  return agreed.value_or(Axes{});
}

std::vector<Candidate> candidates_from_forms(const OpShape& op, const std::vector<Spec>& forms) {
  std::vector<Projection> tensors = projections(op, forms);
  std::vector<Candidate> found;
  if (auto whole = cut_factors(op, std::vector<Axes>(op.rule.factors.size()))) found.push_back(std::move(*whole));
  for (std::size_t first = 0; first < tensors.size(); ++first) {
    for (std::size_t count = 1; count <= tensors.size(); ++count) {
      std::vector<std::size_t> order;
      for (std::size_t i = 0; i < count; ++i) order.push_back((first + i) % tensors.size());
      if (auto candidate = cut_factors(op, completed(op, tensors, order))) found.push_back(std::move(*candidate));
    }
  }
  return found;
}

// Whether some form cuts a factor unevenly.
bool any_is_uneven(const OpShape& op, const std::vector<Spec>& forms) {
  for (const Projection& tensor : projections(op, forms))
    for (const FactorSharding& sharding : tensor)
      if (op.rule.factors[std::size_t(sharding.factor)].size % shardlab::part_count(sharding.axes) != 0) return true;
  return false;
}

// Only the atoms that some form uses.
Axes atoms_in_use(const Axes& atoms, const std::vector<Spec>& forms) {
  Axes used;
  for (const AxisPiece& atom : atoms) {
    bool in_use = std::any_of(forms.begin(), forms.end(), [&](const Spec& spec) {
      return std::any_of(spec.begin(), spec.end(), [&](const Axes& axes) {
        return std::any_of(axes.begin(), axes.end(), [&](const AxisPiece& piece) { return contains(piece, atom); });
      });
    });
    if (in_use) used.push_back(atom);
  }
  return used;
}

}  // namespace

bool overlaps_any(const AxisPiece& piece, const Axes& others) {
  return std::any_of(others.begin(), others.end(), [&](const AxisPiece& other) { return overlaps(piece, other); });
}

std::vector<bool> looked_up_factors(const OpDef& op, const FactorRule& rule) {
  const auto has_rank = [](const FactorRule::TensorMap& map) { return !map.empty(); };
  const bool is_beside_others = op.needs == nullptr && std::count_if(rule.operands.begin(), rule.operands.end(), has_rank) > 1;
  std::vector<bool> looked_up;
  for (int f = 0; f < int(rule.factors.size()); ++f) {
    const auto holders = std::count_if(rule.operands.begin(), rule.operands.end(), [&](const auto& map) { return holds(map, f); });
    const bool is_reduced = rule.factors[std::size_t(f)].kind == FactorKind::kReduce;
    const bool is_written = op.uses_position && rule.results[0] == rule.operands[0] && holds(rule.operands[0], f);
    looked_up.push_back(is_beside_others && (is_reduced || is_written) && holders == 1);
  }
  return looked_up;
}

std::vector<bool> cuttable_factors(const OpDef& op, const FactorRule& rule) {
  std::vector<bool> can_cut;
  for (int f = 0; f < int(rule.factors.size()); ++f) {
    bool in_operand = any_holds(rule.operands, f), in_result = any_holds(rule.results, f);
    switch (rule.factors[std::size_t(f)].kind) {
      case FactorKind::kPass:
        can_cut.push_back(in_result && (in_operand || op.backward_first));
        break;
      case FactorKind::kReduce:
        can_cut.push_back(in_operand && op.reduction.has_value());
        break;
      case FactorKind::kReplicate:
      case FactorKind::kPermute:
        can_cut.push_back(false);
        break;
    }
  }
  return can_cut;
}

bool may_be_uneven(const FactorRule& rule, int factor) {
  auto alone_in = [&](const std::vector<FactorRule::TensorMap>& maps) {
    for (const auto& map : maps)
      for (const auto& dim : map) {
        if (std::find(dim.begin(), dim.end(), factor) == dim.end()) continue;
        for (int other : dim)
          if (other != factor && rule.factors[std::size_t(other)].size != 1) return false;
      }
    return true;
  };
  return alone_in(rule.operands) && alone_in(rule.results);
}

std::optional<Candidate> cut_factors(const OpShape& op, const std::vector<Axes>& pieces) {
  Candidate candidate;
  for (std::size_t f = 0; f < pieces.size(); ++f) {
    if (pieces[f].empty()) continue;
    if (!op.can_cut[f] || !fits(op, int(f), shardlab::part_count(pieces[f]))) return std::nullopt;
    if (op.rule.factors[f].kind == FactorKind::kReduce)
      candidate.partial.insert(candidate.partial.end(), pieces[f].begin(), pieces[f].end());
  }
  std::sort(candidate.partial.begin(), candidate.partial.end());
  candidate.partial = merged(candidate.partial);
  candidate.work = work_of(op, pieces);
  for (const auto& map : op.rule.operands)
    if (!cut_tensor(op.rule, map, pieces, candidate.operands.emplace_back())) return std::nullopt;
  for (const auto& map : op.rule.results)
    if (!cut_tensor(op.rule, map, pieces, candidate.results.emplace_back())) return std::nullopt;
  return candidate;
}

std::int64_t propagated_work(const OpShape& op, const std::vector<Spec>& forms) {
  std::vector<Projection> tensors = projections(op, forms);
  std::vector<Axes> pieces(op.rule.factors.size());
  Axes used;
  auto take = [&](int factor, const Axes& axes) {
    Axes& own = pieces[std::size_t(factor)];
    for (const AxisPiece& piece : axes) {
      if (overlaps_any(piece, used) || !op.can_cut[std::size_t(factor)] || !fits(op, factor, shardlab::part_count(own) * piece.size)) break;
      own.push_back(piece);
    }
    used.insert(used.end(), own.begin(), own.end());
  };
  std::size_t operand_count = op.rule.operands.size();
  for (std::size_t t = operand_count; t < tensors.size(); ++t)
    for (const FactorSharding& sharding : tensors[t])
      if (pieces[std::size_t(sharding.factor)].empty()) take(sharding.factor, sharding.axes);
  for (int f = 0; f < int(pieces.size()); ++f) {
    const Axes agreed = agreed_pieces({tensors.begin(), tensors.begin() + std::ptrdiff_t(operand_count)}, f);
    Axes& own = pieces[std::size_t(f)];
    if (!own.empty() && prefix_kind(own, agreed) != PrefixKind::kStrict) continue;
    for (const AxisPiece& piece : own) used.erase(std::find(used.begin(), used.end(), piece));
    own.clear();
    take(f, agreed);
  }
  return work_of(op, pieces);
}

std::optional<Candidate> candidate_for_result(const OpShape& op, const Spec& result, std::size_t index) {
  std::vector<Axes> pieces(op.rule.factors.size());
  for (const FactorSharding& sharding : project(result, op.rule.results[index], op.rule.factors)) {
    if (!sharding.overflow.empty()) return std::nullopt;
    pieces[std::size_t(sharding.factor)] = sharding.axes;
  }
  auto candidate = cut_factors(op, pieces);
  if (!candidate || !candidate->partial.empty() || candidate->results[index] != result) return std::nullopt;
  return candidate;
}

std::vector<Candidate> candidates_of(const OpShape& op, const Axes& atoms, const std::vector<Spec>& forms) {
  Enumeration all(op, atoms);
  if (all.count() <= kCandidatesMax) {
    std::vector<Candidate> found = all.run();
    if (any_is_uneven(op, forms)) {  // only even cuts are enumerated
      std::vector<Candidate> more = candidates_from_forms(op, forms);
      found.insert(found.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
    return found;
  }
  std::vector<Candidate> found = candidates_from_forms(op, forms);
  Axes used = atoms_in_use(atoms, forms);
  Enumeration few(op, used);
  if (few.count() <= kCandidatesMax) {
    std::vector<Candidate> more = few.run();
    found.insert(found.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return found;
}

std::vector<Candidate> candidates_of_less_work(const OpShape& op, const Axes& atoms, std::int64_t work) {
  Enumeration all(op, atoms, true);
  if (all.count() > kCandidatesMax) return {};
  std::vector<Candidate> found = all.run();
  std::erase_if(found, [&](const Candidate& way) { return way.work > work; });
  return found;
}

}  // namespace shardlab::spmd
