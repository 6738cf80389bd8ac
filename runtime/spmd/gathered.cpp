#include "runtime/spmd/gathered.h"

#include <algorithm>
#include <optional>

#include "runtime/spmd/prepare.h"
#include "runtime/spmd/reduce.h"
#include "runtime/spmd/ways.h"

namespace shardlab::spmd {
namespace {

// The forms of a node's operands in the ways that move the fewest elements from and to the kept forms. `welcome`: an operand that may come
// in any form at no cost; -1: none.
std::vector<std::vector<Spec>> operand_forms_alone(Problem& problem, NodeId id, int welcome = -1) {
  const Node& node = problem.node(id);
  std::vector<Spec> kept;
  for (ValueId value : node.operands) kept.push_back(problem.kept(value));
  const std::vector<Candidate> ways = ways_to_compute(problem, id, kept);
  const std::optional<std::int64_t> allowed = allowed_work(problem, id, ways, false);
  std::vector<std::vector<Spec>> cheapest;
  std::int64_t least = 0;
  for (const Candidate& way : ways) {
    if (allowed && way.work > *allowed) continue;
    if (std::any_of(way.windows.begin(), way.windows.end(), [](const auto& windows) { return !windows.empty(); })) continue;
    std::int64_t moved = 0;
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (int(i) != welcome && !problem.is_costless(node.operands[i]))
        moved += problem.reshards().elements(problem.type(node.operands[i]).shape, kept[i], way.operands[i]);
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      const PartialForm made{problem.type(node.results[i]).shape, way.results[i], way.partial};
      moved += reduction_elements(problem.reshards(), problem.mesh(), made, problem.kept(node.results[i]));
    }
    if (!cheapest.empty() && moved > least) continue;
    if (moved < least) cheapest.clear();
    least = moved;
    cheapest.push_back(way.operands);
  }
  return cheapest;
}

// Whether an elementwise op's result needs no more of the value than who has it in this form.
bool serves(Problem& problem, NodeId elementwise, ValueId value, const Spec& form) {
  return problem.reshards().elements(problem.type(value).shape, form, problem.kept(problem.node(elementwise).results[0])) == 0;
}

}  // namespace

bool is_gathered_for_others(Problem& problem, NodeId elementwise) {
  const Node& node = problem.node(elementwise);
  const Uses uses = uses_of(problem.graph());
  auto is_gathered_for = [&](ValueId value, const Use& use) {
    if (use.node < 0 || use.node == elementwise || !problem.is_planned(use.node)) return false;
    const auto alone = operand_forms_alone(problem, use.node);
    return std::any_of(alone.begin(), alone.end(),
                       [&](const auto& forms) { return serves(problem, elementwise, value, forms[std::size_t(use.operand)]); });
  };
  return std::all_of(node.operands.begin(), node.operands.end(), [&](ValueId value) {
    if (problem.is_costless(value) || serves(problem, elementwise, value, problem.kept(value))) return true;
    const auto& users = uses[std::size_t(value)];
    return std::any_of(users.begin(), users.end(), [&](const Use& use) { return is_gathered_for(value, use); });
  });
}

std::vector<Spec> welcome_forms(Problem& problem, ValueId value) {
  const Uses uses = uses_of(problem.graph());
  std::vector<Spec> forms;
  for (const Use& use : uses[std::size_t(value)]) {
    if (use.node < 0 || !problem.is_planned(use.node) || problem.node(use.node).op->region != RegionKind::kNone) continue;
    for (std::vector<Spec>& operands : operand_forms_alone(problem, use.node, use.operand))
      if (Spec& form = operands[std::size_t(use.operand)]; std::find(forms.begin(), forms.end(), form) == forms.end())
        forms.push_back(std::move(form));
  }
  return forms;
}

bool widens(const Problem& problem, const Node& unary) {
  return size_of(problem.type(unary.results[0]).dtype) > size_of(problem.type(unary.operands[0]).dtype);
}

bool is_gathered_with_others(Problem& problem, NodeId unary) {
  const ValueId value = problem.node(unary).operands[0];
  const std::vector<Use> users = uses_of(problem.graph())[std::size_t(value)];
  const Shape& shape = problem.type(value).shape;
  const Spec& own = problem.kept(problem.node(unary).results[0]);
  return std::any_of(users.begin(), users.end(), [&](const Use& use) {
    if (use.node < 0 || use.node == unary || !problem.is_planned(use.node) || !is_unary(problem.node(use.node))) return false;
    const Spec& other = problem.kept(problem.node(use.node).results[0]);
    if (serves(problem, unary, value, other)) return true;
    const auto elements = [&](const Spec& from) { return problem.reshards().elements(shape, from, other); };
    return elements(problem.kept(value)) > 0 && elements(own) == 0;
  });
}

}  // namespace shardlab::spmd
