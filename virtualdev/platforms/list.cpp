// Names every platform beside cpu. A new one is one line here.
#include "runtime/exec/platform.h"
#include "virtualdev/cuda/cuda_platform.h"

namespace shardlab {

std::span<const PlatformDef> platforms() {
  static const PlatformDef list[] = {cuda::kCudaPlatform};
  return list;
}

}  // namespace shardlab
