// One-dimensional Fourier transforms of contiguous rows: the seam between the op and the library that computes them.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/core/dtype.h"

namespace shardlab::ops {

enum class FftKind : std::uint8_t { kForward, kInverse, kRealForward, kRealInverse };

// A transform of one length. Rows are transformed one by one by the same steps, so that the bits of a result depend on its row alone
// and not on how many rows a device holds. Not scaled. `run` may be called by several threads at once.
template <typename R>
class FftRows {
 public:
  virtual ~FftRows() = default;
  // Complex to complex: `length` elements each; real forward: `length` reals to length / 2 + 1; real inverse: the other way, where the
  // imaginary parts of the first and, for even lengths, the last element count as 0. Both aligned to 64 bytes; the input may be
  // overwritten.
  virtual void run(void* in, void* out) const = 0;
};

// The transform of a kind and length (at least 1), made once for each and kept; R is float or double.
template <typename R>
const FftRows<R>& fft_rows(FftKind kind, std::int64_t length);

// "FFTW 3.3.10", for the doctor.
const char* fft_library();

}  // namespace shardlab::ops
