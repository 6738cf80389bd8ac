#include "runtime/spmd/alone.h"

#include "runtime/spmd/gathered.h"
#include "runtime/spmd/layout.h"
#include "runtime/spmd/prepare.h"
#include "runtime/spmd/ways.h"
#include "runtime/spmd/work.h"

namespace shardlab::spmd {
namespace {

// What it takes to compute a node as one candidate says and leave its results in their propagated forms.
struct Price {
  std::int64_t bytes = 0;
  std::int64_t heavy_work = 0;  // of one device, where it outweighs a collective
  int collectives = 0;
  bool leaves_form = false;   // results come out in another form
  std::int64_t elements = 0;  // that each device reads and writes
  int moves = 0;
  auto operator<=>(const Price&) const = default;
};

// Whether a node takes a part of a value that others use, too.
bool may_share_operand(const Problem& problem, NodeId n, const Uses& uses) {
  const Node& node = problem.node(n);
  return node.op->needs != nullptr && node.operands.size() == 1 && problem.is_planned(n) &&
         uses[std::size_t(node.operands[0])].size() > 1 &&
         problem.type(node.results[0]).elements() < problem.type(node.operands[0]).elements();
}

class AlonePlanner {
 public:
  AlonePlanner(Emitter& emitter, InPlace in_place)
      : emitter_(emitter), problem_(emitter.problem()), in_place_(in_place), uses_(uses_of(problem_.graph())) {}

  void run() {
    for (NodeId n = 0; n < NodeId(problem_.graph().nodes.size()); ++n) {
      if (problem_.constrains(n))
        emitter_.constrain(n);
      else if (problem_.is_planned(n))
        emitter_.compute(n, cheapest(n), wanted(n));
    }
  }

 private:
  bool is_always_in_place() const { return in_place_ == InPlace::kAlways || in_place_ == InPlace::kAlwaysWithSlices; }

  std::vector<Spec> wanted(NodeId n) const {
    std::vector<Spec> specs;
    for (ValueId id : problem_.node(n).results) specs.push_back(problem_.kept(id));
    return specs;
  }

  // By bytes alone first; what that leaves is compared in full.
  Candidate cheapest(NodeId n) {
    std::vector<Candidate> candidates = ways_to_compute(problem_, n, forms_at_hand(n));
    const Node& node = problem_.node(n);
    const bool in_place = is_unary(node) && (in_place_ != InPlace::kWhereCheapest || widens(problem_, node));
    if (auto allowed = allowed_work(problem_, n, candidates, in_place))
      std::erase_if(candidates, [&](const Candidate& way) { return way.work > *allowed; });
    if (is_always_in_place() && node.op->elementwise) keep_in_place(n, candidates);
    if (in_place_ == InPlace::kAlwaysWithSlices && may_share_operand(problem_, n, uses_)) take_whole(n, candidates);
    if (!is_heavy(problem_.graph(), problem_.node(n)))
      for (Candidate& way : candidates) way.work = 0;
    std::vector<Candidate> best;
    std::int64_t least = -1;
    for (Candidate& candidate : candidates) {
      std::int64_t bytes = bytes_of(n, candidate, least);
      if (least >= 0 && bytes > least) continue;
      if (bytes != least) best.clear();
      least = bytes;
      best.push_back(std::move(candidate));
    }
    if (best.size() == 1) return best[0];
    std::optional<Price> lowest;
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < best.size(); ++i) {
      if (lowest && std::pair(best[i].work, collectives_at_least(n, best[i])) > std::pair(lowest->heavy_work, lowest->collectives))
        continue;
      Price price = price_of(n, best[i]);
      if (!lowest || price < *lowest) {
        lowest = price;
        chosen = i;
      }
    }
    return best[chosen];
  }

  // Leaves the ways whose result lies as it is wanted, where there are any.
  void keep_in_place(NodeId n, std::vector<Candidate>& candidates) const {
    const std::vector<Spec> in_place = wanted(n);
    auto is_elsewhere = [&](const Candidate& way) { return way.results != in_place; };
    if (!std::all_of(candidates.begin(), candidates.end(), is_elsewhere)) std::erase_if(candidates, is_elsewhere);
  }

