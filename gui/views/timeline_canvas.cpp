#include "gui/views/timeline_canvas.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>

#include <algorithm>
#include <array>
#include <cmath>

#include "gui/models/format.h"
#include "gui/views/event_tooltip.h"

namespace shardlab::gui {
namespace {

constexpr int kRowHeightMax = 26;
constexpr int kRowHeightLegible = 12;
constexpr int kRowHeightMin = 3;
constexpr int kDragStartPx = 4;
constexpr std::size_t kFoldAheadEvents = 200'000;

template <int Number>
void set_mark(TimelineCanvas& canvas) {
  canvas.set_bookmark(Number);
}
template <int Number>
void recall(TimelineCanvas& canvas) {
  canvas.go_to_bookmark(Number);
}

constexpr std::array<TimelineKeyDef, 42> kKeys{{
    {"W", "Zoom in", [](TimelineCanvas& c) { c.zoom_by(0.67); }},
    {"S", "Zoom out", [](TimelineCanvas& c) { c.zoom_by(1.5); }},
    {"A", "Pan left", [](TimelineCanvas& c) { c.pan_by(-0.15); }},
    {"D", "Pan right", [](TimelineCanvas& c) { c.pan_by(0.15); }},
    {"Shift+A", "Pan left by a window", [](TimelineCanvas& c) { c.pan_by(-0.9); }},
    {"Shift+D", "Pan right by a window", [](TimelineCanvas& c) { c.pan_by(0.9); }},
    {"F", "Fit the selection; again: everything", [](TimelineCanvas& c) { c.fit_selection(); }},
    {"0", "Show everything", [](TimelineCanvas& c) { c.fit_all(); }},
    {".", "Next event in the lane", [](TimelineCanvas& c) { c.step_event(1); }},
    {",", "Previous event in the lane", [](TimelineCanvas& c) { c.step_event(-1); }},
    {"Right", "Next event in the lane", [](TimelineCanvas& c) { c.step_event(1); }},
    {"Left", "Previous event in the lane", [](TimelineCanvas& c) { c.step_event(-1); }},
    {"Down", "Lane below, at the same time", [](TimelineCanvas& c) { c.step_lane(1); }},
    {"Up", "Lane above, at the same time", [](TimelineCanvas& c) { c.step_lane(-1); }},
    {"Esc", "Clear the selection", [](TimelineCanvas& c) { c.clear_selection(); }},
    {"Return", "Zoom to the selected event", [](TimelineCanvas& c) { c.fit_selection(); }},
    {"]", "Next member of the collective", [](TimelineCanvas& c) { c.step_member(1); }},
    {"[", "Previous member of the collective", [](TimelineCanvas& c) { c.step_member(-1); }},
    {"K", "Next event of the same name in the lane", [](TimelineCanvas& c) { c.step_same_kind(1); }},
    {"Shift+K", "Previous event of the same name in the lane", [](TimelineCanvas& c) { c.step_same_kind(-1); }},
    {"L", "Colour the members of collectives by how late they came", [](TimelineCanvas& c) { c.toggle_lateness(); }},
    {"T", "Wall time, virtual time, logical steps", [](TimelineCanvas& c) { c.cycle_axis(); }},
    {"M", "Mark the selected event, or the middle of the window", [](TimelineCanvas& c) { c.toggle_mark(); }},
    {"R", "Range of time from the selection", [](TimelineCanvas& c) { c.select_range_of_selection(); }},
    {"P", "Pin the lane to the top, or unpin it", [](TimelineCanvas& c) { c.toggle_pin(); }},
    {"H", "Hide the lane", [](TimelineCanvas& c) { c.hide_row(); }},
    {"Shift+H", "Show all lanes", [](TimelineCanvas& c) { c.show_all_rows(); }},
    {"B", "Bytes in flight below the lanes, or not", [](TimelineCanvas& c) { c.toggle_counters(); }},
    {"X", "Explain why the selected process waits",
     [](TimelineCanvas& c) {
       if (c.show_view) c.show_view("waits");
     }},
    {"/", "Search in the events",
     [](TimelineCanvas& c) {
       if (c.show_view) c.show_view("events");
     }},
    {"1", "Back to the window kept under 1", recall<1>},
    {"2", "Back to the window kept under 2", recall<2>},
    {"3", "Back to the window kept under 3", recall<3>},
    {"4", "Back to the window kept under 4", recall<4>},
    {"5", "Back to the window kept under 5", recall<5>},
    {"6", "Back to the window kept under 6", recall<6>},
    {"Alt+1", "Keep this window under 1", set_mark<1>},
    {"Alt+2", "Keep this window under 2", set_mark<2>},
    {"Alt+3", "Keep this window under 3", set_mark<3>},
    {"Alt+4", "Keep this window under 4", set_mark<4>},
    {"Alt+5", "Keep this window under 5", set_mark<5>},
    {"Alt+6", "Keep this window under 6", set_mark<6>},
}};

}  // namespace

std::span<const TimelineKeyDef> timeline_keys() { return kKeys; }

TimelineCanvas::TimelineCanvas(Selection& selection, Background& background, QWidget* parent)
    : QAbstractScrollArea(parent), selection_(selection), background_(background) {
  setFocusPolicy(Qt::StrongFocus);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setAccessibleName(QStringLiteral("Timeline"));
  setAccessibleDescription(QStringLiteral("Lanes of devices by process; arrow keys move between events and lanes"));
  viewport()->setMouseTracking(true);
  connect(&selection, &Selection::trace_changed, this, &TimelineCanvas::set_trace);
  connect(&selection, &Selection::changed, this, &TimelineCanvas::on_selection);
}

TimelineCanvas::~TimelineCanvas() {
  background_.cancel(this);
  background_.cancel(&axis_);
}

// Has the items of the rows in sight made ahead, a window's width beyond both edges, where there are too many events to fold them
// while painting.
void TimelineCanvas::fold_ahead() {
  if (!trace_ || trace_->preview || trace_->event_count() < kFoldAheadEvents) return;
  const TimeRange window = scale_.window();
  const Ns level = FoldSet::level(scale_.ns_per_px(), timeline::kFoldPx);
  if (folds_.of(trace_.get()) && folds_.fold_ns() == level && folds_.covers(window)) return;
  if (asked_level_ == level && asked_trace_ == trace_.get() && asked_.begin <= window.begin && window.end <= asked_.end) return;
  asked_level_ = level;
  asked_trace_ = trace_.get();
  asked_ = {window.begin - window.length(), window.end + window.length()};
  std::vector<int> lanes;
  for (const auto& row : rows_) lanes.push_back(row.lane);
  background_.run(
      this,
      [trace = trace_, lanes, wanted = asked_, level](const std::stop_token& stop) { return FoldSet(trace, lanes, wanted, level, stop); },
      [this](FoldSet made) {
        folds_ = std::move(made);
        asked_trace_ = nullptr;
        viewport()->update();
      });
}

void TimelineCanvas::set_trace() {
  if (axis_ == TimeAxis::kWall || !selection_.trace() || selection_.trace()->preview) return show_trace(selection_.trace());
  const TracePtr base = selection_.trace();
  const TimeAxis axis = axis_;
  if (base->event_count() < kFoldAheadEvents) return show_trace(retime(*base, axis));
  show_trace(nullptr);
  background_.run(
      &axis_, [base, axis](const std::stop_token&) { return retime(*base, axis); }, [this](const TracePtr& made) { show_trace(made); });
}

void TimelineCanvas::show_trace(TracePtr trace) {
  background_.cancel(&axis_);
  folds_ = {};
  asked_trace_ = nullptr;
  trace_ = std::move(trace);
  in_flight_ = trace_ && !trace_->preview ? InFlight(*trace_) : InFlight();
  rows_.clear();
  hover_collective_ = -1;
  drag_ = {};
  if (trace_) {
    collectives_.build(*trace_);
    scale_.set_limits(trace_->range);
  }
  layout_rows();
  Q_EMIT shown_changed();
  Q_EMIT window_changed(scale_.window());
}

void TimelineCanvas::set_axis(TimeAxis axis) {
  if (axis == axis_) return;
  axis_ = axis;
  set_trace();
}

void TimelineCanvas::cycle_axis() { set_axis(TimeAxis((int(axis_) + 1) % 3)); }

void TimelineCanvas::make_rows(bool merged) {
  rows_.clear();
  const auto in = [&](const Lanes& lanes, const Lane& lane) {
    return std::find(lanes.begin(), lanes.end(), std::pair(lane.process, lane.device)) != lanes.end();
  };
  // Pinned lanes first, hidden ones not at all.
  std::vector<std::size_t> order;
  for (const bool pins : {true, false})
    for (std::size_t i = 0; i < trace_->lanes.size(); ++i)
      if (in(pinned, trace_->lanes[i]) == pins && !in(hidden, trace_->lanes[i])) order.push_back(i);
  int previous = -1;
  const LaneEvents* shared = nullptr;
  for (const std::size_t i : order) {
    const Lane& lane = trace_->lanes[i];
    if (lane.device < 0 && lane.events->size() == 0) continue;  // a host lane without events says nothing
    if (merged && !rows_.empty() && int(i) == rows_.back().lane + rows_.back().lanes && lane.process == previous && lane.device >= 0 &&
        lane.events.get() == shared) {
      ++rows_.back().lanes;
      continue;
    }
    rows_.push_back({.lane = int(i), .first_of_process = lane.process != previous});
    previous = lane.process;
    shared = lane.events.get();
  }
}

void TimelineCanvas::layout_rows() {
  rows_.clear();
  rows_height_ = 0;
  if (trace_) {
    const int room = rows_room();
    make_rows(false);
    // Devices in lockstep did the same: one row says it as well as sixty-four that cannot be read.
    if (int(rows_.size()) * kRowHeightLegible > room) make_rows(true);
    const int height = rows_.empty() ? 0 : std::clamp(room / int(rows_.size()), kRowHeightMin, kRowHeightMax);
    for (auto& row : rows_) {
      row.top = rows_height_;
      row.height = height;
      rows_height_ += height;
    }
    verticalScrollBar()->setPageStep(std::max(room, 1));
    verticalScrollBar()->setSingleStep(std::max(height, 8));
    verticalScrollBar()->setRange(0, std::max(rows_height_ - room, 0));
  }
  scale_.set_width(viewport()->width() - kLabelWidth);
  viewport()->update();
}

int TimelineCanvas::rows_room() const {
  return viewport()->height() - kRulerHeight - (counters_ && !in_flight_.empty() ? kCounterHeight : 0);
}

TimelineScene TimelineCanvas::scene() const {
  TimelineScene scene{.trace = trace_.get(),
                      .theme = &theme_of(this),
                      .selection = &selection_,
                      .collectives = &collectives_,
                      .scale = scale_,
                      .rows = rows_};
  // A level or two off is better than waiting for the right one.
  const Ns level = FoldSet::level(scale_.ns_per_px(), timeline::kFoldPx);
  if (folds_.of(trace_.get()) && folds_.covers(scale_.window()) && folds_.fold_ns() <= 8 * level && level <= 8 * folds_.fold_ns())
    scene.folds = &folds_;
  if (!scene.folds && asked_trace_) scene.coarser = 8;
  scene.size = viewport()->size();
  scene.font = font();
  scene.label_width = kLabelWidth;
  scene.in_flight = counters_ && !in_flight_.empty() ? &in_flight_ : nullptr;
  scene.counter_height = kCounterHeight;
  scene.marks = axis_ == TimeAxis::kWall ? &marks : nullptr;
  scene.axis = axis_;
  scene.lateness = lateness_;
  scene.ruler_height = kRulerHeight;
  scene.scroll_y = verticalScrollBar()->value();
  scene.hover_collective = hover_collective_;
  scene.focused = hasFocus() && by_keyboard_;
  scene.drag = drag_;
  return scene;
}

void TimelineCanvas::paintEvent(QPaintEvent*) {
  fold_ahead();
  QPainter painter(viewport());
  if (trace_ && !rows_.empty() && trace_->event_count() > 0) {
    const TimelineScene what = scene();
    TimelinePainter(painter, what).paint();
    return;
  }
  painter.fillRect(viewport()->rect(), theme_of(this).base);
  painter.setPen(theme_of(this).muted);
  painter.drawText(viewport()->rect(), Qt::AlignCenter,
                   trace_ ? QStringLiteral("No events were recorded.")
                   : selection_.trace()
                       ? QStringLiteral("Computing the other time axis …")
                       : QStringLiteral("No trace is open.\nCtrl+O opens one, Ctrl+R runs a scenario, or drop a file here."));
}

void TimelineCanvas::resizeEvent(QResizeEvent*) { layout_rows(); }

void TimelineCanvas::set_window(TimeRange window) {
  scale_.set_window(window);
  viewport()->update();
  Q_EMIT window_changed(scale_.window());
}

void TimelineCanvas::zoom_by(double factor) {
  const QPoint cursor = viewport()->mapFromGlobal(QCursor::pos());
  const bool over = viewport()->rect().contains(cursor) && viewport()->underMouse() && cursor.x() > kLabelWidth;
  scale_.zoom(factor, over ? cursor.x() - kLabelWidth : scale_.width() / 2.0);
  set_window(scale_.window());
}

void TimelineCanvas::pan_by(double share) {
  scale_.pan(share * scale_.width());
  set_window(scale_.window());
}

void TimelineCanvas::fit_all() {
  fitted_ = false;
  set_window(scale_.limits());
}

void TimelineCanvas::fit_selection() {
  const SelectionState& state = selection_.state();
  TimeRange range;
  if (!trace_ || fitted_) return fit_all();
  if (state.lane >= 0 && state.event >= 0) {
    const Lane& lane = trace_->lanes[std::size_t(state.lane)];
    range = {lane.events->begin[std::size_t(state.event)], lane.events->end[std::size_t(state.event)]};
  } else if (state.collective >= 0) {
    const Collective& call = trace_->collectives[std::size_t(state.collective)];
    range = call.span();
    if (call.open) range.end = trace_->range.end;
  } else {
    range = axis_ == TimeAxis::kWall ? state.range : TimeRange{};
  }
  if (range.empty()) return fit_all();
  scale_.fit(range, 0.2);
  set_window(scale_.window());
  fitted_ = true;
}

void TimelineCanvas::reveal(TimeRange range) {
  const TimeRange window = scale_.window();
  if (range.begin >= window.begin && range.end <= window.end) return;
  if (range.length() > window.length()) {
    scale_.fit(range, 0.2);
  } else {
    const Ns middle = range.begin + range.length() / 2;
    scale_.set_window({middle - window.length() / 2, middle + window.length() / 2});
  }
  set_window(scale_.window());
}

void TimelineCanvas::on_selection(const SelectionState& state, QObject* origin) {
  fitted_ = false;
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
    Q_EMIT hovered(QStringLiteral("No window is kept under %1: Alt+%1 keeps one").arg(number));
  else
    set_window(kept->second);
}

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
  layout_rows();
}

