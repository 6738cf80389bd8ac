#include "runtime/spmd/together.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "runtime/spmd/layout.h"
#include "runtime/spmd/options.h"

namespace shardlab::spmd {
namespace {

constexpr std::size_t kBeam = 12;                   // states kept for each of the two rankings
constexpr std::size_t kKeptOptions = 8;             // cheapest options followed from one state
constexpr std::size_t kFormsMax = 4;                // of one value in one state
constexpr std::int64_t kSearchStepsMax = 16 << 20;  // options weighed in one search; a larger program is planned op by op

// A value's forms at hand, and what they still cost.
struct Held {
  ValueId value = -1;
  std::vector<FormId> forms;    // sorted
  std::int64_t to_results = 0;  // bytes from the nearest forms to the wanted results
  std::int64_t to_kept = 0;     // bytes from the nearest form to the propagated one, for values that are no results
};

struct State {
  std::int64_t bytes = 0;
  std::int64_t work = 0;   // of one device
  int moves = 0;           // values that had to be moved or combined: the fewer the better among equals
  std::int64_t parts = 0;  // how finely the results so far are cut: the finer the better among equals
  std::int64_t to_results = 0, to_kept = 0;
  std::vector<Held> held;  // sorted by value; a parameter that lies as given is not listed
  int trail = -1;          // the last choice

  auto by_results() const { return std::tuple(bytes + to_results, moves, -parts, work); }
  // Without this second order ties drift away from what was propagated.
  auto by_kept() const { return std::tuple(bytes + to_results + to_kept, moves, -parts, work); }
};

// One choice on the way to a state.
struct Trail {
  int previous = -1;
  NodeId node = -1;
  int option = 0;
};

// A state's successor before it is made.
struct Successor {
  std::int64_t bytes = 0;  // of this node alone
  int moves = 0, option = 0;
};

class Search {
 public:
  // `order`: every node, after those that make its operands.
  Search(Problem& problem, bool finer_results, std::vector<NodeId> order)
      : problem_(problem),
        costs_(problem),
        finer_results_(finer_results),
        order_(std::move(order)),
        place_(order_.size()),
        param_forms_(problem.graph().values.size(), -1) {
    for (std::size_t i = 0; i < order_.size(); ++i) place_[std::size_t(order_[i])] = int(i);
    const Graph& graph = problem.graph();
    wanted_.resize(graph.values.size());
    last_use_.assign(graph.values.size(), -1);
    for (NodeId n : order_)
      for (ValueId id : problem.node(n).operands) note_use(id, n);
    for (std::size_t i = 0; i < graph.results.size(); ++i) {
      ValueId root = problem.root(graph.results[i]);
      auto& wanted = wanted_[std::size_t(root)];
      FormId form = costs_.id_of(normalised_result(i));
      if (std::find(wanted.begin(), wanted.end(), form) == wanted.end()) wanted.push_back(form);
    }
    for (std::size_t i = 0; i < graph.params.size(); ++i) {
      param_forms_[std::size_t(graph.params[i])] = costs_.id_of(normalised(problem.param(i)));
      last_forms_[graph.params[i]] = normalised(problem.param(i));
    }
    options_.resize(graph.nodes.size());
  }

  struct Found {
    Choices choices;
    std::tuple<std::int64_t, int, std::int64_t, std::int64_t> cost;
  };
  std::optional<Found> run() {
    states_.emplace_back();
    for (NodeId n : order_) {
      if (problem_.node(n).op->is_constraint)
        constrain(n);
      else if (problem_.is_planned(n) && !expand(n))
        return std::nullopt;
    }
    auto best =
        std::min_element(states_.begin(), states_.end(), [](const State& a, const State& b) { return a.by_results() < b.by_results(); });
    return Found{choices_of(*best), best->by_results()};
  }

 private:
  // A composed operand uses what it is made of.
  void note_use(ValueId value, NodeId n) {
    value = problem_.root(value);
    last_use_[std::size_t(value)] = place_[std::size_t(n)];
    if (!problem_.is_composed(value)) return;
    for (ValueId operand : problem_.node(problem_.graph().values[std::size_t(value)].producer).operands) note_use(operand, n);
  }

  Spec normalised_result(std::size_t i) const { return normalised(problem_.result(i)); }

