// Derivatives, transposes and batches of the ops at computed places: gather, scatter_add, dynamic_slice, dynamic_update_slice.
#pragma once

#include "runtime/ops/derive.h"

namespace shardlab::ops {

Values gather_jvp(GraphBuilder& b, const JvpArgs& args);
Values gather_transpose(GraphBuilder& b, const TransposeArgs& args);
std::vector<Batched> gather_batch(GraphBuilder& b, const BatchArgs& args);

Values scatter_add_jvp(GraphBuilder& b, const JvpArgs& args);       // linear in operand and updates together
Values scatter_jvp(GraphBuilder& b, const JvpArgs& args);           // of scatter, where the last of several updates of one place wins
Values scatter_extremal_jvp(GraphBuilder& b, const JvpArgs& args);  // of scatter_min and scatter_max
Values scatter_mul_jvp(GraphBuilder& b, const JvpArgs& args);       // linear in the operand; UserError where the updates vary
Values scatter_add_transpose(GraphBuilder& b, const TransposeArgs& args);
Values scatter_mul_transpose(GraphBuilder& b, const TransposeArgs& args);
std::vector<Batched> scatter_batch(GraphBuilder& b, const BatchArgs& args);

Values dynamic_slice_jvp(GraphBuilder& b, const JvpArgs& args);
Values dynamic_slice_transpose(GraphBuilder& b, const TransposeArgs& args);
std::vector<Batched> dynamic_slice_batch(GraphBuilder& b, const BatchArgs& args);
Values dynamic_update_slice_jvp(GraphBuilder& b, const JvpArgs& args);
Values dynamic_update_slice_transpose(GraphBuilder& b, const TransposeArgs& args);
std::vector<Batched> dynamic_update_slice_batch(GraphBuilder& b, const BatchArgs& args);

}  // namespace shardlab::ops
