// The launches that took or gave the chosen array, marked on the timeline, and outlined where there is room.
#include <algorithm>

#include "gui/models/array_uses.h"
#include "gui/models/format.h"
#include "gui/views/timeline_canvas.h"
#include "gui/views/touch_mark.h"

namespace shardlab::gui {
namespace {

constexpr double kOutlinePxMin = 9;             // narrower ones have a mark alone
constexpr double kMarkPx = 7;                   // as wide as it is; what lies closer shares it
constexpr std::size_t kMarkedAtOnceMax = 2000;  // uses of an array that are looked up without leaving the window's thread

}  // namespace

// On another axis they are the same events of the same lanes.
void TimelineCanvas::mark_touched() {
  const TracePtr& trace = selection_.trace();
  const int array = trace && selection_.state().touched ? selection_.state().array : -1;
  if (trace == touched_trace_ && array == touched_array_) return;
  touched_trace_ = trace;
  touched_array_ = array;
  touched_ = {};
  background_.cancel(&touched_);
  if (array < 0 || !trace->array_uses) return;
  background_.run(
      &touched_, trace->array_uses->count_of(array) < kMarkedAtOnceMax,
      [trace, array](const std::stop_token& stop) { return find_touched(*trace, array, stop); },
      [this](TouchedLanes found) {
        touched_ = std::move(found);
        viewport()->update();
      });
}

QString TimelineCanvas::touched_text(int lane, std::int64_t event) const {
  const bool took = touched_.took(lane, event), gave = touched_.gave(lane, event);
  if (!took && !gave) return {};
  const QString name = qstr(touched_trace_->arrays[std::size_t(touched_array_)].display_name());
  return took ? QStringLiteral("of a launch that took %1").arg(name) : QStringLiteral("of the launch that made %1").arg(name);
}

void TimelinePainter::paint_touched() {
  if (!scene_.touched) return;
  for (const auto& row : scene_.rows) {
    const int top = scene_.ruler_height + row.top - scene_.scroll_y;
    if (std::size_t(row.lane) >= scene_.touched->lanes.size() || top + row.height < plot_.top() || top > plot_.bottom()) continue;
    const TouchedLanes::Runs& runs = scene_.touched->lanes[std::size_t(row.lane)];
    paint_runs(row, runs.takes, false);
    paint_runs(row, runs.gives, true);
  }
}

void TimelinePainter::paint_runs(const TimelineRow& row, const std::vector<EventRun>& runs, bool gives) {
  const LaneEvents& events = *trace_.lanes[std::size_t(row.lane)].events;
  const TimeRange window = scene_.scale.window();
  const auto begin = [&](const EventRun& run) { return events.begin[run.first]; };
  const auto end = [&](const EventRun& run) { return events.end[run.last - 1]; };
  auto at = std::partition_point(runs.begin(), runs.end(), [&](const EventRun& run) { return end(run) < window.begin; });
  while (at != runs.end() && begin(*at) <= window.end) {
    const QRectF box = box_of(row, begin(*at), end(*at));
    const QRectF whole(box.left(), scene_.ruler_height + row.top - scene_.scroll_y, box.width(), row.height);
    if (box.width() >= kOutlinePxMin) {
      paint_touch(whole, gives);
      ++at;
      continue;
    }
    paint_touch_mark(painter_, whole, gives, theme_);
    const Ns next = scene_.scale.time_at(box.center().x() + kMarkPx - scene_.label_width);
    at = std::partition_point(at + 1, runs.end(), [&](const EventRun& run) { return begin(run) < next; });
  }
}

// The inner line keeps the outline apart from what it surrounds, whatever colour that has.
void TimelinePainter::paint_touch(const QRectF& box, bool gives) {
  const double line = box.height() >= 12 ? 2 : 1;
  painter_.setBrush(Qt::NoBrush);
  painter_.setPen(QPen(theme_.base, 1, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
  const double inner = line + 0.5;
  painter_.drawRect(box.adjusted(inner, inner, -inner, -inner));
  painter_.setPen(QPen(theme_.accent, line, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
  painter_.drawRect(box.adjusted(line / 2, line / 2, -line / 2, -line / 2));
  const double left = std::max(box.left(), double(plot_.left()));
  paint_touch_mark(painter_, QRectF(left, box.top(), std::min(box.right() - left, 2 * kMarkPx), box.height()), gives, theme_);
}

void paint_touch_mark(QPainter& painter, const QRectF& box, bool gives, const Theme& theme) {
  const double x = box.center().x(), half = std::min(kMarkPx / 2, box.height()), height = std::min(6.0, box.height() * 0.6);
  const double base = gives ? box.top() : box.bottom(), tip = gives ? base + height : base - height;
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme.base, 1));
  painter.setBrush(theme.text);
  painter.drawPolygon(QPolygonF{{x - half, base}, {x + half, base}, {x, tip}});
  painter.restore();
}

}  // namespace shardlab::gui