void TimelineCanvas::set_up() { layout_rows(); }

void TimelineCanvas::select_range_of_selection() {
  const SelectionState& state = selection_.state();
  if (!trace_ || axis_ != TimeAxis::kWall) return;
  if (state.collective >= 0) {
    const Collective& call = trace_->collectives[std::size_t(state.collective)];
    selection_.select_range({call.span().begin, call.open ? trace_->range.end : call.span().end}, this);
  } else if (state.lane >= 0 && state.event >= 0) {
    const LaneEvents& events = *trace_->lanes[std::size_t(state.lane)].events;
    selection_.select_range({events.begin[std::size_t(state.event)], events.end[std::size_t(state.event)]}, this);
  }
}

// The time under the pointer, or the edge of an event that it nearly touches.
Ns TimelineCanvas::snapped(QPoint position) const {
  constexpr double kSnapPx = 7;
  const double x = position.x() - kLabelWidth;
  const Hit at = hit(position);
  Ns best = scale_.time_at(x);
  if (at.event < 0) return best;
  double nearest = kSnapPx;
  const LaneEvents& events = *trace_->lanes[std::size_t(rows_[std::size_t(at.row)].lane)].events;
  for (const Ns edge : {events.begin[std::size_t(at.event)], events.end[std::size_t(at.event)]})
    if (const double distance = std::abs(scale_.x_of(edge) - x); distance < nearest) {
      nearest = distance;
      best = edge;
    }
  return best;
}