  // Leaves the way by which a slice takes its whole operand, where there is one.
  void take_whole(NodeId n, std::vector<Candidate>& candidates) const {
    const std::vector<Spec> in_place = wanted(n);
    auto found = std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& way) {
      return way.results == in_place && way.partial.empty() && (way.windows.empty() || way.windows[0].empty());
    });
    if (found != candidates.end()) candidates = {*found};
  }

  // Without planning the moves.
  int collectives_at_least(NodeId n, const Candidate& candidate) {
    const Node& node = problem_.node(n);
    int count = 0;
    for (std::size_t i = 0; i < node.operands.size(); ++i)
      count += !is_repeated(node, candidate, i) && emitter_.bytes_to(node.operands[i], wanted_form(candidate, i)) > 0;
    for (std::size_t i = 0; i < node.results.size(); ++i)
      count += !candidate.partial.empty() ||
               emitter_.reshards().elements(emitter_.type(node.results[i]).shape, candidate.results[i], problem_.kept(node.results[i])) > 0;
    return count;
  }

  std::vector<Spec> forms_at_hand(NodeId n) const {
    std::vector<Spec> forms;
    for (ValueId id : problem_.node(n).operands) {
      std::vector<Spec> at_hand = emitter_.forms(id);
      forms.push_back(at_hand.empty() ? problem_.kept(id) : at_hand.back());
    }
    return forms;
  }

  // Whether operand i is there already in the same form as an earlier operand.
  static bool is_repeated(const Node& node, const Candidate& candidate, std::size_t i) {
    for (std::size_t j = 0; j < i; ++j)
      if (node.operands[j] == node.operands[i] && wanted_form(candidate, j) == wanted_form(candidate, i)) return true;
    return false;
  }

  // Stops counting beyond `limit` (negative: none).
  std::int64_t bytes_of(NodeId n, const Candidate& candidate, std::int64_t limit) {
    const Node& node = problem_.node(n);
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      if (!is_repeated(node, candidate, i)) bytes += emitter_.bytes_to(node.operands[i], wanted_form(candidate, i));
      if (limit >= 0 && bytes > limit) return bytes;
    }
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      const TensorType& type = emitter_.type(node.results[i]);
      const Spec& kept = problem_.kept(node.results[i]);
      std::int64_t elements = candidate.partial.empty() ? emitter_.reshards().elements(type.shape, candidate.results[i], kept)
                                                        : reduction_elements(emitter_.reshards(), emitter_.mesh(),
                                                                             {type.shape, candidate.results[i], candidate.partial}, kept);
      bytes += elements * size_of(type.dtype);
    }
    return bytes;
  }

  Price price_of(NodeId n, const Candidate& candidate) {
    const Node& node = problem_.node(n);
    Price price{.heavy_work = candidate.work};
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      price.elements += local_elements(emitter_.type(node.operands[i]).shape, candidate.operands[i]);
      if (is_repeated(node, candidate, i)) continue;
      MoveCost cost = emitter_.cost_to(node.operands[i], wanted_form(candidate, i));
      price.collectives += cost.collectives;
      price.moves += cost.moves;
    }
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      const TensorType& type = emitter_.type(node.results[i]);
      const Spec& kept = problem_.kept(node.results[i]);
      price.elements += local_elements(type.shape, candidate.results[i]);
      price.leaves_form |= candidate.results[i] != kept;
      if (!candidate.partial.empty()) {
        price.collectives +=
            plan_reduction(emitter_.reshards(), emitter_.mesh(), {type.shape, candidate.results[i], candidate.partial}, kept).collectives;
      } else if (candidate.results[i] != kept) {
        const ReshardPlan& plan = emitter_.reshards().plan(type.shape, candidate.results[i], kept);
        price.collectives += plan.collectives;
        price.moves += int(plan.steps.size());
      }
    }
    return price;
  }

  Emitter& emitter_;
  Problem& problem_;
  InPlace in_place_;
  const Uses uses_;
};

}  // namespace

bool has_shared_slices(const Problem& problem) {
  const Uses uses = uses_of(problem.graph());
  for (NodeId n = 0; n < NodeId(problem.graph().nodes.size()); ++n)
    if (may_share_operand(problem, n, uses)) return true;
  return false;
}

void plan_alone(Emitter& emitter, InPlace in_place) { AlonePlanner(emitter, in_place).run(); }

}  // namespace shardlab::spmd
