// Moving over the timeline: zoom, steps from event to event, marks, kept windows, pins.
#include <QScrollBar>
#include <QSettings>

#include <algorithm>
#include <cmath>

#include "gui/models/format.h"
#include "gui/views/timeline_canvas.h"

namespace shardlab::gui {

void TimelineCanvas::set_window(TimeRange window, WindowStep step) {
  constexpr std::size_t kStepsMax = 200;
  const TimeRange before = scale_.window();
  scale_.set_window(window);
  if (step != WindowStep::kFollow && scale_.window() != before) {
    if (step == WindowStep::kJump || !gliding_) windows_before_.push_back(before);
    if (windows_before_.size() > kStepsMax) windows_before_.erase(windows_before_.begin());
    windows_after_.clear();
    gliding_ = step == WindowStep::kGlide;
  }
  if (hide_empty && scale_.window() != before) layout_if_other_lanes();
  viewport()->update();
  Q_EMIT window_changed(scale_.window());
}

void TimelineCanvas::step_window(int direction) {
  auto& from = direction < 0 ? windows_before_ : windows_after_;
  auto& to = direction < 0 ? windows_after_ : windows_before_;
  if (from.empty()) {
    Q_EMIT hovered(direction < 0 ? QStringLiteral("No window of time was shown before") : QStringLiteral("No window of time comes after"));
    return;
  }
  to.push_back(scale_.window());
  const TimeRange window = from.back();
  from.pop_back();
  gliding_ = false;
  set_window(window, WindowStep::kFollow);
}

void TimelineCanvas::zoom_by(double factor) {
  const QPoint cursor = viewport()->mapFromGlobal(QCursor::pos());
  const bool over = viewport()->rect().contains(cursor) && viewport()->underMouse() && cursor.x() > kLabelWidth;
  TimeScale zoomed = scale_;
  zoomed.zoom(factor, over ? cursor.x() - kLabelWidth : scale_.width() / 2.0);
  set_window(zoomed.window());
}

void TimelineCanvas::pan_by(double share) {
  TimeScale moved = scale_;
  moved.pan(share * scale_.width());
  set_window(moved.window());
}

void TimelineCanvas::fit_all() {
  fitted_ = 0;
  set_window(scale_.limits());
}

TimeRange TimelineCanvas::range_of_event() const {
  const SelectionState& state = selection_.state();
  if (state.lane < 0 || state.event < 0) return {};
  const LaneEvents& events = *trace_->lanes[std::size_t(state.lane)].events;
  return {events.begin[std::size_t(state.event)], events.end[std::size_t(state.event)]};
}

TimeRange TimelineCanvas::range_of_collective() const {
  const int collective = selection_.state().collective;
  if (collective < 0) return {};
  const Collective& call = trace_->collectives[std::size_t(collective)];
  return {call.span().begin, call.open ? trace_->range.end : call.span().end};
}

void TimelineCanvas::fit_selection() {
  if (!trace_) return;
  std::vector<TimeRange> ranges{range_of_event(), range_of_collective()};
  if (axis_ == TimeAxis::kWall) ranges.push_back(selection_.state().range);
  std::erase_if(ranges, [](const TimeRange& each) { return each.empty(); });
  // A range of time is fitted where nothing else is selected.
  if (ranges.size() > 1 && axis_ == TimeAxis::kWall && !selection_.state().range.empty()) ranges.pop_back();
  ranges.erase(std::unique(ranges.begin(), ranges.end()), ranges.end());
  if (std::size_t(fitted_) >= ranges.size()) return fit_all();
  TimeScale fitting = scale_;
  fitting.fit(ranges[std::size_t(fitted_)], 0.2);
  const int next = fitted_ + 1;
  set_window(fitting.window());
  fitted_ = next;
}

void TimelineCanvas::reveal(TimeRange range) {
  const TimeRange window = scale_.window();
  if (range.begin >= window.begin && range.end <= window.end) return;
  TimeScale next = scale_;
  if (range.length() > window.length()) {
    next.fit(range, 0.2);
  } else {
    const Ns middle = range.begin + range.length() / 2;
    next.set_window({middle - window.length() / 2, middle + window.length() / 2});
  }
  set_window(next.window());
}

void TimelineCanvas::on_selection(const SelectionState& state, QObject* origin) {
  fitted_ = 0;
  mark_touched();
  if (trace_ && origin != this) {
    if (state.collective >= 0) {
      const Collective& call = trace_->collectives[std::size_t(state.collective)];
      reveal({call.span().begin, call.open ? trace_->range.end : call.span().end});
    }
    const int row = selected_row();
    if (row >= 0) {
      const int top = rows_[std::size_t(row)].top - verticalScrollBar()->value();
      if (top < 0 || top + rows_[std::size_t(row)].height > viewport()->height() - kRulerHeight)
        verticalScrollBar()->setValue(rows_[std::size_t(row)].top - (viewport()->height() - kRulerHeight) / 2);
    }
  }
  viewport()->update();
}

int TimelineCanvas::selected_row() const {
  const int lane = selection_.lane();
  for (std::size_t r = 0; r < rows_.size(); ++r)
    if (lane >= rows_[r].lane && lane < rows_[r].lane + rows_[r].lanes) return int(r);
  return -1;
}

void TimelineCanvas::step_event(int direction) {
  if (!trace_ || rows_.empty()) return;
  const SelectionState& state = selection_.state();
  const int row = std::max(selected_row(), 0);
  const Lane& lane = trace_->lanes[std::size_t(rows_[std::size_t(row)].lane)];
  if (lane.events->size() == 0) return;
  std::int64_t next = state.lane >= 0 && state.event >= 0 ? state.event + direction
                                                          : event_at(*lane.events, scale_.window().begin, scale_.window().length());
  next = std::clamp<std::int64_t>(next, 0, std::int64_t(lane.events->size()) - 1);
  selection_.select_event(rows_[std::size_t(row)].lane, next, this);
  reveal({lane.events->begin[std::size_t(next)], lane.events->end[std::size_t(next)]});
}

void TimelineCanvas::step_lane(int direction) {
  if (!trace_ || rows_.empty()) return;
  const SelectionState& state = selection_.state();
  const Ns time = state.lane >= 0 && state.event >= 0 ? trace_->lanes[std::size_t(state.lane)].events->begin[std::size_t(state.event)]
                                                      : scale_.window().begin + scale_.window().length() / 2;
  for (int row = selected_row() + direction; row >= 0 && row < int(rows_.size()); row += direction) {
    const Lane& lane = trace_->lanes[std::size_t(rows_[std::size_t(row)].lane)];
    const std::int64_t event = event_at(*lane.events, time, scale_.limits().length());
    if (event < 0) continue;
    selection_.select_event(rows_[std::size_t(row)].lane, event, nullptr);
    return;
  }
}

void TimelineCanvas::clear_selection() { selection_.clear(this); }

void TimelineCanvas::step_member(int direction) {
  const SelectionState& state = selection_.state();
  if (!trace_ || state.collective < 0) return;
  const auto& devices = trace_->collectives[std::size_t(state.collective)].type->groups->devices;
  if (devices.empty()) return;
  const auto at = std::find(devices.begin(), devices.end(), state.device);
  const int count = int(devices.size());
  const int now = at == devices.end() ? (direction > 0 ? -1 : count) : int(at - devices.begin());
  const int device = devices[std::size_t(std::clamp(now + direction, 0, count - 1))];
  const int collective = state.collective;
  for (std::size_t l = 0; l < trace_->lanes.size(); ++l) {
    if (trace_->lanes[l].device != device) continue;
    const auto& column = trace_->lanes[l].events->collective;
    const auto event = std::find(column.begin(), column.end(), collective);
    if (event != column.end()) return selection_.select_event(int(l), event - column.begin(), nullptr);
  }
  selection_.select_device(device, nullptr);  // it never came
}

void TimelineCanvas::step_same_kind(int direction) {
  const SelectionState& state = selection_.state();
  if (!trace_ || state.lane < 0 || state.event < 0) return;
  const auto& labels = trace_->lanes[std::size_t(state.lane)].events->label;
  const std::string& name = trace_->labels[labels[std::size_t(state.event)]].name;
  for (std::int64_t i = state.event + direction; i >= 0 && i < std::int64_t(labels.size()); i += direction)
    if (trace_->labels[labels[std::size_t(i)]].name == name) return selection_.select_event(state.lane, i, nullptr);
}

void TimelineCanvas::toggle_lateness() {
  lateness_ = !lateness_;
  viewport()->update();
}

void TimelineCanvas::toggle_counters() {
  counters_ = !counters_;
  layout_rows();
}

void TimelineCanvas::set_mouse_mode(MouseMode mode) {
  static constexpr const char* kWords[] = {"Dragging selects a range of time", "Dragging moves the window of time",
                                           "Dragging zooms to what it spans", "Dragging measures, between the edges of events"};
  mouse_mode_ = mode;
  Q_EMIT hovered(QString::fromUtf8(kWords[int(mode)]));
}

void TimelineCanvas::toggle_wheel() {
  wheel_zooms_ = !wheel_zooms_;
  QSettings().setValue(QStringLiteral("timeline/wheel-zooms"), wheel_zooms_);
  Q_EMIT hovered(wheel_zooms_ ? QStringLiteral("The wheel zooms; with Ctrl it scrolls")
                              : QStringLiteral("The wheel scrolls; with Ctrl it zooms"));
}

void TimelineCanvas::toggle_mark() {
  const SelectionState& state = selection_.state();
  if (!trace_ || axis_ != TimeAxis::kWall) return;
  TimeMark mark{.time = scale_.window().begin + scale_.window().length() / 2};
  if (state.lane >= 0 && state.event >= 0) {
    const LaneEvents& events = *trace_->lanes[std::size_t(state.lane)].events;
    mark.time = events.begin[std::size_t(state.event)];
    mark.text = qstr(trace_->labels[events.label[std::size_t(state.event)]].name);
  } else {
    mark.text = duration_text(mark.time - trace_->range.begin);
  }
  const auto near = std::find_if(marks.begin(), marks.end(), [&](const TimeMark& each) { return each.time == mark.time; });
  if (near != marks.end()) {
    marks.erase(near);
  } else {
    marks.insert(std::upper_bound(marks.begin(), marks.end(), mark, [](const TimeMark& a, const TimeMark& b) { return a.time < b.time; }),
                 mark);
  }
  viewport()->update();
}

void TimelineCanvas::set_bookmark(int number) {
  if (!trace_ || axis_ != TimeAxis::kWall) return;
  bookmarks[number] = scale_.window();
  Q_EMIT hovered(QStringLiteral("This window is kept under %1").arg(number));
}

void TimelineCanvas::go_to_bookmark(int number) {
  const auto kept = bookmarks.find(number);
  if (kept == bookmarks.end() || axis_ != TimeAxis::kWall)
    Q_EMIT hovered(QStringLiteral("No window is kept under %1: Ctrl+%1 keeps one").arg(number));
  else
    set_window(kept->second);
}

void TimelineCanvas::select_range_of_selection() {
  if (!trace_ || axis_ != TimeAxis::kWall) return;
  const TimeRange range = selection_.state().collective >= 0 ? range_of_collective() : range_of_event();
  if (!range.empty()) selection_.select_range(range, this);
}

}  // namespace shardlab::gui
