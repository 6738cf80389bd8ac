// Which devices a collective of per-device code runs over: the axes that it names, and groups along them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ops/lower.h"
#include "runtime/ops/region_types.h"

namespace shardlab::ops {

// How many devices, or elements of batches, lie along these bound axes together.
std::int64_t axes_size(const BoundAxes& bound, const std::vector<std::string>& names);
// The axes that the call names; UserError with JAX's text unless all of them are bound, each named once.
std::vector<std::string> bound_axes(const GraphBuilder& b, const OpDef& op, const Attrs& attrs);
// axis_name, groups and the size of a group: what every collective's node says. UserError unless the groups have every rank once.
Attrs group_attrs(const GraphBuilder& b, const OpDef& op, const Attrs& attrs);
// The same for calls one after another that do together what this one does, the major axis first: one for each axis of vmap that it names,
// and one for the mesh axes between two of them.
std::vector<Attrs> group_runs(const GraphBuilder& b, const OpDef& op, const Attrs& attrs);
// The same where their order does not matter: all mesh axes at once.
std::vector<Attrs> groups_in_any_order(const GraphBuilder& b, const OpDef& op, const Attrs& attrs);
// The factor rule of a collective on one operand: per dimension of it the result's, or -1 where data moves along it.
FactorRule rule_along(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const std::vector<int>& result_dims);
// The attribute `name`, a dimension of `rank`, from 0 on; UserError where it is out of bounds.
std::int64_t dimension(const OpDef& op, const Attrs& attrs, std::string_view name, std::int64_t rank, std::int64_t otherwise = 0);

}  // namespace shardlab::ops
