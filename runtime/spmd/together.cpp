#include "runtime/spmd/together.h"

#include <algorithm>

#include "runtime/spmd/held_forms.h"
#include "runtime/spmd/layout.h"
#include "runtime/spmd/moved_before.h"
#include "runtime/spmd/options.h"
#include "runtime/spmd/search_order.h"

namespace shardlab::spmd {
namespace {

constexpr std::size_t kBeam = 12;                   // states kept for each of the two rankings
constexpr std::size_t kKeptOptions = 12;            // cheapest options followed from one state
constexpr std::int64_t kSearchStepsMax = 16 << 20;  // options weighed in one search; a larger program is planned op by op

// One choice on the way to a state.
struct Trail {
  int previous = -1;
  NodeId node = -1;
  int option = -1;              // -1: a constraint
  std::vector<FormNeed> first;  // forms made before it
};

struct State {
  std::int64_t bytes = 0;
  std::int64_t work = 0;   // of one device
  std::int64_t spent = 0;  // of it what counts against the allowed work
  std::int64_t heavy = 0;  // of that what outweighs a collective: the less the better among equals
  int moves = 0;           // values that had to be moved or combined: then the fewer the better
  std::int64_t parts = 0;  // how finely the results so far are cut: then the finer the better
  HeldForms held;
  int trail = -1;  // all choices but the last one
  Trail last;      // until the state is kept

  auto by_results() const { return std::tuple(bytes + held.to_results(), heavy, moves, -parts, work); }
  // Without this second order ties drift away from what was propagated.
  auto by_kept() const { return std::tuple(bytes + held.to_results() + held.to_kept(), heavy, moves, -parts, work); }
  // With what an earlier plan needs of the values from here on.
  auto by_foreseen() const { return std::tuple(bytes + held.to_foreseen(), heavy, moves, -parts, work); }
};

// A state's successor before it is made.
struct Successor {
  std::int64_t bytes = 0;  // of this node alone
  std::int64_t later = 0;  // what is foreseen of its operands and results
  std::int64_t work = 0, spent = 0;
  int moves = 0, option = 0;
};

// What all searches of one problem share.
struct Space {
  Problem& problem;
  CostTable costs{problem};
  std::vector<std::optional<Options>> options{problem.graph().nodes.size()};  // listed by the first search
};

// What the states before one node have in common.
struct Weighed {
  struct Source {
    std::vector<FormId> forms;     // of its value
    std::vector<Supply> supplies;  // per need
  };
  std::vector<std::vector<Source>> supplies;  // per source of the node
  std::vector<std::int64_t> later;            // per option: what is foreseen of its results
};

class Search {
 public:
  // `order`: every node, after those that make its operands. `foresight` may be empty.
  Search(Space& space, bool finer_results, std::vector<NodeId> order, Foresight foresight)
      : problem_(space.problem),
        costs_(space.costs),
        options_(space.options),
        order_(std::move(order)),
        looks_ahead_(!foresight.empty()),
        keeper_(problem_, costs_, order_, finer_results, std::move(foresight)) {
    const Graph& graph = problem_.graph();
    for (std::size_t i = 0; i < graph.params.size(); ++i) last_forms_[graph.params[i]] = normalised(problem_.param(i));
  }

  struct Found {
    Choices choices;
    std::tuple<std::int64_t, std::int64_t, int, std::int64_t, std::int64_t> cost;
    std::vector<Foresight> needs;  // of this plan and of what it could be; empty: nothing is to be tried
  };
  std::optional<Found> run() {
    states_.push_back({.held = keeper_.parameters()});
    states_[0].held.settle();
    for (NodeId n : order_) {
      if (problem_.constrains(n))
        constrain(n);
      else if (problem_.is_planned(n) && !expand(n))
        return std::nullopt;
    }
    auto best =
        std::min_element(states_.begin(), states_.end(), [](const State& a, const State& b) { return a.by_results() < b.by_results(); });
    const PlanTaken plan{order_, chosen_options(*best), needs_of(*best)};
    Found found{choices_of(*best), best->by_results(), {plan.needs}};
    if (std::get<0>(found.cost) > 0)
      for (bool in_turn : {true, false}) found.needs.push_back(needs_if_moved_before(problem_, costs_, options_, keeper_, plan, in_turn));
    return found;
  }

