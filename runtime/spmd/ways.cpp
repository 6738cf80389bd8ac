#include "runtime/spmd/ways.h"

#include <algorithm>

#include "runtime/spmd/index_map.h"
#include "runtime/spmd/work.h"

namespace shardlab::spmd {
namespace {

Candidate whole_candidate(const Problem& problem, const Node& node) {
  Candidate candidate;
  for (ValueId id : node.operands) candidate.operands.emplace_back(problem.type(id).shape.size());
  for (ValueId id : node.results) candidate.results.emplace_back(problem.type(id).shape.size());
  return candidate;
}

}  // namespace

std::vector<Candidate> ways_to_compute(Problem& problem, NodeId id, const std::vector<Spec>& at_hand) {
  const Node& node = problem.node(id);
  const OpShape& shape = problem.op_shape(id);
  if (const RegionPlan* region = problem.region(id)) {
    Candidate only;
    only.operands = region->operands;
    only.results = region->results;
    return {only};
  }
  if (node.op->needs != nullptr && !node.op->reduction) return index_map_ways(problem, id);
  if (!shape.rule.present) return {whole_candidate(problem, node)};
  std::vector<Spec> forms = at_hand;
  for (ValueId value : node.results) forms.push_back(problem.kept(value));
  std::vector<Candidate> ways = candidates_of(shape, problem.atoms(), forms);
  if (node.op->needs != nullptr) {  // parts of the result by index map, parts of a reduction by the rule
    std::erase_if(ways, [](const Candidate& way) { return way.partial.empty(); });
    std::vector<Candidate> more = index_map_ways(problem, id);
    ways.insert(ways.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  SL_CHECK(!ways.empty(), "no way to compute {}", node.op->name);
  return ways;
}

std::optional<std::int64_t> allowed_work(Problem& problem, NodeId id, const std::vector<Candidate>& ways) {
  const Node& node = problem.node(id);
  const OpShape& shape = problem.op_shape(id);
  if (only_moves_data(problem.graph(), node) || !shape.rule.present) return std::nullopt;
  std::vector<Spec> kept, even;  // an uneven cut may be more work for those with the larger parts than a coarser even one
  for (const auto* values : {&node.operands, &node.results})
    for (ValueId value : *values) {
      kept.push_back(problem.kept(value));
      even.push_back(problem.even_form(value));
    }
  std::int64_t allowed = std::min(propagated_work(shape, kept), propagated_work(shape, even));
  // With an index map any dimension of the result can be cut, and work is counted by the result's elements.
  if (node.op->needs != nullptr)
    for (const Candidate& way : ways)
      if (way.partial.empty() && way.results[0] == problem.kept(node.results[0])) allowed = way.work;
  std::int64_t least = ways[0].work;
  for (const Candidate& way : ways) least = std::min(least, way.work);
  return std::max(allowed, least);
}

}  // namespace shardlab::spmd
