// What tells calls apart for the caches of programs: types, shardings and committedness of arguments, as bytes that nobody reads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/exec/array.h"

namespace shardlab {

// Equal for equal arguments, and different for others, also with text before and behind it.
std::string signature_of(const std::vector<Array>& args);
std::string signature_of(const std::vector<std::optional<Sharding>>& shardings);

}  // namespace shardlab
