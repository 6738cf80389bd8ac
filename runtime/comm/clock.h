// This process's clock made wrong on purpose, as another machine's may be.
#pragma once

#include "runtime/comm/launch.h"

namespace shardlab::comm {

// From now on now_ns() is `offset` ahead, and goes `drift_ppm` millionths faster. For fault injection.
void skew_clock(Ns offset, double drift_ppm);

}  // namespace shardlab::comm
