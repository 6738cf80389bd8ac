#include "runtime/control/callers.h"

#include <algorithm>
#include <string>

#include "runtime/base/call_stack.h"

namespace shardlab::control {

void Callers::issued(std::int64_t launch, Where where, const void* depth) {
  if (where.statement >= 0) return;
  Place place{where.file, where.line, depth};
  auto known = stacks_.find(place);
  if (known == stacks_.end()) {
    if (stacks_.size() >= kPlacesKept) return;
    known = stacks_.emplace(place, call_stack()).first;
  }
  issued_.push_back({launch, where, &known->second});
  if (issued_.size() > kLaunchesKept) issued_.pop_front();
}

std::vector<StepEvidence> Callers::told(std::int64_t first_open) const {
  auto open = std::find_if(issued_.begin(), issued_.end(), [&](const Issued& each) { return each.launch >= first_open; });
  std::vector<StepEvidence> steps;
  std::map<const std::vector<std::uintptr_t>*, std::string> texts;
  for (auto each = issued_.begin(); each != issued_.end(); ++each) {
    bool is_first_open = each >= open && each - open < std::ptrdiff_t(kOpenTold);
    bool is_last = issued_.end() - each <= std::ptrdiff_t(kLastTold);
    if (!is_first_open && !is_last) continue;
    auto [text, is_new] = texts.try_emplace(each->stack);
    if (is_new) text->second = functions_text(*each->stack);
    if (text->second.empty()) continue;
    steps.push_back({.kind = StepEvidence::Kind::kCalled, .what = text->second, .where = each->where.text(), .after = each->launch});
  }
  return steps;
}

}  // namespace shardlab::control