 private:
  void constrain(NodeId n) {
    const Node& node = problem_.node(n);
    ValueId value = problem_.root(node.operands[0]);
    if (problem_.is_costless(value)) return;
    FormId form = keeper_.kept_form(node.results[0]);
    last_forms_[value] = problem_.kept(node.results[0]);
    const int at = keeper_.place(n);
    for (State& state : states_) {
      Supply supply = keeper_.supply_of(state.held, value, form, at);
      state.bytes += supply.bytes;
      state.moves += supply.bytes > 0;
      state.last = {.previous = state.trail, .node = n};
      take(state, {value, form}, supply, true, at);
      keeper_.drop_dead(state.held, swept_, at);
      keep(state);
    }
    swept_ = at;
  }

  // A form is made for a node, with what it goes through.
  void take(State& state, const FormNeed& need, const Supply& supply, bool is_forced, int at) {
    if (supply.through >= 0) {
      keeper_.add_form(state.held, need.value, supply.through, true, at);
      state.last.first.push_back({need.value, supply.through});
    }
    if (!costs_.is_windows(need.form)) keeper_.add_form(state.held, need.value, need.form, is_forced, at);
    keeper_.pass(state.held, need.value, at);
  }

  // False where the search has become too large.
  bool expand(NodeId n) {
    auto& listed = options_[std::size_t(n)];
    if (!listed) listed = options_of(n);
    const Options& options = *listed;
    steps_ += std::int64_t(options.list.size() * states_.size());
    if (steps_ > kSearchStepsMax) return false;

    allowed_work_ += options.allowed_work;
    weighed_ = {.supplies = std::vector<std::vector<Weighed::Source>>(options.needs.size())};
    if (looks_ahead_)
      for (const Option& option : options.list) weighed_.later.push_back(later_of_results(n, option));
    made_ = 0;
    for (const State& state : states_)
      for (const Successor& successor : successors(state, n, options)) make(state, successor, n, options);
    keep_best();
    swept_ = keeper_.place(n);
    return true;
  }

  Options options_of(NodeId n) {
    const Node& node = problem_.node(n);
    std::vector<Spec> at_hand;
    std::vector<std::vector<FormId>> wanted;
    for (ValueId id : node.operands) {
      auto known = last_forms_.find(problem_.root(id));
      at_hand.push_back(known == last_forms_.end() ? problem_.kept(id) : known->second);
    }
    for (ValueId id : node.results) wanted.push_back(keeper_.wanted(id));
    return spmd::options_of(problem_, costs_, n, at_hand, wanted);
  }

  // What is foreseen of the results in the forms that the option leaves them in.
  std::int64_t later_of_results(NodeId n, const Option& option) {
    std::int64_t later = 0;
    for (std::size_t i = 0; i < option.kept.size(); ++i)
      later += keeper_.foreseen_bytes(problem_.node(n).results[i], {&option.kept[i], 1}, keeper_.place(n));
    return later;
  }

  // How each need of a source is come by. States that hold its value in the same forms share the answer.
  const std::vector<Supply>& supplies_of(const State& state, const std::vector<FormNeed>& needs, std::size_t source, int at) {
    std::span<const FormId> forms = keeper_.forms_of(state.held, needs[0].value);
    auto& known = weighed_.supplies[source];
    for (const auto& each : known)
      if (std::equal(each.forms.begin(), each.forms.end(), forms.begin(), forms.end())) return each.supplies;
    Weighed::Source& added = known.emplace_back();
    added.forms.assign(forms.begin(), forms.end());
    for (const FormNeed& need : needs) added.supplies.push_back(keeper_.supply_of(state.held, need.value, need.form, at));
    return added.supplies;
  }

