// The stacks on which launches are issued: each kept once, and found again in a fraction of the time that unwinding takes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/base/where.h"

namespace shardlab {

// Return addresses, innermost first. Equal stacks are one object, which lives as long as the process.
struct RecordedStack {
  std::uint32_t id = 0;  // from 1
  std::vector<std::uintptr_t> addresses;
};

// Stacks of one thread. A loop comes to the same calls at the same depth again and again: what was found there last, with the places in
// memory that hold its return addresses, is taken again if these still hold them. So a stack is unwound once, and compared afterwards: some
// tens of nanoseconds instead of some microseconds. Nothing depends on how the program was compiled; a stack whose return addresses are
// not found where the unwinder says is unwound each time.
class StackSampler {
 public:
  // The stack above the caller's caller. `where` tells calls of one depth apart; null where nothing can be unwound.
  const RecordedStack* here(Where where);

 private:
  struct Entry {
    std::uintptr_t frame = 0, thread = 0;
    const RecordedStack* stack = nullptr;
    std::vector<const std::uintptr_t*> places;  // of stack's addresses
    bool holds() const;
  };
  std::array<Entry, 256> entries_;
};

}  // namespace shardlab
