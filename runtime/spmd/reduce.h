// Planning how a partial result is combined and brought into its wanted form.
#pragma once

#include <set>

#include "runtime/spmd/reshard.h"

namespace shardlab::spmd {

// Reduce-scatter over `scattered` into `spec`, all-reduce over the rest, then the reshard from `spec`.
struct ReductionPlan {
  Spec spec;
  Axes scattered, rest;
  std::int64_t elements = 0;  // with the reshard
  int collectives = 0;        // with the reshard
};

struct PartialForm {
  Shape shape;
  Spec spec;
  Axes partial;
};

// The forms that a reduce-scatter over some of the partial axes can leave the result in, and `spec` itself.
std::set<Spec> scattered_forms(const Mesh& mesh, const Shape& shape, const Spec& spec, const Axes& partial);
// The fewest elements that a combination with its reshard moves.
std::int64_t reduction_elements(ReshardPlanner& reshards, const Mesh& mesh, const PartialForm& form, const Spec& wanted);
// The fewest elements, then the fewest collectives.
ReductionPlan plan_reduction(ReshardPlanner& reshards, const Mesh& mesh, const PartialForm& form, const Spec& wanted);

}  // namespace shardlab::spmd