  // The cheapest options from a state, and the cheapest ones that leave a result as propagated or as wanted. Valid until the next call.
  const std::vector<Successor>& successors(const State& state, NodeId n, const Options& options) {
    const Node& node = problem_.node(n);
    const int at = keeper_.place(n);
    supplies_.assign(options.needs.size(), nullptr);
    for (std::size_t i = 0; i < options.needs.size(); ++i)
      if (!options.needs[i].empty()) supplies_[i] = &supplies_of(state, options.needs[i], i, at);
    std::vector<Successor>& all = all_successors_;
    all.clear();
    for (int o = 0; o < int(options.list.size()); ++o) {
      const Option& option = options.list[std::size_t(o)];
      const std::int64_t work = work_of(option, options);
      if (state.spent + std::min(work, options.allowed_work) > allowed_work_) continue;
      Successor successor{option.result_bytes, looks_ahead_ ? weighed_.later[std::size_t(o)] : 0, work, work, option.result_bytes > 0, o};
      for (std::size_t i = 0; i < option.needs.size(); ++i) {
        if (option.needs[i] < 0) continue;
        const Supply& supply = (*supplies_[i])[std::size_t(option.needs[i])];
        successor.bytes += supply.bytes;
        successor.later += supply.later;
        successor.moves += supply.bytes > 0;
      }
      // Who looks ahead gathers for several nodes at once, this one perhaps among them: that would be bytes bought by repeated work.
      const bool is_in_place = !looks_ahead_ && successor.bytes == option.result_bytes && work <= options.work_in_place;
      if (is_in_place) successor.spent = std::min(work, options.allowed_work);
      // Over the program so far: what an earlier node saved a later one may spend.
      if (state.spent + successor.spent > allowed_work_) continue;
      all.push_back(successor);
    }
    auto order = [&](const Successor& a, const Successor& b) {
      auto key = [&](const Successor& s) {
        return std::tuple(s.bytes + s.later, options.is_heavy ? s.work : 0, s.moves, -options.list[std::size_t(s.option)].parts, s.option);
      };
      return key(a) < key(b);
    };
    std::vector<Successor>& chosen = chosen_successors_;
    chosen.clear();
    auto add_best_with = [&](auto&& fits) {
      const Successor* best = nullptr;
      for (const Successor& successor : all)
        if (fits(options.list[std::size_t(successor.option)]) && (best == nullptr || order(successor, *best))) best = &successor;
      if (best == nullptr) return;
      bool is_there = std::any_of(chosen.begin(), chosen.end(), [&](const Successor& s) { return s.option == best->option; });
      if (!is_there) chosen.push_back(*best);
    };
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      const Spec& left = problem_.kept(node.results[i]);
      FormId kept = keeper_.kept_form(node.results[i]);
      add_best_with([&](const Option& option) { return option.kept[i] == kept; });
      // A later node may need a dimension whole: sort, a transform.
      for (std::size_t d = 0; d < left.size(); ++d)
        if (!left[d].empty())
          add_best_with([&](const Option& option) {
            const Spec& spec = costs_.spec(option.kept[i]);
            return spec[d].empty() && std::any_of(spec.begin(), spec.end(), [](const Axes& axes) { return !axes.empty(); });
          });
      for (FormId want : keeper_.wanted(node.results[i])) add_best_with([&](const Option& option) { return option.kept[i] == want; });
    }
    // A later node may need an operand whole, too.
    for (std::size_t i = 0; i < options.needs.size(); ++i) {
      const std::vector<FormNeed>& needs = options.needs[i];
      if (needs.empty() || !keeper_.is_needed_after(needs[0].value, at)) continue;
      for (std::size_t k = 0; k < needs.size(); ++k)
        if ((*supplies_[i])[k].bytes > 0 && costs_.is_whole(needs[k].form))
          add_best_with([&](const Option& option) { return option.needs[i] == int(k); });
    }
    std::size_t count = std::min(kKeptOptions, all.size());
    std::partial_sort(all.begin(), all.begin() + std::ptrdiff_t(count), all.end(), order);
    for (std::size_t i = 0; i < count; ++i) {
      bool is_there = std::any_of(chosen.begin(), chosen.end(), [&](const Successor& s) { return s.option == all[i].option; });
      if (!is_there) chosen.push_back(all[i]);
    }
    return chosen;
  }

