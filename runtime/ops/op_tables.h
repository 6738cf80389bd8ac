// Families of ops that a table makes.
#pragma once

#include "runtime/graph/op_def.h"

namespace shardlab::ops {

// stats.norm.logpdf and its kin.
std::span<const OpDef> distribution_ops();

}  // namespace shardlab::ops
