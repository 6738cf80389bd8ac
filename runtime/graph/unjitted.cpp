#include "runtime/graph/unjitted.h"

#include <algorithm>
#include <array>

namespace shardlab {
namespace {

constexpr auto kUnjitted = std::to_array<std::string_view>({
#include "runtime/graph/unjitted.inc"
});
static_assert(std::is_sorted(kUnjitted.begin(), kUnjitted.end()));

constexpr auto kTracedApart = std::to_array<std::string_view>({
#include "runtime/graph/traced_apart.inc"
});
static_assert(std::is_sorted(kTracedApart.begin(), kTracedApart.end()));
constexpr auto kInlined = std::to_array<std::string_view>({
#include "runtime/graph/inlined.inc"
});
static_assert(std::is_sorted(kInlined.begin(), kInlined.end()));

}  // namespace

bool is_unjitted(std::string_view op) { return std::binary_search(kUnjitted.begin(), kUnjitted.end(), op); }

bool is_inlined(std::string_view op) { return std::binary_search(kInlined.begin(), kInlined.end(), op); }

bool is_traced_apart(std::string_view op) { return std::binary_search(kTracedApart.begin(), kTracedApart.end(), op); }

}  // namespace shardlab
