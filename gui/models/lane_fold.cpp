#include "gui/models/lane_fold.h"

#include <algorithm>

namespace shardlab::gui {
namespace {

// First index in [from, n) whose begin is not before `time`: galloping, since folds advance by little.
std::size_t gallop(const std::vector<Ns>& begin, std::size_t from, Ns time) {
  std::size_t step = 1;
  std::size_t low = from;
  while (low + step < begin.size() && begin[low + step] < time) {
    low += step;
    step *= 2;
  }
  const std::size_t high = std::min(low + step + 1, begin.size());
  return static_cast<std::size_t>(std::lower_bound(begin.begin() + std::ptrdiff_t(low), begin.begin() + std::ptrdiff_t(high), time) -
                                  begin.begin());
}

}  // namespace

void fold_lane(const LaneEvents& lane, TimeRange window, Ns fold_ns, std::vector<LaneItem>& out) {
  const std::size_t n = lane.size();
  // Not overlapping and sorted, so ends are sorted too: the first event that ends after the window's begin.
  std::size_t i = static_cast<std::size_t>(std::lower_bound(lane.end.begin(), lane.end.end(), window.begin) - lane.end.begin());
  const auto single = [&](std::size_t k) {
    const Ns length = lane.end[k] - lane.begin[k];
    const auto index = static_cast<std::uint32_t>(k);
    out.push_back({lane.begin[k], lane.end[k], length, lane.flags[k] & kFlagCollective ? length : 0, index, index, 1, lane.flags[k]});
  };
  while (i < n && lane.begin[i] < window.end) {
    if (lane.end[i] - lane.begin[i] >= fold_ns) {
      single(i++);
      continue;
    }
    // Stretches lie on a fixed grid, so that panning does not make them flicker.
    const Ns stretch_end = (lane.begin[i] / fold_ns + 1) * fold_ns;
    std::size_t last = gallop(lane.begin, i, stretch_end);
    if (last <= i) last = i + 1;
    // Only the last of them can reach beyond the stretch; it stands alone when it is wide enough.
    if (last - i > 1 && lane.end[last - 1] - lane.begin[last - 1] >= fold_ns) --last;
    if (last - i == 1) {
      single(i++);
      continue;
    }
    const LaneSummary sum = lane.summary(i, last);
    out.push_back({lane.begin[i], lane.end[last - 1], sum.busy, sum.collective_busy, sum.longest_index, sum.longest_collective_index,
                   sum.count, sum.flags});
    i = last;
  }
}

std::int64_t event_at(const LaneEvents& lane, Ns time, Ns slack) {
  const auto after = std::lower_bound(lane.end.begin(), lane.end.end(), time) - lane.end.begin();
  std::int64_t best = -1;
  Ns best_distance = slack + 1;
  for (auto i = std::max<std::ptrdiff_t>(after - 1, 0); i <= after + 1 && i < std::ptrdiff_t(lane.size()); ++i) {
    const Ns begin = lane.begin[std::size_t(i)], end = lane.end[std::size_t(i)];
    const Ns distance = time < begin ? begin - time : time > end ? time - end : 0;
    if (distance < best_distance) {
      best_distance = distance;
      best = i;
    }
  }
  return best;
}

}  // namespace shardlab::gui
