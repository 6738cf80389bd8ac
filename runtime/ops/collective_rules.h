// Derivatives and transposes of the collectives of per-device code.
//
// Source: JAX's rules without varying axes: psum is its own transpose, all_gather's is psum_scatter, and shard_map's own transpose
// (runtime/transform/region_transpose.cpp) makes up for what that counts more than once.
#pragma once

#include "runtime/ops/derive.h"

namespace shardlab::ops {

Values psum_transpose(GraphBuilder& b, const TransposeArgs& args);
Values all_gather_transpose(GraphBuilder& b, const TransposeArgs& args);
Values psum_scatter_transpose(GraphBuilder& b, const TransposeArgs& args);
Values all_to_all_transpose(GraphBuilder& b, const TransposeArgs& args);
Values ppermute_transpose(GraphBuilder& b, const TransposeArgs& args);
Values pbroadcast_transpose(GraphBuilder& b, const TransposeArgs& args);
Values pvary_transpose(GraphBuilder& b, const TransposeArgs& args);

}  // namespace shardlab::ops