  // The value's entry; a parameter's is made where it lies as given.
  static std::vector<Held>::iterator place_of(State& state, ValueId value) {
    return std::lower_bound(state.held.begin(), state.held.end(), value, [](const Held& held, ValueId id) { return held.value < id; });
  }

  std::vector<FormId> forms_of(const State& state, ValueId value) const {
    auto found =
        std::lower_bound(state.held.begin(), state.held.end(), value, [](const Held& held, ValueId id) { return held.value < id; });
    if (found != state.held.end() && found->value == value) return found->forms;
    FormId given = param_forms_[std::size_t(value)];
    SL_CHECK(given >= 0, "value %{} is used before it has a form", value);
    return {given};
  }

  std::int64_t bytes_to(const State& state, ValueId value, FormId wanted) {
    std::int64_t least = -1;
    for (FormId form : forms_of(state, value)) {
      std::int64_t bytes = costs_.move_bytes(value, form, wanted);
      if (least < 0 || bytes < least) least = bytes;
    }
    return least;
  }

  // Whether a form may stand for a result: it is cut finer, so that every device holds a part of what it should.
  std::int64_t result_bytes(ValueId value, FormId form, FormId wanted) {
    bool may_stand = finer_results_ && is_even(problem_.type(value).shape, costs_.spec(form));
    return may_stand && costs_.move_bytes(value, wanted, form) == 0 ? 0 : costs_.move_bytes(value, form, wanted);
  }

  void hold(State& state, ValueId value, std::vector<FormId> forms) {
    std::sort(forms.begin(), forms.end());
    Held held{value, std::move(forms)};
    const auto& wanted = wanted_[std::size_t(value)];
    for (FormId want : wanted) {
      std::int64_t least = -1;
      for (FormId form : held.forms) {
        std::int64_t bytes = result_bytes(value, form, want);
        if (least < 0 || bytes < least) least = bytes;
      }
      held.to_results += least;
    }
    if (wanted.empty()) {
      held.to_kept = -1;
      FormId kept = costs_.id_of(problem_.kept(value));
      for (FormId form : held.forms) {
        std::int64_t bytes = costs_.move_bytes(value, form, kept);
        if (held.to_kept < 0 || bytes < held.to_kept) held.to_kept = bytes;
      }
    }
    state.to_results += held.to_results;
    state.to_kept += held.to_kept;
    auto place = place_of(state, value);
    if (place != state.held.end() && place->value == value) {
      state.to_results -= place->to_results;
      state.to_kept -= place->to_kept;
      *place = std::move(held);
    } else {
      state.held.insert(place, std::move(held));
    }
  }

  void add_form(State& state, ValueId value, FormId form, bool is_forced) {
    std::vector<FormId> forms = forms_of(state, value);
    if (std::find(forms.begin(), forms.end(), form) != forms.end()) return;
    if (forms.size() >= kFormsMax) {
      if (!is_forced) return;
      forms.pop_back();
    }
    forms.push_back(form);
    hold(state, value, std::move(forms));
  }

  bool is_needed_after(ValueId value, NodeId n) const {
    return last_use_[std::size_t(value)] > place_[std::size_t(n)] || !wanted_[std::size_t(value)].empty();
  }

  // Values that nobody needs after the node are let go; results stay.
  void drop_dead(State& state, NodeId n) const {
    std::erase_if(state.held, [&](const Held& held) {
      if (is_needed_after(held.value, n)) return false;
      state.to_kept -= held.to_kept;
      return true;
    });
  }

  void constrain(NodeId n) {
    const Node& node = problem_.node(n);
    ValueId value = problem_.root(node.operands[0]);
    if (problem_.is_costless(value)) return;
    FormId form = costs_.id_of(problem_.kept(node.results[0]));
    last_forms_[value] = problem_.kept(node.results[0]);
    for (State& state : states_) {
      std::int64_t bytes = bytes_to(state, value, form);
      state.bytes += bytes;
      state.moves += bytes > 0;
      add_form(state, value, form, true);
      drop_dead(state, n);
    }
  }

