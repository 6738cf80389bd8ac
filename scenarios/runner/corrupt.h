// A shard damaged on purpose: one bit of one device's copy, as faulty memory would.
#pragma once

#include "scenarios/document/document.h"
#include "scenarios/runner/interpreter.h"

namespace shardlab::scenarios {

// False where the fault's name is not bound yet, or this process has no shard of it there. `first_device`: where the fault names none.
bool corrupt_shard(const Interpreter::Names& names, const Fault& fault, int first_device);

}  // namespace shardlab::scenarios
