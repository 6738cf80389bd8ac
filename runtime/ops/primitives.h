// The primitives that expansions emit.
#pragma once

#include "runtime/graph/op_def.h"

namespace shardlab::ops {

extern const OpDef kConstant, kIota;
extern const OpDef kAbs, kCeil, kConj, kCos, kErf, kExp, kExpm1, kFloor, kImag, kIsFinite, kLog, kLog1p, kLogistic, kNeg, kNot, kReal,
    kRound, kRsqrt, kSign, kSin, kSqrt, kTan, kTanh;
extern const OpDef kAdd, kAnd, kAtan2, kDiv, kMaximum, kMinimum, kMul, kOr, kPow, kRem, kRemainder, kSub, kXor;
extern const OpDef kEqual, kGreater, kGreaterEqual, kLess, kLessEqual, kNotEqual;
extern const OpDef kClamp, kConvert, kSelect, kShardingConstraint;
extern const OpDef kBroadcastInDim, kReshape, kTranspose;
extern const OpDef kReduceAnd, kReduceMax, kReduceMin, kReduceOr, kReduceProd, kReduceSum;
extern const OpDef kDotGeneral;

}  // namespace shardlab::ops
