#include "runtime/spmd/partition.h"

#include <algorithm>

#include "runtime/spmd/emit.h"
#include "runtime/spmd/layout.h"
#include "runtime/spmd/prepare.h"

namespace shardlab::spmd {
namespace {

// What it takes to compute a node as one candidate says and leave its results in their propagated forms.
struct Price {
  std::int64_t bytes = 0;
  int collectives = 0;
  bool leaves_form = false;  // results come out in another form
  std::int64_t work = 0;     // elements that each device reads and writes
  int moves = 0;
  auto operator<=>(const Price&) const = default;
};

// Mode A: each value is left in the even prefix of its propagated sharding, and each op alone takes the cheapest way there. Linear in
// the program, without search state.
class Planner {
 public:
  Planner(Propagation propagation, const PropagationInput& input, const PartitionOptions& options)
      : options_(options), propagation_(std::move(propagation)), emitter_(propagation_.graph, input.mesh) {
    const Graph& graph = emitter_.graph();
    AtomTable table(input.mesh);
    for (ValueId id = 0; id < ValueId(graph.values.size()); ++id) {
      kept_.push_back(normalised(even_prefix(propagation_.values[std::size_t(id)], graph.type(id).shape)));
      table.add_cuts(kept_.back());
    }
    for (std::size_t i = 0; i < graph.params.size(); ++i) {
      emitter_.add_param(graph.params[i], param_spec(input, i));
      table.add_cuts(emitter_.forms(graph.params[i])[0]);
    }
    for (const Spec& spec : propagation_.results) table.add_cuts(spec);
    atoms_ = table.atoms();
  }

  PartitionedProgram run() {
    for (NodeId n = 0; n < NodeId(emitter_.graph().nodes.size()); ++n) plan_node(n);
    const Graph& graph = emitter_.graph();
    for (std::size_t i = 0; i < graph.results.size(); ++i)
      emitter_.add_result(graph.results[i], propagation_.results[i], !options_.exact_results);
    PartitionedProgram program = emitter_.finish();
    for (std::size_t id = 0; id < propagation_.values.size(); ++id) {
      Spec spec(program.graph.values[id].type.shape.size());
      if (const ValueSharding& value = propagation_.values[id])
        for (std::size_t d = 0; d < spec.size(); ++d) spec[d] = (*value)[d].axes;
      program.propagated.push_back(std::move(spec));
    }
    program.origins = std::move(propagation_.origins);
    return program;
  }

 private:
  // As given; an open parameter takes what was propagated, as far as it is even and of whole axes.
  Spec param_spec(const PropagationInput& input, std::size_t i) const {
    ValueId id = propagation_.graph.params[i];
    std::size_t rank = propagation_.graph.type(id).shape.size();
    Spec spec = input.params[i] ? *input.params[i] : kept_[std::size_t(id)];
    spec.resize(rank);
    if (!input.params[i])
      for (Axes& axes : spec)
        axes.erase(
            std::find_if(axes.begin(), axes.end(), [&](const AxisPiece& piece) { return piece != input.mesh.whole_axis(piece.axis); }),
            axes.end());
    return spec;
  }

  void plan_node(NodeId n) {
    const Node& node = emitter_.graph().nodes[std::size_t(n)];
    if (node.op->is_constraint) {
      constrain(n);
      return;
    }
    if (std::all_of(node.results.begin(), node.results.end(), [&](ValueId id) { return emitter_.is_free(id); })) return;
    emitter_.compute(n, cheapest(n), wanted(n));
  }

  void constrain(NodeId n) {
    const Node& node = emitter_.graph().nodes[std::size_t(n)];
    const Spec& spec = kept_[std::size_t(node.results[0])];
    emitter_.add_alias(node.results[0], node.operands[0]);
    emitter_.obtain(node.operands[0], spec, {n, fmt::format("constraint to {}", text_of(spec, emitter_.mesh()))});
  }

  std::vector<Spec> wanted(NodeId n) const {
    std::vector<Spec> specs;
    for (ValueId id : emitter_.graph().nodes[std::size_t(n)].results) specs.push_back(kept_[std::size_t(id)]);
    return specs;
  }

