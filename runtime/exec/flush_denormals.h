// How JAX computes on a CPU: a denormal number, as an operand or a result, counts as zero. It also keeps steps quick: a processor takes
// some hundred cycles for a denormal, and gradients of a softmax are full of them.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace shardlab {

// As long as it lives, in its thread. Moves and copies keep denormals, as they are no arithmetic.
class FlushDenormals {
 public:
#if defined(__x86_64__)
  FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | kFlushResults | kFlushOperands); }
  ~FlushDenormals() { _mm_setcsr(before_); }

 private:
  static constexpr unsigned kFlushResults = 0x8000, kFlushOperands = 0x0040;
  unsigned before_;

 public:
#elif defined(__aarch64__)
  FlushDenormals() {
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    asm volatile("msr fpcr, %0" : : "r"(before_ | kFlush));
  }
  ~FlushDenormals() { asm volatile("msr fpcr, %0" : : "r"(before_)); }

 private:
  static constexpr std::uint64_t kFlush = std::uint64_t(1) << 24;
  std::uint64_t before_;

 public:
#else
  FlushDenormals() = default;  // no way is known: they are computed with
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;
};

}  // namespace shardlab
