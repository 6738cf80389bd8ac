// The platform "cuda": NVIDIA GPUs, each of which several virtual devices may share.
#pragma once

#include "runtime/exec/platform.h"

namespace shardlab::cuda {

extern const PlatformDef kCudaPlatform;

}  // namespace shardlab::cuda