  // By bytes alone first; what that leaves is compared in full.
  Candidate cheapest(NodeId n) {
    std::vector<Candidate> candidates = all_candidates(n);
    SL_CHECK(!candidates.empty(), "no way to compute {}", emitter_.graph().nodes[std::size_t(n)].op->name);
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
      if (lowest && collectives_at_least(n, best[i]) > lowest->collectives) continue;
      Price price = price_of(n, best[i]);
      if (!lowest || price < *lowest) {
        lowest = price;
        chosen = i;
      }
    }
    return best[chosen];
  }

  // Without planning the moves.
  int collectives_at_least(NodeId n, const Candidate& candidate) {
    const Node& node = emitter_.graph().nodes[std::size_t(n)];
    int count = 0;
    for (std::size_t i = 0; i < node.operands.size(); ++i)
      count += !is_repeated(node, candidate, i) && emitter_.bytes_to(node.operands[i], candidate.operands[i]) > 0;
    for (std::size_t i = 0; i < node.results.size(); ++i)
      count += !candidate.partial.empty() || emitter_.reshards().elements(emitter_.type(node.results[i]).shape, candidate.results[i],
                                                                          kept_[std::size_t(node.results[i])]) > 0;
    return count;
  }

  std::vector<Candidate> all_candidates(NodeId n) {
    const Node& node = emitter_.graph().nodes[std::size_t(n)];
    const OpShape& shape = emitter_.op_shape(n);
    if (!shape.rule.present) return {whole_candidate(node)};
    std::vector<Spec> forms;
    for (ValueId id : node.operands) {
      std::vector<Spec> at_hand = emitter_.forms(id);
      forms.push_back(at_hand.empty() ? kept_[std::size_t(id)] : at_hand.back());
    }
    for (ValueId id : node.results) forms.push_back(kept_[std::size_t(id)]);
    return candidates_of(shape, atoms_, forms);
  }

  Candidate whole_candidate(const Node& node) const {
    Candidate candidate;
    for (ValueId id : node.operands) candidate.operands.emplace_back(emitter_.type(id).shape.size());
    for (ValueId id : node.results) candidate.results.emplace_back(emitter_.type(id).shape.size());
    return candidate;
  }

  // Whether operand i is there already in the same form as an earlier operand.
  static bool is_repeated(const Node& node, const Candidate& candidate, std::size_t i) {
    for (std::size_t j = 0; j < i; ++j)
      if (node.operands[j] == node.operands[i] && candidate.operands[j] == candidate.operands[i]) return true;
    return false;
  }

  // Stops counting beyond `limit` (negative: none).
  std::int64_t bytes_of(NodeId n, const Candidate& candidate, std::int64_t limit) {
    const Node& node = emitter_.graph().nodes[std::size_t(n)];
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      if (!is_repeated(node, candidate, i)) bytes += emitter_.bytes_to(node.operands[i], candidate.operands[i]);
      if (limit >= 0 && bytes > limit) return bytes;
    }
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      const TensorType& type = emitter_.type(node.results[i]);
      const Spec& kept = kept_[std::size_t(node.results[i])];
      std::int64_t elements = candidate.partial.empty() ? emitter_.reshards().elements(type.shape, candidate.results[i], kept)
                                                        : reduction_elements(emitter_.reshards(), emitter_.mesh(),
                                                                             {type.shape, candidate.results[i], candidate.partial}, kept);
      bytes += elements * size_of(type.dtype);
    }
    return bytes;
  }

  Price price_of(NodeId n, const Candidate& candidate) {
    const Node& node = emitter_.graph().nodes[std::size_t(n)];
    Price price;
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      price.work += local_elements(emitter_.type(node.operands[i]).shape, candidate.operands[i]);
      if (is_repeated(node, candidate, i)) continue;
      MoveCost cost = emitter_.cost_to(node.operands[i], candidate.operands[i]);
      price.collectives += cost.collectives;
      price.moves += cost.moves;
    }
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      const TensorType& type = emitter_.type(node.results[i]);
      const Spec& kept = kept_[std::size_t(node.results[i])];
      price.work += local_elements(type.shape, candidate.results[i]);
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

  PartitionOptions options_;
  Propagation propagation_;
  Emitter emitter_;
  std::vector<Spec> kept_;  // per value: the form it is left in
  Axes atoms_;
};

}  // namespace

PartitionedProgram partition(const PropagationInput& input, const PartitionOptions& options) {
  PartitionedProgram program = Planner(propagate(input), input, options).run();
  verify(program);
  return program;
}

}  // namespace shardlab::spmd