  // False where the search has become too large.
  bool expand(NodeId n) {
    const Node& node = problem_.node(n);
    std::vector<Spec> at_hand;
    std::vector<std::vector<FormId>> wanted;
    for (ValueId id : node.operands) {
      auto known = last_forms_.find(problem_.root(id));
      at_hand.push_back(known == last_forms_.end() ? problem_.kept(id) : known->second);
    }
    for (ValueId id : node.results) wanted.push_back(wanted_[std::size_t(id)]);
    Options& options = options_[std::size_t(n)];
    options = options_of(problem_, costs_, n, at_hand, wanted);
    steps_ += std::int64_t(options.list.size() * states_.size());
    if (steps_ > kSearchStepsMax) return false;

    allowed_work_ += options.allowed_work;
    std::vector<State> next;
    for (const State& state : states_)
      for (const Successor& successor : successors(state, n, options)) next.push_back(made(state, successor, n, options));
    keep_best(std::move(next));
    return true;
  }

  // The cheapest options from a state, and the cheapest ones that leave a result as propagated or as wanted.
  std::vector<Successor> successors(const State& state, NodeId n, const Options& options) {
    const Node& node = problem_.node(n);
    std::vector<std::vector<std::int64_t>> need_bytes(options.needs.size());
    for (std::size_t i = 0; i < options.needs.size(); ++i)
      for (const FormNeed& need : options.needs[i]) need_bytes[i].push_back(bytes_to(state, need.value, need.form));
    std::vector<Successor> all;
    for (int o = 0; o < int(options.list.size()); ++o) {
      const Option& option = options.list[std::size_t(o)];
      if (work_after(state, option, options) > allowed_work_) continue;
      Successor successor{option.result_bytes, option.result_bytes > 0, o};
      for (std::size_t i = 0; i < option.needs.size(); ++i) {
        if (option.needs[i] < 0) continue;
        std::int64_t bytes = need_bytes[i][std::size_t(option.needs[i])];
        successor.bytes += bytes;
        successor.moves += bytes > 0;
      }
      all.push_back(successor);
    }
    auto order = [&](const Successor& a, const Successor& b) {
      auto key = [&](const Successor& s) { return std::tuple(s.bytes, s.moves, -options.list[std::size_t(s.option)].parts, s.option); };
      return key(a) < key(b);
    };
    std::vector<Successor> chosen;
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
      FormId kept = costs_.id_of(left);
      add_best_with([&](const Option& option) { return option.kept[i] == kept; });
      // A later node may need a dimension whole: sort, a transform.
      for (std::size_t d = 0; d < left.size(); ++d)
        if (!left[d].empty())
          add_best_with([&](const Option& option) {
            const Spec& spec = costs_.spec(option.kept[i]);
            return spec[d].empty() && std::any_of(spec.begin(), spec.end(), [](const Axes& axes) { return !axes.empty(); });
          });
      for (FormId want : wanted_[std::size_t(node.results[i])]) add_best_with([&](const Option& option) { return option.kept[i] == want; });
    }
    std::size_t count = std::min(kKeptOptions, all.size());
    std::partial_sort(all.begin(), all.begin() + std::ptrdiff_t(count), all.end(), order);
    for (std::size_t i = 0; i < count; ++i) {
      bool is_there = std::any_of(chosen.begin(), chosen.end(), [&](const Successor& s) { return s.option == all[i].option; });
      if (!is_there) chosen.push_back(all[i]);
    }
    return chosen;
  }

  // Over the program so far: what an earlier node saved a later one may spend.
  static std::int64_t work_after(const State& state, const Option& option, const Options& options) {
    return state.work + (options.allowed_work == 0 ? 0 : options.ways[std::size_t(option.way)].work);
  }

  State made(const State& from, const Successor& successor, NodeId n, const Options& options) {
    const Node& node = problem_.node(n);
    const Option& option = options.list[std::size_t(successor.option)];
    State state = from;
    state.bytes += successor.bytes;
    state.work = work_after(from, option, options);
    state.moves += successor.moves;
    state.parts += option.parts;
    for (std::size_t i = 0; i < option.needs.size(); ++i) {
      if (option.needs[i] < 0) continue;
      const FormNeed& need = options.needs[i][std::size_t(option.needs[i])];
      if (!costs_.is_windows(need.form) && is_needed_after(need.value, n)) add_form(state, need.value, need.form, false);
    }
    for (std::size_t i = 0; i < node.results.size(); ++i)
      if (!problem_.is_costless(node.results[i]) && is_needed_after(node.results[i], n)) hold(state, node.results[i], {option.kept[i]});
    drop_dead(state, n);
    trails_.push_back({from.trail, n, successor.option});
    state.trail = int(trails_.size()) - 1;
    return state;
  }

