// When the lanes are painted at once, and when beside the window's thread.
#include "gui/views/timeline_lanes.h"

#include <QBackingStore>
#include <QPaintEngine>
#include <QScrollBar>

#include <algorithm>

#include "gui/views/timeline_canvas.h"

namespace shardlab::gui {
namespace {

// Boxes that are painted within a frame: a few milliseconds.
constexpr std::int64_t kPaintAtOnce = 1500;

}  // namespace

LanesPicture LanesPicture::paint(LanesKey key, TimelineScene scene, int rows_height) {
  scene.selection = nullptr;
  scene.marks = nullptr;
  LanesPicture made;
  made.scale = scene.scale;
  made.rows_height = rows_height;
  made.image = QImage((QSizeF(scene.size) * key.ratio).toSize(), QImage::Format_RGB32);
  made.image.setDevicePixelRatio(key.ratio);
  QPainter painter(&made.image);
  TimelinePainter lanes(painter, scene);
  lanes.paint_back();
  made.plot = lanes.plot();
  made.key = std::move(key);
  return made;
}

void LanesPicture::draw_stretched(QPainter& painter, const TimelineScene& scene, const QRect& to, int to_rows_height) const {
  const TimeRange now = scene.scale.window();
  const TimeRange both{std::max(now.begin, key.window.begin), std::min(now.end, key.window.end)};
  if (image.isNull() || both.empty() || rows_height <= 0 || to.isEmpty() || plot.isEmpty()) return;
  const auto across = [&](const TimeScale& of, const QRect& within) {
    return std::pair(within.left() + of.x_of(both.begin), within.left() + of.x_of(both.end));
  };
  const auto [left, right] = across(scale, plot);
  const auto [to_left, to_right] = across(scene.scale, to);
  const double stretch = double(to_rows_height) / double(rows_height);
  const double to_top = to.top() + key.scroll_y * stretch - scene.scroll_y;
  painter.save();
  painter.setClipRect(to);
  painter.drawImage(QRectF(to_left, to_top, to_right - to_left, plot.height() * stretch), image,
                    QRectF(left * key.ratio, plot.top() * key.ratio, (right - left) * key.ratio, plot.height() * key.ratio));
  painter.restore();
}

const StepCounter* TimelineCanvas::bytes_in_flight() const {
  return counters_ && trace_ && trace_->bytes_in_flight && !trace_->bytes_in_flight->empty() ? trace_->bytes_in_flight.get() : nullptr;
}

bool on_screen(const QPainter& painter, const QWidget& widget) {
  QBackingStore* store = widget.backingStore();
  return store && painter.paintEngine() && painter.paintEngine()->paintDevice() == store->paintDevice();
}

// Many events in sight, or many columns of counters.
bool TimelineCanvas::take_long() const {
  if (trace_->preview) return false;
  const TimeRange window = scale_.window();
  const auto columns = std::int64_t(std::max(scale_.width(), 1)) / 2;
  const int top = verticalScrollBar()->value(), bottom = top + rows_room();
  const auto seen = [&](const auto& row) { return row.top + row.height >= top && row.top <= bottom; };
  std::int64_t boxes = bytes_in_flight() ? columns : 0;
  for (const auto& row : memory_rows_) boxes += seen(row) ? columns : 0;
  for (const auto& row : rows_) {
    if (!seen(row)) continue;
    const LaneEvents& events = *trace_->lanes[std::size_t(row.lane)].events;
    const auto first = std::lower_bound(events.end.begin(), events.end.end(), window.begin) - events.end.begin();
    const auto last = std::lower_bound(events.begin.begin(), events.begin.end(), window.end) - events.begin.begin();
    boxes += std::clamp<std::int64_t>(last - first, 0, columns);
  }
  return boxes > kPaintAtOnce;
}

void TimelineCanvas::paint_lanes(QPainter& painter, const TimelineScene& scene) {
  const bool screen = on_screen(painter, *viewport());
  if (!screen || !take_long()) {
    TimelinePainter(painter, scene).paint_back();
    if (screen) up_to_date_ = !asked_trace_;
    return;
  }
  LanesKey key{.trace = trace_,
               .window = scale_.window(),
               .size = scene.size,
               .ratio = viewport()->devicePixelRatioF(),
               .layout = layout_,
               .scroll_y = scene.scroll_y,
               .coarser = scene.coarser,
               .hover_collective = scene.hover_collective,
               .theme = scene.theme,
               .folds = scene.folds,
               .axis = axis_,
               .lateness = lateness_};
  const bool there = lanes_.key == key;
  up_to_date_ = there && !asked_trace_;
  if (there) return painter.drawImage(QPoint(), lanes_.image);
  painter.fillRect(QRect(QPoint(), scene.size), scene.theme->base);
  // Of the same run, and the same colours.
  const bool alike =
      lanes_.key.trace && lanes_.key.trace->path == trace_->path && lanes_.key.axis == axis_ && lanes_.key.theme == key.theme;
  if (alike) lanes_.draw_stretched(painter, scene, TimelinePainter(painter, scene).plot(), rows_height_);
  // One at a time: the next one is of what is to be seen by then.
  if (lanes_awaited_) return;
  lanes_awaited_ = true;
  background_.run(
      &lanes_, [key, scene, height = rows_height_](const std::stop_token&) { return LanesPicture::paint(key, scene, height); },
      [this](LanesPicture made) {
        lanes_awaited_ = false;
        lanes_ = std::move(made);
        viewport()->update();
      },
      Background::kPicture);
}

}  // namespace shardlab::gui
