// Transposes and batches of convolutions.
#pragma once

#include "runtime/ops/derive.h"

namespace shardlab::ops {

extern const OpDef kConv;

Values conv_transpose(GraphBuilder& b, const TransposeArgs& args);
std::vector<Batched> conv_batch(GraphBuilder& b, const BatchArgs& args);

}  // namespace shardlab::ops
