#include "virtualdev/cuda/cuda_platform.h"

#include <algorithm>
#include <cstdlib>

#include "virtualdev/cuda/cuda_backend.h"
#include "virtualdev/cuda/presence.h"

namespace shardlab::cuda {
namespace {

constexpr const char* kPerGpuVariable = "SHARDLAB_DEVICES_PER_GPU";
constexpr const char* kGraphsVariable = "SHARDLAB_CUDA_GRAPHS";

// 0: nobody said.
int devices_per_gpu() {
  const char* text = std::getenv(kPerGpuVariable);
  if (text == nullptr || *text == '\0') return 0;
  char* end = nullptr;
  long count = std::strtol(text, &end, 10);
  if (*end != '\0' || count < 1 || count > 65536)
    throw_user_error("{} is '{}'; it must be a positive number of virtual devices on each GPU, e.g. 8", kPerGpuVariable, text);
  return int(count);
}

bool with_graphs() {
  const char* text = std::getenv(kGraphsVariable);
  std::string_view said = text == nullptr || *text == '\0' ? "1" : text;
  if (said != "0" && said != "1")
    throw_user_error("{} is '{}'; it is 1 (programs become CUDA graphs, the default) or 0", kGraphsVariable, said);
  return said == "1";
}

std::string missing() { return missing_text(look_for_cuda()); }

int default_device_count() { return look_for_cuda().gpus * std::max(devices_per_gpu(), 1); }

// The devices of a process are dealt to GPUs in blocks; processes of one host take the GPUs in turn, and share them where there are fewer.
std::shared_ptr<Backend> make(const PlatformRequest& request) {
  auto api = cuda_api();
  int gpus = std::max(api->gpu_count(), 1), devices = int(request.ordinals.size());
  int per_gpu = devices_per_gpu();
  if (per_gpu == 0) per_gpu = std::max((devices + gpus - 1) / gpus, 1);
  int wanted = std::max((devices + per_gpu - 1) / per_gpu, 1);
  int first = wanted >= gpus ? 0 : request.process_index * wanted % gpus;
  if (first + wanted > gpus) first = 0;
  return std::make_shared<CudaBackend>(api, nvrtc_compiler(),
                                       CudaOptions{.ordinals = request.ordinals,
                                                   .devices_per_gpu = per_gpu,
                                                   .first_gpu = first,
                                                   .kernel_folder = KernelStore::default_folder(),
                                                   .with_graphs = with_graphs(),
                                                   .process = request.process_index,
                                                   .rendezvous = request.rendezvous});
}

}  // namespace

const PlatformDef kCudaPlatform = {.name = "cuda",
                                   .device_platform = "gpu",
                                   .doc = "NVIDIA GPUs, each shared by as many virtual devices as wanted",
                                   .missing = missing,
                                   .default_device_count = default_device_count,
                                   .make = make};

}  // namespace shardlab::cuda
