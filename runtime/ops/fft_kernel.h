// Fourier transforms of arrays along one axis, made of transforms of rows.
#pragma once

#include "runtime/graph/op_def.h"
#include "runtime/ops/fft_rows.h"

namespace shardlab::ops {

// How many elements a row of the operand should have; longer ones are cut, shorter ones filled with zeros.
inline std::int64_t fft_read_size(FftKind kind, std::int64_t length) { return kind == FftKind::kRealInverse ? length / 2 + 1 : length; }

// `length`: of the signal, for the inverse to real numbers that of the result. Inverse ones divide by it.
void transform_along(const ConstView& operand, const MutableView& result, FftKind kind, std::int64_t axis, std::int64_t length);

}  // namespace shardlab::ops
