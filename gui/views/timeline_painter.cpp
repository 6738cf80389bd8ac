#include "gui/views/timeline_painter.h"

#include <QPaintEngine>

#include <algorithm>
#include <cmath>
#include <set>

#include "gui/models/format.h"

namespace shardlab::gui {

using timeline::kFoldPx;

namespace {

constexpr double kLabelPxMin = 26;         // narrower boxes have no text
constexpr std::size_t kCurtainsMax = 400;  // more would be a grey wash
constexpr std::size_t kFlowsMax = 150;     // more hide what they join

}  // namespace

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
  plot_ = QRect(scene.label_width, scene.ruler_height, scene.size.width() - scene.label_width,
                scene.size.height() - scene.ruler_height - (scene.in_flight ? scene.counter_height : 0));
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

void TimelinePainter::paint() {
  painter_.setFont(scene_.font);
  painter_.fillRect(QRect(QPoint(), scene_.size), theme_.base);
  painter_.save();
  painter_.setClipRect(plot_);
  paint_rows();
  painter_.restore();
  paint_labels();
  if (scene_.in_flight) paint_counter();
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
    stripe += row.first_of_process;
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
    if (row.first_of_process && row.top > 0) {
      painter_.setPen(theme_.line);
      painter_.drawLine(plot_.left(), top, plot_.right(), top);
    }
  }
  paint_selection();
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

void TimelinePainter::paint_collective_parts(const Lane& lane, const LaneItem& item, const QRectF& box) {
  const QColor colour = event_colour(trace_, theme_, lane, item.index);
  const int index = lane.events->collective[item.index];
  const Collective* call = index >= 0 ? &trace_.collectives[std::size_t(index)] : nullptr;
  const Device* device = trace_.device(lane.device);
  const Member* member = call && device ? call->member_of(*device) : nullptr;
  const Ns start = !member ? item.begin : member->start == kOpen ? item.end : std::min(member->start, item.end);
  const double split = std::clamp(x(start), box.left(), box.right());
  const QRectF wait(box.left(), box.top(), split - box.left(), box.height());
  const QRectF transfer(split, box.top(), box.right() - split, box.height());
  const QColor tint = blend(colour, theme_.lane, theme_.dark ? 0.28 : 0.2);
  if (wait.width() > 0.5) {
    painter_.fillRect(wait, tint);
    if (box.height() >= 6) painter_.fillRect(wait, QBrush(blend(colour, theme_.lane, 0.75), Qt::BDiagPattern));
    painter_.fillRect(QRectF(wait.left(), wait.top(), std::min(2.0, wait.width()), wait.height()), colour);
  }
  if (transfer.width() > 0.5) painter_.fillRect(transfer, colour);
  if (scene_.lateness && member) {
    // From the first to the last of its members: pale to strong, and a bar as high as it was late.
    Ns first = kOpen, last = 0;
    for (const auto& each : call->members) {
      first = std::min(first, each.enter);
      last = std::max(last, each.enter);
    }
    const double late = last > first ? double(member->enter - first) / double(last - first) : 0;
    painter_.fillRect(box, blend(QColor(0xe69f00), theme_.lane, 0.12 + 0.75 * late));
    painter_.fillRect(QRectF(box.left(), box.bottom() - late * box.height(), std::min(4.0, box.width()), late * box.height()), theme_.text);
  }
  const bool open = item.flags & kFlagOpen;
  if (open && box.width() > 8) {
    // No end was recorded: it fades out instead of ending.
    QLinearGradient fade(box.right() - std::min(40.0, box.width()), 0, box.right(), 0);
    QColor clear = theme_.lane;
    clear.setAlpha(0);
    fade.setColorAt(0, clear);
    fade.setColorAt(1, theme_.lane);
    painter_.fillRect(box.adjusted(0, 0, 1, 0), fade);
  }
  const QString name = qstr(call ? call->type->kind : trace_.labels[lane.events->label[item.index]].name);
  if (transfer.width() >= std::min(wait.width(), 3 * kLabelPxMin))
    paint_text(transfer, name, ink_on(colour));
  else if (open && QFontMetrics(scene_.font).horizontalAdvance(name) + 76 > wait.width())
    paint_text(wait, QStringLiteral("waiting"), theme_.text, tint);
  else
    paint_text(wait, open ? name + QStringLiteral(" – waiting") : name, theme_.text, tint);
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

void TimelinePainter::paint_curtains() {
  const auto visible = scene_.collectives->find(scene_.scale.window(), kCurtainsMax);
  if (visible.size() <= kCurtainsMax)
    for (const int i : visible) paint_curtain(i, false);
}

void TimelinePainter::paint_curtain(int index, bool strong) {
  const Collective& call = trace_.collectives[std::size_t(index)];
  const QColor colour = call.failed ? theme_.error : theme_.collective(call.type->kind);
  const Ns begin = call.span().begin;
  const Ns end = call.open ? trace_.range.end : call.span().end;
  if ((x(end) - x(begin)) < 5 && !strong) return;
  QColor fill = colour;
  fill.setAlphaF(strong ? 0.30F : index == scene_.hover_collective ? 0.25F : 0.13F);
  std::set<std::pair<const TimelineRow*, const TimelineRow*>> drawn;  // several groups may join the same rows
  for (const auto& group : call.type->groups->lists) {
    const TimelineRow* previous = nullptr;
    const Member* before = nullptr;
    for (const int device : group) {
      const TimelineRow* row = row_of_device(device);
      const Device* owner = trace_.device(device);
      const Member* member = owner ? call.member_of(*owner) : nullptr;
      if (!row || !member) continue;
      if (previous && previous != row && drawn.emplace(previous, row).second) {
        const QRectF upper = box_of(*previous, before->enter, before->exit == kOpen ? trace_.range.end : before->exit);
        const QRectF lower = box_of(*row, member->enter, member->exit == kOpen ? trace_.range.end : member->exit);
        painter_.setPen(Qt::NoPen);
        painter_.setBrush(fill);
        painter_.drawPolygon(QPolygonF{{upper.bottomLeft(), upper.bottomRight(), lower.topRight(), lower.topLeft()}});
      }
      previous = row;
      before = member;
    }
  }
}

void TimelinePainter::paint_selection() {
  const SelectionState& state = scene_.selection->state();
  const int lane = scene_.selection->lane();
  for (const auto& row : scene_.rows) {
    const Lane& data = trace_.lanes[std::size_t(row.lane)];
    const bool chosen =
        (lane >= row.lane && lane < row.lane + row.lanes) || (state.device < 0 && state.process >= 0 && data.process == state.process);
    if (!chosen) continue;
    QColor wash = theme_.accent;
    wash.setAlphaF(0.10F);
    painter_.fillRect(QRectF(plot_.left(), scene_.ruler_height + row.top - scene_.scroll_y, plot_.width(), row.height), wash);
  }
  painter_.setBrush(Qt::NoBrush);
  if (state.collective >= 0) {
    paint_curtain(state.collective, true);
    const Collective& call = trace_.collectives[std::size_t(state.collective)];
    painter_.setBrush(Qt::NoBrush);
    painter_.setPen(QPen(call.failed ? theme_.error : theme_.text, 1.5));
    const TimelineRow* last = nullptr;
    for (const int ordinal : call.type->groups->devices) {
      const TimelineRow* row = row_of_device(ordinal);
      if (row == last) continue;
      last = row;
      const Device* device = trace_.device(ordinal);
      const Member* member = device ? call.member_of(*device) : nullptr;
      if (!row || !member) continue;
      const QRectF box = box_of(*row, member->enter, member->exit == kOpen ? trace_.range.end : member->exit);
      painter_.drawRect(box.adjusted(-0.5, -0.5, 0.5, 0.5));
    }
  }
  if (state.collective >= 0 && !trace_.preview) paint_flows(trace_.collectives[std::size_t(state.collective)]);
  painter_.setBrush(Qt::NoBrush);
  if (state.lane >= 0 && state.event >= 0)
    for (const auto& row : scene_.rows)
      if (state.lane >= row.lane && state.lane < row.lane + row.lanes) {
        const Lane& data = trace_.lanes[std::size_t(row.lane)];
        painter_.setPen(QPen(theme_.text, 2));
        painter_.drawRect(
            box_of(row, data.events->begin[std::size_t(state.event)], data.events->end[std::size_t(state.event)]).adjusted(-1, -1, 1, 1));
      }
  const TimeRange range = !scene_.drag.empty() ? scene_.drag : scene_.axis == TimeAxis::kWall ? state.range : TimeRange{};
  if (!range.empty()) {
    QColor wash = theme_.accent;
    wash.setAlphaF(0.14F);
    const QRectF area(x(range.begin), plot_.top(), x(range.end) - x(range.begin), plot_.height());
    painter_.fillRect(area, wash);
    painter_.setPen(theme_.accent);
    painter_.drawLine(area.topLeft(), area.bottomLeft());
    painter_.drawLine(area.topRight(), area.bottomRight());
    paint_text(QRectF(area.left(), area.top(), std::max(area.width(), 70.0), 20), QStringLiteral("Δ ") + duration_text(range.length()),
               theme_.text, theme_.raised);
  }
}

// Sends of the selected collective, from the sender's start to the receiver's end.
void TimelinePainter::paint_flows(const Collective& call) {
  if (call.type->pairs.empty() || call.type->pairs.size() > kFlowsMax) return;
  painter_.save();
  painter_.setRenderHint(QPainter::Antialiasing);
  for (const auto& [source, target] : call.type->pairs) {
    const TimelineRow *from = row_of_device(source), *to = row_of_device(target);
    const Device *sender = trace_.device(source), *receiver = trace_.device(target);
    const Member* out = sender ? call.member_of(*sender) : nullptr;
    const Member* in = receiver ? call.member_of(*receiver) : nullptr;
    if (!from || !to || from == to || !out || !in) continue;
    const QRectF a = box_of(*from, out->enter, out->enter),
                 b = box_of(*to, in->exit == kOpen ? trace_.range.end : in->exit, in->exit == kOpen ? trace_.range.end : in->exit);
    const QPointF start(a.left(), a.center().y()), end(b.left(), b.center().y());
    painter_.setPen(QPen(theme_.text, 1.2));
    painter_.drawLine(start, end);
    const double angle = std::atan2(end.y() - start.y(), end.x() - start.x());
    for (const double turn : {2.7, -2.7}) painter_.drawLine(end, end + QPointF(std::cos(angle + turn), std::sin(angle + turn)) * 7);
  }
  painter_.restore();
}

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
    const QString text = metrics.elidedText(mark.text, Qt::ElideRight, 110);
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
  painter_.setPen(theme_.muted);
  const QFontMetrics metrics(scene_.font);
  const QString title = QStringLiteral("in flight, at most ") + bytes_text(std::int64_t(scene_.in_flight->most()));
  painter_.drawText(QRect(8, top, scene_.label_width - 12, height), Qt::AlignVCenter | Qt::AlignLeft | Qt::TextWordWrap,
                    metrics.horizontalAdvance(title) > 2 * (scene_.label_width - 20) ? QStringLiteral("in flight") : title);
  if (scene_.in_flight->most() <= 0) return;
  constexpr int kColumnPx = 2;
  for (int c = 0; c < plot_.width(); c += kColumnPx) {
    const double value = scene_.in_flight->most_in(scene_.scale.time_at(c), scene_.scale.time_at(c + kColumnPx));
    const int bar = value <= 0 ? 0 : std::max(int(std::lround(value / scene_.in_flight->most() * (height - 6))), 1);
    if (bar > 0) painter_.fillRect(QRect(plot_.left() + c, top + height - bar, kColumnPx, bar), theme_.collective("all-reduce"));
  }
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
      if (row.height >= metrics.height() - 3) {
        painter_.setPen(lane.device >= 0 ? theme_.text : theme_.muted);
        painter_.drawText(box.adjusted(10, 0, -4, 0), Qt::AlignVCenter | Qt::AlignLeft,
                          metrics.elidedText(row_name(row), Qt::ElideRight, box.width() - 14));
      }
    }
    if (!row.first_of_process) continue;
    std::size_t last = r;
    while (last + 1 < scene_.rows.size() && !scene_.rows[last + 1].first_of_process) ++last;
    const QRect group(0, box.top(), gutter, scene_.rows[last].top + scene_.rows[last].height - row.top);
    const Process* process = trace_.process(lane.process);
    const bool bad = process && process->ended_badly();
    if (scene_.selection->state().process == lane.process) painter_.fillRect(group, blend(theme_.accent, theme_.window, 0.22));
    painter_.setPen(theme_.line);
    if (row.top > 0) painter_.drawLine(0, group.top(), width, group.top());
    painter_.drawLine(gutter - 1, group.top(), gutter - 1, group.bottom());
    if (group.height() >= metrics.height() - 2) {
      // Its name stays in sight while any of its lanes is.
      const int top = std::clamp(scene_.ruler_height, group.top(), std::max(group.bottom() - metrics.height() - 2, group.top()));
      painter_.setPen(bad ? theme_.error : theme_.text);
      painter_.drawText(QRect(8, top, gutter - 10, std::min(group.height(), metrics.height() + 8)), Qt::AlignVCenter | Qt::AlignLeft,
                        QStringLiteral("proc %1").arg(lane.process));
      if (process && !process->state.empty() && group.height() >= 2 * metrics.height() + 6) {
        painter_.setPen(bad ? theme_.error : theme_.muted);
        painter_.drawText(QRect(8, top + metrics.height() + 2, gutter - 10, metrics.height() + 4), Qt::AlignVCenter | Qt::AlignLeft,
                          metrics.elidedText(qstr(process->state), Qt::ElideRight, gutter - 12));
      }
    }
  }
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
