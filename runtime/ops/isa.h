// Compiles hot loops for several x86-64 levels and chooses at run time.
//
// A loop is a struct with a static always-inline `run`. Only the wrappers here carry a target attribute, so no code for a newer machine
// can end up in functions that others share. All levels give the same bits: the library is compiled without contraction, and loops keep
// their order of operations whatever the width of vectors.
#pragma once

#include <cstdint>

namespace shardlab::ops {

enum class Isa : std::uint8_t { kBaseline, kAvx2, kAvx512 };
Isa machine_isa();

#define SHARDLAB_INLINE [[gnu::always_inline]] inline

template <typename Loop, typename... Args>
[[gnu::flatten]] void run_baseline(Args... args) {
  Loop::run(args...);
}

#if defined(__x86_64__)
template <typename Loop, typename... Args>
[[gnu::target("avx2,fma"), gnu::flatten]] void run_avx2(Args... args) {
  Loop::run(args...);
}
template <typename Loop, typename... Args>
[[gnu::target("fma,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512"), gnu::flatten]] void run_avx512(Args... args) {
  Loop::run(args...);
}
#endif

// The version of Loop::run for this machine.
template <typename Loop, typename... Args>
auto best_version() -> void (*)(Args...) {
#if defined(__x86_64__)
  switch (machine_isa()) {
    case Isa::kAvx512:
      return &run_avx512<Loop, Args...>;
    case Isa::kAvx2:
      return &run_avx2<Loop, Args...>;
    case Isa::kBaseline:
      break;
  }
#endif
  return &run_baseline<Loop, Args...>;
}

}  // namespace shardlab::ops
