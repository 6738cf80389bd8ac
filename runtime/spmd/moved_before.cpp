#include "runtime/spmd/moved_before.h"

#include "runtime/spmd/layout.h"

namespace shardlab::spmd {
namespace {

class MovedBefore {
 public:
  MovedBefore(const Problem& problem, CostTable& costs, const std::vector<std::optional<Options>>& options, const FormKeeper& keeper,
              const PlanTaken& plan)
      : problem_(problem), costs_(costs), options_(options), keeper_(keeper), plan_(plan), made_(problem.graph().values.size(), -1) {
    const Graph& graph = problem.graph();
    for (std::size_t i = 0; i < graph.params.size(); ++i) made_[std::size_t(graph.params[i])] = costs.id_of(normalised(problem.param(i)));
    for (NodeId n : plan.order)
      if (const Option* taken = taken_by(n))
        for (std::size_t i = 0; i < taken->kept.size(); ++i) made_[std::size_t(problem.root(problem.node(n).results[i]))] = taken->kept[i];
  }

  Foresight run(bool in_turn) {
    Foresight needs = plan_.needs;
    bool is_of_use = false;
    for (auto n = plan_.order.rbegin(); n != plan_.order.rend(); ++n)
      if (const Option* instead = as_needed(*n, in_turn ? needs : plan_.needs)) is_of_use |= take(*n, *instead, needs);
    return is_of_use ? needs : Foresight{};
  }

 private:
  const Option* taken_by(NodeId n) const {
    const int option = plan_.options[std::size_t(n)];
    return option < 0 ? nullptr : &options_[std::size_t(n)]->list[std::size_t(option)];
  }

  // From where the value is made; what is free costs nothing.
  std::int64_t bytes(ValueId value, FormId form) const {
    const FormId from = made_[std::size_t(value)];
    return from < 0 ? 0 : costs_.move_bytes(value, from, form);
  }

  template <typename See>
  void for_each_need(NodeId n, const Option& option, See see) const {
    for (std::size_t i = 0; i < option.needs.size(); ++i)
      if (option.needs[i] >= 0) see(options_[std::size_t(n)]->needs[i][std::size_t(option.needs[i])]);
  }

  std::int64_t operand_bytes(NodeId n, const Option& option) const {
    std::int64_t sum = 0;
    for_each_need(n, option, [&](const FormNeed& need) { sum += bytes(need.value, need.form); });
    return sum;
  }

  // What other nodes need of the operands that the option moves.
  std::int64_t bytes_of_others(NodeId n, const Option& option) const {
    std::int64_t sum = 0;
    for_each_need(n, option, [&](const FormNeed& need) {
      if (bytes(need.value, need.form) == 0) return;
      for (const ForeseenNeed& use : plan_.needs[std::size_t(need.value)])
        if (use.place != keeper_.place(n)) sum += bytes(need.value, use.form);
    });
    return sum;
  }

  // The cheapest option that leaves the node's result in a form to which the plan moves it, if that may be no more bytes in all.
  const Option* as_needed(NodeId n, const Foresight& needs) const {
    const Option* taken = taken_by(n);
    if (taken == nullptr || taken->kept.size() != 1) return nullptr;
    const ValueId result = problem_.root(problem_.node(n).results[0]);
    if (problem_.is_costless(result)) return nullptr;
    std::vector<FormId> forms = keeper_.wanted(result);
    for (const ForeseenNeed& need : needs[std::size_t(result)])
      if (!costs_.is_windows(need.form)) forms.push_back(need.form);
    const Option* best = nullptr;
    std::int64_t least = 0;
    for (FormId form : forms) {
      const std::int64_t moved = costs_.move_bytes(result, taken->kept[0], form);
      if (moved == 0) continue;
      const std::int64_t now = moved + taken->result_bytes + operand_bytes(n, *taken);
      for (const Option& option : options_[std::size_t(n)]->list) {
        if (option.kept[0] != form || option.result_bytes != 0) continue;
        const std::int64_t instead = operand_bytes(n, option);
        if (instead > now + bytes_of_others(n, option) || (best != nullptr && instead >= least)) continue;
        best = &option;
        least = instead;
      }
    }
    return best;
  }

  // Writes down what the option needs; whether somebody else has use of it.
  bool take(NodeId n, const Option& option, Foresight& needs) const {
    bool is_of_use = false;
    for_each_need(n, option, [&](const FormNeed& need) {
      if (costs_.is_windows(need.form) || bytes(need.value, need.form) == 0) return;
      std::vector<ForeseenNeed>& uses = needs[std::size_t(need.value)];
      for (ForeseenNeed& use : uses) {
        if (use.place != keeper_.place(n) || use.form == need.form) continue;
        use.form = need.form;
        is_of_use |= uses.size() + keeper_.wanted(need.value).size() > 1;
      }
    });
    return is_of_use;
  }

  const Problem& problem_;
  CostTable& costs_;
  const std::vector<std::optional<Options>>& options_;
  const FormKeeper& keeper_;
  const PlanTaken& plan_;
  std::vector<FormId> made_;  // per root the form that it is made in, -1: it costs nothing
};

}  // namespace

Foresight needs_if_moved_before(const Problem& problem, CostTable& costs, const std::vector<std::optional<Options>>& options,
                                const FormKeeper& keeper, const PlanTaken& plan, bool in_turn) {
  return MovedBefore(problem, costs, options, keeper, plan).run(in_turn);
}

}  // namespace shardlab::spmd
