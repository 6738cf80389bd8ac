// The primitives that expansions emit.
#pragma once

#include "runtime/graph/op_def.h"

namespace shardlab::ops {

extern const OpDef kConstant, kIota;
extern const OpDef kAbs, kCbrt, kCeil, kClz, kConj, kFloor, kImag, kIsFinite, kNeg, kNot, kPopulationCount, kReal, kRound, kRsqrt, kSign,
    kSqrt, kTrunc;
extern const OpDef kAcos, kAcosh, kAsin, kAsinh, kAtan, kAtanh, kCos, kCosh, kExp, kExp2, kExpm1, kLog, kLog1p, kLogistic, kSin, kSinh,
    kTan, kTanh;
extern const OpDef kDigamma, kErf, kErfInv, kErfc, kLgamma, kIgammaGradA;
extern const OpDef kAdd, kAnd, kAtan2, kComplex, kDiv, kMaximum, kMinimum, kMul, kNextAfter, kOr, kPow, kRem, kRemainder, kShiftLeft,
    kShiftRightArithmetic, kShiftRightLogical, kSub, kXor;
extern const OpDef kEqual, kGreater, kGreaterEqual, kLess, kLessEqual, kNotEqual;
extern const OpDef kClamp, kConvert, kSelect, kShardingConstraint, kStopGradient, kCheckpointName;
extern const OpDef kBroadcastInDim, kReshape, kTranspose;
extern const OpDef kReduceAnd, kReduceMax, kReduceMin, kReduceOr, kReduceProd, kReduceSum;
extern const OpDef kDotGeneral;
extern const OpDef kConcatenate, kPad, kRev, kSlice, kSlidingWindows;
extern const OpDef kArgmax, kArgmin, kCummax, kCummin, kCumprod, kCumsum, kSort, kTopK;
extern const OpDef kDynamicSlice, kDynamicUpdateSlice, kGather, kScatter, kScatterAdd, kScatterMax, kScatterMin, kScatterMul;

}  // namespace shardlab::ops
