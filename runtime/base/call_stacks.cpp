#include "runtime/base/call_stacks.h"

#include <pthread.h>
#include <unwind.h>

#include <map>
#include <memory>
#include <mutex>

namespace shardlab {
namespace {

constexpr std::size_t kFramesMax = 64;

struct Unwound {
  std::vector<std::uintptr_t> addresses;
  std::vector<const std::uintptr_t*> places;  // as many, or none where one address is not where it should be
};

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* all) {
  Unwound& unwound = *static_cast<Unwound*>(all);
  const auto address = std::uintptr_t(_Unwind_GetIP(context));
  if (address == 0 || unwound.addresses.size() == kFramesMax) return _URC_END_OF_STACK;
  // The word below the called function's frame, where the machine has a call put it.
  unwound.addresses.push_back(address);
  unwound.places.push_back(reinterpret_cast<const std::uintptr_t*>(std::uintptr_t(_Unwind_GetCFA(context))) - 1);
  return _URC_NO_REASON;
}

const RecordedStack* interned(std::vector<std::uintptr_t> addresses) {
  static std::mutex mutex;
  static std::map<std::vector<std::uintptr_t>, std::unique_ptr<RecordedStack>> stacks;
  std::lock_guard lock(mutex);
  auto& stack = stacks[addresses];
  if (!stack) stack = std::make_unique<RecordedStack>(RecordedStack{std::uint32_t(stacks.size()), std::move(addresses)});
  return stack.get();
}

}  // namespace

// Where another stack lies by now, the words may be of a local variable's surroundings, which the address sanitizer guards.
[[gnu::no_sanitize_address, gnu::no_sanitize_thread]] bool StackSampler::Entry::holds() const {
  for (std::size_t i = 0; i < places.size(); ++i)
    if (*places[i] != stack->addresses[i]) return false;
  return true;
}

[[gnu::noinline]] const RecordedStack* StackSampler::here(Where where) {
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const auto thread = std::uintptr_t(pthread_self());
  const std::uintptr_t key = (frame >> 4) ^ reinterpret_cast<std::uintptr_t>(where.file) ^ (std::uintptr_t(where.line) * 0x9e3779b1u);
  Entry& entry = entries_[(key ^ (key >> 8)) % entries_.size()];
  if (entry.frame == frame && entry.thread == thread && entry.stack != nullptr && !entry.places.empty() && entry.holds())
    return entry.stack;
  Unwound unwound;
  unwound.addresses.reserve(kFramesMax);
  unwound.places.reserve(kFramesMax);
  _Unwind_Backtrace(add_frame, &unwound);
  constexpr std::size_t kOwn = 1;  // this function
  if (unwound.addresses.size() <= kOwn) return nullptr;
  unwound.addresses.erase(unwound.addresses.begin(), unwound.addresses.begin() + kOwn);
  unwound.places.erase(unwound.places.begin(), unwound.places.begin() + kOwn);
  const RecordedStack* stack = interned(unwound.addresses);
  entry = {frame, thread, stack, {}};
  entry.places = std::move(unwound.places);
  if (!entry.holds()) entry.places.clear();
  return stack;
}

}  // namespace shardlab
