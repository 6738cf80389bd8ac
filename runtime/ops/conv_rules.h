// Transposes, batches and parts of convolutions.
#pragma once

#include "runtime/ops/derive.h"

namespace shardlab::ops {

extern const OpDef kConv;

Values conv_transpose(GraphBuilder& b, const TransposeArgs& args);
std::vector<Batched> conv_batch(GraphBuilder& b, const BatchArgs& args);
// Along a window's factor, as OpDef::in_parts.
std::vector<ValueId> conv_in_parts(GraphBuilder& b, const std::vector<ValueId>& operands, const Attrs& attrs, int factor,
                                   std::int64_t parts);

}  // namespace shardlab::ops
