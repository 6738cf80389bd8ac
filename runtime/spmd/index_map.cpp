#include "runtime/spmd/index_map.h"

#include <algorithm>
#include <map>

#include "runtime/spmd/layout.h"

namespace shardlab::spmd {
namespace {

constexpr std::int64_t kWindowsMax = 1 << 16;  // positions times specs that one node's ways are listed for

// The op's result as if each of its dimensions could be cut freely; and dimensions that are contracted, as those of an operand.
OpShape free_result(const TensorType& result, const Shape& contracted = {}) {
  const TensorType operand{result.dtype, contracted};
  OpShape shape;
  shape.rule = FactorRule({operand}, {result});
  for (std::size_t d = 0; d < contracted.size(); ++d) shape.rule.add(contracted[d], {int(d)}, {-1}, FactorKind::kReduce);
  shape.rule.fill({operand}, {result});
  shape.can_cut.assign(shape.rule.factors.size(), true);
  return shape;
}

// Factors that are reduced: each element of the result costs their product.
std::int64_t reduced_elements(const FactorRule& rule) {
  std::int64_t count = 1;
  for (const Factor& factor : rule.factors)
    if (factor.kind == FactorKind::kReduce) count *= factor.size;
  return count;
}

// The operand cut as the result is along the factors that they share, whatever the kind, and by the pieces of contracted ones.
Spec shared_cut(const FactorRule& rule, const Spec& result, const std::vector<Axes>& contracted, std::size_t operand) {
  Projection projection = project(result, rule.results[0], rule.factors);
  Spec spec;
  for (const auto& dim : rule.operands[operand]) {
    Axes axes;
    for (int factor : dim) {
      const FactorSharding* sharding = find(projection, factor);
      const Axes& more = sharding != nullptr ? sharding->axes : contracted[std::size_t(factor)];
      axes.insert(axes.end(), more.begin(), more.end());
    }
    spec.push_back(merged(axes));
  }
  return spec;
}

class WayLister {
 public:
  WayLister(Problem& problem, NodeId id)
      : problem_(problem), node_(problem.node(id)), rule_(problem.op_shape(id).rule), type_(problem.type(node_.results[0])) {}

  std::vector<Candidate> run() {
    const Spec& kept = problem_.kept(node_.results[0]);
    for (Candidate& cut : candidates_of(free_result(type_), problem_.atoms(), {Spec(), kept})) {
      if (is_full()) break;
      add(cut.results[0]);
    }
    for (const Spec& result : {kept, cut_as_operands()})
      if (std::none_of(ways_.begin(), ways_.end(), [&](const Candidate& way) { return way.results[0] == result; })) add(result);
    if (node_.op->reduction && rule_.present) add_partial_ways(kept);
    add_way_of_whole(kept);
    return std::move(ways_);
  }

 private:
  bool is_full() const { return std::int64_t(ways_.size()) * problem_.mesh().size() >= kWindowsMax; }

  void add(const Spec& result) {
    const std::vector<Axes> whole(rule_.factors.size());
    ways_.push_back(way_for(result, whole, {}, windows_for(problem_.graph(), node_, boxes_of(type_.shape, result, problem_.mesh()))));
    ways_.back().work = local_elements(type_.shape, result) * reduced_elements(rule_);
  }

  // The result cut as operands are along dimensions that they share, be that uneven: of a slice along a cut dimension only what lies at
  // the parts' ends is moved.
  Spec cut_as_operands() const {
    Spec result(type_.shape.size());
    Axes used;
    for (std::size_t i = 0; i < rule_.operands.size() && rule_.present; ++i) {
      const Spec& operand = problem_.kept(node_.operands[i]);
      for (std::size_t d = 0; d < result.size(); ++d) {
        const auto same = std::find(rule_.operands[i].begin(), rule_.operands[i].end(), rule_.results[0][d]);
        if (same == rule_.operands[i].end() || rule_.results[0][d].empty() || !result[d].empty()) continue;
        const Axes& axes = operand[std::size_t(same - rule_.operands[i].begin())];
        const bool is_free = std::none_of(axes.begin(), axes.end(), [&](const AxisPiece& piece) { return overlaps_any(piece, used); });
        if (!is_free || part_count(axes) > type_.shape[d]) continue;
        result[d] = axes;
        used.insert(used.end(), axes.begin(), axes.end());
      }
    }
    return result;
  }

