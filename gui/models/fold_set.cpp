#include "gui/models/fold_set.h"

#include <algorithm>

namespace shardlab::gui {

FoldSet::FoldSet(TracePtr trace, const std::vector<int>& lanes, TimeRange window, Ns fold_ns, const std::stop_token& stop)
    : trace_(std::move(trace)), window_(window), fold_ns_(fold_ns) {
  for (const int lane : lanes) {
    if (stop.stop_requested()) return;
    const LaneEvents* events = trace_->lanes[std::size_t(lane)].events.get();
    const auto [it, fresh] = lanes_.try_emplace(events);
    if (fresh) fold_lane(*events, window, fold_ns, it->second);
  }
}

Ns FoldSet::level(double ns_per_px, double fold_px) {
  Ns level = 1;
  while (double(level) < ns_per_px * fold_px && level < (Ns{1} << 61)) level *= 2;
  return level;
}

std::span<const LaneItem> FoldSet::items(const Lane& lane, TimeRange window) const {
  const auto it = lanes_.find(lane.events.get());
  if (it == lanes_.end()) return {};
  const auto& items = it->second;
  const auto first =
      std::lower_bound(items.begin(), items.end(), window.begin, [](const LaneItem& item, Ns time) { return item.end < time; });
  const auto last = std::lower_bound(first, items.end(), window.end, [](const LaneItem& item, Ns time) { return item.begin < time; });
  return {first, last};
}

}  // namespace shardlab::gui
