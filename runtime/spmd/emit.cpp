#include "runtime/spmd/emit.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/spmd/exchange.h"
#include "runtime/spmd/index_map.h"
#include "runtime/spmd/layout.h"
#include "runtime/spmd/trips.h"

namespace shardlab::spmd {
namespace {

std::string text_of_axes(const Axes& axes, const Mesh& mesh) {
  std::vector<std::string> names;
  for (const AxisPiece& piece : axes) names.push_back(mesh.text_of(piece));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

MoveCost& MoveCost::operator+=(const MoveCost& other) {
  bytes += other.bytes;
  collectives += other.collectives;
  moves += other.moves;
  return *this;
}

WantedForm wanted_form(const Candidate& candidate, std::size_t operand) {
  if (candidate.windows.empty() || candidate.windows[operand].empty()) return {candidate.operands[operand], {}};
  return {{}, candidate.windows[operand]};
}

Emitter::Emitter(Problem& problem)
    : problem_(problem), forms_(problem.graph().values.size()), window_slots_(problem.graph().values.size()) {
  program_.mesh = problem.mesh();
}

SlotId Emitter::new_slot(ValueId value, Spec spec, Axes partial, std::vector<Box> windows) {
  SlotId slot = SlotId(program_.slots.size());
  slot_specs_.push_back(normalised(spec));
  if (!windows.empty())
    window_slots_[std::size_t(problem_.root(value))].push_back(slot);
  else if (partial.empty())
    slots_of(value).push_back(slot);
  program_.slots.push_back({problem_.root(value), type(value), std::move(spec), std::move(partial), std::move(windows)});
  return slot;
}

SlotId Emitter::find_form(ValueId value, const Spec& spec) const {
  for (SlotId slot : slots_of(value))
    if (slot_specs_[std::size_t(slot)] == spec) return slot;
  return -1;
}

std::vector<Spec> Emitter::forms(ValueId value) const {
  std::vector<Spec> specs;
  for (SlotId slot : slots_of(value)) specs.push_back(slot_specs_[std::size_t(slot)]);
  return specs;
}

std::int64_t Emitter::bytes_to(ValueId value, const WantedForm& wanted) {
  if (problem_.is_costless(value)) return 0;
  std::int64_t item = size_of(type(value).dtype);
  if (!wanted.windows.empty() || problem_.is_composed(value)) {
    std::vector<Demand> demands =
        demands_of(problem_, value, wanted.windows.empty() ? boxes_of(type(value).shape, wanted.spec, mesh()) : wanted.windows);
    std::int64_t elements = 0;
    for (auto demand = demands.begin(); demand != demands.end(); ++demand)
      if (!problem_.is_costless(demand->value) && std::find(demands.begin(), demand, *demand) == demand)
        elements += nearest_form(demand->value, demand->windows).second;
    return elements * item;
  }
  std::optional<std::int64_t> least;
  for (SlotId slot : slots_of(value)) {
    std::int64_t elements = reshards().elements(type(value).shape, slot_specs_[std::size_t(slot)], wanted.spec);
    if (!least || elements < *least) least = elements;
  }
  SL_CHECK(least, "value %{} is used before it has a form", value);
  return *least * item;
}

SlotId Emitter::cheapest_form(ValueId value, const Spec& wanted) {
  if (SlotId exact = find_form(value, wanted); exact >= 0) return exact;
  const Shape& shape = type(value).shape;
  SlotId best = -1;
  std::tuple<std::int64_t, int, std::size_t> best_cost;
  std::int64_t item = size_of(type(value).dtype), least = bytes_to(value, {wanted, {}});
  for (SlotId slot : slots_of(value)) {
    const Spec& from = slot_specs_[std::size_t(slot)];
    if (reshards().elements(shape, from, wanted) * item > least) continue;
    const ReshardPlan& plan = reshards().plan(shape, from, wanted);
    std::tuple cost(plan.elements, plan.collectives, plan.steps.size());
    if (best < 0 || cost < best_cost) {
      best = slot;
      best_cost = cost;
    }
  }
  return best;
}

Spec Emitter::form_for(ValueId value, const Spec& wanted) {
  return is_free(value) ? wanted : slot_specs_[std::size_t(cheapest_form(value, wanted))];
}

MoveCost Emitter::cost_to(ValueId value, const WantedForm& wanted) {
  if (problem_.is_costless(value)) return {};
  if (!wanted.windows.empty() || problem_.is_composed(value)) {
    std::int64_t bytes = bytes_to(value, wanted);
    return {bytes, bytes > 0 ? 1 : 0, bytes > 0 ? 1 : 0};
  }
  const Spec& from = slot_specs_[std::size_t(cheapest_form(value, wanted.spec))];
  if (from == wanted.spec) return {};
  const ReshardPlan& plan = reshards().plan(type(value).shape, from, wanted.spec);
  return {plan.elements * size_of(type(value).dtype), plan.collectives, int(plan.steps.size())};
}

std::pair<SlotId, std::int64_t> Emitter::nearest_form(ValueId value, const std::vector<Box>& windows) const {
  std::pair<SlotId, std::int64_t> nearest{-1, 0};
  for (SlotId slot : slots_of(value)) {
    std::int64_t missing = missing_elements(boxes_of(program_.slots[std::size_t(slot)], mesh()), windows);
    if (nearest.first < 0 || missing < nearest.second) nearest = {slot, missing};
  }
  SL_CHECK(nearest.first >= 0, "value %{} is used before it has a form", value);
  return nearest;
}

void Emitter::constrain(NodeId id) {
  const Node& node = graph().nodes[std::size_t(id)];
  const Spec& spec = problem_.kept(node.results[0]);
  obtain(node.operands[0], spec, {id, fmt::format("constraint to {}", text_of(spec, mesh()))});
}

void Emitter::add_param(ValueId value, const Spec& spec) { program_.params.push_back(new_slot(value, spec)); }

SlotId Emitter::move(SlotId from, MoveStep step, Spec spec, Axes partial, std::vector<Box> windows) {
  Slot source = program_.slots[std::size_t(from)];
  step.from = from;
  step.to = new_slot(source.value, std::move(spec), std::move(partial), std::move(windows));
  if (!step.axes.empty()) step.groups = groups_along(mesh(), step.axes);
  SlotId to = step.to;
  program_.wire_bytes += wire_bytes_of(program_, step);
  program_.steps.push_back(std::move(step));
  return to;
}

SlotId Emitter::reshard(SlotId from, const Spec& wanted, const Need& need) {
  if (slot_specs_[std::size_t(from)] == wanted) return from;
  const ReshardPlan& plan = reshards().plan(program_.slots[std::size_t(from)].type.shape, slot_specs_[std::size_t(from)], wanted);
  for (const ReshardStep& step : plan.steps)
    from = move(from,
                {.kind = step.kind,
                 .axes = step.axes,
                 .transfers = step.transfers,
                 .calls = step.calls,
                 .node = need.node,
                 .cause = need.cause,
                 .operand = need.operand},
                step.to);
  return from;
}

SlotId Emitter::obtain(ValueId value, const Spec& wanted, const Need& need) {
  if (SlotId form = find_form(value, wanted); form >= 0) return form;
  if (is_free(value)) return materialise(problem_.root(value), wanted, need);
  if (problem_.is_composed(value)) return compose(value, boxes_of(type(value).shape, wanted, mesh()), need);
  return reshard(cheapest_form(value, wanted), wanted, need);
}

SlotId Emitter::obtain_windows(ValueId value, const std::vector<Box>& windows, const Need& need) {
  if (is_free(value)) return obtain(value, Spec(type(value).shape.size()), need);
  for (SlotId slot : window_slots_[std::size_t(problem_.root(value))])
    if (program_.slots[std::size_t(slot)].windows == windows) return slot;
  if (problem_.is_composed(value)) return compose(value, windows, need);
  auto [from, missing] = nearest_form(value, windows);
  if (missing == 0) return from;
  auto exchange = plan_exchange(boxes_of(program_.slots[std::size_t(from)], mesh()), windows);
  if (!exchange) return obtain(value, Spec(type(value).shape.size()), need);
  return move(from,
              {.kind = "collective-permute",
               .transfers = std::move(exchange->transfers),
               .calls = exchange->calls,
               .node = need.node,
               .cause = need.cause,
               .operand = need.operand},
              Spec(type(value).shape.size()), {}, windows);
}

// Computes a composed value's producer for just the windows.
SlotId Emitter::compose(ValueId value, const std::vector<Box>& windows, const Need& need) {
  NodeId producer = graph().values[std::size_t(problem_.root(value))].producer;
  const Node& node = graph().nodes[std::size_t(producer)];
  std::vector<std::vector<Box>> needed = windows_for(graph(), node, windows);
  ComputeStep step{.node = producer};
  for (std::size_t i = 0; i < node.operands.size(); ++i)
    step.operands.push_back(type(node.operands[i]).rank() == 0 ? obtain(node.operands[i], {}, need)
                                                               : obtain_windows(node.operands[i], needed[i], need));
  SlotId result = new_slot(value, Spec(type(value).shape.size()), {}, windows);
  step.results = {result};
  program_.steps.push_back(std::move(step));
  return result;
}

SlotId Emitter::materialise(ValueId value, const Spec& wanted, const Need& need) {
  const NodeId producer = graph().values[std::size_t(value)].producer;
  const auto index = std::size_t(graph().values[std::size_t(value)].result_index);
  const Node& node = graph().nodes[std::size_t(producer)];
  std::optional<Candidate> candidate;
  if (node.operands.empty()) {
    candidate.emplace();
    for (ValueId result : node.results) candidate->results.push_back(result == value ? wanted : Spec(type(result).shape.size()));
  } else if (problem_.op_shape(producer).rule.present) {
    candidate = candidate_for_result(problem_.op_shape(producer), wanted, index);
  }
  if (candidate) return compute_step(producer, *candidate)[index];
  Spec whole_spec(wanted.size());
  SL_CHECK(wanted != whole_spec, "{} cannot be computed whole", node.op->name);
  return reshard(obtain(value, whole_spec, need), wanted, need);
}

std::vector<SlotId> Emitter::compute_step(NodeId id, const Candidate& candidate) {
  const Node& node = graph().nodes[std::size_t(id)];
  ComputeStep step{.node = id};
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    WantedForm form = wanted_form(candidate, i);
    std::string wanted = form.windows.empty() ? "as " + text_of(form.spec, mesh()) : "in windows";
    Need need{id, fmt::format("operand {} of {} is wanted {}", i, node.op->name, wanted), int(i)};
    step.operands.push_back(form.windows.empty() ? obtain(node.operands[i], form.spec, need)
                                                 : obtain_windows(node.operands[i], form.windows, need));
  }
  for (std::size_t i = 0; i < node.results.size(); ++i)
    step.results.push_back(new_slot(node.results[i], candidate.results[i], candidate.partial));
  if (const RegionPlan* region = problem_.region(id)) {
    for (const auto& body : region->bodies) program_.wire_bytes += body->wire_bytes * trips_of(graph(), node);
    program_.steps.push_back(RegionStep{id, step.operands, step.results, region->bodies});
    return step.results;
  }
  program_.steps.push_back(step);
  return step.results;
}

SlotId Emitter::reduce(SlotId partial, const Spec& wanted, NodeId id) {
  const Slot slot = program_.slots[std::size_t(partial)];
  const Node& node = graph().nodes[std::size_t(id)];
  ReductionPlan plan = plan_reduction(reshards(), mesh(), {slot.type.shape, slot_specs_[std::size_t(partial)], slot.partial}, wanted);
  std::string cause = fmt::format("{} over the reduced factors of {}, sharded on {}", name_of(*node.op->reduction), node.op->name,
                                  text_of_axes(slot.partial, mesh()));
  SlotId at = partial;
  if (!plan.scattered.empty())
    at = move(at, {.kind = "reduce-scatter", .axes = plan.scattered, .reduction = node.op->reduction, .node = id, .cause = cause},
              plan.spec, plan.rest);
  if (!plan.rest.empty())
    at = move(at, {.kind = "all-reduce", .axes = plan.rest, .reduction = node.op->reduction, .node = id, .cause = cause}, plan.spec);
  return reshard(at, wanted, {id, fmt::format("{} is left as {}", node.op->name, text_of(wanted, mesh()))});
}

void Emitter::compute(NodeId id, const Candidate& candidate, const std::vector<Spec>& wanted) {
  std::vector<SlotId> results = compute_step(id, candidate);
  const Node& node = graph().nodes[std::size_t(id)];
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (candidate.partial.empty())
      reshard(results[i], wanted[i], {id, fmt::format("{} is left as {}", node.op->name, text_of(wanted[i], mesh()))});
    else
      reduce(results[i], wanted[i], id);
  }
}

void Emitter::add_result(ValueId value, const Spec& spec, bool may_be_finer) {
  Need need{-1, fmt::format("result {} is wanted as {}", program_.results.size(), text_of(spec, mesh()))};
  if (may_be_finer) {
    for (SlotId slot : slots_of(value)) {
      const Spec& held = slot_specs_[std::size_t(slot)];
      if (!is_even(type(value).shape, held) || reshards().elements(type(value).shape, normalised(spec), held) != 0) continue;
      program_.results.push_back(slot);
      return;
    }
  }
  SlotId slot = obtain(value, normalised(spec), need);
  if (program_.slots[std::size_t(slot)].spec != spec)
    slot = move(slot, {.kind = "slice", .cause = need.cause, .operand = need.operand}, spec);
  program_.results.push_back(slot);
}

}  // namespace shardlab::spmd