  // A slice of its whole operand cut as the slice lies, which other slices may share; XLA knows no other way.
  void add_way_of_whole(const Spec& result) {
    if (node_.operands.size() != 1 || !rule_.present || !only_rearranges(problem_.graph(), node_)) return;
    const auto found = std::find_if(ways_.begin(), ways_.end(), [&](const Candidate& way) { return way.results[0] == result; });
    if (found == ways_.end() || found->windows[0].empty()) return;
    const std::vector<Axes> whole(rule_.factors.size());
    const Spec operand = normalised(shared_cut(rule_, result, whole, 0));
    const std::vector<Box> boxes = boxes_of(problem_.type(node_.operands[0]).shape, operand, problem_.mesh());
    if (!std::equal(boxes.begin(), boxes.end(), found->windows[0].begin(),
                    [](const Box& box, const Box& window) { return contains(box, window); }))
      return;
    Candidate way = *found;
    way.operands[0] = operand;
    way.windows[0].clear();
    ways_.push_back(std::move(way));
  }

  // Parts of the result by the index map, and partial results along what is contracted: those that the rule alone does not have.
  void add_partial_ways(const Spec& kept) {
    const std::vector<int> contracted = contracted_factors(rule_);
    Shape sizes;
    for (int factor : contracted) sizes.push_back(rule_.factors[std::size_t(factor)].size);
    if (contracted.empty() || element_count(sizes) == 0) return;
    const std::int64_t others = reduced_elements(rule_) / element_count(sizes);
    for (Candidate& cut : candidates_of(free_result(type_, sizes), problem_.atoms(), {Spec(sizes.size()), kept})) {
      if (is_full()) break;
      if (cut.partial.empty()) continue;
      std::vector<Axes> pieces(rule_.factors.size());
      for (std::size_t i = 0; i < contracted.size(); ++i) pieces[std::size_t(contracted[i])] = cut.operands[0][i];
      std::vector<std::vector<Box>> windows = windows_for(problem_.graph(), node_, boxes_of(type_.shape, cut.results[0], problem_.mesh()));
      narrow_to_parts(windows, rule_, boxes_of(sizes, cut.operands[0], problem_.mesh()));
      Candidate way = way_for(cut.results[0], pieces, cut.partial, std::move(windows));
      const bool is_by_spec = std::any_of(way.windows.begin(), way.windows.end(), [](const auto& boxes) { return boxes.empty(); });
      if (!is_by_spec || !cuts_windows(way.results[0])) continue;  // one operand must hold its part alone
      way.work = cut.work * others;
      ways_.push_back(std::move(way));
    }
  }

  // Along dimensions that the rule cannot cut.
  bool cuts_windows(const Spec& result) const {
    const Projection cuts = project(result, rule_.results[0], rule_.factors);
    return std::any_of(cuts.begin(), cuts.end(), [&](const FactorSharding& sharding) {
      return !sharding.axes.empty() && rule_.factors[std::size_t(sharding.factor)].kind == FactorKind::kPermute;
    });
  }

  // Operands that a spec describes get it.
  Candidate way_for(const Spec& result, const std::vector<Axes>& contracted, const Axes& partial,
                    std::vector<std::vector<Box>> windows) const {
    Candidate way;
    way.results.assign(node_.results.size(), result);
    way.partial = partial;
    way.windows = std::move(windows);
    for (std::size_t i = 0; i < node_.operands.size(); ++i) {
      const Shape& shape = problem_.type(node_.operands[i]).shape;
      way.operands.emplace_back(shape.size());
      for (const Spec& spec :
           {Spec(shape.size()), rule_.present ? normalised(shared_cut(rule_, result, contracted, i)) : Spec(shape.size())}) {
        if (boxes_of(shape, spec, problem_.mesh()) != way.windows[i]) continue;
        way.operands[i] = spec;
        way.windows[i].clear();
        break;
      }
    }
    return way;
  }

