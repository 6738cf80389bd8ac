#include "runtime/spmd/partition.h"

#include <algorithm>
#include <future>

#include "runtime/graph/partition_callback.h"
#include "runtime/spmd/alone.h"
#include "runtime/spmd/body_plans.h"
#include "runtime/spmd/foreign.h"
#include "runtime/spmd/hoist.h"
#include "runtime/spmd/in_parts.h"
#include "runtime/spmd/layout.h"
#include "runtime/spmd/lightened.h"
#include "runtime/spmd/repeated_stacks.h"
#include "runtime/spmd/share_code.h"
#include "runtime/spmd/slim_loops.h"
#include "runtime/spmd/take_scalars.h"
#include "runtime/spmd/together.h"
#include "runtime/spmd/ways.h"
#include "runtime/spmd/work.h"

namespace shardlab::spmd {
namespace {

constexpr std::size_t kPartedMax = 3;    // times that a program is taken apart further
constexpr std::size_t kBesideMin = 256;  // nodes from which on versions of a program are planned beside each other

Emitter with_params(Problem& problem) {
  Emitter emitter(problem);
  for (std::size_t i = 0; i < problem.graph().params.size(); ++i) emitter.add_param(problem.graph().params[i], problem.param(i));
  return emitter;
}

PartitionedProgram with_results(Emitter emitter, const PartitionOptions& options) {
  const Problem& problem = emitter.problem();
  for (std::size_t i = 0; i < problem.graph().results.size(); ++i)
    emitter.add_result(problem.graph().results[i], problem.result(i), !options.exact_results);
  return emitter.finish();
}

PartitionedProgram planned_alone(Problem& problem, const PartitionOptions& options, InPlace in_place) {
  Emitter emitter = with_params(problem);
  plan_alone(emitter, in_place);
  return with_results(std::move(emitter), options);
}

std::optional<PartitionedProgram> planned_together(Problem& problem, const PartitionOptions& options) {
  auto chosen = choose_together(problem, !options.exact_results);
  if (!chosen) return std::nullopt;
  Emitter emitter = with_params(problem);
  for (NodeId n : chosen->order) {
    const auto& choice = chosen->choices[std::size_t(n)];
    if (choice)
      for (const auto& [value, spec] : choice->first) emitter.obtain(value, spec, {n, "several users are served by it"});
    if (problem.constrains(n))
      emitter.constrain(n);
    else if (choice)
      emitter.compute(n, choice->way, choice->kept);
  }
  return with_results(std::move(emitter), options);
}

// Bytes first, then the arithmetic of the busiest device that outweighs a collective.
bool is_less(const Graph& graph, const PartitionedProgram& a, const PartitionedProgram& b) {
  return a.wire_bytes != b.wire_bytes ? a.wire_bytes < b.wire_bytes : heavy_work_per_device(graph, a) < heavy_work_per_device(graph, b);
}

// Whether a plan that is no more than another one in bytes and in what outweighs a collective does less, and the other does more than XLA.
bool does_less(Problem& problem, const PartitionedProgram& plan, const PartitionedProgram& other) {
  const Graph& graph = problem.graph();
  if (is_less(graph, other, plan)) return false;
  const std::int64_t work = work_per_device(graph, other);
  if (work_per_device(graph, plan) >= work) return false;
  const std::optional<std::int64_t> allowed = allowed_work(problem);
  return allowed && work > *allowed;
}

// Whether a plan does no more than another one, or than XLA.
bool does_no_more(Problem& problem, const PartitionedProgram& plan, const PartitionedProgram& other) {
  const std::int64_t work = work_per_device(problem.graph(), plan);
  return work <= work_per_device(problem.graph(), other) || work <= allowed_work(problem).value_or(0);
}

// The plan with the fewest bytes and the least arithmetic; each op alone among equals, since it leaves inner values as propagated.
PartitionedProgram planned(Problem& problem, const PartitionOptions& options) {
  PartitionedProgram program = planned_alone(problem, options, options.search ? InPlace::kWhereCheapest : InPlace::kOfOneOperand);
  if (!options.search || program.wire_bytes == 0) return program;
  for (InPlace each : {InPlace::kAlways, InPlace::kAlwaysWithSlices}) {
    if (each == InPlace::kAlwaysWithSlices && !has_shared_slices(problem)) continue;
    PartitionedProgram in_place = planned_alone(problem, options, each);
    if (is_less(problem.graph(), in_place, program) && does_no_more(problem, in_place, program)) program = std::move(in_place);
  }
  if (auto together = planned_together(problem, options);
      together && (is_less(problem.graph(), *together, program) || does_less(problem, *together, program)))
    program = std::move(*together);
  return program;
}

PartitionOptions for_bodies(const PartitionOptions& options) {
  return {.lighten = options.lighten, .scatters_whole = options.scatters_whole, .body_plans = options.body_plans};
}

// Whether work of a device is no more than another plan's, or than devices may do for the nodes of a program where propagation leaves its
// values. What loops and branches may do nobody says.
bool may_do(std::int64_t work, std::int64_t other, const Propagation& propagation, const PropagationInput& input,
            const PartitionOptions& options) {
  if (work <= other) return true;
  Problem problem(propagation, input, Rounding::kAsPropagated, Composition::kSlices, for_bodies(options));
  const std::optional<std::int64_t> allowed = allowed_work(problem);
  return !allowed || work <= *allowed;
}

// Whether a loop with constants moves anything.
bool has_moving_loops(const Graph& graph, const PartitionedProgram& program) {
  return std::any_of(program.steps.begin(), program.steps.end(), [&](const Step& step) {
    const auto* region = std::get_if<RegionStep>(&step);
    return region != nullptr && graph.nodes[std::size_t(region->node)].attrs.integer("num_consts", 0) > 0 &&
           region->bodies.back()->wire_bytes > 0;
  });
}

// The plan of a propagated program, rounded and composed one way or the other, whichever moves less.
PartitionedProgram planned(Propagation propagation, const PropagationInput& input, const PartitionOptions& options) {
  PartitionedProgram program;
  auto plan = [&](Rounding rounding, Composition composition, bool is_first, LoopConstants constants = LoopConstants::kWhereNeeded) {
    if (!is_first && program.wire_bytes == 0) return;
    Problem problem(propagation, input, rounding, composition, for_bodies(options), constants);
    PartitionedProgram next = planned(problem, options);
    auto work_of = [&](const PartitionedProgram& each) { return work_per_device(propagation.graph, each); };
    if (is_first || (next.wire_bytes < program.wire_bytes && may_do(work_of(next), work_of(program), propagation, input, options)))
      program = std::move(next);
  };
  plan(Rounding::kAsPropagated, Composition::kSlices, true);
  for (Composition composition : {Composition::kSlices, Composition::kIndexMaps}) {
    if (program.wire_bytes == 0) break;
    if (composition == Composition::kIndexMaps) {
      if (!Problem::composition_matters(propagation)) break;
      plan(Rounding::kAsPropagated, composition, false);
    }
    if (Problem::rounding_matters(propagation)) plan(Rounding::kEven, composition, false);
  }
  if (has_moving_loops(propagation.graph, program)) plan(Rounding::kAsPropagated, Composition::kSlices, false, LoopConstants::kGathered);
  for (std::size_t id = 0; id < propagation.values.size(); ++id)
    program.propagated.push_back(propagated_spec(propagation.values[id], propagation.graph.values[id].type.shape));
  program.graph = std::move(propagation.graph);
  program.origins = std::move(propagation.origins);
  return program;
}

// Versions in parts, each of the one before: a node of a form in parts may have one more, as of a window over two dimensions.
std::vector<Propagation> versions_in_parts(const Propagation& propagated, const PropagationInput& input, PartedNodes nodes) {
  std::vector<Propagation> versions;
  while (versions.size() < kPartedMax) {
    std::optional<Propagation> parted = in_parts(versions.empty() ? propagated : versions.back(), input, nodes);
    if (!parted) break;
    versions.push_back(std::move(*parted));
  }
  return versions;
}

// Of the propagated program and its versions in parts the plan with the fewest bytes; the first one among equals.
PartitionedProgram planned_in_versions(Propagation propagated, const PropagationInput& input, const PartitionOptions& options) {
  std::vector<Propagation> versions = versions_in_parts(propagated, input, PartedNodes::kAll);
  if (parted_nodes_matter(propagated)) {
    std::vector<Propagation> of_large = versions_in_parts(propagated, input, PartedNodes::kOfLargeOperands);
    if (!of_large.empty()) versions.push_back(std::move(of_large.back()));
  }
  versions.insert(versions.begin(), std::move(propagated));
  PartitionedProgram program;
  for (std::size_t v = 0; v < versions.size(); ++v) {
    if (v > 0 && program.wire_bytes == 0) break;
    PartitionedProgram next = planned(std::move(versions[v]), input, options);
    if (v == 0 || next.wire_bytes < program.wire_bytes) program = std::move(next);
  }
  return program;
}

// Whether a program moves fewer bytes than the plan even where each of its ops is planned alone, about as XLA does.
bool moves_less_alone(const PartitionedProgram& plan, const Propagation& propagated, const PropagationInput& input,
                      const PartitionOptions& options) {
  const PartitionOptions alone{.search = false, .scatters_whole = options.scatters_whole};
  return planned_in_versions(propagated, input, alone).wire_bytes < plan.wire_bytes;
}

// Partition callbacks are the user's, who expects them in his own thread.
bool has_partition_callbacks(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    const Bodies& bodies = node.attrs.bodies();
    return std::any_of(bodies.begin(), bodies.end(),
                       [](const GraphRef& body) { return partition_of(body) != nullptr || has_partition_callbacks(*body); });
  });
}

