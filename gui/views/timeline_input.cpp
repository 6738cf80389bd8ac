// What the pointer and the keyboard do to the timeline, and its tooltips.
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMenu>
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
  hit.label = position.x() < kLabelWidth;
  hit.process = position.x() < 64;
  const auto lies_below = [](int at, const auto& row) { return at < row.top; };
  const auto counter = std::upper_bound(memory_rows_.begin(), memory_rows_.end(), y, lies_below);
  if (counter != memory_rows_.begin() && y < std::prev(counter)->top + std::prev(counter)->height) {
    hit.memory = int(counter - memory_rows_.begin()) - 1;
    return hit;
  }
  hit.row = std::max(int(std::upper_bound(rows_.begin(), rows_.end(), y, lies_below) - rows_.begin()) - 1, 0);
  if (hit.label) return hit;
  const Lane& lane = trace_->lanes[std::size_t(rows_[std::size_t(hit.row)].lane)];
  hit.event = event_at(*lane.events, scale_.time_at(position.x() - kLabelWidth), Ns(scale_.ns_per_px() * 2) + 1);
  return hit;
}

void TimelineCanvas::select_hit(const Hit& hit) {
  if (hit.memory >= 0) return select_memory(memory_rows_[std::size_t(hit.memory)]);
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
  const bool zooms = bool(event->modifiers() & Qt::ControlModifier) != wheel_zooms_;
  TimeScale next = scale_;
  if ((event->modifiers() & Qt::ShiftModifier) || std::abs(sideways) > std::abs(steps)) {
    next.pan(-0.1 * (sideways != 0 ? sideways : steps) * scale_.width());
    set_window(next.window(), WindowStep::kGlide);
  } else if (zooms) {
    next.zoom(std::pow(0.8, steps), std::max(event->position().x() - kLabelWidth, 0.0));
    set_window(next.window(), WindowStep::kGlide);
  } else {
    verticalScrollBar()->setValue(verticalScrollBar()->value() - int(steps * 60));
  }
  event->accept();
}

void TimelineCanvas::mousePressEvent(QMouseEvent* event) {
  press_ = last_ = event->pos();
  dragging_ = false;
  gliding_ = false;
  const bool left = event->button() == Qt::LeftButton;
  measuring_ = left && ((event->modifiers() & Qt::ShiftModifier) || mouse_mode_ == MouseMode::kMeasure);
  choosing_ = left && (measuring_ || mouse_mode_ != MouseMode::kPan);
}

void TimelineCanvas::drag_to(QPoint position) {
  dragging_ = true;
  if (choosing_) {
    const auto time = [this](QPoint at) { return measuring_ ? snapped(at) : scale_.time_at(at.x() - kLabelWidth); };
    const Ns a = time(press_), b = time(position);
    drag_ = {std::min(a, b), std::max(a, b)};
    Q_EMIT hovered(range_text(drag_));
    viewport()->update();
  } else {
    viewport()->setCursor(Qt::ClosedHandCursor);
    TimeScale moved = scale_;
    moved.pan(last_.x() - position.x());
    verticalScrollBar()->setValue(verticalScrollBar()->value() + last_.y() - position.y());
    set_window(moved.window(), WindowStep::kGlide);
  }
  last_ = position;
}

QString TimelineCanvas::range_text(TimeRange range) const {
  constexpr std::size_t kCollectivesMax = 20'000;
  std::int64_t events = 0, bytes = 0;
  for (const auto& row : rows_) {
    const LaneEvents& lane = *trace_->lanes[std::size_t(row.lane)].events;
    const auto first = std::lower_bound(lane.end.begin(), lane.end.end(), range.begin);
    const auto last = std::upper_bound(lane.begin.begin(), lane.begin.end(), range.end);
    events += std::max<std::int64_t>((last - lane.begin.begin()) - (first - lane.end.begin()), 0) * row.lanes;
  }
  std::vector<int> calls;
  if (trace_->collectives_by_time) calls = trace_->collectives_by_time->find(range, kCollectivesMax);
  for (const int call : calls) bytes += trace_->collectives[std::size_t(call)].type->wire_bytes;
  return QStringLiteral("Δ %1 · %2 · %3%4 on the wire")
      .arg(duration_text(range.length()), count_text(events, "event", "events"),
           calls.size() > kCollectivesMax ? QStringLiteral("more than ") : QString(), bytes_text(bytes));
}

void TimelineCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (event->buttons() & (Qt::LeftButton | Qt::MiddleButton)) {
    if (trace_ && (dragging_ || (event->pos() - press_).manhattanLength() >= kDragStartPx)) drag_to(event->pos());
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
  if (trace_ && event->pos().x() > kLabelWidth) {
    const Ns time = scale_.time_at(event->pos().x() - kLabelWidth);
    std::vector<int> counters;
    if (at.memory >= 0) {
      counters = memory_rows_[std::size_t(at.memory)].counters;
    } else if (at.row >= 0 && !memory_rows_.empty()) {
      counters = memory_row({trace_->lanes[std::size_t(rows_[std::size_t(at.row)].lane)].device}).counters;
    }
    if (!counters.empty()) text += QStringLiteral(" · ") + memory_text(counters, time);
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
  if (choosing_ && dragging_ && trace_ && !drag_.empty()) {
    if (!measuring_ && mouse_mode_ == MouseMode::kZoom)
      set_window(drag_);
    else if (axis_ == TimeAxis::kWall)
      selection_.select_range(drag_, this);
  }
  dragging_ = choosing_ = measuring_ = gliding_ = false;
  drag_ = {};
  viewport()->update();
}

void TimelineCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  if (hit(event->pos()).event < 0) return;
  select_hit(hit(event->pos()));
  fitted_ = 0;
  fit_selection();
}

void TimelineCanvas::keyPressEvent(QKeyEvent* event) {
  if (const TimelineKeyDef* def = def_of(*event)) return def->run(*this);
  QAbstractScrollArea::keyPressEvent(event);
}

const TimelineKeyDef* TimelineCanvas::def_of(const QKeyEvent& event) const {
  // What a layout has behind Shift, like "?", counts with and without it.
  const QKeySequence pressed(event.keyCombination());
  const QKeySequence bare = event.text().isEmpty() ? pressed : QKeySequence(event.key() | int(event.modifiers() & ~Qt::ShiftModifier));
  for (const auto& def : timeline_keys()) {
    const QKeySequence key = key_of ? key_of(def) : QKeySequence(QString::fromUtf8(def.key));
    if (key == pressed || (key == bare && !event.text().isEmpty() && !event.text()[0].isLetterOrNumber() && event.text()[0].isPrint() &&
                           !event.text()[0].isSpace()))
      return &def;
  }
  return nullptr;
}

// What the menus of the window have, too, is the timeline's while it has the focus.
bool TimelineCanvas::event(QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride && def_of(*static_cast<QKeyEvent*>(event))) {
    event->accept();
    return true;
  }
  return QAbstractScrollArea::event(event);
}

// What the keys do to what is under the pointer.
void TimelineCanvas::contextMenuEvent(QContextMenuEvent* event) {
  if (!trace_) return;
  if (event->reason() == QContextMenuEvent::Mouse) select_hit(hit(event->pos()));
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  for (const char* key : {"F", "0", "Backspace", "",       "X",       "C",       "]", ".",       "",  "M", "R",
                          "",  "P", "H",         "Ctrl+H", "Shift+E", "Shift+H", "E", "Shift+G", "L", "T"}) {
    if (*key == 0) {
      menu->addSeparator();
      continue;
    }
    for (const auto& def : timeline_keys())
      if (qstrcmp(def.key, key) == 0) {
        auto* action = menu->addAction(QString::fromUtf8(def.doc), this, [this, run = def.run] { run(*this); });
        action->setShortcut(key_of ? key_of(def) : QKeySequence(QString::fromUtf8(def.key)));
      }
  }
  menu->popup(event->globalPos());
}

void TimelineCanvas::focusInEvent(QFocusEvent* event) {
  by_keyboard_ =
      event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason || event->reason() == Qt::ShortcutFocusReason;
  viewport()->update();
}
void TimelineCanvas::focusOutEvent(QFocusEvent*) { viewport()->update(); }

QString TimelineCanvas::tooltip_at(QPoint position) const {
  const Hit at = hit(position);
  if (at.memory >= 0 && !at.label) return memory_tooltip(memory_rows_[std::size_t(at.memory)], scale_.time_at(position.x() - kLabelWidth));
  if (at.row < 0) return {};
  const Lane& lane = trace_->lanes[std::size_t(rows_[std::size_t(at.row)].lane)];
  if (at.event >= 0) {
    const QString touched = touched_text(rows_[std::size_t(at.row)].lane, at.event);
    return event_tooltip(*trace_, lane, std::size_t(at.event)) +
           (touched.isEmpty() ? touched : QStringLiteral("<br>") + html(touched.toStdString()));
  }
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
