#include "virtualdev/cuda/cuda_platform.h"

#include "runtime/base/error.h"
#include "virtualdev/cuda/presence.h"

namespace shardlab::cuda {
namespace {

std::string missing() {
  std::string text = missing_text(look_for_cuda());
  return text.empty() ? "this version can look for GPUs, but not compute on them" : text;
}

int default_device_count() { return look_for_cuda().gpus; }

std::shared_ptr<Backend> make(const PlatformRequest&) { throw_user_error("cuda: {}", missing()); }

}  // namespace

const PlatformDef kCudaPlatform = {.name = "cuda",
                                   .device_platform = "gpu",
                                   .doc = "NVIDIA GPUs, each shared by as many virtual devices as wanted",
                                   .missing = missing,
                                   .default_device_count = default_device_count,
                                   .make = make};

}  // namespace shardlab::cuda
