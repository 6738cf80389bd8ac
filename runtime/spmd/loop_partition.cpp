// Loops: in which forms their bodies get what they do not change.
#include "runtime/spmd/region_bodies.h"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/spmd/gathered.h"
#include "runtime/spmd/layout.h"
#include "runtime/spmd/problem.h"
#include "runtime/spmd/trips.h"
#include "runtime/spmd/ways.h"
#include "runtime/spmd/work.h"

namespace shardlab::spmd {
namespace {

Spec without_leading(const Spec& spec) { return {spec.begin() + 1, spec.end()}; }

Spec with_leading(Spec spec) {
  spec.insert(spec.begin(), Axes{});
  return spec;
}

// The forms that a parameter is moved into over the wire before anything is computed from it, those that need most bytes first.
std::vector<Spec> moved_forms(const PartitionedProgram& program, std::size_t param) {
  std::map<SlotId, std::int64_t> bytes{{program.params[param], 0}};  // of the way to each form
  for (const Step& step : program.steps)
    if (const auto* move = std::get_if<MoveStep>(&step); move != nullptr && !move->reduction && bytes.contains(move->from))
      bytes[move->to] = bytes[move->from] + wire_bytes_of(program, *move);
  std::vector<std::pair<std::int64_t, Spec>> found;
  auto use = [&](SlotId slot) {
    const auto way = bytes.find(slot);
    const Slot& used = program.slots[std::size_t(slot)];
    if (way != bytes.end() && way->second > 0 && used.windows.empty()) found.emplace_back(-way->second, normalised(used.spec));
  };
  for (const Step& step : program.steps) {
    if (const auto* compute = std::get_if<ComputeStep>(&step)) std::for_each(compute->operands.begin(), compute->operands.end(), use);
    if (const auto* region = std::get_if<RegionStep>(&step)) std::for_each(region->operands.begin(), region->operands.end(), use);
  }
  std::for_each(program.results.begin(), program.results.end(), use);
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Spec> forms;
  for (auto& [cost, spec] : found)
    if (std::find(forms.begin(), forms.end(), spec) == forms.end()) forms.push_back(std::move(spec));
  return forms;
}

// Whether some of what a body moves may not be moved when it runs.
bool has_branches(const Graph& body) {
  return std::any_of(body.nodes.begin(), body.nodes.end(), [](const Node& node) {
    const Bodies& bodies = node.attrs.bodies();
    return node.op->region == RegionKind::kBranch ||
           std::any_of(bodies.begin(), bodies.end(), [](const GraphRef& inner) { return has_branches(*inner); });
  });
}

constexpr std::size_t kWelcomeFormsMax = 2;  // of a constant of a loop

// How often a loop runs of which nobody says it: no loop is written for less.
constexpr std::int64_t kTripsOfWhile = 2;

// A loop's operands by kind.
struct LoopShape {
  std::size_t consts = 0, carried = 0;
  bool is_scan = false;
  bool runs_all = true;    // that is in its body
  std::int64_t trips = 1;  // at least so many
  LoopShape(const Graph& graph, const Node& node)
      : consts(std::size_t(node.attrs.integer("num_consts", 0))),
        carried(node.results.size()),
        is_scan(node.op->region == RegionKind::kScan) {
    runs_all = !has_branches(*node.attrs.bodies().back());
    trips = known_trips(graph, node).value_or(runs_all ? kTripsOfWhile : 1);
    if (is_scan) carried = std::size_t(node.attrs.integer("num_carry", 0));
  }
  bool is_carried(std::size_t operand) const { return operand >= consts && operand < consts + carried; }
  bool is_scanned(std::size_t operand) const { return operand >= consts + carried; }
};

// How a loop's body gets what it does not carry: as propagation left it there, what is scanned over in slices.
std::vector<Spec> unchanged_forms(const RegionContext& context, const LoopShape& loop) {
  std::vector<Spec> forms;
  for (std::size_t i = 0; i < context.operands.size(); ++i) {
    if (loop.is_carried(i)) {
      forms.push_back(context.results[i - loop.consts]);
    } else if (context.bodies == nullptr) {
      forms.push_back(loop.is_scanned(i) ? without_leading(context.operands[i]) : context.operands[i]);
    } else {
      const BodyPropagation& body = context.bodies->back();
      const ValueId param = body.graph.params[i];
      const ValueSharding& sharding = body.values[std::size_t(param)];
      const Shape& shape = body.graph.type(param).shape;
      forms.push_back(normalised(context.rounding == Rounding::kEven ? even_prefix(sharding, shape) : propagated_spec(sharding, shape)));
    }
  }
  return forms;
}

// How a loop's body gives its results: what is carried as it is cut around the loop, what is stacked in slices.
std::vector<Spec> results_of_body(const RegionContext& context, const LoopShape& loop) {
  std::vector<Spec> results;
  for (std::size_t i = 0; i < context.results.size(); ++i)
    results.push_back(i < loop.carried ? context.results[i] : without_leading(context.results[i]));
  return results;
}

// A carried value keeps one form from the first iteration to the last; the dimension that is scanned over is whole on each device.
RegionPlan plan_in_forms(const RegionContext& context, const Node& node, const LoopShape& loop, const std::vector<Spec>& params) {
  RegionPlan plan;
  const std::vector<Spec> results = results_of_body(context, loop);
  for (std::size_t i = 0; i < params.size(); ++i) plan.operands.push_back(loop.is_scanned(i) ? with_leading(params[i]) : params[i]);
  for (std::size_t i = 0; i < results.size(); ++i) plan.results.push_back(i < loop.carried ? results[i] : with_leading(results[i]));
  if (!loop.is_scan) plan.bodies.push_back(partition_body(context, node, 0, params, {Spec{}}));
  plan.bodies.push_back(partition_body(context, node, loop.is_scan ? 0 : 1, params, results));
  return plan;
}

std::int64_t bytes_of(const RegionPlan& plan) {
  std::int64_t bytes = 0;
  for (const auto& body : plan.bodies) bytes += body->wire_bytes;
  return bytes;
}

// What a program moves outside of branches.
std::int64_t sure_bytes_of(const PartitionedProgram& program) {
  std::int64_t bytes = 0;
  for (const Step& step : program.steps) {
    if (const auto* move = std::get_if<MoveStep>(&step)) bytes += wire_bytes_of(program, *move);
    const auto* region = std::get_if<RegionStep>(&step);
    if (region == nullptr) continue;
    const Node& node = program.graph.nodes[std::size_t(region->node)];
    if (node.op->region == RegionKind::kBranch) continue;
    for (const auto& body : region->bodies) bytes += sure_bytes_of(*body) * trips_of(program.graph, node);
  }
  return bytes;
}
std::int64_t sure_bytes_of(const RegionPlan& plan) {
  std::int64_t bytes = 0;
  for (const auto& body : plan.bodies) bytes += sure_bytes_of(*body);
  return bytes;
}

// What it takes more to move an operand into one form before a loop than into another: both from how it lies around the loop.
std::int64_t bytes_before(const RegionContext& context, const Node& node, std::size_t operand, const Spec& now, const Spec& wanted) {
  const TensorType& type = context.graph.type(node.operands[operand]);
  const auto missing = [&](const Spec& form) { return missing_elements(context.mesh, type.shape, context.operands[operand], form); };
  return std::max<std::int64_t>(0, missing(wanted) - missing(now)) * size_of(type.dtype);
}

// A loop's body as a program of its own, with its parameters in given forms.
struct BodyProblem {
  Propagation propagated;
  PropagationInput input;
  Problem problem;
  BodyProblem(const RegionContext& context, const LoopShape& loop, const std::vector<Spec>& params)
      : BodyProblem(context, context.bodies->back(), params, results_of_body(context, loop)) {}

