#include "runtime/ops/fft_kernel.h"

#include <algorithm>
#include <complex>
#include <cstdint>

#include "runtime/core/buffer.h"
#include "runtime/ops/transpose_block.h"

namespace shardlab::ops {
namespace {

// Rows are copied to and from aligned storage, several at once where the axis is not the last, so that cache lines are used whole.
template <typename In, typename Out, typename R>
void transform(const ConstView& operand, const MutableView& result, FftKind kind, std::int64_t axis, std::int64_t length) {
  constexpr std::int64_t kRowsTogether = 8, kAligned = 64;
  std::int64_t from = operand.type.shape[std::size_t(axis)], to = result.type.shape[std::size_t(axis)], inner = 1, outer = 1;
  for (std::size_t d = 0; d < std::size_t(axis); ++d) outer *= operand.type.shape[d];
  for (std::size_t d = std::size_t(axis) + 1; d < operand.type.shape.size(); ++d) inner *= operand.type.shape[d];
  if (outer * inner == 0) return;
  const FftRows<R>& rows = fft_rows<R>(kind, length);
  R scale = kind == FftKind::kInverse || kind == FftKind::kRealInverse ? R(1) / R(length) : R(1);
  auto padded = [](std::int64_t count, std::size_t bytes) {
    std::int64_t aligned = kAligned / std::int64_t(bytes);
    return (count + aligned - 1) / aligned * aligned;
  };
  std::int64_t read = fft_read_size(kind, length), given = std::min(from, read);
  std::int64_t in_stride = padded(read, sizeof(In)), out_stride = padded(to, sizeof(Out));
  Buffer in(std::size_t(in_stride * kRowsTogether) * sizeof(In)), out(std::size_t(out_stride * kRowsTogether) * sizeof(Out));
  In* in_rows = in.as<In>();
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t first = 0; first < inner; first += kRowsTogether) {
      std::int64_t count = std::min(kRowsTogether, inner - first);
      const In* source = operand.as<In>() + o * from * inner + first;
      Out* target = result.as<Out>() + o * to * inner + first;
      bool is_in_place = inner == 1 && reinterpret_cast<std::uintptr_t>(target) % kAligned == 0;
      Out* out_rows = is_in_place ? target : out.as<Out>();
      if (inner == 1)
        std::copy_n(source, given, in_rows);
      else
        transpose_block(reinterpret_cast<const std::byte*>(source), inner, in.data(), in_stride, given, count, sizeof(In));
      for (std::int64_t r = 0; r < count; ++r) {
        In* in_row = in_rows + r * in_stride;
        Out* out_row = out_rows + r * out_stride;
        std::fill(in_row + given, in_row + read, In(0));
        rows.run(in_row, out_row);
        if (scale != R(1))
          for (std::int64_t i = 0; i < to; ++i) out_row[i] *= scale;
      }
      if (is_in_place) continue;
      if (inner == 1)
        std::copy_n(out_rows, to, target);
      else
        transpose_block(out.data(), out_stride, reinterpret_cast<std::byte*>(target), inner, count, to, sizeof(Out));
    }
}

template <typename R>
void transform_in(const ConstView& operand, const MutableView& result, FftKind kind, std::int64_t axis, std::int64_t length) {
  using C = std::complex<R>;
  if (kind == FftKind::kRealForward)
    transform<R, C, R>(operand, result, kind, axis, length);
  else if (kind == FftKind::kRealInverse)
    transform<C, R, R>(operand, result, kind, axis, length);
  else
    transform<C, C, R>(operand, result, kind, axis, length);
}

}  // namespace

void transform_along(const ConstView& operand, const MutableView& result, FftKind kind, std::int64_t axis, std::int64_t length) {
  const bool is_double = real_dtype(operand.type.dtype) == DType::kFloat64;
  (is_double ? transform_in<double> : transform_in<float>)(operand, result, kind, axis, length);
}

}  // namespace shardlab::ops
