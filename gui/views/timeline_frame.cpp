// What stands around the lanes of the timeline: the ruler, the names of lanes and groups, marks, the counter below.
#include <algorithm>
#include <cmath>

#include "gui/models/format.h"
#include "gui/views/timeline_painter.h"

namespace shardlab::gui {

void TimelinePainter::paint_marks() {
  const QFontMetrics metrics(scene_.font);
  painter_.save();
  painter_.setClipRect(QRect(scene_.label_width, 0, plot_.width(), scene_.size.height()));
  double free = plot_.left();  // texts do not lie over each other
  for (const auto& mark : *scene_.marks) {
    const double at = std::round(x(mark.time)) + 0.5;
    if (at < plot_.left() - 120 || at > plot_.right()) continue;
    painter_.setPen(QPen(theme_.accent, 1, Qt::DashLine));
    painter_.drawLine(QLineF(at, 4, at, plot_.bottom()));
    painter_.setPen(Qt::NoPen);
    painter_.setBrush(theme_.accent);
    painter_.drawPolygon(QPolygonF{{at, 1}, {at + 9, 5}, {at, 9}});
    if (at < free) continue;
    QString text = metrics.elidedText(mark.text, Qt::ElideRight, 110);
    if (!scene_.memory_rows.empty()) text += QStringLiteral(" · ") + bytes_text(trace_.memory->at(mark.time).arrays);
    painter_.setPen(theme_.accent);
    painter_.drawText(QPointF(at + 12, 11), text);
    free = at + metrics.horizontalAdvance(text) + 18;
  }
  painter_.restore();
}

// Bytes in flight: the most in each column of pixels.
void TimelinePainter::paint_counter() {
  const int top = plot_.bottom() + 1, height = scene_.counter_height;
  painter_.fillRect(QRect(0, top, scene_.size.width(), height), theme_.window);
  painter_.setPen(theme_.line);
  painter_.drawLine(0, top, scene_.size.width(), top);
  const auto most = double(scene_.in_flight->most().value);
  if (most <= 0) return;
  constexpr int kColumnPx = 2;
  for (int c = 0; c < plot_.width(); c += kColumnPx) {
    const auto value = double(scene_.in_flight->most_in(scene_.scale.time_at(c), scene_.scale.time_at(c + kColumnPx)).value);
    const int bar = value <= 0 ? 0 : std::max(int(std::lround(value / most * (height - 6))), 1);
    if (bar > 0) painter_.fillRect(QRect(plot_.left() + c, top + height - bar, kColumnPx, bar), theme_.collective("all-reduce"));
  }
}

void TimelinePainter::paint_counter_name() {
  const QRect box(0, plot_.bottom() + 1, scene_.label_width, scene_.counter_height);
  painter_.fillRect(box, theme_.window);
  painter_.setPen(theme_.line);
  painter_.drawLine(0, box.top(), scene_.size.width(), box.top());
  painter_.setPen(theme_.muted);
  const QString title = QStringLiteral("in flight, at most ") + bytes_text(scene_.in_flight->most().value);
  const bool fits = QFontMetrics(scene_.font).horizontalAdvance(title) <= 2 * (scene_.label_width - 20);
  painter_.drawText(box.adjusted(8, 0, -4, 0), Qt::AlignVCenter | Qt::AlignLeft | Qt::TextWordWrap,
                    fits ? title : QStringLiteral("in flight"));
}

QString TimelinePainter::tick_label(Ns time, Ns step) const {
  if (scene_.axis != TimeAxis::kLogical) return tick_text(time, step);
  return step % kLogicalStep == 0 || time % kLogicalStep == 0 ? QStringLiteral("step %1").arg(time / kLogicalStep) : QString();
}

QString TimelinePainter::row_name(const TimelineRow& row) const {
  const Lane& lane = trace_.lanes[std::size_t(row.lane)];
  if (row.lanes == 1) return qstr(lane.name);
  std::vector<int> devices;
  for (int i = 0; i < row.lanes; ++i) devices.push_back(trace_.lanes[std::size_t(row.lane + i)].device);
  return qstr(lane.name).section(QLatin1Char(' '), 0, 0) + QLatin1Char(' ') + set_text(devices, 12);
}

void TimelinePainter::paint_chips(const TimelineRow& row, const QRect& box) {
  const int count = std::min(row.lanes, box.height());
  for (int i = 0; i < count; ++i) {
    const int top = box.top() + i * box.height() / count, bottom = box.top() + (i + 1) * box.height() / count;
    const int device = trace_.lanes[std::size_t(row.lane + i * row.lanes / count)].device;
    painter_.fillRect(QRect(box.left(), top, box.width(), bottom - top), theme_.device(trace_, device));
  }
}

void TimelinePainter::paint_labels() {
  const QFontMetrics metrics(scene_.font);
  const int width = scene_.label_width;
  const int gutter = 64;  // for the process, beside its lanes
  painter_.save();
  painter_.setClipRect(QRect(0, scene_.ruler_height, width, plot_.height()));
  painter_.fillRect(QRect(0, scene_.ruler_height, width, plot_.height()), theme_.window);
  const auto chosen = scene_.selection->devices();
  for (std::size_t r = 0; r < scene_.rows.size(); ++r) {
    const auto& row = scene_.rows[r];
    const Lane& lane = trace_.lanes[std::size_t(row.lane)];
    const QRect box(gutter, scene_.ruler_height + row.top - scene_.scroll_y, width - gutter, row.height);
    if (box.bottom() >= scene_.ruler_height && box.top() <= scene_.size.height()) {
      bool lit = false;
      for (int i = 0; i < row.lanes && lane.device >= 0; ++i)
        lit |= std::binary_search(chosen.begin(), chosen.end(), trace_.lanes[std::size_t(row.lane + i)].device);
      if (lit) painter_.fillRect(box, blend(theme_.accent, theme_.window, 0.22));
      if (lane.device >= 0)
        paint_chips(row, QRect(box.left(), box.top() + (row.height > 6), 4, std::max(row.height - 2 * (row.height > 6), 1)));
      // Events that overlap lie in several rows of one device, which is named once.
      const Lane* above =
          r > 0 && scene_.rows[r - 1].top >= scene_.scroll_y ? &trace_.lanes[std::size_t(scene_.rows[r - 1].lane)] : nullptr;
      const bool again = above && lane.device >= 0 && above->device == lane.device && !row.first_of_group;
      if (row.height >= metrics.height() - 3 && !again) {
        painter_.setPen(lane.device >= 0 ? theme_.text : theme_.muted);
        painter_.drawText(box.adjusted(10, 0, -4, 0), Qt::AlignVCenter | Qt::AlignLeft,
                          metrics.elidedText(row_name(row), Qt::ElideRight, box.width() - 14));
      }
    }
    if (!row.first_of_group) continue;
    std::size_t last = r;
    while (last + 1 < scene_.rows.size() && !scene_.rows[last + 1].first_of_group) ++last;
    // A counter of memory below its lanes is the group's too.
    int group_bottom = last + 1 < scene_.rows.size() ? scene_.rows[last + 1].top : scene_.rows[last].top + scene_.rows[last].height;
    if (last + 1 == scene_.rows.size() && !scene_.memory_rows.empty())
      group_bottom = std::max(group_bottom, scene_.memory_rows.back().top + scene_.memory_rows.back().height);
    const QRect group(0, box.top(), gutter, group_bottom - row.top);
    const bool of_process = row.group.empty();
    const Process* process = of_process ? trace_.process(lane.process) : nullptr;
    const bool bad = process && process->ended_badly();
    if (of_process && scene_.selection->state().process == lane.process)
      painter_.fillRect(group, blend(theme_.accent, theme_.window, 0.22));
    painter_.setPen(theme_.line);
    if (row.top > 0) painter_.drawLine(0, group.top(), width, group.top());
    painter_.drawLine(gutter - 1, group.top(), gutter - 1, group.bottom());
    if (group.height() >= metrics.height() - 2) {
      // Its name stays in sight while any of its lanes is.
      const int top = std::clamp(scene_.ruler_height, group.top(), std::max(group.bottom() - metrics.height() - 2, group.top()));
      painter_.setPen(bad ? theme_.error : theme_.text);
      painter_.drawText(
          QRect(8, top, gutter - 10, std::min(group.height(), metrics.height() + 8)), Qt::AlignVCenter | Qt::AlignLeft,
          of_process ? QStringLiteral("proc %1").arg(lane.process) : metrics.elidedText(qstr(row.group), Qt::ElideMiddle, gutter - 10));
      if (process && !process->state.empty() && group.height() >= 2 * metrics.height() + 6) {
        painter_.setPen(bad ? theme_.error : theme_.muted);
        painter_.drawText(QRect(8, top + metrics.height() + 2, gutter - 10, metrics.height() + 4), Qt::AlignVCenter | Qt::AlignLeft,
                          metrics.elidedText(qstr(process->state), Qt::ElideRight, gutter - 12));
      }
    }
  }
  for (const auto& row : scene_.memory_rows)
    paint_memory_label(row, QRect(gutter, scene_.ruler_height + row.top - scene_.scroll_y, width - gutter, row.height));
  painter_.restore();
  painter_.setPen(theme_.line);
  painter_.drawLine(width - 1, 0, width - 1, scene_.size.height());
}

void TimelinePainter::paint_ruler() {
  const QFontMetrics metrics(scene_.font);
  painter_.fillRect(QRect(0, 0, scene_.size.width(), scene_.ruler_height), theme_.raised);
  painter_.setPen(theme_.line);
  painter_.drawLine(0, scene_.ruler_height - 1, scene_.size.width(), scene_.ruler_height - 1);
  const Ruler ruler = make_ruler(scene_.scale, trace_.range.begin, 110);
  painter_.save();
  painter_.setClipRect(QRect(scene_.label_width, 0, plot_.width(), scene_.ruler_height));
  for (const auto& tick : ruler.ticks) {
    const double at = std::round(x(tick.time)) + 0.5;
    painter_.setPen(tick.major ? theme_.muted : theme_.line);
    painter_.drawLine(QLineF(at, scene_.ruler_height - (tick.major ? 8 : 4), at, scene_.ruler_height - 2));
    if (tick.major) painter_.drawText(QPointF(at + 4, scene_.ruler_height - 8), tick_label(tick.time - trace_.range.begin, ruler.step));
  }
  painter_.restore();
  painter_.setPen(theme_.muted);
  painter_.drawText(QRect(8, 0, scene_.label_width - 12, scene_.ruler_height), Qt::AlignVCenter | Qt::AlignLeft,
                    scene_.axis == TimeAxis::kLogical ? QStringLiteral("window %1 steps").arg(scene_.scale.window().length() / kLogicalStep)
                    : scene_.axis == TimeAxis::kVirtual ? QStringLiteral("virtual ") + duration_text(scene_.scale.window().length())
                                                        : QStringLiteral("window ") + duration_text(scene_.scale.window().length()));
}

}  // namespace shardlab::gui
