#include "runtime/base/call_places.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/call_stack.h"
#include "runtime/base/where.h"

#ifdef SHARDLAB_HAS_BACKTRACE
#include <backtrace.h>
#endif

namespace shardlab {
namespace {

constexpr std::size_t kPlacesTold = 8;

#ifdef SHARDLAB_HAS_BACKTRACE

constexpr std::string_view kThisFile = "runtime/base/call_places.cpp";

// Of this library's sources or of the headers of the system: functions there may have names without their namespace.
bool is_foreign(std::string_view file) {
  std::string_view root = __FILE__;
  root.remove_suffix(std::min(root.size(), kThisFile.size()));
  if (file.starts_with("/usr/include/")) return true;
  if (!file.starts_with(root)) return false;
  file.remove_prefix(root.size());
  return file.starts_with("runtime/") || file.starts_with("traces/") || file.starts_with("virtualdev/");
}

// What is known of one address: the calls that were inlined there, innermost first, and the function around them.
std::vector<CallPlace> places_at(std::uintptr_t address) {
  static backtrace_state* state = backtrace_create_state(
      nullptr, true, [](void*, const char*, int) {}, nullptr);
  std::vector<CallPlace> found;
  backtrace_pcinfo(
      state, address,
      [](void* all, std::uintptr_t, const char* file, int line, const char* function) {
        if (file != nullptr && function != nullptr) static_cast<std::vector<CallPlace>*>(all)->push_back({function, file, line});
        return 0;
      },
      [](void*, const char*, int) {}, &found);
  for (CallPlace& place : found) place.function = is_foreign(place.file) ? "" : function_name(place.function);
  return found;
}

#else

std::vector<CallPlace> places_at(std::uintptr_t) { return {}; }

#endif

}  // namespace

std::string CallPlace::text() const { return line > 0 ? fmt::format("{} ({}:{})", function, base_name(file), line) : function; }

std::vector<CallPlace> call_places(std::span<const std::uintptr_t> stack) {
  std::vector<std::string> functions = function_names(stack);
  std::vector<CallPlace> places;
  for (std::size_t i = 0; i < stack.size(); ++i) {
    std::vector<CallPlace> here = places_at(stack[i] - 1);  // the call, not where it returns to
    if (here.empty()) here.push_back({functions[i], "", 0});
    for (CallPlace& place : here) {
      if (place.function.empty()) continue;
      places.push_back(std::move(place));
      if (places.back().function == "main") return places;
    }
  }
  return places;
}

std::string text_of(std::span<const CallPlace> places) {
  std::vector<std::string> told;
  for (const CallPlace& place : places.first(std::min(places.size(), kPlacesTold))) told.push_back(place.text());
  if (places.size() > kPlacesTold) told.emplace_back("…");
  return fmt::format("{}", fmt::join(told, ", "));
}

}  // namespace shardlab