  Problem& problem_;
  const Node& node_;
  const FactorRule& rule_;
  const TensorType& type_;
  std::vector<Candidate> ways_;
};

}  // namespace

std::vector<std::vector<Box>> windows_for(const Graph& graph, const Node& node, const std::vector<Box>& results) {
  std::vector<std::vector<Box>> windows(node.operands.size());
  std::vector<TensorType> operand_types = graph.types(node.operands), result_types = graph.types(node.results);
  std::map<std::vector<std::int64_t>, std::size_t> known;  // replicas ask once
  for (std::size_t p = 0; p < results.size(); ++p) {
    std::vector<std::int64_t> key;
    for (const Interval& interval : results[p]) key.insert(key.end(), {interval.start, interval.stop});
    auto [found, is_new] = known.try_emplace(std::move(key), p);
    std::vector<NeededBox> needed;
    if (is_new) needed = node.op->needs(operand_types, result_types, node.attrs, results[p]);
    for (std::size_t i = 0; i < windows.size(); ++i) windows[i].push_back(is_new ? std::move(needed[i].box) : windows[i][found->second]);
  }
  return windows;
}

std::vector<int> contracted_factors(const FactorRule& rule) {
  std::vector<int> contracted;
  for (int f = 0; f < int(rule.factors.size()); ++f) {
    const bool is_in_all = std::all_of(rule.operands.begin(), rule.operands.end(), [&](const FactorRule::TensorMap& map) {
      return std::find(map.begin(), map.end(), std::vector<int>{f}) != map.end();
    });
    if (rule.factors[std::size_t(f)].kind == FactorKind::kReduce && is_in_all) contracted.push_back(f);
  }
  return contracted;
}

void narrow_to_parts(std::vector<std::vector<Box>>& windows, const FactorRule& rule, const std::vector<Box>& parts) {
  const std::vector<int> contracted = contracted_factors(rule);
  for (std::size_t i = 0; i < windows.size(); ++i)
    for (std::size_t d = 0; d < rule.operands[i].size(); ++d)
      for (std::size_t c = 0; c < contracted.size(); ++c) {
        if (rule.operands[i][d] != std::vector<int>{contracted[c]}) continue;
        for (std::size_t p = 0; p < parts.size(); ++p) windows[i][p][d] = intersect({windows[i][p][d]}, {parts[p][c]})[0];
      }
}

bool only_rearranges(const Graph& graph, const Node& node) {
  if (node.op->needs == nullptr || node.op->reduction || node.results.size() != 1) return false;
  const Shape& shape = graph.type(node.results[0]).shape;
  if (element_count(shape) == 0) return true;
  auto at = [&](auto place) {
    Box box;
    for (std::int64_t size : shape) box.push_back({place(size), place(size) + 1});
    return box;
  };
  std::vector<Box> elements{at([](std::int64_t) { return std::int64_t(0); }), at([](std::int64_t size) { return size / 2; }),
                            at([](std::int64_t size) { return size - 1; })};
  std::vector<std::int64_t> sources(elements.size(), 0);
  std::vector<std::vector<Box>> windows = windows_for(graph, node, elements);
  for (std::size_t i = 0; i < windows.size(); ++i)
    for (std::size_t e = 0; e < elements.size(); ++e)
      if (graph.type(node.operands[i]).rank() > 0) sources[e] += element_count(windows[i][e]);
  return std::all_of(sources.begin(), sources.end(), [](std::int64_t count) { return count <= 1; });
}

std::vector<Demand> demands_of(const Problem& problem, ValueId value, const std::vector<Box>& windows) {
  if (!problem.is_composed(value)) return {{problem.root(value), windows}};
  const Node& producer = problem.node(problem.graph().values[std::size_t(problem.root(value))].producer);
  std::vector<std::vector<Box>> needed = windows_for(problem.graph(), producer, windows);
  std::vector<Demand> demands;
  for (std::size_t i = 0; i < producer.operands.size(); ++i) {
    std::vector<Demand> more = demands_of(problem, producer.operands[i], needed[i]);
    demands.insert(demands.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return demands;
}

std::size_t demand_count(const Problem& problem, ValueId value) {
  if (!problem.is_composed(value)) return 1;
  std::size_t count = 0;
  for (ValueId operand : problem.node(problem.graph().values[std::size_t(problem.root(value))].producer).operands)
    count += demand_count(problem, operand);
  return count;
}

std::vector<Candidate> index_map_ways(Problem& problem, NodeId node) { return WayLister(problem, node).run(); }

}  // namespace shardlab::spmd
