// Whether a program's launches are worth a thread of their own, beside those on other devices.
#pragma once

#include <cstdint>

#include "runtime/exec/executable.h"

namespace shardlab {

// Handing a launch over and being told of its end takes about 10 µs, as much as a pass over so many elements.
constexpr std::int64_t kBesideElementsMin = 64 * 1024;

// Fills `devices` and `runs_beside`, once all else is there: a launch has a thread of its own where it leaves devices of this process free
// for another one, and makes at least kBesideElementsMin elements here, or loops nobody knows how often.
void plan_beside(const Context& context, Executable& executable);

}  // namespace shardlab
