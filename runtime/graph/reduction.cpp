#include "runtime/graph/op_def.h"

namespace shardlab {

std::string_view name_of(Reduction reduction) {
  static constexpr std::string_view kNames[] = {"sum", "prod", "max", "min", "and", "or"};
  return kNames[std::size_t(reduction)];
}

}  // namespace shardlab
