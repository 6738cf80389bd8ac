// What a build without CUDA's headers has in place of the real API: the reason.
#include "virtualdev/cuda/gpu_api.h"
#include "virtualdev/cuda/presence.h"

namespace shardlab::cuda {

std::shared_ptr<GpuApi> cuda_api() { throw_user_error("cuda: {}", missing_text(look_for_cuda())); }
std::shared_ptr<KernelCompiler> nvrtc_compiler(bool) { throw_user_error("cuda: {}", missing_text(look_for_cuda())); }

}  // namespace shardlab::cuda
