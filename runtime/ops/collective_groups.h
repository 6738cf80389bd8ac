// Which devices a collective of per-device code runs over: the mesh axes that it names, and groups along them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ops/lower.h"
#include "runtime/ops/region_types.h"

namespace shardlab::ops {

// How many devices lie along these axes together.
std::int64_t axes_size(const ManualAxes& manual, const std::vector<std::string>& names);
// The axes that the call names; UserError with JAX's text unless all of them are bound, each named once.
std::vector<std::string> bound_axes(const GraphBuilder& b, const OpDef& op, const Attrs& attrs);
// axis_name, groups and the size of a group: what every collective's node says. UserError unless the groups have every rank once.
Attrs group_attrs(const GraphBuilder& b, const OpDef& op, const Attrs& attrs);
// The attribute `name`, a dimension of `rank`, from 0 on; UserError where it is out of bounds.
std::int64_t dimension(const OpDef& op, const Attrs& attrs, std::string_view name, std::int64_t rank, std::int64_t otherwise = 0);

}  // namespace shardlab::ops
