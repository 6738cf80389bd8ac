// Which lanes of the timeline are shown, and where: pinned, hidden, grouped, devices in lockstep as one.
#include <QScrollBar>

#include <algorithm>

#include "gui/models/format.h"
#include "gui/views/timeline_canvas.h"

namespace shardlab::gui {
namespace {

constexpr int kRowHeightMax = 26;
constexpr int kRowHeightLegible = 12;
constexpr int kRowHeightMin = 3;

bool is_in(const TimelineCanvas::Lanes& lanes, const Lane& lane) {
  return std::find(lanes.begin(), lanes.end(), std::pair(lane.process, lane.device)) != lanes.end();
}

// Host lanes without events say nothing, and stand nowhere.
bool says_nothing(const Lane& lane) { return lane.device < 0 && lane.events->size() == 0; }

}  // namespace

bool TimelineCanvas::is_empty(const Lane& lane) const {
  const LaneEvents& events = *lane.events;
  if (trace_->preview || (events.size() == 0 && trace_->torn())) return false;  // nothing is known of it
  const TimeRange window = scale_.window();
  const auto first = std::upper_bound(events.end.begin(), events.end.end(), window.begin) - events.end.begin();
  return first == std::ssize(events.begin) || events.begin[std::size_t(first)] >= window.end;
}

// Lanes that are pinned stay, whatever hides others.
bool TimelineCanvas::hides(const Lane& lane) const {
  if (is_in(hidden, lane)) return true;
  return !is_in(pinned, lane) && (lane_filter.hides(lane) || (hide_empty && is_empty(lane)));
}

void TimelineCanvas::count_hidden() {
  hidden_ = {};
  hidden_lanes_.clear();
  for (std::size_t i = 0; i < trace_->lanes.size(); ++i) {
    const Lane& lane = trace_->lanes[i];
    if (says_nothing(lane) || !hides(lane)) continue;
    hidden_lanes_.push_back(int(i));
    ++hidden_.lanes;
    hidden_.with_errors += (lane.events->summary().flags & kFlagError) || lane.summary.errors > 0;
  }
}

// Another window of time may have events in other lanes.
void TimelineCanvas::layout_if_other_lanes() {
  if (!trace_) return;
  std::size_t next = 0;
  for (std::size_t i = 0; i < trace_->lanes.size(); ++i) {
    if (says_nothing(trace_->lanes[i]) || !hides(trace_->lanes[i])) continue;
    if (next == hidden_lanes_.size() || hidden_lanes_[next] != int(i)) return layout_rows();
    ++next;
  }
  if (next != hidden_lanes_.size()) layout_rows();
}

void TimelineCanvas::make_rows(bool merged) {
  rows_.clear();
  // Pinned lanes first, hidden ones not at all.
  const std::vector<int>& groups = grouping().group_of;
  std::vector<std::size_t> order;
  for (const bool pins : {true, false}) {
    const auto from = std::ptrdiff_t(order.size());
    for (std::size_t i = 0; i < trace_->lanes.size(); ++i)
      if (is_in(pinned, trace_->lanes[i]) == pins && !hides(trace_->lanes[i])) order.push_back(i);
    std::stable_sort(order.begin() + from, order.end(), [&](std::size_t a, std::size_t b) { return groups[a] < groups[b]; });
  }
  int previous = -1;
  const LaneEvents* shared = nullptr;
  for (const std::size_t i : order) {
    const Lane& lane = trace_->lanes[i];
    if (says_nothing(lane)) continue;
    if (merged && !rows_.empty() && int(i) == rows_.back().lane + rows_.back().lanes && groups[i] == previous && lane.device >= 0 &&
        lane.events.get() == shared) {
      ++rows_.back().lanes;
      continue;
    }
    rows_.push_back({.lane = int(i), .first_of_group = groups[i] != previous});
    if (!grouping().groups.empty()) rows_.back().group = grouping().groups[std::size_t(groups[i])];
    previous = groups[i];
    shared = lane.events.get();
  }
}

void TimelineCanvas::layout_rows() {
  ++layout_;
  rows_.clear();
  memory_rows_.clear();
  rows_height_ = 0;
  if (trace_) {
    const int room = rows_room();
    make_rows(false);
    count_hidden();
    // Devices in lockstep did the same: one row says it as well as sixty-four that cannot be read.
    if (collapsed_.value_or(int(rows_.size()) * kRowHeightLegible > room)) make_rows(true);
    auto counters = memory_rows_for(room);
    const int count = int(rows_.size() + counters.size());
    const int height = rows_.empty() ? 0 : std::clamp(room / count, kRowHeightMin, kRowHeightMax);
    auto counter = counters.begin();
    for (int r = -1; r < int(rows_.size()); ++r) {
      if (r >= 0) {
        rows_[std::size_t(r)].top = rows_height_;
        rows_[std::size_t(r)].height = height;
        rows_height_ += height;
      }
      for (; counter != counters.end() && counter->first == r; ++counter) {
        counter->second.top = rows_height_;
        counter->second.height = std::max(height, counter->second.height);
        rows_height_ += counter->second.height;
        memory_rows_.push_back(std::move(counter->second));
      }
    }
    verticalScrollBar()->setPageStep(std::max(room, 1));
    verticalScrollBar()->setSingleStep(std::max(height, 8));
    verticalScrollBar()->setRange(0, std::max(rows_height_ - room, 0));
  }
  scale_.set_width(viewport()->width() - kLabelWidth);
  viewport()->update();
  Q_EMIT rows_changed();
}

int TimelineCanvas::rows_room() const { return viewport()->height() - kRulerHeight - (bytes_in_flight() ? kCounterHeight : 0); }

void TimelineCanvas::toggle_pin() {
  const int row = selected_row();
  if (row < 0) return;
  const Lane& lane = trace_->lanes[std::size_t(rows_[std::size_t(row)].lane)];
  const std::pair key(lane.process, lane.device);
  const auto at = std::find(pinned.begin(), pinned.end(), key);
  at == pinned.end() ? pinned.push_back(key) : void(pinned.erase(at));
  layout_rows();
}

void TimelineCanvas::hide_row() {
  const int row = selected_row();
  if (row < 0 || rows_.size() < 2) return;
  const Lane& lane = trace_->lanes[std::size_t(rows_[std::size_t(row)].lane)];
  hidden.emplace_back(lane.process, lane.device);
  layout_rows();
}

void TimelineCanvas::show_all_rows() {
  hidden.clear();
  lane_filter = {};
  hide_empty = false;
  layout_rows();
}

void TimelineCanvas::toggle_hide_empty() {
  hide_empty = !hide_empty;
  layout_rows();
  Q_EMIT hovered(hide_empty ? QStringLiteral("Lanes without events in the window of time are hidden")
                            : QStringLiteral("Lanes without events in the window of time are shown"));
}

void TimelineCanvas::set_up() { layout_rows(); }

void TimelineCanvas::toggle_collapsed() {
  if (!trace_) return;
  const bool now = std::any_of(rows_.begin(), rows_.end(), [](const TimelineRow& row) { return row.lanes > 1; });
  const std::size_t rows = rows_.size();
  collapsed_ = !now;
  layout_rows();
  Q_EMIT hovered(rows_.size() == rows ? QStringLiteral("No devices beside each other did the same")
                 : now                ? QStringLiteral("Every device has its lane")
                                      : QStringLiteral("Devices that did the same share a lane"));
}

void TimelineCanvas::set_grouping(const QString& title) {
  grouping_ = 0;
  for (std::size_t g = 0; g < groupings_.size(); ++g)
    if (qstr(groupings_[g].title) == title) grouping_ = g;
  layout_rows();
}

void TimelineCanvas::cycle_grouping() {
  if (!trace_) return;
  grouping_ = (grouping_ + 1) % groupings_.size();
  layout_rows();
  Q_EMIT hovered(QStringLiteral("Lanes by %1").arg(qstr(grouping().title)));
}

}  // namespace shardlab::gui
