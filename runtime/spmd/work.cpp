#include "runtime/spmd/work.h"

#include <algorithm>

#include "runtime/graph/barrier.h"
#include "runtime/spmd/candidates.h"
#include "runtime/spmd/prepare.h"

namespace shardlab::spmd {

namespace {

// Whether some element of the result needs more than one of an operand: the first, the last and the middle one are asked.
bool combines(const Graph& graph, const Node& node) {
  const std::vector<TensorType> operands = graph.types(node.operands), results = graph.types(node.results);
  const Shape& shape = results[0].shape;
  if (element_count(shape) == 0) return false;
  for (int place = 0; place < 3; ++place) {
    Box one;
    for (std::int64_t size : shape) {
      const std::int64_t at = place == 0 ? 0 : place == 1 ? size / 2 : size - 1;
      one.push_back({at, at + 1});
    }
    for (const NeededBox& each : node.op->needs(operands, results, node.attrs, one))
      if (element_count(each.box) > 1) return true;
  }
  return false;
}

}  // namespace

bool only_moves_data(const Graph& graph, const Node& node) {
  const OpDef& op = *node.op;
  if (op.pass_through || op.backward_first || op.is_constraint || is_barrier(op) || op.constant) return true;
  return op.needs != nullptr && !op.reduction && !combines(graph, node);
}

bool is_heavy(const Graph& graph, const Node& node) {
  if (node.op->elementwise || node.op->region != RegionKind::kNone || only_moves_data(graph, node)) return false;
  const bool walks_operand_once = node.op->reduction && node.op->needs == nullptr && node.operands.size() == 1;
  return !walks_operand_once;
}

namespace {

// Per factor its size in the boxes that a position holds: as in a result, and of those that no result has, as in an operand. Of a result's
// dimension made of several, the first stands for all.
std::int64_t elements_at(const FactorRule& rule, const std::vector<bool>& looked_up, const std::vector<std::vector<Box>>& operands,
                         const std::vector<std::vector<Box>>& results, std::size_t position) {
  std::vector<std::int64_t> sizes(rule.factors.size(), 1);
  auto note = [&](const std::vector<FactorRule::TensorMap>& maps, const std::vector<std::vector<Box>>& tensors, bool is_result) {
    for (std::size_t t = 0; t < maps.size(); ++t)
      for (std::size_t d = 0; d < maps[t].size(); ++d)
        if (maps[t][d].size() == 1 || (is_result && !maps[t][d].empty()))
          sizes[std::size_t(maps[t][d][0])] = tensors[t][position][d].size();
  };
  note(rule.operands, operands, false);
  note(rule.results, results, true);
  std::int64_t elements = 1;
  for (std::size_t f = 0; f < sizes.size(); ++f)
    if (!looked_up[f]) elements *= sizes[f];
  return elements;
}

class Counter {
 public:
  Counter(const Graph& graph, const PartitionedProgram& program, bool (*counts)(const Graph&, const Node&))
      : graph_(graph), program_(program), counts_(counts), work_(std::size_t(program.mesh.size()), 0) {}

  std::vector<std::int64_t> run() {
    for (const Step& step : program_.steps) {
      if (const auto* compute = std::get_if<ComputeStep>(&step)) add(*compute);
      if (const auto* region = std::get_if<RegionStep>(&step)) add(*region);
    }
    return std::move(work_);
  }

 private:
  std::vector<std::vector<Box>> boxes(const std::vector<SlotId>& slots) const {
    std::vector<std::vector<Box>> all;
    for (SlotId id : slots) all.push_back(boxes_of(program_.slots[std::size_t(id)], program_.mesh));
    return all;
  }

  void add(const ComputeStep& step) {
    const Node& node = graph_.nodes[std::size_t(step.node)];
    if (!counts_(graph_, node)) return;
    FactorRule rule = rule_of(graph_, node);
    const std::vector<bool> looked_up = looked_up_factors(*node.op, rule);
    std::vector<std::vector<Box>> operands = boxes(step.operands), results = boxes(step.results);
    // A reduction combines nothing where each part of its operand is one of its result.
    const bool may_copy = node.op->reduction && node.op->needs == nullptr && node.operands.size() == 1;
    for (std::size_t p = 0; p < work_.size(); ++p) {
      if (may_copy && element_count(operands[0][p]) == element_count(results[0][p])) continue;
      work_[p] += rule.present ? elements_at(rule, looked_up, operands, results, p) : element_count(results[0][p]);
    }
  }

  void add(const RegionStep& step) {
    const Node& node = graph_.nodes[std::size_t(step.node)];
    std::vector<std::int64_t> most(work_.size(), 0);
    for (const auto& body : step.bodies) {
      std::vector<std::int64_t> inside = Counter(body->graph, *body, counts_).run();
      bool adds_up = node.op->region == RegionKind::kWhile;
      for (std::size_t p = 0; p < most.size(); ++p) most[p] = adds_up ? most[p] + inside[p] : std::max(most[p], inside[p]);
    }
    std::int64_t times = node.op->region == RegionKind::kScan ? node.attrs.integer("length") : 1;
    for (std::size_t p = 0; p < work_.size(); ++p) work_[p] += times * most[p];
  }

  const Graph& graph_;
  const PartitionedProgram& program_;
  bool (*counts_)(const Graph&, const Node&);
  std::vector<std::int64_t> work_;  // per position
};

std::int64_t busiest(const std::vector<std::int64_t>& work) { return work.empty() ? 0 : *std::max_element(work.begin(), work.end()); }

}  // namespace

std::int64_t work_per_device(const PartitionedProgram& program) {
  auto computes = [](const Graph& graph, const Node& node) { return !only_moves_data(graph, node); };
  return busiest(Counter(program.graph, program, computes).run());
}

std::int64_t heavy_work_per_device(const Graph& graph, const PartitionedProgram& program) {
  return busiest(Counter(graph, program, is_heavy).run());
}

}  // namespace shardlab::spmd
