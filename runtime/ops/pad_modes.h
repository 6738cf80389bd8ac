// The expansion of pad where it has `pad_width` and perhaps a `mode`, as jax.numpy.pad.
#pragma once

#include "runtime/ops/moves.h"

namespace shardlab::ops {

ValueId padded_by_mode(GraphBuilder& b, const OpDef& op, ValueId x, const Attrs& attrs);

}  // namespace shardlab::ops
