// A number of bytes that changes at moments: what it is at a time, and the most in a stretch of time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "gui/models/lane_forest.h"

namespace shardlab::gui {

class StepCounter {
 public:
  struct Moment {
    Ns time = 0;
    std::int64_t value = 0;
  };

  StepCounter() = default;
  // In any order; of one moment those that lessen it come first, so that what takes another's place is not counted beside it.
  explicit StepCounter(std::vector<std::pair<Ns, std::int64_t>> changes);

  // The most of several at any time.
  static StepCounter most_of(const std::vector<const StepCounter*>& counters);

  bool empty() const { return times_.empty(); }
  std::size_t size() const { return times_.size(); }
  // 0 before the first change.
  std::int64_t at(Ns time) const;
  // The most in [begin, end), and when it first was so: `begin` where it was so before.
  Moment most_in(Ns begin, Ns end) const;
  Moment most() const { return most_; }

 private:
  void finish();

  static constexpr std::size_t kBlock = 64;

  std::vector<Ns> times_;             // at which it changes
  std::vector<std::int64_t> values_;  // from times_[i] on
  std::vector<std::int64_t> blocks_;  // the most of each kBlock values
  Moment most_;
};

}  // namespace shardlab::gui
