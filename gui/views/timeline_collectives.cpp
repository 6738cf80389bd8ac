// Collectives on the timeline: their waiting and transferring parts, the curtain over all members, flows, and what is selected.
#include <algorithm>
#include <cmath>
#include <set>

#include "gui/models/format.h"
#include "gui/views/timeline_painter.h"

namespace shardlab::gui {

using timeline::kLabelPxMin;

namespace {

constexpr std::size_t kCurtainsMax = 400;  // more would be a grey wash
constexpr std::size_t kFlowsMax = 150;     // more hide what they join

}  // namespace

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

void TimelinePainter::paint_curtains() {
  if (!trace_.collectives_by_time) return;
  const auto visible = trace_.collectives_by_time->find(scene_.scale.window(), kCurtainsMax);
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

}  // namespace shardlab::gui
