#include "runtime/spmd/index_map.h"

#include <algorithm>
#include <map>

#include "runtime/spmd/layout.h"

namespace shardlab::spmd {
namespace {

constexpr std::int64_t kWindowsMax = 1 << 16;  // positions times specs that one node's ways are listed for

// The op's result as if each of its dimensions could be cut freely.
OpShape free_result(const TensorType& result) {
  OpShape shape;
  shape.rule = FactorRule({}, {result});
  shape.rule.fill({}, {result});
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

// The operand cut as the result is along the factors that they share, whatever the kind.
Spec shared_cut(const FactorRule& rule, const Spec& result, std::size_t operand) {
  Projection projection = project(result, rule.results[0], rule.factors);
  Spec spec;
  for (const auto& dim : rule.operands[operand]) {
    Axes axes;
    for (int factor : dim)
      if (const FactorSharding* sharding = find(projection, factor)) axes.insert(axes.end(), sharding->axes.begin(), sharding->axes.end());
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
    for (Candidate& cut : candidates_of(free_result(type_), problem_.atoms(), {kept})) {
      if (std::int64_t(ways_.size()) * problem_.mesh().size() >= kWindowsMax) break;
      add(cut.results[0]);
    }
    if (std::none_of(ways_.begin(), ways_.end(), [&](const Candidate& way) { return way.results[0] == kept; })) add(kept);
    return std::move(ways_);
  }

 private:
  void add(const Spec& result) {
    Candidate way;
    way.results.assign(node_.results.size(), result);
    way.work = local_elements(type_.shape, result) * reduced_elements(rule_);
    way.windows = windows_for(problem_.graph(), node_, boxes_of(type_.shape, result, problem_.mesh()));
    for (std::size_t i = 0; i < node_.operands.size(); ++i) {
      const Shape& shape = problem_.type(node_.operands[i]).shape;
      way.operands.emplace_back(shape.size());
      for (const Spec& spec : {Spec(shape.size()), rule_.present ? normalised(shared_cut(rule_, result, i)) : Spec(shape.size())}) {
        if (boxes_of(shape, spec, problem_.mesh()) != way.windows[i]) continue;
        way.operands[i] = spec;
        way.windows[i].clear();
        break;
      }
    }
    ways_.push_back(std::move(way));
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
