// What the shape rules of nodes with bodies share: fitting operands to parameters, with JAX's texts.
#pragma once

#include "runtime/graph/graph.h"

namespace shardlab::ops {

extern const OpDef kWhileLoop, kScan, kCond, kShardMap, kOnMesh, kCustomPartitioning, kInspectSharding;
extern const OpDef kDebugCallback, kIoCallback, kPureCallback;
// No region: how values enter auto_axes.
extern const OpDef kEnterAutoAxes;
extern const OpDef kCheckpoint, kCustomJvpCall, kCustomLinearSolve, kCustomVjpCall, kCustomVjpTangents;
extern const OpDef kAllGather, kAllToAll, kAxisIndex, kAxisSize, kPbroadcast, kPmax, kPmean, kPmin, kPpermute, kPsum, kPsumScatter, kPvary;

// The body's result types.
std::vector<TensorType> result_types(const Graph& body);
// UserError where the body does not take these.
void check_params(const OpDef& op, const Graph& body, std::span<const TensorType> given, std::string_view which);
// The node's bodies. InternalError where there are not `count` (-1: any number but none).
const Bodies& bodies_of(const OpDef& op, const Attrs& attrs, int count);
// Nodes with bodies are made by the functions of runtime/exec, which trace the bodies.
std::vector<ValueId> refuse_plain_call(GraphBuilder&, const OpDef& op, std::span<const Arg>, const Attrs&);

}  // namespace shardlab::ops
