// The public API of shardlab, in one header.
#pragma once

#include "runtime/core/mesh.h"
#include "runtime/core/sharding.h"
#include "runtime/exec/array.h"
#include "runtime/exec/autodiff.h"
#include "runtime/exec/config.h"
#include "runtime/exec/context.h"
#include "runtime/exec/device.h"
#include "runtime/exec/fft.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/random.h"
#include "runtime/exec/tree.h"
#include "runtime/exec/visualize.h"
#include "runtime/exec/vmap.h"
#include "runtime/shardlab/distributed.h"
