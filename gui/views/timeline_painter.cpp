#include "gui/views/timeline_painter.h"

#include <QPaintEngine>

#include <algorithm>
#include <cmath>

#include "gui/models/format.h"

namespace shardlab::gui {

using timeline::kFoldPx;
using timeline::kLabelPxMin;

QColor event_colour(const TraceData& trace, const Theme& theme, const Lane& lane, std::size_t index) {
  switch (lane.events->kind[index]) {
    case EventKind::kCollective: {
      const int collective = lane.events->collective[index];
      return theme.collective(collective >= 0 ? trace.collectives[std::size_t(collective)].type->kind
                                              : trace.labels[lane.events->label[index]].name);
    }
    case EventKind::kCompute: {
      // Neighbours of another name get another shade, so that they are told apart without a second hue.
      const int shade = int(lane.events->label[index] % 3);
      return blend(theme.text, theme.compute, 0.09 * shade);
    }
    default:
      return theme.host;
  }
}

TimelinePainter::TimelinePainter(QPainter& painter, const TimelineScene& scene)
    : painter_(painter), scene_(scene), trace_(*scene.trace), theme_(*scene.theme) {
  // A timeline narrower than its labels has a plot of no width, not of less.
  plot_ = QRect(scene.label_width, scene.ruler_height, std::max(scene.size.width() - scene.label_width, 0),
                std::max(scene.size.height() - scene.ruler_height - (scene.in_flight ? scene.counter_height : 0), 0));
  int highest = -1;
  for (const auto& device : trace_.devices) highest = std::max(highest, device.ordinal);
  row_of_device_.assign(std::size_t(highest + 1), -1);
  for (std::size_t r = 0; r < scene.rows.size(); ++r) {
    for (int i = 0; i < scene.rows[r].lanes; ++i) {
      const int device = trace_.lanes[std::size_t(scene.rows[r].lane + i)].device;
      if (device >= 0 && device <= highest && row_of_device_[std::size_t(device)] < 0) row_of_device_[std::size_t(device)] = int(r);
    }
  }
}

const TimelineRow* TimelinePainter::row_of_device(int device) const {
  if (device < 0 || std::size_t(device) >= row_of_device_.size() || row_of_device_[std::size_t(device)] < 0) return nullptr;
  return &scene_.rows[std::size_t(row_of_device_[std::size_t(device)])];
}

QRectF TimelinePainter::box_of(const TimelineRow& row, Ns begin, Ns end) const {
  const double left = std::clamp(x(begin), double(plot_.left()) - 8, double(plot_.right()) + 8);
  const double right = std::clamp(x(end), double(plot_.left()) - 8, double(plot_.right()) + 8);
  const int gap = row.height >= 12 ? 2 : row.height >= 5 ? 1 : 0;
  return {left, double(scene_.ruler_height + row.top - scene_.scroll_y + gap), std::max(right - left, 1.0),
          double(std::max(row.height - 2 * gap, 1))};
}

void TimelinePainter::paint_back() {
  painter_.setFont(scene_.font);
  painter_.fillRect(QRect(QPoint(), scene_.size), theme_.base);
  painter_.save();
  painter_.setClipRect(plot_);
  paint_rows();
  paint_memory();
  painter_.restore();
  if (scene_.in_flight) paint_counter();
}

QRegion TimelinePainter::without_memory() const {
  QRegion region(plot_);
  for (const auto& row : scene_.memory_rows)
    region -= QRect(plot_.left(), scene_.ruler_height + row.top - scene_.scroll_y, plot_.width(), row.height);
  return region;
}

void TimelinePainter::paint_front() {
  painter_.setFont(scene_.font);
  painter_.save();
  painter_.setClipRegion(without_memory());
  paint_touched();
  paint_selection();
  painter_.restore();
  paint_labels();
  if (scene_.in_flight) paint_counter_name();
  paint_ruler();
  if (scene_.marks) paint_marks();
  if (scene_.focused) {
    painter_.setPen(QPen(theme_.accent, 1));
    painter_.setBrush(Qt::NoBrush);
    painter_.drawRect(QRect(QPoint(), scene_.size).adjusted(0, 0, -1, -1));
  }
}

void TimelinePainter::paint_rows() {
  const Ruler ruler = make_ruler(scene_.scale, trace_.range.begin, 110);
  int stripe = 0;
  for (const auto& row : scene_.rows) {
    stripe += row.first_of_group;
    const QRect line(plot_.left(), scene_.ruler_height + row.top - scene_.scroll_y, plot_.width(), row.height);
    if (line.bottom() < plot_.top() || line.top() > plot_.bottom()) continue;
    painter_.fillRect(line, stripe % 2 ? theme_.lane : theme_.lane_alternate);
  }
  painter_.setPen(theme_.faint);
  for (const auto& tick : ruler.ticks)
    if (tick.major) painter_.drawLine(QLineF(std::round(x(tick.time)) + 0.5, plot_.top(), std::round(x(tick.time)) + 0.5, plot_.bottom()));
  paint_curtains();
  for (const auto& row : scene_.rows) {
    const int top = scene_.ruler_height + row.top - scene_.scroll_y;
    if (top + row.height < plot_.top() || top > plot_.bottom()) continue;
    paint_lane(row);
    if (row.first_of_group && row.top > 0) {
      painter_.setPen(theme_.line);
      painter_.drawLine(plot_.left(), top, plot_.right(), top);
    }
  }
}

void TimelinePainter::paint_lane(const TimelineRow& row) {
  const Lane& lane = trace_.lanes[std::size_t(row.lane)];
  if (lane.events->size() == 0 && trace_.torn()) {
    // Not idle: nothing is known of it.
    const QRectF box(plot_.left(), scene_.ruler_height + row.top - scene_.scroll_y, plot_.width(), row.height);
    painter_.fillRect(box, QBrush(theme_.line, Qt::FDiagPattern));
    paint_text(box, QStringLiteral("no records"), theme_.muted, theme_.lane);
    return;
  }
  if (trace_.preview) return paint_preview(lane, box_of(row, lane.summary.first, lane.summary.last));
  std::span<const LaneItem> items;
  if (scene_.folds && scene_.folds->has(lane)) {
    items = scene_.folds->items(lane, scene_.scale.window());
  } else {
    items_.clear();
    fold_lane(*lane.events, scene_.scale.window(), FoldSet::level(scene_.scale.ns_per_px(), kFoldPx) * scene_.coarser, items_);
    items = items_;
  }
  const bool raster = painter_.paintEngine() && painter_.paintEngine()->type() == QPaintEngine::Raster;
  if (raster) start_strip(row);
  for (const auto& item : items) {
    if (item.count == 1) continue;
    const QRectF box = box_of(row, item.begin, item.end);
    if (raster)
      fold_into_strip(lane, item, box);
    else
      paint_fold(lane, item, box);
  }
  if (strip_used_) painter_.drawImage(strip_box_, strip_);
  for (const auto& item : items)
    if (item.count == 1) paint_event(lane, item, box_of(row, item.begin, item.end));
  for (const auto& item : items)
    if (item.count > 1 && item.flags & kFlagError) paint_error_mark(box_of(row, item.begin, item.end));
}

void TimelinePainter::start_strip(const TimelineRow& row) {
  strip_ratio_ = painter_.device()->devicePixelRatioF();
  strip_box_ = QRectF(plot_.left() - 8, scene_.ruler_height + row.top - scene_.scroll_y, plot_.width() + 16, row.height);
  const QSize size((strip_box_.size() * strip_ratio_).toSize());
  if (strip_.size() != size) strip_ = QImage(size, QImage::Format_ARGB32_Premultiplied);
  strip_.fill(Qt::transparent);
  strip_used_ = false;
}

void TimelinePainter::fill_strip(double left, double right, double top, double bottom, const QColor& colour) {
  const auto at = [&](double v, double origin) { return int(std::lround((v - origin) * strip_ratio_)); };
  const int x0 = std::max(at(left, strip_box_.left()), 0), x1 = std::min(std::max(at(right, strip_box_.left()), x0 + 1), strip_.width());
  const int y0 = std::max(at(top, strip_box_.top()), 0), y1 = std::min(std::max(at(bottom, strip_box_.top()), y0 + 1), strip_.height());
  const QRgb rgb = colour.rgb();
  for (int y = y0; y < y1; ++y) {
    auto* line = reinterpret_cast<QRgb*>(strip_.scanLine(y));
    for (int i = x0; i < x1; ++i) line[i] = rgb;
  }
  strip_used_ = true;
}

// Heights of a fold's two parts: the share of time that each took.
struct TimelinePainter::FoldHeights {
  double other, collective;
};

TimelinePainter::FoldHeights TimelinePainter::fold_heights(const LaneItem& item, double height) {
  const double length = double(std::max<Ns>(item.end - item.begin, 1));
  return {std::max(std::min(double(item.busy - item.collective_busy) / length, 1.0) * height,
                   item.busy > item.collective_busy || item.busy == 0 ? 1.0 : 0.0),
          std::min(double(item.collective_busy) / length, 1.0) * height};
}

void TimelinePainter::fold_into_strip(const Lane& lane, const LaneItem& item, const QRectF& box) {
  const auto [other, collective] = fold_heights(item, box.height());
  if (other > 0)
    fill_strip(box.left(), box.right(), box.bottom() - other, box.bottom(), item.flags & kFlagCompute ? theme_.compute : theme_.host);
  if (collective > 0)
    fill_strip(box.left(), box.right(), box.bottom() - other - collective, box.bottom() - other,
               event_colour(trace_, theme_, lane, item.collective_index));
}

// Before the events are there: how busy the lane was between its first and last record.
void TimelinePainter::paint_preview(const Lane& lane, const QRectF& box) {
  if (lane.summary.count == 0 || lane.summary.first == kOpen) return;
  const double share = std::clamp(double(lane.summary.busy) / double(std::max<Ns>(lane.summary.last - lane.summary.first, 1)), 0.02, 1.0);
  painter_.fillRect(box, theme_.faint);
  painter_.fillRect(QRectF(box.left(), box.bottom() - share * box.height(), box.width(), share * box.height()), theme_.compute);
  if (lane.summary.errors > 0) painter_.fillRect(QRectF(box.left(), box.top(), box.width(), std::min(3.0, box.height())), theme_.error);
  paint_text(box, QStringLiteral("reading %1").arg(count_text(lane.summary.count, "event", "events")), theme_.text, theme_.faint);
}

void TimelinePainter::paint_fold(const Lane& lane, const LaneItem& item, const QRectF& box) {
  // Compute below, collectives above it.
  const auto [other, collective] = fold_heights(item, box.height());
  if (other > 0)
    painter_.fillRect(QRectF(box.left(), box.bottom() - other, box.width(), other),
                      item.flags & kFlagCompute ? theme_.compute : theme_.host);
  if (collective > 0)
    painter_.fillRect(QRectF(box.left(), box.bottom() - other - collective, box.width(), collective),
                      event_colour(trace_, theme_, lane, item.collective_index));
}

void TimelinePainter::paint_error_mark(const QRectF& box) {
  // Never narrower than 3 px and drawn over everything: an error survives any zoom.
  const double width = std::max(box.width(), 3.0);
  const double height = std::min(4.0, box.height());
  painter_.fillRect(QRectF(box.left(), box.top(), width, height), theme_.error);
  if (box.width() <= 3.5) painter_.fillRect(QRectF(box.left(), box.top(), width, box.height()), theme_.error);
}

void TimelinePainter::paint_event(const Lane& lane, const LaneItem& item, const QRectF& box) {
  const QColor colour = event_colour(trace_, theme_, lane, item.index);
  const bool collective = lane.events->kind[item.index] == EventKind::kCollective;
  // One pixel between neighbours, so that repeats are told apart.
  const QRectF body = box.width() > 4 ? box.adjusted(0, 0, -1, 0) : box;
  if (collective && box.width() > 3) {
    paint_collective_parts(lane, item, body);
  } else {
    painter_.fillRect(body, colour);
    if (!collective) paint_text(body, qstr(trace_.labels[lane.events->label[item.index]].name), ink_on(colour));
  }
  if (item.flags & kFlagError) paint_error_mark(body);
}

void TimelinePainter::paint_text(const QRectF& box, const QString& text, const QColor& ink, const QColor& plate) {
  const QFontMetrics metrics(scene_.font);
  if (box.width() < kLabelPxMin || box.height() < metrics.ascent() + 1) return;
  // What begins left of the window keeps its text in sight.
  const double left = std::max(box.left(), double(plot_.left())) + 4;
  const double room = std::min(box.right(), double(plot_.right())) - left - 2;
  if (room < kLabelPxMin - 6) return;
  const QString shown = metrics.elidedText(text, Qt::ElideRight, int(room));
  if (shown.size() < 2) return;
  const int width = metrics.horizontalAdvance(shown);
  if (plate.isValid()) painter_.fillRect(QRectF(left - 2, box.top() + 1, width + 6, box.height() - 2), plate);
  painter_.setPen(ink);
  painter_.drawText(QPointF(left, box.center().y() + (metrics.ascent() - metrics.descent()) / 2.0), shown);
}

}  // namespace shardlab::gui
