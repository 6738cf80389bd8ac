// Bodies of regions, partitioned in given forms.
#pragma once

#include "runtime/spmd/region.h"

namespace shardlab::spmd {

// A body whose parameters and results have given forms.
Propagation propagated_body(const BodyPropagation& found, const std::vector<Spec>& params, const std::vector<Spec>& results);

// A body of a node in given forms; its inner values lie as propagation left them. Each is planned once (BodyPlans).
std::shared_ptr<const PartitionedProgram> partition_body(const RegionContext& context, const Node& node, std::size_t number,
                                                         const std::vector<Spec>& params, const std::vector<Spec>& results);

// A loop: what it carries keeps one form, what it does not change comes in that which moves the least.
RegionPlan plan_loop(const RegionContext& context, const Node& node);

}  // namespace shardlab::spmd
