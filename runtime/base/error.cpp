#include "runtime/base/error.h"

namespace shardlab {

void check_failed(const char* condition, const char* file, int line, const std::string& message) {
  throw InternalError(
      fmt::format("internal error: {} does not hold at {}:{}{}{}", condition, file, line, message.empty() ? "" : ": ", message));
}

}  // namespace shardlab
