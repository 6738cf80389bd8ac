// Bytes of collectives in flight over time.
#pragma once

#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

class InFlight {
 public:
  InFlight() = default;
  explicit InFlight(const TraceData& trace);
  bool empty() const { return times_.empty(); }
  double most() const { return most_; }
  // The most at any moment of [begin, end).
  double most_in(Ns begin, Ns end) const;

 private:
  std::vector<Ns> times_;       // at which it changes
  std::vector<double> values_;  // from times_[i] on
  double most_ = 0;
};

}  // namespace shardlab::gui
