// The Inspector on arrays and launches: who made what, who took it, and how one gets from the one to the other.
#include <algorithm>

#include "gui/models/array_uses.h"
#include "gui/models/format.h"
#include "gui/models/launch_events.h"
#include "gui/models/text_twin.h"
#include "gui/views/inspector_page.h"

namespace shardlab::gui {
namespace {

QString launch_link(int process, std::int64_t launch, const QString& text) {
  return QStringLiteral("<a href='launch:%1-%2'>%3</a>").arg(process).arg(launch).arg(text);
}

// In the launch, those that the device takes part in; -1: all.
QString collective_links(const TraceData& trace, const UsesOfCall& use, int device) {
  constexpr std::size_t kShownMax = 6;
  const Launch* launch = trace.launch(use.process, use.launch);
  const std::vector<int> calls = launch ? collectives_of_launch(trace, *launch, device) : std::vector<int>();
  QStringList links;
  for (std::size_t i = 0; i < std::min(calls.size(), kShownMax); ++i)
    links << QStringLiteral("<a href='collective:%1'>%2</a>").arg(calls[i]).arg(html(trace.collectives[std::size_t(calls[i])].type->kind));
  if (calls.size() > kShownMax) links << QStringLiteral("%1 more").arg(calls.size() - kShownMax);
  return links.isEmpty() ? QString() : QStringLiteral(", with ") + links.join(QStringLiteral(", "));
}

QString use_line(const TraceData& trace, const UsesOfCall& use, int device) {
  return launch_link(use.process, use.launch, html(launch_name(trace, use.program))) + QStringLiteral(" ") +
         html(use_text(trace, use).toStdString()) + collective_links(trace, use, device);
}

QString array_line(const TraceData& trace, const ArrayUse& use) {
  const Array& array = trace.arrays[std::size_t(use.array)];
  return QStringLiteral("<a href='array:%1'>%2</a> %3%4")
      .arg(use.array)
      .arg(html(array.display_name()), html(array.type_text() + " " + array.layout->spec),
           use.donated ? QStringLiteral(", donated") : QString());
}

// In runs that were recorded with checksums.
void describe_values(Page& page, const TraceData& trace, int index) {
  const Array& array = trace.arrays[std::size_t(index)];
  if (!array.values) return;
  const Checksum& sum = array.values->checksum;
  page.fact("Checksum", QStringLiteral("%1").arg(sum.hash, 16, 16, QLatin1Char('0')));
  if (sum.any_finite()) {
    page.fact("Range", QStringLiteral("%1 to %2").arg(sum.min, 0, 'g', 9).arg(sum.max, 0, 'g', 9));
    page.fact("Sum", QStringLiteral("%1, norm %2").arg(sum.sum, 0, 'g', 9).arg(sum.norm(), 0, 'g', 9));
  }
  if (sum.nans + sum.infinities > 0)
    page.fact(
        "Not finite",
        QStringLiteral("<font color='%1'>%2 NaN, %3 infinite</font>").arg(page.theme().warning.name()).arg(sum.nans).arg(sum.infinities));
  if (!array.values->odd_replicas.empty())
    page.paragraph(QStringLiteral("<font color='%1'>Replicas differ: devices %2 hold other values than the devices before them.</font>")
                       .arg(page.theme().error.name(), set_text(array.values->odd_replicas, 60)));
}

}  // namespace

void describe_launch(Page& page, const TraceData& trace, const Launch& launch) {
  page.title(html(launch_name(trace, launch.program)), QStringLiteral("launch %1 of process %2").arg(launch.number).arg(launch.process));
  page.fact("Issued", html(trace.site_text(launch.site)));
  if (launch.started == kOpen)
    page.fact("Took", QStringLiteral("never begun"));
  else
    page.fact("Took", launch.done == kOpen ? QStringLiteral("never ended") : duration_text(launch.done - launch.started));
  if (!trace.array_uses) return page.fact("Arrays", qstr(why_no_uses(trace)));
  const auto uses = trace.array_uses->of_launch(launch.process, launch.number);
  const Program* program = launch.program >= 0 ? &trace.programs[std::size_t(launch.program)] : nullptr;
  QStringList takes, gives;
  int known = 0;
  for (const ArrayUse& use : uses) {
    known += !use.gives;
    (use.gives ? gives : takes) << array_line(trace, use);
  }
  const int operands = program ? int(program->operands.size()) : 0;
  if (trace.array_uses->told() && operands > known)
    takes << QStringLiteral("<font color='%1'>%2 not recorded: of the host, or made before recording began</font>")
                 .arg(page.theme().muted.name(), count_text(operands - known, "value", "values"));
  page.facts("Takes", std::move(takes));
  page.facts("Gives", std::move(gives));
}

void describe_array(Page& page, const TraceData& trace, const SelectionState& state) {
  const Array& array = trace.arrays[std::size_t(state.array)];
  page.title(QStringLiteral("array ") + html(array.display_name()), html(array.type_text() + " " + array.layout->spec));
  const std::vector<UsesOfCall> uses = uses_of(trace, state.array);
  QStringList makers, takers;
  std::int64_t launches = 0;
  for (const UsesOfCall& use : uses) {
    (use.gives ? makers : takers) << use_line(trace, use, state.device);
    launches += use.launches;
  }
  if (makers.isEmpty()) makers << QStringLiteral("at ") + html(trace.site_text(array.site));
  page.facts("Made by", std::move(makers));
  if (!trace.array_uses) {
    if (!trace.launches.empty()) page.fact("Taken by", qstr(why_no_uses(trace)));
  } else {
    if (takers.isEmpty())
      takers << (trace.array_uses->told() ? QStringLiteral("no launch") : QStringLiteral("no call that it can be told of"));
    page.facts("Taken by", std::move(takers));
    if (!trace.array_uses->told())
      page.fact("", QStringLiteral("found by elimination: this trace does not tell which arrays launches took"));
    if (launches > 0)
      page.fact("In all", QStringLiteral("%1 (<a href='events:array:%2'>their events</a>)%3")
                              .arg(count_text(launches, "launch", "launches"))
                              .arg(state.array)
                              .arg(state.touched ? QStringLiteral(", marked in the timeline") : QString()));
  }
  describe_values(page, trace, state.array);
}

}  // namespace shardlab::gui
