#include "runtime/spmd/options.h"

#include <algorithm>

#include "runtime/spmd/gathered.h"
#include "runtime/spmd/index_map.h"
#include "runtime/spmd/layout.h"
#include "runtime/spmd/reduce.h"
#include "runtime/spmd/ways.h"
#include "runtime/spmd/work.h"

namespace shardlab::spmd {
namespace {

constexpr std::size_t kScatteredFormsMax = 64;  // of one partial result; where there are more, it goes to a kept or wanted form

class OptionLister {
 public:
  OptionLister(Problem& problem, CostTable& costs, NodeId node, const std::vector<std::vector<FormId>>& wanted)
      : problem_(problem), costs_(costs), node_(problem.node(node)), wanted_(wanted) {}

  Options run(std::vector<Candidate> ways, std::int64_t allowed_work) {
    options_.ways = std::move(ways);
    options_.allowed_work = allowed_work;
    std::size_t sources = 0;
    for (ValueId value : node_.operands) sources += demand_count(problem_, value);
    options_.needs.resize(sources);
    for (int way = 0; way < int(options_.ways.size()) && options_.list.size() < kOptionsMax; ++way) add_way(way);
    return std::move(options_);
  }

 private:
  void add_way(int number) {
    const Candidate& way = options_.ways[std::size_t(number)];
    Option option{.way = number};
    std::vector<FormNeed> needs;
    for (std::size_t i = 0; i < node_.operands.size(); ++i)
      for (const FormNeed& need : needs_of(way, i)) {
        option.needs.push_back(number_of_need(needs, need, needs.size()));
        needs.push_back(need);
      }
    for (const Spec& spec : way.results) {
      option.kept.push_back(costs_.id_of(spec));
      option.parts *= part_count(spec);
    }
    if (way.partial.empty())
      options_.list.push_back(std::move(option));
    else
      add_combinations(way, option);
  }

  std::vector<FormNeed> needs_of(const Candidate& way, std::size_t i) {
    ValueId value = node_.operands[i];
    bool by_windows = !way.windows.empty() && !way.windows[i].empty();
    if (!by_windows && !problem_.is_composed(value)) return {{problem_.root(value), costs_.id_of(way.operands[i])}};
    std::vector<FormNeed> needs;
    for (const Demand& demand :
         demands_of(problem_, value, by_windows ? way.windows[i] : boxes_of(problem_.type(value).shape, way.operands[i], problem_.mesh())))
      needs.push_back({demand.value, costs_.id_of(demand.windows)});
    return needs;
  }

  // The number of the source's need; a source that is there already in the same form as an earlier one costs nothing more.
  int number_of_need(const std::vector<FormNeed>& earlier, const FormNeed& need, std::size_t source) {
    if (problem_.is_costless(need.value) || std::find(earlier.begin(), earlier.end(), need) != earlier.end()) return -1;
    auto& needs = options_.needs[source];
    auto found = std::find(needs.begin(), needs.end(), need);
    if (found == needs.end()) found = needs.insert(found, need);
    return int(found - needs.begin());
  }

  // Partial results are combined into a form scattered over some of the partial axes, into the propagated or into a wanted one.
  void add_combinations(const Candidate& way, const Option& option) {
    std::vector<std::vector<FormId>> targets;
    if (results_are_alike(way)) {
      std::set<Spec> forms = scattered_forms(problem_.mesh(), problem_.type(node_.results[0]).shape, way.results[0], way.partial);
      if (forms.size() <= kScatteredFormsMax)
        for (const Spec& spec : forms) targets.push_back(std::vector<FormId>(way.results.size(), costs_.id_of(spec)));
    }
    std::vector<FormId> kept;
    for (ValueId result : node_.results) kept.push_back(costs_.id_of(problem_.kept(result)));
    targets.push_back(kept);
    for (std::size_t i = 0; i < wanted_.size(); ++i)
      for (FormId form : wanted_[i]) {
        targets.push_back(kept);
        targets.back()[i] = form;
      }
    std::sort(targets.begin(), targets.end());
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
    for (std::vector<FormId>& target : targets) {
      Option combined = option;
      combined.parts = 1;
      for (std::size_t i = 0; i < target.size(); ++i) {
        combined.result_bytes += costs_.reduction_bytes(node_.results[i], option.kept[i], way.partial, target[i]);
        combined.parts *= part_count(costs_.spec(target[i]));
      }
      combined.kept = std::move(target);
      options_.list.push_back(std::move(combined));
    }
  }

  bool results_are_alike(const Candidate& way) const {
    for (std::size_t i = 1; i < way.results.size(); ++i)
      if (way.results[i] != way.results[0] || problem_.type(node_.results[i]).shape != problem_.type(node_.results[0]).shape) return false;
    return true;
  }

  Problem& problem_;
  CostTable& costs_;
  const Node& node_;
  const std::vector<std::vector<FormId>>& wanted_;
  Options options_;
};

}  // namespace

Options options_of(Problem& problem, CostTable& costs, NodeId node, const std::vector<Spec>& at_hand,
                   const std::vector<std::vector<FormId>>& wanted) {
  std::vector<Candidate> ways = ways_to_compute(problem, node, at_hand);
  std::int64_t allowed = allowed_work(problem, node, ways, false).value_or(0);
  std::int64_t in_place = problem.node(node).op->elementwise ? allowed_work(problem, node, ways, true).value_or(0) : allowed;
  const bool unary = is_unary(problem.node(node));
  if (in_place > allowed && unary && (widens(problem, problem.node(node)) || is_gathered_with_others(problem, node))) allowed = in_place;
  if (in_place > allowed && !unary && !is_gathered_for_others(problem, node)) in_place = allowed;
  if (reads_at_places(problem.node(node))) {  // no later node may spend what this one need not
    std::erase_if(ways, [&](const Candidate& way) { return way.work > allowed; });
    allowed = in_place = 0;
  }
  const bool counts_work = allowed > 0;
  if (problem.is_known(node)) {  // nor what this one saves of work that no device does while the program runs
    for (Candidate& way : ways) way.work = std::max<std::int64_t>(0, way.work - allowed);
    allowed = in_place = 0;
  }
  Options options = OptionLister(problem, costs, node, wanted).run(std::move(ways), allowed);
  options.counts_work = counts_work;
  options.work_in_place = in_place;
  options.is_heavy = is_heavy(problem.graph(), problem.node(node));
  return options;
}

}  // namespace shardlab::spmd
