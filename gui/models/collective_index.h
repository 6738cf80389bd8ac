// Which collectives meet a window of time.
#pragma once

#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

// Collectives by time, for finding those that meet a window.
class CollectiveIndex {
 public:
  explicit CollectiveIndex(const TraceData& trace);
  // Indices of the collectives that meet `window`; at most `limit` + 1.
  std::vector<int> find(TimeRange window, std::size_t limit) const;

 private:
  std::vector<int> order_;           // by begin
  std::vector<Ns> begin_, end_max_;  // of order_[i]; the latest end of order_[0…i]
  std::vector<Ns> end_;
};

}  // namespace shardlab::gui
