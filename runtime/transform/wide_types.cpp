#include "runtime/transform/wide_types.h"

#include <algorithm>

namespace shardlab::transform {

Config config_for(const Graph& graph) {
  Config config;
  config.enable_x64 = std::any_of(graph.values.begin(), graph.values.end(),
                                  [](const Value& value) { return canonical(value.type.dtype, false) != value.type.dtype; });
  return config;
}

}  // namespace shardlab::transform
