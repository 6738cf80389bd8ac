#include "gui/views/timeline_canvas.h"

#include <QElapsedTimer>
#include <QPainter>
#include <QScrollBar>
#include <QSettings>

#include <algorithm>
#include <cmath>

#include "gui/models/format.h"

namespace shardlab::gui {
namespace {

constexpr int kRowHeightMax = 26;
constexpr int kRowHeightLegible = 12;
constexpr int kRowHeightMin = 3;
constexpr std::size_t kFoldAheadEvents = 200'000;

}  // namespace

TimelineCanvas::TimelineCanvas(Selection& selection, Background& background, QWidget* parent)
    : QAbstractScrollArea(parent), selection_(selection), background_(background) {
  setFocusPolicy(Qt::StrongFocus);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setAccessibleName(QStringLiteral("Timeline"));
  setAccessibleDescription(QStringLiteral("Lanes of devices by process; arrow keys move between events and lanes"));
  viewport()->setMouseTracking(true);
  wheel_zooms_ = QSettings().value(QStringLiteral("timeline/wheel-zooms"), false).toBool();
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
  const TimeRange limits = scale_.limits();
  if (trace_) {
    collectives_.build(*trace_);
    const std::string chosen = grouping().title;
    groupings_ = lane_groupings(*trace_);
    grouping_ = 0;
    for (std::size_t g = 0; g < groupings_.size(); ++g)
      if (groupings_[g].title == chosen) grouping_ = g;
    scale_.set_limits(trace_->range);
  }
  // Of a run that grows the windows before are still its own.
  if (!trace_ || trace_->range.begin != limits.begin) {
    windows_before_.clear();
    windows_after_.clear();
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
  const std::vector<int>& groups = grouping().group_of;
  std::vector<std::size_t> order;
  for (const bool pins : {true, false}) {
    const auto from = std::ptrdiff_t(order.size());
    for (std::size_t i = 0; i < trace_->lanes.size(); ++i)
      if (in(pinned, trace_->lanes[i]) == pins && !in(hidden, trace_->lanes[i])) order.push_back(i);
    std::stable_sort(order.begin() + from, order.end(), [&](std::size_t a, std::size_t b) { return groups[a] < groups[b]; });
  }
  int previous = -1;
  const LaneEvents* shared = nullptr;
  for (const std::size_t i : order) {
    const Lane& lane = trace_->lanes[i];
    if (lane.device < 0 && lane.events->size() == 0) continue;  // a host lane without events says nothing
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
  rows_.clear();
  memory_rows_.clear();
  rows_height_ = 0;
  if (trace_) {
    const int room = rows_room();
    make_rows(false);
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
  scene.memory_rows = memory_rows_;
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
    QElapsedTimer timer;
    timer.start();
    const TimelineScene what = scene();
    TimelinePainter(painter, what).paint();
    frames_.add(timer.nsecsElapsed());
    return;
  }
  painter.fillRect(viewport()->rect(), theme_of(this).base);
  painter.setPen(theme_of(this).muted);
  painter.drawText(
      viewport()->rect(), Qt::AlignCenter,
      trace_ ? QStringLiteral("No events were recorded.")
      : selection_.trace()
          ? QStringLiteral("Computing the other time axis …")
          : QStringLiteral("No trace is open.\nCtrl+O opens one, Ctrl+R runs a scenario, Shift+F1 an example; or drop a file here."));
}

void TimelineCanvas::resizeEvent(QResizeEvent*) { layout_rows(); }
QString TimelineCanvas::access_group_name(int group) const {
  const TimelineRow& row = rows_[std::size_t(group)];
  const Lane& lane = trace_->lanes[std::size_t(row.lane)];
  QString name = qstr(lane.name);
  if (row.lanes > 1) {  // in lockstep: what is said of one holds for all
    QStringList names;
    for (int i = 0; i < row.lanes; ++i) names << qstr(trace_->lanes[std::size_t(row.lane + i)].name);
    name = names.join(QStringLiteral(", "));
  }
  name = QStringLiteral("process %1, %2, %3").arg(lane.process).arg(name, count_text(std::int64_t(lane.events->size()), "event", "events"));
  if (const int index = trace_->memory ? trace_->memory->index_of(lane.device) : -1; index >= 0)
    name += QStringLiteral(", holds at most %1").arg(bytes_text(trace_->memory->devices()[std::size_t(index)].arrays.most().value));
  return name;
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
}  // namespace shardlab::gui
