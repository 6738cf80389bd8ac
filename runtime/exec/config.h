// jax.config: flags of the calling thread's context, from the environment at first and by name later.
#pragma once

#include <string_view>

#include "runtime/core/config.h"

namespace shardlab {

// SHARDLAB_ENABLE_X64 and SHARDLAB_THREEFRY_PARTITIONABLE, 0 or 1 (also false and true). UserError for another text.
Config config_from_environment();
// SHARDLAB_CHECKSUMS in the same way: whether checksums of values are recorded.
bool checksums_from_environment();

namespace config {

// A flag by its name, with or without "jax_": config::update("enable_x64", true). Arrays that exist keep their dtypes. UserError with
// the nearest name for an unknown flag.
void update(std::string_view flag, bool value);
bool value(std::string_view flag);

}  // namespace config
}  // namespace shardlab