  static std::int64_t work_of(const Option& option, const Options& options) {
    return options.counts_work ? options.ways[std::size_t(option.way)].work : 0;
  }

  // The next of next_, which keeps the memory of an earlier one.
  void make(const State& from, const Successor& successor, NodeId n, const Options& options) {
    const Node& node = problem_.node(n);
    const Option& option = options.list[std::size_t(successor.option)];
    const int at = keeper_.place(n);
    if (made_ == next_.size()) next_.emplace_back();
    State& state = next_[made_++];
    state = from;
    state.bytes += successor.bytes;
    state.work += successor.work;
    state.spent += successor.spent;
    if (options.is_heavy) state.heavy += successor.work;
    state.moves += successor.moves;
    state.parts += option.parts;
    state.last = {.previous = from.trail, .node = n, .option = successor.option};
    for (std::size_t i = 0; i < option.needs.size(); ++i) {
      if (option.needs[i] < 0) continue;
      const FormNeed& need = options.needs[i][std::size_t(option.needs[i])];
      if (keeper_.is_needed_after(need.value, at))
        take(state, need, supplies_of(from, options.needs[i], i, at)[std::size_t(option.needs[i])], false, at);
    }
    for (std::size_t i = 0; i < node.results.size(); ++i)
      if (!problem_.is_costless(node.results[i]) && keeper_.is_needed_after(node.results[i], at))
        keeper_.hold(state.held, node.results[i], option.kept[i], at);
    keeper_.drop_dead(state.held, swept_, at);
  }

  void keep(State& state) {
    trails_.push_back(std::move(state.last));
    state.trail = int(trails_.size()) - 1;
    state.held.settle();
  }

  // A state that has been made, as the two orders rank it; what was made first goes first among equals.
  template <typename Rank>
  static auto by(Rank rank) {
    return [=](const State* a, const State* b) {
      const auto x = rank(*a), y = rank(*b);
      return x != y ? x < y : a < b;
    };
  }

