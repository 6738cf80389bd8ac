#include "runtime/spmd/reshard.h"

#include <algorithm>
#include <queue>

#include "runtime/spmd/exchange.h"
#include "runtime/spmd/layout.h"

namespace shardlab::spmd {
namespace {

constexpr int kCollectivesMax = 4;  // in one reshard
constexpr int kStatesMax = 400;     // looked at in one search

// A spec as lists of prime atoms, which is what moves take from and add to.
using AtomSpec = std::vector<Axes>;

Spec merged_spec(const AtomSpec& atoms) {
  Spec spec;
  for (const Axes& axes : atoms) spec.push_back(merged(axes));
  return spec;
}

// Searches the standard sequences that move no more than the lower bound. A state is a spec; every move kept lowers what is still
// missing by exactly what it costs.
class SequenceSearch {
 public:
  SequenceSearch(const Mesh& mesh, const Shape& shape, const Spec& from, const Spec& to)
      : mesh_(mesh), shape_(shape), from_(from), to_(to) {
    AtomTable table(mesh);
    table.add_cuts(from);
    table.add_cuts(to);
    atoms_ = table.prime_atoms();
  }

  std::optional<ReshardPlan> run() {
    if (!split(from_) || !split(to_)) return std::nullopt;  // cuts of one axis that do not fit together
    reach(from_, {}, missing(from_), nullptr);
    while (!queue_.empty() && visited_ < kStatesMax) {
      Entry entry = queue_.top();
      queue_.pop();
      State& state = states_.at(entry.spec);
      if (state.done) continue;
      state.done = true;
      ++visited_;
      if (state.missing == 0) return plan_to(entry.spec);
      if (state.collectives < kCollectivesMax) expand(entry.spec);
    }
    return std::nullopt;
  }

 private:
  struct Move {
    std::string kind;
    Axes axes;
  };
  struct State {
    std::int64_t missing = 0;
    int collectives = 0, moves = 0;
    Move last;
    std::optional<Spec> previous;
    bool done = false;
  };
  struct Entry {
    int collectives, moves, order;
    Spec spec;
    bool operator<(const Entry& other) const {  // the queue serves the largest first
      return std::tie(other.collectives, other.moves, other.order) < std::tie(collectives, moves, order);
    }
  };

  std::int64_t missing(const Spec& spec) const { return missing_elements(mesh_, shape_, spec, to_); }

  std::optional<AtomSpec> split(const Spec& spec) const {
    AtomSpec result;
    for (const Axes& axes : spec) {
      auto atoms = split_into(axes, atoms_);
      if (!atoms) return std::nullopt;
      result.push_back(std::move(*atoms));
    }
    return result;
  }

  void reach(const Spec& spec, Move move, std::int64_t missing_there, const Spec* previous) {
    State next{.missing = missing_there, .last = std::move(move)};
    if (previous != nullptr) {
      const State& before = states_.at(*previous);
      next.collectives = before.collectives + (next.last.kind == "slice" ? 0 : 1);
      next.moves = before.moves + 1;
      next.previous = *previous;
    }
    auto [found, is_new] = states_.try_emplace(spec);
    if (!is_new && std::tie(found->second.collectives, found->second.moves) <= std::tie(next.collectives, next.moves)) return;
    queue_.push({next.collectives, next.moves, order_++, spec});
    found->second = std::move(next);
  }

  // Keeps a move only if it wastes nothing.
  void try_move(const Spec& current, const AtomSpec& atoms, std::string kind, Axes axes, std::int64_t cost) {
    Spec spec = merged_spec(atoms);
    if (spec == current || !is_even(shape_, spec)) return;
    std::int64_t there = missing(spec);
    if (cost + there != states_.at(current).missing) return;
    std::sort(axes.begin(), axes.end());
    reach(spec, {std::move(kind), merged(axes)}, there, &current);
  }

