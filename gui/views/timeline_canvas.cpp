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

constexpr std::array<TimelineKeyDef, 16> kKeys{{
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
}};

}  // namespace

std::span<const TimelineKeyDef> timeline_keys() { return kKeys; }

TimelineCanvas::TimelineCanvas(Selection& selection, QWidget* parent) : QAbstractScrollArea(parent), selection_(selection) {
  setFocusPolicy(Qt::StrongFocus);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setAccessibleName(QStringLiteral("Timeline"));
  setAccessibleDescription(QStringLiteral("Lanes of devices by process; arrow keys move between events and lanes"));
  viewport()->setMouseTracking(true);
  connect(&selection, &Selection::trace_changed, this, &TimelineCanvas::set_trace);
  connect(&selection, &Selection::changed, this, &TimelineCanvas::on_selection);
}

void TimelineCanvas::set_trace() {
  trace_ = selection_.trace();
  rows_.clear();
  hover_collective_ = -1;
  drag_ = {};
  if (trace_) {
    collectives_.build(*trace_);
    scale_.set_limits(trace_->range);
  }
  layout_rows();
  Q_EMIT window_changed(scale_.window());
}

void TimelineCanvas::make_rows(bool merged) {
  rows_.clear();
  int previous = -1;
  const LaneEvents* shared = nullptr;
  for (std::size_t i = 0; i < trace_->lanes.size(); ++i) {
    const Lane& lane = trace_->lanes[i];
    if (lane.device < 0 && lane.events->size() == 0) continue;  // a host lane without events says nothing
    if (merged && lane.process == previous && lane.device >= 0 && lane.events.get() == shared) {
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
    const int room = viewport()->height() - kRulerHeight;
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

TimelineScene TimelineCanvas::scene() const {
  TimelineScene scene{.trace = trace_.get(),
                      .theme = &theme_of(this),
                      .selection = &selection_,
                      .collectives = &collectives_,
                      .scale = scale_,
                      .rows = rows_};
  scene.size = viewport()->size();
  scene.font = font();
  scene.label_width = kLabelWidth;
  scene.ruler_height = kRulerHeight;
  scene.scroll_y = verticalScrollBar()->value();
  scene.hover_collective = hover_collective_;
  scene.focused = hasFocus() && by_keyboard_;
  scene.drag = drag_;
  return scene;
}

void TimelineCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  if (trace_ && !rows_.empty() && trace_->event_count() > 0) {
    const TimelineScene what = scene();
    TimelinePainter(painter, what).paint();
    return;
  }
  painter.fillRect(viewport()->rect(), theme_of(this).base);
  painter.setPen(theme_of(this).muted);
  painter.drawText(viewport()->rect(), Qt::AlignCenter, trace_ ? QStringLiteral("No events were recorded.") : QStringLiteral("No trace"));
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
    range = state.range;
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

TimelineCanvas::Hit TimelineCanvas::hit(QPoint position) const {
  Hit hit;
  const int y = position.y() - kRulerHeight + verticalScrollBar()->value();
  if (!trace_ || position.y() < kRulerHeight || rows_.empty() || y < 0 || y >= rows_height_) return hit;
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
      const Ns a = scale_.time_at(press_.x() - kLabelWidth), b = scale_.time_at(event->pos().x() - kLabelWidth);
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
  if (choosing_ && dragging_) selection_.select_range(drag_, this);
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
    if (QKeySequence(QString::fromUtf8(def.key)) == pressed) return def.run(*this);
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
