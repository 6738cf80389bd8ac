// The folded items of many lanes at one zoom level: made off the window's thread, painted for any window within.
//
// Levels are powers of two, so that small zoom steps and all pans stay on one level. While a new level is being made the old one is
// painted: what is shown lags by a frame or two and never blocks.
#pragma once

#include <span>
#include <stop_token>
#include <unordered_map>
#include <vector>

#include "gui/models/lane_fold.h"

namespace shardlab::gui {

class FoldSet {
 public:
  FoldSet() = default;
  // The items of `lanes` (indices; lanes that share a store are folded once) in `window`.
  FoldSet(TracePtr trace, const std::vector<int>& lanes, TimeRange window, Ns fold_ns, const std::stop_token& stop);

  // The least power of two that is at least `fold_px` wide.
  static Ns level(double ns_per_px, double fold_px);

  bool of(const TraceData* trace) const { return trace_.get() == trace && trace; }
  Ns fold_ns() const { return fold_ns_; }
  bool covers(TimeRange window) const { return window_.begin <= window.begin && window.end <= window_.end; }
  // Those that meet `window`; nothing where the lane is not in this set.
  std::span<const LaneItem> items(const Lane& lane, TimeRange window) const;
  bool has(const Lane& lane) const { return lanes_.contains(lane.events.get()); }

 private:
  TracePtr trace_;
  TimeRange window_;
  Ns fold_ns_ = 0;
  std::unordered_map<const LaneEvents*, std::vector<LaneItem>> lanes_;
};

}  // namespace shardlab::gui