// Whether to plan two versions of a program beside each other: it is large enough to be worth a thread.
bool is_planned_beside(const Graph& graph) { return graph.nodes.size() >= kBesideMin && !has_partition_callbacks(graph); }

}  // namespace

PartitionedProgram partition(const PropagationInput& input, const PartitionOptions& options) {
  return partition(input, propagate(input), options);
}

PartitionedProgram partition(const PropagationInput& input, Propagation propagated, const PartitionOptions& asked) {
  BodyPlans own_plans;
  PartitionOptions options = asked;
  if (options.body_plans == nullptr) options.body_plans = &own_plans;
  if (std::optional<Propagation> taken = with_scalars_taken(propagated, input.mesh)) propagated = std::move(*taken);
  if (std::optional<Propagation> slim = with_slim_loops(propagated)) propagated = std::move(*slim);
  if (std::optional<Propagation> once = hoisted(propagated, input.mesh)) propagated = std::move(*once);
  while (std::optional<Propagation> fewer = without_repeated_stacks(propagated)) {
    propagated = std::move(*fewer);
    if (std::optional<Propagation> once = hoisted(propagated, input.mesh)) propagated = std::move(*once);
  }
  if (std::optional<Propagation> shared = with_code_shared(propagated, input.mesh)) propagated = std::move(*shared);
  std::optional<Propagation> lighter = options.lighten != nullptr ? lightened(propagated, options.lighten) : std::nullopt;
  PartitionedProgram program;
  if (lighter) {
    // Where no thread can be had the second one waits until it is asked for.
    const auto policy = is_planned_beside(propagated.graph) ? std::launch::async | std::launch::deferred : std::launch::deferred;
    std::future<PartitionedProgram> beside = std::async(policy, [&] { return planned_in_versions(propagated, input, options); });
    program = planned_in_versions(*lighter, input, options);
    if (program.wire_bytes > 0) {
      PartitionedProgram as_written = beside.get();
      if (as_written.wire_bytes < program.wire_bytes &&
          (may_do(work_per_device(as_written), work_per_device(program), *lighter, input, options) ||
           moves_less_alone(program, propagated, input, options)))
        program = std::move(as_written);
    }
  } else {
    program = planned_in_versions(std::move(propagated), input, options);
  }
  program = with_foreign_code(std::move(program));
  verify(program);
  for (std::size_t i = 0; i < program.results.size(); ++i) {  // loops ask their bodies for what they carry as it is cut around them
    const Slot& result = program.slots[std::size_t(program.results[i])];
    SL_CHECK((i < input.results.size() && input.results[i]) || is_even(result.type.shape, result.spec), "result {} is cut unevenly by {}",
             i, text_of(result.spec, program.mesh));
  }
  return program;
}

}  // namespace shardlab::spmd
