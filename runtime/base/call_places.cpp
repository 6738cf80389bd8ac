#include "runtime/base/call_places.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "runtime/base/call_stack.h"
#include "runtime/base/elf_symbols.h"
#include "runtime/base/modules.h"
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

using State = backtrace_state*;
void ignore(void*, const char*, int) {}

// What is known of one address: the calls that were inlined there, innermost first, and the function around them.
std::vector<CallPlace> places_at(State state, std::uintptr_t address) {
  std::vector<CallPlace> found;
  backtrace_pcinfo(
      state, address,
      [](void* all, std::uintptr_t, const char* file, int line, const char* function) {
        if (file != nullptr && function != nullptr) static_cast<std::vector<CallPlace>*>(all)->push_back({function, file, line});
        return 0;
      },
      ignore, &found);
  for (CallPlace& place : found) place.function = is_foreign(place.file) ? "" : function_name(place.function);
  return found;
}

State state_of_process() {
  static const State state = backtrace_create_state(nullptr, true, ignore, nullptr);
  return state;
}

// Of another file, as if this process ran from it: libbacktrace takes it to lie where this process's own program does.
State state_of_file(const std::string& file) {
  static std::mutex mutex;
  static std::map<std::string, State> states;
  std::lock_guard lock(mutex);
  const auto [found, added] = states.try_emplace(build_id_of(MappedFile(file).bytes()), nullptr);
  // The path is kept as long as the state.
  if (added) found->second = backtrace_create_state(intern(file), true, ignore, nullptr);
  return found->second;
}

// Where libbacktrace takes the address to be, of a file of its own.
std::uintptr_t base_of(std::span<const char> file) { return is_position_independent(file) ? modules().front().base : 0; }

#else

using State = void*;
std::vector<CallPlace> places_at(State, std::uintptr_t) { return {}; }
State state_of_process() { return nullptr; }
State state_of_file(const std::string&) { return nullptr; }
std::uintptr_t base_of(std::span<const char>) { return 0; }

#endif

// Where the lines are not known, the function; without what has no name.
std::vector<CallPlace> known_places(std::vector<CallPlace> here, const std::string& function) {
  if (here.empty()) here.push_back({function, "", 0});
  std::erase_if(here, [](const CallPlace& place) { return place.function.empty(); });
  return here;
}

}  // namespace

std::string CallPlace::text() const { return line > 0 ? fmt::format("{} ({}:{})", function, base_name(file), line) : function; }

std::vector<CallPlace> call_places(std::span<const std::uintptr_t> stack) {
  std::vector<std::string> functions = function_names(stack);
  std::vector<CallPlace> places;
  for (std::size_t i = 0; i < stack.size(); ++i)
    for (CallPlace& place : known_places(places_at(state_of_process(), stack[i] - 1), functions[i])) {
      places.push_back(std::move(place));
      if (places.back().function == "main") return places;
    }
  return places;
}

std::vector<std::vector<CallPlace>> call_places_in(const std::string& file, std::span<const std::uintptr_t> addresses) {
  const MappedFile mapped(file);
  std::vector<std::uintptr_t> calls(addresses.begin(), addresses.end());
  for (std::uintptr_t& address : calls) --address;  // the call, not where it returns to
  std::vector<std::string> symbols = function_symbols(mapped.bytes(), calls);
  const State state = state_of_file(file);
  const std::uintptr_t base = base_of(mapped.bytes());
  std::vector<std::vector<CallPlace>> places;
  for (std::size_t i = 0; i < calls.size(); ++i)
    places.push_back(known_places(places_at(state, base + calls[i]), function_name(symbols[i])));
  return places;
}

std::string text_of(std::span<const CallPlace> places) {
  std::vector<std::string> told;
  for (const CallPlace& place : places.first(std::min(places.size(), kPlacesTold))) told.push_back(place.text());
  if (places.size() > kPlacesTold) told.emplace_back("…");
  return fmt::format("{}", fmt::join(told, ", "));
}

}  // namespace shardlab
