#include "runtime/spmd/reduce.h"

#include <algorithm>

#include "runtime/spmd/layout.h"

namespace shardlab::spmd {
namespace {

constexpr std::size_t kScattersMax = 512;  // ways to scatter one result

// Every spec made by adding some of the pieces at minor ends, each to one dimension, in the order given.
std::set<Spec> extensions(const Shape& shape, const Spec& spec, const Axes& pieces) {
  std::set<Spec> found{spec};
  for (const AxisPiece& piece : pieces) {
    std::set<Spec> next = found;
    for (const Spec& base : found) {
      for (std::size_t d = 0; d < shape.size(); ++d) {
        if (shape[d] % (part_count(base[d]) * piece.size) != 0) continue;
        Spec extended = base;
        push(extended[d], piece);
        next.insert(std::move(extended));
      }
    }
    if (next.size() > kScattersMax) break;
    found = std::move(next);
  }
  return found;
}

std::set<Spec> extensions_both_ways(const Shape& shape, const Spec& spec, const Axes& pieces) {
  std::set<Spec> found = extensions(shape, spec, pieces);
  found.merge(extensions(shape, spec, Axes(pieces.rbegin(), pieces.rend())));
  return found;
}

// The spec extended towards the wanted one by pieces of `partial`.
Spec extended_towards(const Spec& spec, const Axes& partial_atoms, const Axes& atoms, const Spec& wanted) {
  Spec result = spec;
  for (std::size_t d = 0; d < spec.size(); ++d) {
    auto held = split_into(spec[d], atoms), goal = split_into(wanted[d], atoms);
    if (!held || !goal || held->size() >= goal->size() || !std::equal(held->begin(), held->end(), goal->begin())) continue;
    for (std::size_t i = held->size(); i < goal->size(); ++i) {
      if (std::find(partial_atoms.begin(), partial_atoms.end(), (*goal)[i]) == partial_atoms.end()) break;
      push(result[d], (*goal)[i]);
    }
  }
  return result;
}

// Whether each part of the extended spec lies in the part of `spec` that its device holds: of uneven cuts it need not.
bool nests(const Shape& shape, const Spec& spec, const Spec& extended) {
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (extended[d] == spec[d] || spec[d].empty()) continue;
    std::int64_t parts = part_count(spec[d]), finer = part_count(extended[d]);
    auto block = [&](std::int64_t count) { return (shape[d] + count - 1) / count; };
    if (block(finer) * (finer / parts) != block(parts)) return false;
  }
  return true;
}

// What of the partial atoms a spec holds, and what it does not.
void divide(const Spec& spec, const Axes& partial_atoms, ReductionPlan& plan) {
  for (const AxisPiece& atom : partial_atoms) {
    bool is_held = std::any_of(spec.begin(), spec.end(), [&](const Axes& axes) {
      return std::any_of(axes.begin(), axes.end(), [&](const AxisPiece& piece) { return contains(piece, atom); });
    });
    push(is_held ? plan.scattered : plan.rest, atom);
  }
}

// Reduce-scatter into `spec` and all-reduce over the rest, without a reshard.
ReductionPlan scattered_into(const Mesh& mesh, const PartialForm& form, const Axes& partial_atoms, const Spec& spec) {
  ReductionPlan plan{.spec = spec};
  divide(spec, partial_atoms, plan);
  std::int64_t devices = mesh.size(), local = local_elements(form.shape, form.spec);
  std::int64_t t = part_count(plan.scattered), q = part_count(plan.rest);
  plan.elements = devices / t * (t - 1) * local + devices / q * 2 * (q - 1) * (local / t);
  plan.collectives = (t > 1 ? 1 : 0) + (q > 1 ? 1 : 0);
  return plan;
}

// What can be scattered over, in the order in which it is looked at.
struct ScatterChoices {
  Axes partial_atoms;
  std::vector<Spec> specs;  // where one is clearly best, only that
};

ScatterChoices scatter_choices(const Mesh& mesh, const PartialForm& form, const Spec& wanted) {
  AtomTable table(mesh);
  table.add_cuts(form.spec);
  table.add_cuts(form.partial);
  table.add_cuts(wanted);
  Axes atoms = table.prime_atoms();
  ScatterChoices choices{split_into(form.partial, atoms).value_or(form.partial), {}};
  Spec aligned = extended_towards(form.spec, choices.partial_atoms, atoms, wanted);
  if (aligned == wanted && nests(form.shape, form.spec, wanted)) {
    choices.specs = {wanted};
    return choices;
  }
  std::set<Spec> found = extensions_both_ways(form.shape, form.spec, choices.partial_atoms);
  if (is_even(form.shape, aligned)) found.insert(aligned);
  choices.specs.push_back(form.spec);  // all-reduce alone first: mostly it is the one
  for (const Spec& spec : found)
    if (spec != form.spec) choices.specs.push_back(spec);
  return choices;
}

}  // namespace

std::set<Spec> scattered_forms(const Mesh& mesh, const Shape& shape, const Spec& spec, const Axes& partial) {
  AtomTable table(mesh);
  table.add_cuts(spec);
  table.add_cuts(partial);
  return extensions_both_ways(shape, spec, split_into(partial, table.atoms()).value_or(partial));
}

std::int64_t reduction_elements(ReshardPlanner& reshards, const Mesh& mesh, const PartialForm& form, const Spec& wanted) {
  ScatterChoices choices = scatter_choices(mesh, form, wanted);
  std::optional<std::int64_t> least;
  for (const Spec& spec : choices.specs) {
    std::int64_t elements = scattered_into(mesh, form, choices.partial_atoms, spec).elements;
    if (least && elements >= *least) continue;
    elements += reshards.elements(form.shape, spec, wanted);
    if (!least || elements < *least) least = elements;
  }
  return *least;
}

ReductionPlan plan_reduction(ReshardPlanner& reshards, const Mesh& mesh, const PartialForm& form, const Spec& wanted) {
  ScatterChoices choices = scatter_choices(mesh, form, wanted);
  std::optional<ReductionPlan> best;
  for (const Spec& spec : choices.specs) {
    ReductionPlan plan = scattered_into(mesh, form, choices.partial_atoms, spec);
    if (best && plan.elements > best->elements) continue;
    std::int64_t moved = reshards.elements(form.shape, spec, wanted);
    plan.elements += moved;
    if (best && plan.elements > best->elements) continue;
    if (moved > 0) {
      // A reshard that moves anything takes a collective: often that settles it, and the plan need not be known.
      if (best && plan.elements == best->elements && plan.collectives + 1 >= best->collectives) continue;
      plan.collectives += reshards.plan(form.shape, spec, wanted).collectives;
    }
    if (!best || std::tie(plan.elements, plan.collectives) < std::tie(best->elements, best->collectives)) best = std::move(plan);
  }
  return *best;
}

}  // namespace shardlab::spmd
