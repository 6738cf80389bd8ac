#include "runtime/spmd/work.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "runtime/graph/barrier.h"
#include "runtime/graph/host_callback.h"
#include "runtime/spmd/candidates.h"
#include "runtime/spmd/prepare.h"
#include "runtime/spmd/trips.h"

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
  if (op.copies || op.backward_first || op.is_constraint || is_barrier(op) || op.constant) return true;
  if (!op.collective.empty() && !op.reduction) return true;
  return op.needs != nullptr && !op.reduction && !combines(graph, node);
}

bool slides_windows(const Node& node) { return node.op->needs != nullptr && node.attrs.has("window_dimensions"); }

bool reads_at_places(const Node& node) {
  return node.op->uses_position && node.op->needs == nullptr && node.op->reduction && node.operands.size() == 2;
}

std::int64_t elements_in_windows(const Node& node, std::int64_t of_operand, std::int64_t of_result) {
  std::int64_t seen = 1;
  for (std::int64_t size : node.attrs.integers("window_dimensions")) seen *= size;
  return seen * std::min(of_operand, of_result);
}

bool is_heavy(const Graph& graph, const Node& node) {
  if (node.op->elementwise || node.op->region != RegionKind::kNone || only_moves_data(graph, node)) return false;
  const bool walks_operand_once = node.op->reduction && node.op->needs == nullptr && node.operands.size() == 1;
  return !walks_operand_once;
}

namespace {

template <typename T>
std::vector<T> of(const std::vector<T>& all, const std::vector<ValueId>& values) {
  std::vector<T> some;
  for (ValueId id : values) some.push_back(all[std::size_t(id)]);
  return some;
}

}  // namespace

std::vector<bool> known_values(const Graph& graph, const std::vector<bool>& known_params) {
  std::vector<bool> known(graph.values.size(), false);
  for (std::size_t i = 0; i < known_params.size(); ++i) known[std::size_t(graph.params[i])] = known_params[i];
  for (const Node& node : graph.nodes) {
    const OpDef& op = *node.op;
    auto is_known = [&](ValueId id) { return bool(known[std::size_t(id)]); };
    const bool follows = op.region == RegionKind::kNone && op.collective.empty() && !op.member && !node.operands.empty() &&
                         std::all_of(node.operands.begin(), node.operands.end(), is_known);
    const bool is_place = op.member && op.collective.empty() && node.operands.empty() && callback_of(node) == nullptr;
    if (op.region == RegionKind::kManual) {
      const Graph& body = *node.attrs.bodies()[0];
      const std::vector<bool> inner = known_values(body, of(known, node.operands));
      for (std::size_t i = 0; i < node.results.size(); ++i) known[std::size_t(node.results[i])] = inner[std::size_t(body.results[i])];
      continue;
    }
    for (ValueId id : node.results) known[std::size_t(id)] = op.constant || is_place || follows;
  }
  return known;
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

// Per value with what its device has combined several elements into it; nothing where it has not. Linear ops make sums of sums.
// `params`: of the graph's; empty: nothing is said of them.
using CombinedBy = std::vector<std::optional<Reduction>>;
CombinedBy combined_on_device(const Graph& graph, const std::vector<bool>& known, const CombinedBy& params) {
  CombinedBy combined(graph.values.size());
  for (std::size_t i = 0; i < params.size(); ++i) combined[std::size_t(graph.params[i])] = params[i];
  for (const Node& node : graph.nodes) {
    if (node.op->region == RegionKind::kManual) {
      const Graph& body = *node.attrs.bodies()[0];
      const CombinedBy inner = combined_on_device(body, known_values(body, of(known, node.operands)), of(combined, node.operands));
      for (std::size_t i = 0; i < node.results.size(); ++i) combined[std::size_t(node.results[i])] = inner[std::size_t(body.results[i])];
      continue;
    }
    if (node.results.size() != 1) continue;
    std::optional<Reduction>& result = combined[std::size_t(node.results[0])];
    if (node.op->reduction) {
      result = node.op->reduction;
      continue;
    }
    std::vector<ValueId> varying;
    for (ValueId id : node.operands)
      if (!known[std::size_t(id)]) varying.push_back(id);
    if (varying.size() != 1) continue;
    const std::optional<Reduction> before = combined[std::size_t(varying[0])];
    const bool is_linear = node.op->elementwise && node.op->transpose != nullptr;
    if (only_moves_data(graph, node) || (is_linear && before == Reduction::kSum)) result = before;
  }
  return combined;
}

// Per parameter of a loop's or branch's body whether it is known: what a loop carries, in every iteration (what it counts by).
std::vector<bool> known_params_of(const Node& node, const Graph& body, const std::vector<bool>& known_around) {
  const RegionKind kind = node.op->region;
  const std::size_t first = kind == RegionKind::kBranch ? 1 : 0;
  std::vector<bool> params;
  for (std::size_t i = first; i < node.operands.size(); ++i) params.push_back(known_around[std::size_t(node.operands[i])]);
  if (kind != RegionKind::kWhile && kind != RegionKind::kScan) return params;
  const std::size_t consts = std::size_t(node.attrs.integer("num_consts", 0));
  const std::size_t carried = kind == RegionKind::kScan ? std::size_t(node.attrs.integer("num_carry", 0)) : node.results.size();
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    const std::vector<bool> known = known_values(body, params);
    for (std::size_t i = 0; i < carried; ++i) {
      if (!params[consts + i] || known[std::size_t(body.results[i])]) continue;
      params[consts + i] = false;
      has_changed = true;
    }
  }
  return params;
}

