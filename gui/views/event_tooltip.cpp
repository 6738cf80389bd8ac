#include "gui/views/event_tooltip.h"

#include <QStringList>

#include "gui/models/format.h"

namespace shardlab::gui {

QString event_tooltip(const TraceData& trace, const Lane& lane, std::size_t index) {
  const Label& label = trace.labels[lane.events->label[index]];
  const Ns begin = lane.events->begin[index], end = lane.events->end[index];
  const bool open = lane.events->flags[index] & kFlagOpen;
  QStringList lines;
  const QString length = open ? QStringLiteral("never ended") : duration_text(end - begin);
  const int collective = lane.events->collective[index];
  if (collective < 0) {
    lines << QStringLiteral("<b>%1</b> · %2").arg(html(label.name), length);
    lines << QStringLiteral("%1 on %2, process %3").arg(qstr(event_kind_name(lane.events->kind[index])), html(lane.name)).arg(lane.process);
    if (label.site >= 0) lines << html(trace.site_text(label.site));
  } else {
    const Collective& call = trace.collectives[std::size_t(collective)];
    lines << QStringLiteral("<b>%1</b> #%2 · %3").arg(html(call.type->kind)).arg(collective).arg(length);
    lines << QStringLiteral("for <b>%1</b>, %2%3%4")
                 .arg(html(call.type->op), html(call.type->dtype), html(call.type->shape),
                      call.type->reduction.empty() ? QString() : QStringLiteral(", ") + html(call.type->reduction));
    if (const auto& lists = call.type->groups->lists; !lists.empty()) {
      QString groups = count_text(std::int64_t(lists.size()), "group", "groups") + QStringLiteral(" of ") +
                       count_text(std::int64_t(lists[0].size()), "device", "devices");
      if (!call.type->axes.empty()) groups += QStringLiteral(" along ") + html(call.type->axes);
      lines << groups;
    }
    lines << QStringLiteral("%1 result on a device, %2 on the wire").arg(bytes_text(call.type->bytes), bytes_text(call.type->wire_bytes));
    const Device* device = trace.device(lane.device);
    if (const Member* member = device ? call.member_of(*device) : nullptr; member && member->start != kOpen && member->exit != kOpen)
      lines << QStringLiteral("waited %1, transferred %2")
                   .arg(duration_text(member->start - member->enter), duration_text(member->exit - member->start));
    lines << html(trace.site_text(call.type->site));
    if (call.failed)
      lines << QStringLiteral("<b>%1</b>").arg(html(call.diagnosis >= 0 ? trace.diagnoses[std::size_t(call.diagnosis)].code : call.state));
  }
  return lines.join(QStringLiteral("<br>"));
}

}  // namespace shardlab::gui