QString TimelineCanvas::access_group_name(int group) const {
  const Lane& lane = trace_->lanes[std::size_t(rows_[std::size_t(group)].lane)];
  return QStringLiteral("process %1, %2, %3")
      .arg(lane.process)
      .arg(qstr(lane.name), count_text(std::int64_t(lane.events->size()), "event", "events"));
}

int TimelineCanvas::access_items(int group) const { return int(trace_->lanes[std::size_t(rows_[std::size_t(group)].lane)].events->size()); }

QString TimelineCanvas::access_item_name(int group, int item) const {
  const LaneEvents& events = *trace_->lanes[std::size_t(rows_[std::size_t(group)].lane)].events;
  const auto i = std::size_t(item);
  QString text = qstr(trace_->labels[events.label[i]].name) + QStringLiteral(", ") + qstr(event_kind_name(events.kind[i])) +
                 QStringLiteral(", at ") + duration_text(events.begin[i] - trace_->range.begin);
  text += events.flags[i] & kFlagOpen ? QStringLiteral(", never ended")
                                      : QStringLiteral(", for ") + duration_text(events.end[i] - events.begin[i]);
  if (events.flags[i] & kFlagError) text += QStringLiteral(", diagnosed");
  return text;
}

QRect TimelineCanvas::access_item_box(int group, int item) const {
  const TimelineRow& row = rows_[std::size_t(group)];
  const LaneEvents& events = *trace_->lanes[std::size_t(row.lane)].events;
  const double left = std::max(scale_.x_of(events.begin[std::size_t(item)]), 0.0),
               right = std::min(scale_.x_of(events.end[std::size_t(item)]), double(scale_.width()));
  const int top = kRulerHeight + row.top - verticalScrollBar()->value();
  if (right < left || top + row.height < kRulerHeight || top > viewport()->height()) return {};
  return {kLabelWidth + int(left), top, std::max(int(right - left), 1), row.height};
}

