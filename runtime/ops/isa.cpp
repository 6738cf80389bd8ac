#include "runtime/ops/isa.h"

namespace shardlab::ops {

Isa machine_isa() {
#if defined(__x86_64__)
  static const Isa isa = [] {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Isa::kBaseline;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
      return Isa::kAvx512;
    return Isa::kAvx2;
  }();
  return isa;
#else
  return Isa::kBaseline;
#endif
}

}  // namespace shardlab::ops
