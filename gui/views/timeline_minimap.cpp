#include "gui/views/timeline_minimap.h"

#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <vector>

#include "gui/models/format.h"
#include "gui/models/lane_fold.h"
#include "gui/views/timeline_lanes.h"

namespace shardlab::gui {
namespace {

constexpr std::size_t kMakeAtOnce = 1500;  // events

// Of one column of pixels, over all lanes.
struct Column {
  double compute = 0, collective = 0;  // device-nanoseconds
  bool error = false;
};

void add(const LaneItem& item, TimeRange limits, std::vector<Column>& columns) {
  const double per_column = double(limits.length()) / double(columns.size());
  const auto column_of = [&](Ns time) { return std::clamp(int(double(time - limits.begin) / per_column), 0, int(columns.size()) - 1); };
  const int first = column_of(item.begin), last = column_of(std::max(item.end - 1, item.begin));
  for (int c = first; c <= last; ++c) {
    const double begin = std::max(double(item.begin - limits.begin), c * per_column);
    const double end = std::min(double(item.end - limits.begin), (c + 1) * per_column);
    const double share = item.end > item.begin ? double(item.busy) / double(item.end - item.begin) : 1;
    auto& column = columns[std::size_t(c)];
    const double busy = std::max(end - begin, 0.0) * share;
    const double collective = item.busy > 0 ? busy * double(item.collective_busy) / double(item.busy) : 0;
    column.collective += collective;
    column.compute += busy - collective;
  }
  if (item.flags & kFlagError) columns[std::size_t(first)].error = true;
}

}  // namespace

TimelineMinimap::TimelineMinimap(Background& background, int left_margin, QWidget* parent)
    : QWidget(parent), background_(background), left_margin_(left_margin) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName(QStringLiteral("Overview of the whole trace"));
  setToolTip(QStringLiteral("The whole trace: compute below, collectives above it, errors on top. Drag to move the window."));
  setCursor(Qt::PointingHandCursor);
}

TimelineMinimap::~TimelineMinimap() { background_.cancel(this); }

void TimelineMinimap::set_trace(TracePtr trace, TimeRange limits) {
  trace_ = std::move(trace);
  limits_ = limits;
  update();
}

void TimelineMinimap::set_window(TimeRange window) {
  window_ = window;
  update();
}

double TimelineMinimap::x(Ns time) const {
  return left_margin_ + double(time - limits_.begin) / double(std::max<Ns>(limits_.length(), 1)) * (width() - left_margin_);
}

TimelineMinimap::Strip TimelineMinimap::make_strip(Key key) {
  const Theme& theme = *key.theme;
  const TimeRange limits = key.limits;
  const int columns_count = key.size.width();
  std::vector<Column> columns{std::size_t(columns_count)};
  int lanes = 0;
  std::vector<LaneItem> items;
  for (const auto& lane : key.trace->lanes) {
    if (lane.device < 0) continue;
    ++lanes;
    items.clear();
    fold_lane(*lane.events, limits, std::max<Ns>(limits.length() / columns_count, 1), items);
    for (const auto& item : items) add(item, limits, columns);
  }
  QImage image((QSizeF(key.size) * key.ratio).toSize(), QImage::Format_RGB32);
  image.setDevicePixelRatio(key.ratio);
  image.fill(theme.base);
  QPainter painter(&image);
  const double full = double(limits.length()) / columns_count * std::max(lanes, 1);
  const int height = key.size.height(), room = height - 8;
  for (int c = 0; c < columns_count; ++c) {
    const Column& column = columns[std::size_t(c)];
    const int compute = int(std::lround(std::min(column.compute / full, 1.0) * room));
    const int collective = int(std::lround(std::min(column.collective / full, 1.0) * room));
    painter.fillRect(c, height - compute, 1, compute, theme.compute);
    painter.fillRect(c, height - compute - collective, 1, collective, theme.collective("all-reduce"));
    if (column.error) painter.fillRect(c - 1, 0, 3, 5, theme.error);
  }
  painter.end();
  return {std::move(key), std::move(image)};
}

// The last one, stretched, until the next one is there.
void TimelineMinimap::paint_strip(QPainter& painter) {
  Key key{.trace = trace_,
          .limits = limits_,
          .size = {std::max(width() - left_margin_, 1), height()},
          .ratio = devicePixelRatioF(),
          .theme = &theme_of(this)};
  if (strip_.key != key && (!on_screen(painter, *this) || trace_->event_count() < kMakeAtOnce)) strip_ = make_strip(key);
  if (strip_.key == key) return painter.drawImage(left_margin_, 0, strip_.image);
  const QRect box(left_margin_, 0, key.size.width(), key.size.height());
  painter.fillRect(box, key.theme->base);
  if (strip_.key.trace && strip_.key.trace->path == trace_->path && strip_.key.theme == key.theme) {
    painter.setClipRect(box);
    painter.drawImage(QRectF(QPointF(x(strip_.key.limits.begin), 0), QPointF(x(strip_.key.limits.end), height())), strip_.image);
    painter.setClipping(false);
  }
  if (strip_awaited_) return;
  strip_awaited_ = true;
  background_.run(
      this, [key](const std::stop_token&) { return make_strip(key); },
      [this](Strip made) {
        strip_awaited_ = false;
        strip_ = std::move(made);
        update();
      },
      Background::kPicture);
}

void TimelineMinimap::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  painter.fillRect(rect(), theme.window);
  if (!trace_ || trace_->range.empty()) return;
  paint_strip(painter);
  QColor veil = theme.window;
  veil.setAlphaF(0.68F);
  const double left = std::max(x(window_.begin), double(left_margin_)), right = std::min(x(window_.end), double(width()));
  painter.fillRect(QRectF(left_margin_, 0, left - left_margin_, height()), veil);
  painter.fillRect(QRectF(right, 0, width() - right, height()), veil);
  painter.setPen(QPen(theme.accent, 1));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(QRectF(left, 0, std::max(right - left, 2.0) - 1, height() - 1));
  painter.setPen(theme.muted);
  painter.drawText(QRect(8, 0, left_margin_ - 12, height()), Qt::AlignVCenter,
                   QStringLiteral("whole trace\n") + duration_text(trace_->range.length()));
  painter.setPen(theme.line);
  painter.drawLine(left_margin_ - 1, 0, left_margin_ - 1, height());
}

void TimelineMinimap::centre_on(double at) {
  const double share = (at - left_margin_) / std::max(width() - left_margin_, 1);
  const Ns middle = limits_.begin + Ns(share * double(limits_.length()));
  const Ns half = window_.length() / 2;
  Q_EMIT window_asked({middle - half, middle - half + window_.length()});
}

void TimelineMinimap::mousePressEvent(QMouseEvent* event) { centre_on(event->position().x()); }
void TimelineMinimap::mouseMoveEvent(QMouseEvent* event) { centre_on(event->position().x()); }

}  // namespace shardlab::gui