  // Values are written as negative numbers, so that the lists of forms end.
  static std::vector<int> key_of(const State& state) {
    std::vector<int> key;
    for (const Held& held : state.held) {
      key.push_back(-1 - held.value);
      key.insert(key.end(), held.forms.begin(), held.forms.end());
    }
    return key;
  }

  // Of states that hold the same forms the cheapest stays; of these the best by each of the two orders.
  void keep_best(std::vector<State> next) {
    auto by_results = [](const State& a, const State& b) { return a.by_results() < b.by_results(); };
    auto by_kept = [](const State& a, const State& b) { return a.by_kept() < b.by_kept(); };
    std::stable_sort(next.begin(), next.end(), by_results);
    std::set<std::vector<int>> seen;
    std::vector<State> distinct;
    for (State& state : next)
      if (seen.insert(key_of(state)).second) distinct.push_back(std::move(state));
    std::size_t count = std::min(kBeam, distinct.size());
    std::stable_sort(distinct.begin() + std::ptrdiff_t(count), distinct.end(), by_kept);
    // The second dozen is the best of what the first left: together they hold the best of both orders.
    distinct.resize(std::min(2 * kBeam, distinct.size()));
    states_ = std::move(distinct);
  }

  Choices choices_of(const State& state) const {
    Choices choices(problem_.graph().nodes.size());
    for (int at = state.trail; at >= 0; at = trails_[std::size_t(at)].previous) {
      const Trail& trail = trails_[std::size_t(at)];
      const Options& options = options_[std::size_t(trail.node)];
      const Option& option = options.list[std::size_t(trail.option)];
      Choice choice{options.ways[std::size_t(option.way)], {}};
      for (FormId form : option.kept) choice.kept.push_back(costs_.spec(form));
      choices[std::size_t(trail.node)] = std::move(choice);
    }
    return choices;
  }

  Problem& problem_;
  CostTable costs_;
  bool finer_results_;
  std::vector<NodeId> order_;
  std::vector<int> place_;                   // per node, in the order
  std::vector<FormId> param_forms_;          // per value; -1: no parameter
  std::vector<std::vector<FormId>> wanted_;  // per root: the forms that the function returns it in
  std::vector<int> last_use_;                // per root: the place of a node in the order
  std::map<ValueId, Spec> last_forms_;       // per root: a form that it surely has or could have
  std::vector<Options> options_;             // per node
  std::vector<State> states_;
  std::vector<Trail> trails_;
  std::int64_t steps_ = 0;
  std::int64_t allowed_work_ = 0;  // of the nodes so far
};

}  // namespace

namespace {

std::vector<NodeId> program_order(const Graph& graph) {
  std::vector<NodeId> order(graph.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Each node shortly before its first user: from the results backwards.
std::vector<NodeId> late_order(const Graph& graph) {
  std::vector<NodeId> order, pending;
  std::vector<int> visited(graph.nodes.size(), 0);  // 1: its operands are pending, 2: in the order
  auto add = [&](ValueId value) {
    if (NodeId producer = graph.values[std::size_t(value)].producer; producer >= 0) pending.push_back(producer);
  };
  auto run = [&] {
    while (!pending.empty()) {
      NodeId n = pending.back();
      int& state = visited[std::size_t(n)];
      if (state == 0) {
        state = 1;
        const std::vector<ValueId>& operands = graph.nodes[std::size_t(n)].operands;
        for (auto operand = operands.rbegin(); operand != operands.rend(); ++operand) add(*operand);
        continue;
      }
      pending.pop_back();
      if (state == 1) order.push_back(n);
      state = 2;
    }
  };
  for (ValueId result : graph.results) {
    add(result);
    run();
  }
  for (NodeId n = 0; n < NodeId(graph.nodes.size()); ++n) {
    pending.push_back(n);
    run();
  }
  return order;
}

}  // namespace

std::optional<Choices> choose_together(Problem& problem, bool finer_results) {
  const std::vector<NodeId> first = program_order(problem.graph()), late = late_order(problem.graph());
  auto found = Search(problem, finer_results, first).run();
  if (!found) return std::nullopt;
  // What is decided long before it matters may have left the beam by then: where bytes are moved another order may find better.
  if (std::get<0>(found->cost) > 0 && late != first)
    if (auto other = Search(problem, finer_results, late).run(); other && other->cost < found->cost) found = std::move(other);
  return std::move(found->choices);
}

}  // namespace shardlab::spmd