  void expand(const Spec& spec) {
    AtomSpec atoms = *split(spec);
    Axes free;
    for (const AxisPiece& atom : atoms_)
      if (std::none_of(atoms.begin(), atoms.end(), [&](const Axes& axes) { return std::count(axes.begin(), axes.end(), atom) > 0; }))
        free.push_back(atom);
    local_ = local_elements(shape_, spec);
    slices(spec, atoms, free);
    gathers(spec, atoms, {}, 0);
    all_to_alls(spec, atoms);
    permutes(spec, atoms, free);
  }

  void slices(const Spec& spec, const AtomSpec& atoms, const Axes& free) {
    for (const AxisPiece& atom : free) {
      for (std::size_t d = 0; d < atoms.size(); ++d) {
        AtomSpec next = atoms;
        next[d].push_back(atom);
        try_move(spec, next, "slice", {}, 0);
      }
    }
  }

  // Every choice of minor ends of dimensions `d` and up, in one group.
  void gathers(const Spec& spec, AtomSpec atoms, Axes gathered, std::size_t d) {
    if (d == atoms.size()) {
      if (!gathered.empty()) try_move(spec, atoms, "all-gather", gathered, mesh_.size() * (part_count(gathered) - 1) * local_);
      return;
    }
    while (true) {
      gathers(spec, atoms, gathered, d + 1);
      if (atoms[d].empty()) return;
      gathered.push_back(atoms[d].back());
      atoms[d].pop_back();
    }
  }

  static std::int64_t part_count(const Axes& axes) { return shardlab::part_count(axes); }

  void all_to_alls(const Spec& spec, const AtomSpec& atoms) {
    for (std::size_t d = 0; d < atoms.size(); ++d) {
      for (std::size_t count = 1; count <= atoms[d].size(); ++count) {
        Axes moved(atoms[d].end() - std::ptrdiff_t(count), atoms[d].end());
        std::int64_t parts = part_count(moved), cost = mesh_.size() * (parts - 1) * (local_ / parts);
        if (local_ % parts != 0) continue;
        for (std::size_t e = 0; e < atoms.size(); ++e) {
          if (e == d) continue;
          AtomSpec next = atoms;
          next[d].resize(next[d].size() - count);
          next[e].insert(next[e].end(), moved.begin(), moved.end());
          try_move(spec, next, "all-to-all", moved, cost);
        }
      }
    }
  }

  // Whole shards change places: straight to the target, or by exchanging two atoms of one size. Dimensions stay cut into as many
  // parts, so that blocks before and after are equal or disjoint.
  void permutes(const Spec& spec, const AtomSpec& atoms, const Axes& free) {
    auto try_permute = [&](const AtomSpec& next) {
      Spec merged_next = merged_spec(next);
      std::int64_t cost = missing_elements(mesh_, shape_, spec, merged_next);
      if (cost > 0 && cost <= states_.at(spec).missing) try_move(spec, next, "collective-permute", {}, cost);
    };
    bool same_counts = true;
    for (std::size_t d = 0; d < spec.size(); ++d) same_counts &= part_count(spec[d]) == part_count(to_[d]);
    if (same_counts) try_permute(*split(to_));
    AtomSpec next = atoms;
    next.push_back(free);
    for (std::size_t d = 0; d < atoms.size(); ++d)
      for (std::size_t i = 0; i < atoms[d].size(); ++i)
        for (std::size_t e = d; e < next.size(); ++e)
          for (std::size_t j = e == d ? i + 1 : 0; j < next[e].size(); ++j) {
            if (next[d][i].size != next[e][j].size) continue;
            std::swap(next[d][i], next[e][j]);
            try_permute(AtomSpec(next.begin(), next.end() - 1));
            std::swap(next[d][i], next[e][j]);
          }
  }

