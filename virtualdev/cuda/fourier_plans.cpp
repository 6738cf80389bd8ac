#include "virtualdev/cuda/fourier_plans.h"

#include "runtime/ops/fft_rows.h"

namespace shardlab::cuda {

void FourierPlans::check(cufftResult result, const char* what) {
  if (result != CUFFT_SUCCESS) throw GpuError(fmt::format("{} failed with error {}", what, int(result)));
}

void FourierPlans::run(int gpu, const RowTransforms& t, cudaStream_t stream) {
  using ops::FftKind;
  std::lock_guard lock(mutex_);
  auto kind = FftKind(t.kind);
  bool from_real = kind == FftKind::kRealForward, to_real = kind == FftKind::kRealInverse;
  auto [found, is_new] = plans_.try_emplace({gpu, t.kind, t.is_double, t.length, t.rows}, 0);
  if (is_new) {
    cufftType type = from_real ? (t.is_double ? CUFFT_D2Z : CUFFT_R2C)
                     : to_real ? (t.is_double ? CUFFT_Z2D : CUFFT_C2R)
                               : (t.is_double ? CUFFT_Z2Z : CUFFT_C2C);
    long long length = t.length;
    std::size_t room = 0;
    cufftResult result = SHARDLAB_CALL(library_, cufftCreate)(&found->second);
    if (result == CUFFT_SUCCESS) {
      result = SHARDLAB_CALL(library_, cufftMakePlanMany64)(found->second, 1, &length, nullptr, 1, 0, nullptr, 1, 0, type, t.rows, &room);
      if (result != CUFFT_SUCCESS) SHARDLAB_CALL(library_, cufftDestroy)(found->second);
    }
    if (result != CUFFT_SUCCESS) plans_.erase(found);
    check(result, "cufftMakePlanMany64");
  }
  cufftHandle plan = found->second;
  check(SHARDLAB_CALL(library_, cufftSetStream)(plan, stream), "cufftSetStream");
  int direction = kind == FftKind::kInverse ? CUFFT_INVERSE : CUFFT_FORWARD;
  auto* from = const_cast<std::byte*>(t.from);  // the inverse of real numbers overwrites it, which is a temporary
  cufftResult result = CUFFT_SUCCESS;
  if (from_real && t.is_double)
    result =
        SHARDLAB_CALL(library_, cufftExecD2Z)(plan, reinterpret_cast<cufftDoubleReal*>(from), reinterpret_cast<cufftDoubleComplex*>(t.to));
  else if (from_real)
    result = SHARDLAB_CALL(library_, cufftExecR2C)(plan, reinterpret_cast<cufftReal*>(from), reinterpret_cast<cufftComplex*>(t.to));
  else if (to_real && t.is_double)
    result =
        SHARDLAB_CALL(library_, cufftExecZ2D)(plan, reinterpret_cast<cufftDoubleComplex*>(from), reinterpret_cast<cufftDoubleReal*>(t.to));
  else if (to_real)
    result = SHARDLAB_CALL(library_, cufftExecC2R)(plan, reinterpret_cast<cufftComplex*>(from), reinterpret_cast<cufftReal*>(t.to));
  else if (t.is_double)
    result = SHARDLAB_CALL(library_, cufftExecZ2Z)(plan, reinterpret_cast<cufftDoubleComplex*>(from),
                                                   reinterpret_cast<cufftDoubleComplex*>(t.to), direction);
  else
    result = SHARDLAB_CALL(library_, cufftExecC2C)(plan, reinterpret_cast<cufftComplex*>(from), reinterpret_cast<cufftComplex*>(t.to),
                                                   direction);
  check(result, "cufftExec");
}

}  // namespace shardlab::cuda