void TimelineCanvas::access_choose(int group, int item) { selection_.select_event(rows_[std::size_t(group)].lane, item, nullptr); }

TimelineCanvas::Hit TimelineCanvas::hit(QPoint position) const {
  Hit hit;
  const int y = position.y() - kRulerHeight + verticalScrollBar()->value();
  if (!trace_ || position.y() < kRulerHeight || position.y() >= kRulerHeight + rows_room() || rows_.empty() || y < 0 || y >= rows_height_)
    return hit;
  hit.row = std::clamp(y / std::max(rows_[0].height, 1), 0, int(rows_.size()) - 1);
  hit.label = position.x() < kLabelWidth;
  hit.process = position.x() < 64;
  if (hit.label) return hit;
  const Lane& lane = trace_->lanes[std::size_t(rows_[std::size_t(hit.row)].lane)];
  hit.event = event_at(*lane.events, scale_.time_at(position.x() - kLabelWidth), Ns(scale_.ns_per_px() * 2) + 1);
  return hit;
}

void TimelineCanvas::select_hit(const Hit& hit) {
  if (hit.row < 0) return selection_.clear(this);
  const Lane& lane = trace_->lanes[std::size_t(rows_[std::size_t(hit.row)].lane)];
  if (hit.event >= 0) return selection_.select_event(rows_[std::size_t(hit.row)].lane, hit.event, this);
  if (hit.label && (hit.process || lane.device < 0)) return selection_.select_process(lane.process, this);
  if (hit.label) return selection_.select_device(lane.device, this);
  selection_.clear(this);
}

