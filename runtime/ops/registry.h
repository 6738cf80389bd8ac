// Every op that there is, by name.
#pragma once

#include <span>
#include <string_view>

#include "runtime/graph/op_def.h"

namespace shardlab {

// The op of that name or alias, or nullptr.
const OpDef* find_op(std::string_view name_or_alias);

// Sorted by name.
std::span<const OpDef* const> all_ops();
// Nodes with bodies and the ops of manual regions: find_op() knows them too; they have no kernel of their own.
std::span<const OpDef* const> region_ops();

}  // namespace shardlab