  // Of states that hold the same forms the cheapest stays; of these the best by each of the two orders.
  void keep_best() {
    const auto by_results = by([](const State& state) { return state.by_results(); });
    std::vector<std::pair<HeldForms::Key, State*>> keys;
    keys.reserve(made_);
    for (std::size_t i = 0; i < made_; ++i) keys.emplace_back(next_[i].held.key(), &next_[i]);
    std::sort(keys.begin(), keys.end());
    std::vector<State*> kept;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (i == 0 || keys[i].first != keys[i - 1].first)
        kept.push_back(keys[i].second);
      else if (by_results(keys[i].second, kept.back()))
        kept.back() = keys[i].second;
    }
    auto best_first = [&](std::size_t begin, auto order) {
      const std::size_t end = std::min(begin + kBeam, kept.size());
      std::partial_sort(kept.begin() + std::ptrdiff_t(begin), kept.begin() + std::ptrdiff_t(end), kept.end(), order);
      return end;
    };
    std::size_t count = best_first(0, by_results);
    // The second dozen is the best of what the first left: together they hold the best of both orders.
    count = looks_ahead_ ? best_first(count, by([](const State& state) { return std::tuple_cat(state.by_foreseen(), state.by_results()); }))
                         : best_first(count, by([](const State& state) { return std::tuple_cat(state.by_kept(), state.by_results()); }));
    states_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      states_.push_back(std::move(*kept[i]));
      keep(states_.back());
    }
  }

  Choices choices_of(const State& state) const {
    Choices choices(problem_.graph().nodes.size());
    for (int at = state.trail; at >= 0; at = trails_[std::size_t(at)].previous) {
      const Trail& trail = trails_[std::size_t(at)];
      Choice choice;
      for (const FormNeed& need : trail.first) choice.first.push_back({need.value, costs_.spec(need.form)});
      if (trail.option >= 0) {
        const Options& options = *options_[std::size_t(trail.node)];
        const Option& option = options.list[std::size_t(trail.option)];
        choice.way = options.ways[std::size_t(option.way)];
        for (FormId form : option.kept) choice.kept.push_back(costs_.spec(form));
      }
      choices[std::size_t(trail.node)] = std::move(choice);
    }
    return choices;
  }

  // Per node, -1: none.
  std::vector<int> chosen_options(const State& state) const {
    std::vector<int> chosen(problem_.graph().nodes.size(), -1);
    for (int at = state.trail; at >= 0; at = trails_[std::size_t(at)].previous)
      chosen[std::size_t(trails_[std::size_t(at)].node)] = trails_[std::size_t(at)].option;
    return chosen;
  }

  Foresight needs_of(const State& state) {
    Foresight foresight(problem_.graph().values.size());
    auto add = [&](NodeId n, const FormNeed& need) { foresight[std::size_t(need.value)].push_back({keeper_.place(n), need.form}); };
    for (int at = state.trail; at >= 0; at = trails_[std::size_t(at)].previous) {
      const Trail& trail = trails_[std::size_t(at)];
      if (trail.option < 0) {
        const Node& node = problem_.node(trail.node);
        add(trail.node, {problem_.root(node.operands[0]), keeper_.kept_form(node.results[0])});
        continue;
      }
      const Options& options = *options_[std::size_t(trail.node)];
      const Option& option = options.list[std::size_t(trail.option)];
      for (std::size_t i = 0; i < option.needs.size(); ++i)
        if (option.needs[i] >= 0) add(trail.node, options.needs[i][std::size_t(option.needs[i])]);
    }
    for (auto& needs : foresight) std::reverse(needs.begin(), needs.end());
    return foresight;
  }

  Problem& problem_;
  CostTable& costs_;
  std::vector<std::optional<Options>>& options_;  // per node
  std::vector<NodeId> order_;
  bool looks_ahead_;
  FormKeeper keeper_;
  std::map<ValueId, Spec> last_forms_;  // per root: a form that it surely has or could have
  Weighed weighed_;
  std::vector<State> states_, next_;  // of next_ the first made_
  std::size_t made_ = 0;
  std::vector<Trail> trails_;
  // While one state is weighed.
  std::vector<const std::vector<Supply>*> supplies_;
  std::vector<Successor> all_successors_, chosen_successors_;
  int swept_ = -1;  // the last place from which on dead values were let go
  std::int64_t steps_ = 0;
  std::int64_t allowed_work_ = 0;  // of the nodes so far
};

}  // namespace

std::optional<Chosen> choose_together(Problem& problem, bool finer_results) {
  Space space{problem};
  auto search = [&](const std::vector<NodeId>& order, Foresight foresight) {
    return Search(space, finer_results, order, std::move(foresight)).run();
  };
  const std::vector<NodeId> first = program_order(problem.graph()), late = late_order(problem.graph());
  auto found = search(first, {});
  if (!found) return std::nullopt;
  const std::vector<NodeId>* order = &first;
  // What is decided long before it matters may have left the beam by then: where bytes are moved another order may find better.
  if (std::get<0>(found->cost) > 0 && late != first)
    if (auto other = search(late, {}); other && other->cost < found->cost) {
      found = std::move(other);
      order = &late;
    }
  // And once it is known what a plan needs of each value, another can gather at once what several of its needs are sliced from, or move
  // operands where this one moves results.
  while (std::get<0>(found->cost) > 0) {
    std::optional<Search::Found> better;
    for (Foresight& needs : found->needs)
      if (!needs.empty() && !better)
        if (auto other = search(*order, std::move(needs)); other && other->cost < found->cost) better = std::move(other);
    if (!better) break;
    found = std::move(better);
  }
  return Chosen{*order, std::move(found->choices)};
}

}  // namespace shardlab::spmd