 private:
  BodyProblem(const RegionContext& context, const BodyPropagation& body, const std::vector<Spec>& params, const std::vector<Spec>& results)
      : propagated(propagated_body(body, params, results)),
        input{&body.graph, context.mesh, {params.begin(), params.end()}, {results.begin(), results.end()}},
        problem(propagated, input, context.rounding, Composition::kSlices, context.for_bodies) {}
};

// The forms of a constant in which who uses it in a loop's body would move the least else; few, those that cost least before the loop
// first.
std::vector<Spec> welcome_forms_of(const RegionContext& context, const Node& node, const LoopShape& loop, const std::vector<Spec>& params,
                                   std::size_t constant) {
  if (context.bodies == nullptr) return {};
  BodyProblem body(context, loop, params);
  std::vector<Spec> forms = welcome_forms(body.problem, body.propagated.graph.params[constant]);
  std::vector<std::pair<std::int64_t, Spec>> priced;
  for (Spec& form : forms) priced.emplace_back(bytes_before(context, node, constant, params[constant], form), std::move(form));
  std::stable_sort(priced.begin(), priced.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (priced.size() > kWelcomeFormsMax) priced.resize(kWelcomeFormsMax);
  forms.clear();
  for (auto& [bytes, form] : priced) forms.push_back(std::move(form));
  return forms;
}

// What a loop's body moves anew in each iteration without having computed on it is moved once, before the loop, where that is no more; so
// is laid otherwise or gathered what saves moving something else in each iteration, at no more arithmetic than in the plan at hand, or than
// XLA does, whose products know nothing of what is gathered. Source: XLA's motion of what is invariant out of loops.
class LoopPlanner {
 public:
  LoopPlanner(const RegionContext& context, const Node& node)
      : context_(context),
        node_(node),
        loop_(context.graph, node),
        params_(unchanged_forms(context, loop_)),
        unchanged_(params_),
        plan_(plan_in_forms(context, node, loop_, params_)) {}

  RegionPlan run() {
    if (context_.loop_constants == LoopConstants::kGathered && loop_.runs_all && bytes_of(plan_) > 0) gather_constants();
    const RegionPlan start = plan_;
    const std::vector<Spec> params = params_;
    for (std::size_t i = 0; i < loop_.consts && bytes_of(plan_) > 0; ++i) move_constant(i);
    if (moved_constants() < 2) return std::move(plan_);
    // What the first ones took may have been for what the last ones save.
    const std::int64_t bytes = bytes_with_loop();
    RegionPlan found = std::exchange(plan_, start);
    params_ = params;
    for (std::size_t i = loop_.consts; i-- > 0 && bytes_of(plan_) > 0;) move_constant(i);
    return bytes_with_loop() < bytes ? std::move(plan_) : std::move(found);
  }

 private:
  int moved_constants() const {
    int count = 0;
    for (std::size_t i = 0; i < loop_.consts; ++i) count += params_[i] != unchanged_[i];
    return count;
  }
  std::int64_t bytes_with_loop() const {
    std::int64_t bytes = bytes_of(plan_) * loop_.trips;
    for (std::size_t i = 0; i < loop_.consts; ++i) bytes += bytes_before(context_, node_, i, unchanged_[i], params_[i]);
    return bytes;
  }

  // All constants whole: two may save what neither does alone.
  void gather_constants() {
    std::vector<Spec> whole = params_;
    for (std::size_t i = 0; i < loop_.consts; ++i) whole[i].assign(params_[i].size(), Axes{});
    if (whole != params_) take_if_less(std::move(whole), true);
  }

  void move_constant(std::size_t constant) {
    std::vector<Spec> forms = moved_forms(*plan_.bodies.back(), constant);
    const std::size_t moved = forms.size();
    auto add = [&](Spec form) {
      if (std::find(forms.begin(), forms.end(), form) == forms.end()) forms.push_back(std::move(form));
    };
    const bool is_for_loops = is_constant_of_loops(constant);
    if (!is_for_loops) add(Spec(params_[constant].size()));
    if (!is_for_loops && loop_.runs_all) {
      for (Spec& form : welcome_forms_of(context_, node_, loop_, params_, constant)) add(std::move(form));
    }
    for (std::size_t i = 0; i < forms.size(); ++i) {
      if (forms[i] == params_[constant]) continue;
      std::vector<Spec> others = params_;
      others[constant] = forms[i];
      take_if_less(std::move(others), false, i >= moved && !loop_.runs_all);
    }
  }

  // Whether the body uses a constant for loops of its own alone, as a constant of theirs: these have tried its forms, and what they chose
  // is moved in the body.
  bool is_constant_of_loops(std::size_t constant) const {
    const Graph& body = context_.bodies != nullptr ? context_.bodies->back().graph : *node_.attrs.bodies().back();
    const ValueId id = body.params[constant];
    if (std::find(body.results.begin(), body.results.end(), id) != body.results.end()) return false;
    return std::all_of(body.nodes.begin(), body.nodes.end(), [&](const Node& user) {
      const bool is_loop = user.op->region == RegionKind::kScan || user.op->region == RegionKind::kWhile;
      const auto consts = user.operands.begin() + (is_loop ? std::ptrdiff_t(user.attrs.integer("num_consts", 0)) : 0);
      return std::find(consts, user.operands.end(), id) == user.operands.end();
    });
  }

  // Takes the plan in which the loop gets its operands in other forms where that moves fewer bytes; `as_many`: as many, too; `surely`:
  // whichever branches run.
  void take_if_less(std::vector<Spec> params, bool as_many, bool surely = false) {
    std::int64_t before = 0;
    for (std::size_t i = 0; i < loop_.consts; ++i) before += bytes_before(context_, node_, i, params_[i], params[i]);
    if (before > bytes_of(plan_) * loop_.trips) return;
    RegionPlan other = plan_in_forms(context_, node_, loop_, params);
    std::int64_t saved = (bytes_of(plan_) - bytes_of(other)) * loop_.trips;
    if (surely) saved = std::min(saved, (sure_bytes_of(plan_) - sure_bytes_of(other)) * loop_.trips);
    if (saved < before || (saved <= 0 && !as_many) || !may_do(other)) return;
    plan_ = std::move(other);
    params_ = std::move(params);
  }

  bool may_do(const RegionPlan& other) {
    const std::int64_t work = work_per_device(*other.bodies.back());
    if (work <= work_per_device(*plan_.bodies.back())) return true;
    if (!allowed_ && context_.bodies != nullptr) {
      BodyProblem body(context_, loop_, unchanged_);
      allowed_ = allowed_work(body.problem).value_or(0);  // asked once, also where nobody says it
    }
    return work <= allowed_.value_or(0);
  }

  const RegionContext& context_;
  const Node& node_;
  const LoopShape loop_;
  std::vector<Spec> params_;           // how the body gets its operands now
  const std::vector<Spec> unchanged_;  // as propagation left them
  RegionPlan plan_;
  std::optional<std::int64_t> allowed_;  // arithmetic of a device in an iteration
};

}  // namespace

RegionPlan plan_loop(const RegionContext& context, const Node& node) { return LoopPlanner(context, node).run(); }

}  // namespace shardlab::spmd
