#include "virtualdev/cuda/fourier_plans.h"

#include <algorithm>

#include "runtime/ops/fft_rows.h"

namespace shardlab::cuda {

struct FourierPlans::Plan {
  explicit Plan(Library& library_in) : library(library_in) {}
  ~Plan() {
    if (is_made) SHARDLAB_CALL(library, cufftDestroy)(handle);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  Library& library;
  cufftHandle handle = 0;
  bool is_made = false;
  std::size_t room = 0;  // bytes
};

void FourierPlans::check(cufftResult result, const char* what) {
  if (result != CUFFT_SUCCESS) throw GpuError(fmt::format("{} failed with error {}", what, int(result)));
}

FourierPlans::Key FourierPlans::key_of(const RowTransforms& t) { return {t.kind, t.is_double, t.length, t.rows}; }

std::shared_ptr<FourierPlans::Plan> FourierPlans::find(OnGpu& here, const Key& key) {
  auto found = std::find_if(here.plans.begin(), here.plans.end(), [&](const auto& each) { return each.first == key; });
  if (found == here.plans.end()) return nullptr;
  here.plans.splice(here.plans.begin(), here.plans, found);
  return found->second;
}

std::shared_ptr<FourierPlans::Plan> FourierPlans::make(const RowTransforms& t) {
  using ops::FftKind;
  const auto kind = FftKind(t.kind);
  const cufftType type = kind == FftKind::kRealForward   ? (t.is_double ? CUFFT_D2Z : CUFFT_R2C)
                         : kind == FftKind::kRealInverse ? (t.is_double ? CUFFT_Z2D : CUFFT_C2R)
                                                         : (t.is_double ? CUFFT_Z2Z : CUFFT_C2C);
  auto plan = std::make_shared<Plan>(library_);
  check(SHARDLAB_CALL(library_, cufftCreate)(&plan->handle), "cufftCreate");
  plan->is_made = true;
  check(SHARDLAB_CALL(library_, cufftSetAutoAllocation)(plan->handle, 0), "cufftSetAutoAllocation");
  long long length = t.length;
  check(SHARDLAB_CALL(library_, cufftMakePlanMany64)(plan->handle, 1, &length, nullptr, 1, 0, nullptr, 1, 0, type, t.rows, &plan->room),
        "cufftMakePlanMany64");
  return plan;
}

void FourierPlans::run(int gpu, const RowTransforms& t, cudaStream_t stream, const std::function<std::byte*(std::size_t)>& allocate) {
  std::lock_guard lock(mutex_);
  OnGpu& here = gpus_[gpu];
  std::shared_ptr<Plan> plan = find(here, key_of(t));
  if (plan == nullptr) {
    if (here.plans.size() >= kPlansMax) here.plans.pop_back();  // cuFFT waits for the GPU before it gives memory back
    plan = make(t);
    here.plans.emplace_front(key_of(t), plan);
  }
  if (plan->room > here.room_bytes) {
    const std::size_t bytes = std::max(plan->room, 2 * here.room_bytes);
    here.rooms.push_back(allocate(bytes));
    here.room_bytes = bytes;
  }
  execute(*plan, here, t, stream);
}

std::shared_ptr<const void> FourierPlans::capture(int gpu, const RowTransforms& t, cudaStream_t stream) {
  std::lock_guard lock(mutex_);
  OnGpu& here = gpus_[gpu];
  std::shared_ptr<Plan> plan = find(here, key_of(t));
  if (plan == nullptr) throw GpuError("a transform is captured that has no plan");
  execute(*plan, here, t, stream);
  return plan;
}

void FourierPlans::close(const std::function<void(int gpu)>& use, const std::function<void(std::byte*)>& release) {
  std::lock_guard lock(mutex_);
  for (auto& [gpu, here] : gpus_) {
    use(gpu);
    here.plans.clear();
    for (std::byte* room : here.rooms) release(room);
  }
  gpus_.clear();
}

void FourierPlans::execute(const Plan& made, const OnGpu& here, const RowTransforms& t, cudaStream_t stream) {
  using ops::FftKind;
  const auto kind = FftKind(t.kind);
  const bool from_real = kind == FftKind::kRealForward, to_real = kind == FftKind::kRealInverse;
  const cufftHandle plan = made.handle;
  check(SHARDLAB_CALL(library_, cufftSetStream)(plan, stream), "cufftSetStream");
  if (made.room > 0) check(SHARDLAB_CALL(library_, cufftSetWorkArea)(plan, here.rooms.back()), "cufftSetWorkArea");
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
