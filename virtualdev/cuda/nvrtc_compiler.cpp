// Kernels through NVRTC, which needs no GPU. The library is loaded when it is first asked for.
#include <dlfcn.h>
#include <fmt/format.h>
#include <nvrtc.h>

#include <vector>

#include "virtualdev/cuda/gpu_api.h"
#include "virtualdev/cuda/presence.h"

namespace shardlab::cuda {
namespace {

class NvrtcCompiler final : public KernelCompiler {
 public:
  explicit NvrtcCompiler(bool is_strict) : library_(load_library(compiler_library())), is_strict_(is_strict) {
    if (library_ == nullptr)
      throw_user_error(
          "NVRTC, which compiles kernels, is not there ({} cannot be loaded); install the CUDA toolkit or add its folder to "
          "LD_LIBRARY_PATH",
          compiler_library().files[0]);
  }

  std::string version() const override {
    int major = 0, minor = 0;
    check(symbol<decltype(::nvrtcVersion)>("nvrtcVersion")(&major, &minor), "nvrtcVersion");
    return fmt::format("nvrtc {}.{}", major, minor);
  }

  // Sums and products are not fused: the CPU's kernels round both, and results are compared.
  std::string compile(const std::string& text, int arch) override {
    nvrtcProgram program = nullptr;
    check(symbol<decltype(::nvrtcCreateProgram)>("nvrtcCreateProgram")(&program, text.c_str(), "kernels.cu", 0, nullptr, nullptr),
          "nvrtcCreateProgram");
    std::string target = fmt::format("--gpu-architecture=sm_{}", arch);
    const char* options[] = {target.c_str(), "--std=c++17", "--fmad=false", "--restrict", "-default-device"};
    nvrtcResult result = symbol<decltype(::nvrtcCompileProgram)>("nvrtcCompileProgram")(program, int(std::size(options)), options);
    std::string log = read(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog"), binary;
    if (result == NVRTC_SUCCESS) binary = read(program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN");
    symbol<decltype(::nvrtcDestroyProgram)>("nvrtcDestroyProgram")(&program);
    if (result != NVRTC_SUCCESS || (is_strict_ && log.find("warning") != std::string::npos))
      throw_user_error("generated kernels do not compile for sm_{}: {}", arch, log);
    return binary;
  }

 private:
  template <typename F>
  F* symbol(const char* name) const {
    void* found = ::dlsym(library_, name);
    if (found == nullptr) throw_user_error("NVRTC has no {}; a newer CUDA toolkit (12.8 or later) is needed", name);
    return reinterpret_cast<F*>(found);
  }
  void check(nvrtcResult result, const char* what) const {
    if (result != NVRTC_SUCCESS) throw_user_error("{} failed with error {}", what, int(result));
  }
  std::string read(nvrtcProgram program, const char* size_name, const char* name) {
    std::size_t size = 0;
    check(symbol<nvrtcResult(nvrtcProgram, std::size_t*)>(size_name)(program, &size), size_name);
    std::string data(size, '\0');
    check(symbol<nvrtcResult(nvrtcProgram, char*)>(name)(program, data.data()), name);
    return data;
  }

  void* library_;
  bool is_strict_;
};

}  // namespace

std::shared_ptr<KernelCompiler> nvrtc_compiler(bool is_strict) { return std::make_shared<NvrtcCompiler>(is_strict); }

}  // namespace shardlab::cuda