// Of an op that looks at computed places: what it writes there. What it reads there it moves, or masks for a sum over devices.
std::int64_t elements_at_places(const std::vector<std::vector<Box>>& operands, const std::vector<Box>& result, bool is_whole,
                                std::size_t position) {
  if (operands.back()[position].empty()) return 0;  // one place: a slice, or the update of one
  if (operands.size() > 2) return element_count(operands.back()[position]);
  return is_whole ? 0 : element_count(result[position]);
}

// Of a transform what it gives; of a sort or a decomposition the largest of what it looks at and gives.
std::int64_t largest_at(const OpDef& op, const std::vector<std::vector<Box>>& operands, const std::vector<std::vector<Box>>& results,
                        std::size_t position) {
  if (op.transpose != nullptr && operands.size() == 1) return element_count(results[0][position]);
  std::int64_t largest = 0;
  for (const auto* tensors : {&operands, &results})
    for (const std::vector<Box>& boxes : *tensors) largest = std::max(largest, element_count(boxes[position]));
  return largest;
}

using Work = std::map<std::string_view, std::vector<std::int64_t>>;  // by op, per position of the mesh
using Counted = bool (*)(const Graph&, const Node&);

std::vector<std::int64_t> totals(const Work& work, int positions) {
  std::vector<std::int64_t> all(std::size_t(positions), 0);
  for (const auto& [name, each] : work)
    for (std::size_t p = 0; p < all.size(); ++p) all[p] += each[p];
  return all;
}

class Counter {
 public:
  Counter(const Graph& graph, const PartitionedProgram& program, Counted counted, const std::vector<bool>& known_params = {},
          const CombinedBy& combined_params = {})
      : graph_(graph),
        program_(program),
        counted_(counted),
        known_(known_values(graph, known_params)),
        combined_(combined_on_device(graph, known_, combined_params)) {}

  Work run() {
    for (const Step& step : program_.steps) std::visit([&](const auto& each) { add(each); }, step);
    return std::move(work_);
  }

 private:
  int positions() const { return program_.mesh.size(); }
  std::vector<std::int64_t>& work_of(std::string_view name) {
    std::vector<std::int64_t>& work = work_[name];
    work.resize(std::size_t(positions()), 0);
    return work;
  }

  std::vector<std::vector<Box>> boxes(const std::vector<SlotId>& slots) const {
    std::vector<std::vector<Box>> all;
    for (SlotId id : slots) all.push_back(boxes_of(program_.slots[std::size_t(id)], program_.mesh));
    return all;
  }

  void add(const ComputeStep& step) {
    const Node& node = graph_.nodes[std::size_t(step.node)];
    if (known_[std::size_t(node.results[0])] || !counted_(graph_, node)) return;
    if (!node.op->collective.empty()) return add_combination(step, node);
    FactorRule rule = rule_of(graph_, node);
    const std::vector<bool> looked_up = looked_up_factors(*node.op, rule);
    std::vector<std::vector<Box>> operands = boxes(step.operands), results = boxes(step.results);
    // A reduction combines nothing where each part of its operand is one of its result, unless devices combine their parts then: n elements
    // in p parts are n - p additions on devices and p - 1 between them.
    const bool is_whole = program_.slots[std::size_t(step.results[0])].partial.empty();
    const bool may_copy = is_whole && node.op->reduction && node.op->needs == nullptr && node.operands.size() == 1;
    const bool has_places = node.op->uses_position && node.op->needs == nullptr && operands.size() > 1;
    const bool has_windows = slides_windows(node);
    const bool is_one_walk = node.op->elementwise || node.op->reduction || node.op->needs != nullptr;
    const double walked = node.op->walked == nullptr ? 1 : node.op->walked(types(node.operands), types(node.results), node.attrs);
    std::vector<std::int64_t>& work = work_of(node.op->name);
    for (std::size_t p = 0; p < work.size(); ++p) {
      if (may_copy && element_count(operands[0][p]) == element_count(results[0][p])) continue;
      if (has_windows)
        work[p] += elements_in_windows(node, element_count(operands[0][p]), element_count(results[0][p]));
      else if (has_places)
        work[p] += elements_at_places(operands, results[0], is_whole, p);
      else
        work[p] += is_one_walk && rule.present ? std::llround(walked * double(elements_at(rule, looked_up, operands, results, p)))
                                               : largest_at(*node.op, operands, results, p);
    }
  }