void TimelineCanvas::wheelEvent(QWheelEvent* event) {
  const double steps = event->angleDelta().y() / 120.0;
  const double sideways = event->angleDelta().x() / 120.0;
  if (event->modifiers() & Qt::ControlModifier) {
    verticalScrollBar()->setValue(verticalScrollBar()->value() - int(steps * 60));
  } else if ((event->modifiers() & Qt::ShiftModifier) || std::abs(sideways) > std::abs(steps)) {
    pan_by(-0.1 * (sideways != 0 ? sideways : steps));
  } else {
    scale_.zoom(std::pow(0.8, steps), std::max(event->position().x() - kLabelWidth, 0.0));
    set_window(scale_.window());
  }
  event->accept();
}

void TimelineCanvas::mousePressEvent(QMouseEvent* event) {
  press_ = last_ = event->pos();
  dragging_ = false;
  choosing_ = event->button() == Qt::LeftButton && (event->modifiers() & Qt::ShiftModifier);
}

void TimelineCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (event->buttons() & (Qt::LeftButton | Qt::MiddleButton)) {
    if (!dragging_ && (event->pos() - press_).manhattanLength() < kDragStartPx) return;
    dragging_ = true;
    if (choosing_) {
      const Ns a = snapped(press_), b = snapped(event->pos());
      drag_ = {std::min(a, b), std::max(a, b)};
      Q_EMIT hovered(QStringLiteral("Δ ") + duration_text(drag_.length()));
      viewport()->update();
    } else {
      viewport()->setCursor(Qt::ClosedHandCursor);
      scale_.pan(last_.x() - event->pos().x());
      verticalScrollBar()->setValue(verticalScrollBar()->value() + last_.y() - event->pos().y());
      set_window(scale_.window());
    }
    last_ = event->pos();
    return;
  }
  const Hit at = hit(event->pos());
  int collective = -1;
  QString text;
  if (at.event >= 0) {
    const Lane& lane = trace_->lanes[std::size_t(rows_[std::size_t(at.row)].lane)];
    collective = lane.events->collective[std::size_t(at.event)];
    text = qstr(trace_->labels[lane.events->label[std::size_t(at.event)]].name) + QStringLiteral("  ") +
           duration_text(lane.events->end[std::size_t(at.event)] - lane.events->begin[std::size_t(at.event)]);
  } else if (event->pos().x() > kLabelWidth && trace_) {
    text = duration_text(scale_.time_at(event->pos().x() - kLabelWidth) - trace_->range.begin);
  }
  Q_EMIT hovered(text);
  if (collective != hover_collective_) {
    hover_collective_ = collective;
    viewport()->update();
  }
}

