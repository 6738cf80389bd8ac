#include "gui/models/frame_log.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace shardlab::gui {

void FrameLog::add(Ns length) {
  lengths_[std::size_t(count_) % kKept] = length;
  ++count_;
  over_ += length > kBudget;
  longest_ = std::max(longest_, length);
}

Ns FrameLog::at(std::size_t index) const {
  const std::size_t first = count_ < std::int64_t(kKept) ? 0 : std::size_t(count_) % kKept;
  return lengths_[(first + index) % kKept];
}

Ns FrameLog::percentile(double share) const {
  if (kept() == 0) return 0;
  std::vector<Ns> sorted(lengths_.begin(), lengths_.begin() + std::ptrdiff_t(kept()));
  std::sort(sorted.begin(), sorted.end());
  const auto place = std::size_t(std::ceil(share * double(sorted.size())));
  return sorted[std::min(std::max<std::size_t>(place, 1), sorted.size()) - 1];
}

}  // namespace shardlab::gui
