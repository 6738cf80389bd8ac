// What the pointer and the keyboard do to the timeline, and its tooltips.
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>

#include <algorithm>
#include <cmath>

#include "gui/models/format.h"
#include "gui/views/event_tooltip.h"
#include "gui/views/timeline_canvas.h"

namespace shardlab::gui {
namespace {

constexpr int kDragStartPx = 4;

}  // namespace

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
  for (const auto& def : timeline_keys())
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
