// In which functions of the program its launches were issued: kept for a verdict, which is seldom.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "runtime/base/where.h"
#include "traces/checks/evidence.h"

namespace shardlab::control {

// The stack is walked once for each line and depth of the stack that launches are issued at: where both are the same, so are the functions
// but in programs that make them up. Not thread-safe.
class Callers {
 public:
  static constexpr std::size_t kLaunchesKept = 1100, kPlacesKept = 4096;
  static constexpr std::size_t kOpenTold = 48, kLastTold = 16;

  // `depth`: where the issuing thread's stack ends. Of a scenario's statements nothing is kept: they have no functions.
  void issued(std::int64_t launch, Where where, const void* depth);
  // As kCalled, of the first launches from `first_open` on and of the last ones. Reads files: about a millisecond.
  std::vector<StepEvidence> told(std::int64_t first_open) const;

 private:
  using Place = std::tuple<const char*, std::uint32_t, const void*>;
  struct Issued {
    std::int64_t launch;
    Where where;
    const std::vector<std::uintptr_t>* stack;
  };
  std::map<Place, std::vector<std::uintptr_t>> stacks_;
  std::deque<Issued> issued_;
};

}  // namespace shardlab::control