  ReshardPlan plan_to(const Spec& last) const {
    ReshardPlan plan;
    std::vector<ReshardStep> steps;
    for (const Spec* spec = &last; states_.at(*spec).previous; spec = &*states_.at(*spec).previous)
      steps.push_back({states_.at(*spec).last.kind, states_.at(*spec).last.axes, *spec, {}, 1});
    std::reverse(steps.begin(), steps.end());
    if (last != to_) steps.push_back({"slice", {}, to_, {}, 1});
    Spec before = from_;
    for (ReshardStep& step : steps) {
      if (step.kind == "slice" && !plan.steps.empty() && plan.steps.back().kind == "slice") {
        before = plan.steps.back().to = step.to;
        continue;
      }
      if (step.kind == "collective-permute") {
        auto exchange = plan_exchange(boxes_of(shape_, before, mesh_), boxes_of(shape_, step.to, mesh_));
        SL_CHECK(exchange, "whole shards change places in too many parts");
        step.transfers = std::move(exchange->transfers);
        step.calls = exchange->calls;
      }
      if (step.kind != "slice") plan.collectives += step.calls;
      before = step.to;
      plan.steps.push_back(std::move(step));
    }
    return plan;
  }

  const Mesh& mesh_;
  const Shape& shape_;
  const Spec& from_;
  const Spec& to_;
  Axes atoms_;
  std::map<Spec, State> states_;
  std::priority_queue<Entry> queue_;
  int visited_ = 0, order_ = 0;
  std::int64_t local_ = 1;
};

// Everybody gathers everything and keeps its part: what is left where an exchange would have too many parts.
ReshardPlan gather_plan(const Spec& from, const Spec& to) {
  ReshardPlan plan{.collectives = 1};
  Axes gathered;
  for (const Axes& axes : from) gathered.insert(gathered.end(), axes.begin(), axes.end());
  std::sort(gathered.begin(), gathered.end());
  plan.steps.push_back({"all-gather", merged(gathered), Spec(from.size()), {}, 1});
  plan.steps.push_back({"slice", {}, to, {}, 1});
  return plan;
}

ReshardPlan exchange_plan(const Mesh& mesh, const Shape& shape, const Spec& from, const Spec& to) {
  auto exchange = plan_exchange(boxes_of(shape, from, mesh), boxes_of(shape, to, mesh));
  if (!exchange) return gather_plan(from, to);
  ReshardPlan plan{.collectives = exchange->calls};
  plan.steps.push_back({"collective-permute", {}, to, std::move(exchange->transfers), exchange->calls});
  return plan;
}

// One all-gather of whole dimensions, where that is all there is to do: the usual way out of an uneven form.
std::optional<ReshardPlan> single_gather(const Spec& from, const Spec& to) {
  Axes gathered;
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (to[d] == from[d]) continue;
    if (!to[d].empty()) return std::nullopt;
    gathered.insert(gathered.end(), from[d].begin(), from[d].end());
  }
  std::sort(gathered.begin(), gathered.end());
  ReshardPlan plan{.collectives = 1};
  plan.steps.push_back({"all-gather", merged(gathered), to, {}, 1});
  return plan;
}

}  // namespace

std::int64_t ReshardPlanner::elements(const Shape& shape, const Spec& from, const Spec& to) {
  if (from == to) return 0;
  auto [found, is_new] = elements_.try_emplace(Key{shape, from, to});
  if (is_new) found->second = missing_elements(mesh_, shape, from, to);
  return found->second;
}

const ReshardPlan& ReshardPlanner::plan(const Shape& shape, const Spec& from, const Spec& to) {
  auto [found, is_new] = plans_.try_emplace(Key{shape, from, to});
  ReshardPlan& plan = found->second;
  if (!is_new) return plan;
  std::int64_t lower_bound = elements(shape, from, to);
  if (from == to) return plan;
  if (lower_bound == 0) {
    plan.steps.push_back({"slice", {}, to, {}, 1});
    return plan;
  }
  bool uneven = !is_even(shape, from) || !is_even(shape, to);
  auto standard = uneven ? single_gather(from, to) : SequenceSearch(mesh_, shape, from, to).run();
  if (standard && standard->collectives == 1) {
    plan = std::move(*standard);
  } else {
    plan = exchange_plan(mesh_, shape, from, to);
    if (standard && standard->collectives <= plan.collectives) plan = std::move(*standard);
  }
  plan.elements = lower_bound;
  return plan;
}

}  // namespace shardlab::spmd
