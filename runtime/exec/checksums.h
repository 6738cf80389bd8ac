// Tells the observers what the values of arrays are: of each part that this process has a checksum.
#pragma once

#include <memory>
#include <vector>

#include "runtime/comm/launch.h"

namespace shardlab {

// 1: what values are is recorded. Off by default, since it reads every value.
inline constexpr const char* kChecksumsVariable = "SHARDLAB_CHECKSUMS";

class ArrayImpl;
class Context;

// Of arrays that are ready and whose checksums were not told yet; what it takes is told as a step of `launch`. On the thread that runs the
// launch, before the arrays are anybody else's: reads every element once, exchanges nothing. Throws what making the values failed with.
void record_checksums(Context& context, const comm::Launch& launch, const std::vector<std::shared_ptr<ArrayImpl>>& arrays);

}  // namespace shardlab
