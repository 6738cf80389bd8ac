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

constexpr std::size_t kFoldAheadEvents = 200'000;
constexpr std::size_t kRetimeEvents = 5'000;  // more are put on another axis beside the window's thread

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
  background_.cancel(&lanes_);
  background_.cancel(&touched_);
}

// Has the items of the rows in sight made ahead, a window's width beyond both edges, where there are too many events to fold them
// while painting.
void TimelineCanvas::fold_ahead() {
  if (!trace_ || trace_->preview || trace_->event_count() < kFoldAheadEvents) return;
  const TimeRange window = scale_.window();
  const Ns level = FoldSet::level(scale_.ns_per_px(), timeline::kFoldPx);
  if (folds_->of(trace_.get()) && folds_->fold_ns() == level && folds_->covers(window)) return;
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
        folds_ = std::make_shared<const FoldSet>(std::move(made));
        asked_trace_ = nullptr;
        viewport()->update();
      });
}

void TimelineCanvas::set_trace() {
  if (axis_ == TimeAxis::kWall || !selection_.trace() || selection_.trace()->preview) return show_trace(selection_.trace());
  const TracePtr base = selection_.trace();
  const TimeAxis axis = axis_;
  if (base->event_count() < kRetimeEvents) return show_trace(retime(*base, axis));
  show_trace(nullptr);
  background_.run(
      &axis_, [base, axis](const std::stop_token&) { return retime(*base, axis); }, [this](const TracePtr& made) { show_trace(made); });
}

void TimelineCanvas::show_trace(TracePtr trace) {
  background_.cancel(&axis_);
  folds_ = std::make_shared<FoldSet>();
  asked_trace_ = nullptr;
  trace_ = std::move(trace);
  if (lanes_.key.trace && trace_ && lanes_.key.trace->path != trace_->path) lanes_ = {};
  rows_.clear();
  hover_collective_ = -1;
  drag_ = {};
  const TimeRange limits = scale_.limits();
  if (trace_) {
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

void TimelineCanvas::set_room(TimeRange room) {
  if (!trace_) return;
  const TimeRange window = scale_.window();
  scale_.set_limits({std::min(trace_->range.begin, room.begin), std::max(trace_->range.end, room.end)});
  scale_.set_window(window);
}

void TimelineCanvas::set_axis(TimeAxis axis) {
  if (axis == axis_) return;
  axis_ = axis;
  set_trace();
}

void TimelineCanvas::cycle_axis() { set_axis(TimeAxis((int(axis_) + 1) % 3)); }

TimelineScene TimelineCanvas::scene() const {
  TimelineScene scene{.trace = trace_.get(), .theme = &theme_of(this), .selection = &selection_, .scale = scale_, .rows = rows_};
  // A level or two off is better than waiting for the right one.
  const Ns level = FoldSet::level(scale_.ns_per_px(), timeline::kFoldPx);
  if (folds_->of(trace_.get()) && folds_->covers(scale_.window()) && folds_->fold_ns() <= 8 * level && level <= 8 * folds_->fold_ns())
    scene.folds = folds_;
  if (!scene.folds && asked_trace_) scene.coarser = 8;
  scene.size = viewport()->size();
  scene.font = font();
  scene.label_width = kLabelWidth;
  scene.in_flight = bytes_in_flight();
  scene.counter_height = kCounterHeight;
  scene.memory_rows = memory_rows_;
  scene.marks = axis_ == TimeAxis::kWall ? &marks : nullptr;
  scene.touched = touched_array_ >= 0 ? &touched_ : nullptr;
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
    paint_lanes(painter, what);
    TimelinePainter(painter, what).paint_front();
    frames_.add(timer.nsecsElapsed());
    return;
  }
  painter.fillRect(viewport()->rect(), theme_of(this).base);
  painter.setPen(theme_of(this).muted);
  painter.drawText(
      viewport()->rect(), Qt::AlignCenter,
      trace_ && hidden_.lanes > 0 ? QStringLiteral("All lanes are hidden. Shift+H shows them.")
      : trace_                    ? QStringLiteral("No events were recorded.")
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
  if (const QString touched = touched_text(rows_[std::size_t(group)].lane, item); !touched.isEmpty())
    text += QStringLiteral(", ") + touched;
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
