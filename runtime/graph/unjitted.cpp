#include "runtime/graph/unjitted.h"

#include <algorithm>
#include <array>

namespace shardlab {
namespace {

constexpr auto kUnjitted = std::to_array<std::string_view>({
#include "runtime/graph/unjitted.inc"
});
static_assert(std::is_sorted(kUnjitted.begin(), kUnjitted.end()));

}  // namespace

bool is_unjitted(std::string_view op) { return std::binary_search(kUnjitted.begin(), kUnjitted.end(), op); }

}  // namespace shardlab
