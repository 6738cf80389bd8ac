// jax.config: flags of the calling thread's context, from the environment at first and by name later.
#pragma once

#include <string_view>

#include "runtime/core/config.h"

namespace shardlab {

// With the flags that change how programs are run.
struct RunConfig : Config {
  RunConfig(const Config& programs = {}) : Config(programs) {}  // NOLINT: implicit on purpose
  bool debug_nans = false, debug_infs = false;  // a launch that gives such numbers fails, with the op that made the first one
  bool operator==(const RunConfig&) const = default;
};

// SHARDLAB_ENABLE_X64, SHARDLAB_THREEFRY_PARTITIONABLE, SHARDLAB_DEBUG_NANS and SHARDLAB_DEBUG_INFS, 0 or 1 (also false and true).
// UserError for another text.
RunConfig config_from_environment();
// SHARDLAB_CHECKSUMS in the same way: whether checksums of values are recorded.
bool checksums_from_environment();

namespace config {

// A flag by its name, with or without "jax_": config::update("enable_x64", true). Arrays that exist keep their dtypes. UserError with
// the nearest name for an unknown flag.
void update(std::string_view flag, bool value);
bool value(std::string_view flag);

}  // namespace config
}  // namespace shardlab
