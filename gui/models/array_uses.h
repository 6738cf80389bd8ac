// Which launches took and gave which arrays, by array and by launch.
//
// Older traces say of operands what they are and not which arrays: there a launch took an array where no other that its process may have
// held then has the operand's dtype, shape and sharding.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

// Immutable.
class ArrayUses {
 public:
  // `told`: by the trace; else they were found by elimination, and some are missing.
  ArrayUses(std::vector<ArrayUse> uses, std::size_t arrays, bool told);
  bool told() const { return told_; }
  // What it took, by position, then what it gave.
  std::span<const ArrayUse> of_launch(int process, std::int64_t launch) const;
  std::size_t count_of(int array) const { return order_of(array).size(); }
  // By process, launch, role, position.
  template <typename Visit>
  void for_each_of(int array, const Visit& visit) const {
    for (const std::uint32_t i : order_of(array)) visit(uses_[i]);
  }

 private:
  std::span<const std::uint32_t> order_of(int array) const;

  std::vector<ArrayUse> uses_;                   // by process, launch, role, position
  std::vector<std::uint32_t> by_array_, begin_;  // indices of uses_; where those of each array begin
  bool told_;
};

// Of a trace that does not tell: by elimination.
std::vector<ArrayUse> find_array_uses(const TraceData& trace);

// Launches of several processes that are the same call of the program, and took the array or gave it.
struct UsesOfCall {
  int program = -1;
  int site = -1;
  bool gives = false;
  Ns first = kOpen;            // when the first of them was issued
  std::vector<int> processes;  // ascending, each once
  std::vector<int> positions;  // among the operands or the results, ascending, each once; empty where they are not known
  int launches = 0, donated = 0;
  int process = 0;  // one of them, to show
  std::int64_t launch = 0;
};
// By time.
std::vector<UsesOfCall> uses_of(const TraceData& trace, int array);

// Why a trace does not tell them, in words; "" where it does.
std::string why_no_uses(const TraceData& trace);

}  // namespace shardlab::gui
