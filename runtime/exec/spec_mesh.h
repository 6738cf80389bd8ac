// The mesh of specs that are given without one.
#pragma once

#include <optional>
#include <vector>

#include "runtime/exec/operand.h"

namespace shardlab {

// Inside a function being traced that of its arguments, else the operands'; where they lie on none the context's. Nothing: there is none.
std::optional<Mesh> mesh_for_specs(const std::vector<Operand>& operands);

}  // namespace shardlab