void TimelineCanvas::mouseReleaseEvent(QMouseEvent* event) {
  viewport()->unsetCursor();
  if (!dragging_ && event->button() == Qt::LeftButton) select_hit(hit(event->pos()));
  if (choosing_ && dragging_ && axis_ == TimeAxis::kWall) selection_.select_range(drag_, this);
  dragging_ = choosing_ = false;
  drag_ = {};
  viewport()->update();
}

void TimelineCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  if (hit(event->pos()).event < 0) return;
  select_hit(hit(event->pos()));
  fitted_ = false;
  fit_selection();
}

void TimelineCanvas::keyPressEvent(QKeyEvent* event) {
  const QKeySequence pressed(event->keyCombination());
  for (const auto& def : kKeys)
    if ((key_of ? key_of(def) : QKeySequence(QString::fromUtf8(def.key))) == pressed) return def.run(*this);
  QAbstractScrollArea::keyPressEvent(event);
}

void TimelineCanvas::focusInEvent(QFocusEvent* event) {
  by_keyboard_ =
      event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason || event->reason() == Qt::ShortcutFocusReason;
  viewport()->update();
}
void TimelineCanvas::focusOutEvent(QFocusEvent*) { viewport()->update(); }

QString TimelineCanvas::tooltip_at(QPoint position) const {
  const Hit at = hit(position);
  if (at.row < 0) return {};
  const Lane& lane = trace_->lanes[std::size_t(rows_[std::size_t(at.row)].lane)];
  if (at.event >= 0) return event_tooltip(*trace_, lane, std::size_t(at.event));
  if (!at.label) return {};
  const Process* process = trace_->process(lane.process);
  if (!process) return {};
  return QStringLiteral("<b>Process %1</b> %2<br>%3 · pid %4<br>devices %5")
      .arg(process->index)
      .arg(html(process->state), html(process->host))
      .arg(process->pid)
      .arg(set_text(process->devices));
}

bool TimelineCanvas::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    QToolTip::showText(help->globalPos(), tooltip_at(help->pos()), viewport());
    return true;
  }
  if (event->type() == QEvent::Leave && hover_collective_ >= 0) {
    hover_collective_ = -1;
    viewport()->update();
  }
  return QAbstractScrollArea::viewportEvent(event);
}

}  // namespace shardlab::gui
