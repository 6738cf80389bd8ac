#include "virtualdev/cuda/presence.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

#ifdef SHARDLAB_HAVE_CUDA
#include <cuda_runtime_api.h>
#include <cufft.h>
#endif

namespace shardlab::cuda {
namespace {

#ifdef SHARDLAB_HAVE_CUDA
constexpr bool kBuilt = true;
constexpr int kCudaMajor = CUDART_VERSION / 1000, kFourierMajor = CUFFT_VER_MAJOR;
#else
constexpr bool kBuilt = false;
constexpr int kCudaMajor = 13, kFourierMajor = 12;
#endif

// What is called is what the headers declare: functions of one name have other arguments in another major version.
std::string versioned(std::string_view name, int major) { return fmt::format("lib{}.so.{}", name, major); }

// The driver's own functions, as its header declares them.
using InitFn = int (*)(unsigned);
using CountFn = int (*)(int*);  // that of versions, too

}  // namespace

void* load_library(const LibraryName& library) {
  for (const std::string& file : library.files)
    if (void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  return nullptr;
}

const LibraryName& driver_library() {
  static const LibraryName library{"the driver", {"libcuda.so.1"}};
  return library;
}
const LibraryName& runtime_library() {
  static const LibraryName library{"the CUDA runtime", {versioned("cudart", kCudaMajor)}};
  return library;
}
const LibraryName& compiler_library() {
  static const LibraryName library{"NVRTC", {versioned("nvrtc", kCudaMajor), "libnvrtc.so"}};
  return library;
}
const LibraryName& matmul_library() {
  static const LibraryName library{"cuBLASLt", {versioned("cublasLt", kCudaMajor)}};
  return library;
}
const LibraryName& fourier_library() {
  static const LibraryName library{"cuFFT", {versioned("cufft", kFourierMajor)}};
  return library;
}
const LibraryName& nccl_library() {
  static const LibraryName library{"NCCL", {"libnccl.so.2", "libnccl.so"}};
  return library;
}

const LibraryName& sorts_library() {
  static const LibraryName library{"the library of sorts", {"libshardlab_sorts.so", SHARDLAB_SORTS_INSTALLED, SHARDLAB_SORTS_BUILT}};
  return library;
}

Presence look_for_cuda() {
  Presence presence;
  presence.built = kBuilt;
  presence.wanted_major = kCudaMajor;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) presence.visible = visible;
  if (!presence.built) return presence;
  void* driver = load_library(driver_library());
  presence.driver = driver != nullptr;
  if (driver != nullptr) {
    auto init = reinterpret_cast<InitFn>(::dlsym(driver, "cuInit"));
    auto count = reinterpret_cast<CountFn>(::dlsym(driver, "cuDeviceGetCount"));
    presence.driver_error = init != nullptr ? init(0) : -1;
    auto version = reinterpret_cast<CountFn>(::dlsym(driver, "cuDriverGetVersion"));
    if (version != nullptr && version(&presence.driver_version) != 0) presence.driver_version = 0;
    if (presence.driver_error == 0 && count != nullptr) presence.driver_error = count(&presence.gpus);
  }
  // NCCL is looked for where several GPUs need it, by who needs it.
  for (const LibraryName* library : {&runtime_library(), &compiler_library(), &matmul_library(), &fourier_library()})
    if (load_library(*library) == nullptr) presence.libraries_missing.push_back(fmt::format("{} ({})", library->what, library->files[0]));
  return presence;
}

std::string missing_text(const Presence& presence) {
  if (!presence.built)
    return "this build has no CUDA in it, as the toolkit was not found when it was configured; install the CUDA toolkit (nvcc, 12.8 or "
           "later) and configure again (docs/gpu.md)";
  if (!presence.driver)
    return "the NVIDIA driver is not there (libcuda.so.1 cannot be loaded); install it, or give the container the GPU (docker run --gpus "
           "all)";
  constexpr int kNoDevice = 100;  // CUDA_ERROR_NO_DEVICE
  if (presence.driver_error != 0 && presence.driver_error != kNoDevice)
    return fmt::format("the NVIDIA driver does not start (cuInit gives error {}); see nvidia-smi", presence.driver_error);
  if (presence.gpus == 0)
    return presence.visible.empty()
               ? std::string("the NVIDIA driver sees no GPU; see nvidia-smi")
               : fmt::format("the NVIDIA driver shows this process no GPU, as CUDA_VISIBLE_DEVICES is '{}'", presence.visible);
  if (presence.driver_version != 0 && presence.driver_version / 1000 < presence.wanted_major)
    return fmt::format(
        "the NVIDIA driver goes up to CUDA {}.{}, and this build calls CUDA {}; install a newer driver, or configure with a toolkit of "
        "CUDA {}",
        presence.driver_version / 1000, presence.driver_version % 1000 / 10, presence.wanted_major, presence.driver_version / 1000);
  if (!presence.libraries_missing.empty())
    return fmt::format("libraries are missing: {}; install the CUDA toolkit or add its folder to LD_LIBRARY_PATH",
                       fmt::join(presence.libraries_missing, ", "));
  return {};
}

}  // namespace shardlab::cuda
