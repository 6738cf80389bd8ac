// Collectives for every element of a batch at once.
//
// Over other axes than the batch's they carry it along. Over the axis of vmap itself they are arithmetic along the batch: a sum, a
// transpose, indices. Their nodes then name that axis alone (see group_runs in collective_groups.h). Source: JAX's batching rules in
// jax/_src/lax/parallel.py.
#pragma once

#include "runtime/ops/derive.h"

namespace shardlab::ops {

// psum, pmax, pmin.
std::vector<Batched> reduction_batch(GraphBuilder& b, const BatchArgs& args);
std::vector<Batched> all_gather_batch(GraphBuilder& b, const BatchArgs& args);
std::vector<Batched> psum_scatter_batch(GraphBuilder& b, const BatchArgs& args);
std::vector<Batched> all_to_all_batch(GraphBuilder& b, const BatchArgs& args);
std::vector<Batched> ppermute_batch(GraphBuilder& b, const BatchArgs& args);
std::vector<Batched> pbroadcast_batch(GraphBuilder& b, const BatchArgs& args);
std::vector<Batched> axis_index_batch(GraphBuilder& b, const BatchArgs& args);
// pvary, which names mesh axes alone: the batch stays where it is.
std::vector<Batched> same_dim_batch(GraphBuilder& b, const BatchArgs& args);

}  // namespace shardlab::ops