  std::vector<TensorType> types(const std::vector<ValueId>& values) const {
    std::vector<TensorType> all;
    for (ValueId id : values) all.push_back(graph_.type(id));
    return all;
  }

  // A collective of per-device code combines what devices have combined already, or does it for them: then all that goes in counts.
  void add_combination(const ComputeStep& step, const Node& node) {
    const std::vector<std::vector<Box>> operands = boxes(step.operands);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (combined_[std::size_t(node.operands[i])] == node.op->reduction) continue;
      std::vector<std::int64_t>& work = work_of(node.op->name);
      for (std::size_t p = 0; p < work.size(); ++p) work[p] += element_count(operands[i][p]);
    }
  }

  static void add(const MoveStep&) {}

  void add(const RegionStep& step) {
    const Node& node = graph_.nodes[std::size_t(step.node)];
    std::vector<Work> bodies;
    const std::vector<bool> known = known_params_of(node, step.bodies.back()->graph, known_);
    const CombinedBy combined = node.op->region == RegionKind::kManual ? of(combined_, node.operands) : CombinedBy{};
    for (const auto& body : step.bodies) bodies.push_back(Counter(body->graph, *body, counted_, known, combined).run());
    if (node.op->region == RegionKind::kBranch) return add_largest(bodies);
    const std::int64_t times = trips_of(graph_, node);
    for (const Work& body : bodies)
      for (const auto& [name, each] : body)
        for (std::size_t p = 0; p < each.size(); ++p) work_of(name)[p] += times * each[p];
  }

  // At each position.
  void add_largest(const std::vector<Work>& bodies) {
    std::vector<std::vector<std::int64_t>> all;
    for (const Work& body : bodies) all.push_back(totals(body, positions()));
    for (std::size_t p = 0; p < std::size_t(positions()); ++p) {
      const auto largest = std::max_element(all.begin(), all.end(), [&](const auto& a, const auto& b) { return a[p] < b[p]; });
      for (const auto& [name, each] : bodies[std::size_t(largest - all.begin())]) work_of(name)[p] += each[p];
    }
  }

  const Graph& graph_;
  const PartitionedProgram& program_;
  Counted counted_;
  const std::vector<bool> known_;  // per value
  const CombinedBy combined_;
  Work work_;
};

bool computes(const Graph& graph, const Node& node) { return !only_moves_data(graph, node); }

std::size_t busiest(const std::vector<std::int64_t>& all) { return std::size_t(std::max_element(all.begin(), all.end()) - all.begin()); }

std::int64_t of_busiest(const Graph& graph, const PartitionedProgram& program, Counted counted) {
  const std::vector<std::int64_t> all = totals(Counter(graph, program, counted).run(), program.mesh.size());
  return all.empty() ? 0 : all[busiest(all)];
}

}  // namespace

std::int64_t work_per_device(const PartitionedProgram& program) { return work_per_device(program.graph, program); }

std::int64_t work_per_device(const Graph& graph, const PartitionedProgram& program) { return of_busiest(graph, program, computes); }

std::int64_t heavy_work_per_device(const Graph& graph, const PartitionedProgram& program) { return of_busiest(graph, program, is_heavy); }

std::map<std::string_view, std::int64_t> work_by_op(const PartitionedProgram& program) {
  const Work work = Counter(program.graph, program, computes).run();
  const std::size_t position = busiest(totals(work, program.mesh.size()));
  std::map<std::string_view, std::int64_t> by_op;
  for (const auto& [name, each] : work)
    if (each[position] > 0) by_op[name] = each[position];
  return by_op;
}

}  // namespace shardlab::spmd
