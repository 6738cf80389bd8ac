#include "gui/models/collective_index.h"

#include <algorithm>

namespace shardlab::gui {

CollectiveIndex::CollectiveIndex(const TraceData& trace) {
  const std::size_t n = trace.collectives.size();
  std::vector<TimeRange> spans(n);
  order_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    spans[i] = trace.collectives[i].span();
    if (trace.collectives[i].open) spans[i].end = trace.range.end;
    order_[i] = static_cast<int>(i);
  }
  std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) { return spans[std::size_t(a)].begin < spans[std::size_t(b)].begin; });
  for (const int i : order_) {
    const TimeRange span = spans[std::size_t(i)];
    begin_.push_back(span.begin);
    end_.push_back(span.end);
    end_max_.push_back(end_max_.empty() ? span.end : std::max(end_max_.back(), span.end));
  }
}

std::vector<int> CollectiveIndex::find(TimeRange window, std::size_t limit) const {
  std::vector<int> found;
  auto i = std::size_t(std::lower_bound(end_max_.begin(), end_max_.end(), window.begin) - end_max_.begin());
  for (; i < order_.size() && begin_[i] <= window.end && found.size() <= limit; ++i)
    if (end_[i] >= window.begin) found.push_back(order_[i]);
  return found;
}

}  // namespace shardlab::gui
