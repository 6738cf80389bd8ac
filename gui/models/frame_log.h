// How long the last of many repeated pieces of work took: frames, turns of the event loop.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "gui/models/lane_forest.h"

namespace shardlab::gui {

class FrameLog {
 public:
  static constexpr std::size_t kKept = 240;
  static constexpr Ns kBudget = 16'666'667;  // of 60 a second

  void add(Ns length);
  std::int64_t count() const { return count_; }  // of all, forgotten ones too
  std::size_t kept() const { return count_ < std::int64_t(kKept) ? std::size_t(count_) : kKept; }
  Ns at(std::size_t index) const;  // of those kept, the oldest first
  Ns last() const { return kept() > 0 ? at(kept() - 1) : 0; }
  // Of those kept: the least that `share` of them do not exceed; 0 without any.
  Ns percentile(double share) const;
  Ns longest() const { return longest_; }             // of all
  std::int64_t over_budget() const { return over_; }  // of all

 private:
  std::array<Ns, kKept> lengths_{};
  std::int64_t count_ = 0, over_ = 0;
  Ns longest_ = 0;
};

}  // namespace shardlab::gui
