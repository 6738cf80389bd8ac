#include "gui/app/view_link.h"

#include <QUrl>
#include <QUrlQuery>

#include <algorithm>
#include <iterator>

#include "gui/app/main_window.h"
#include "gui/models/format.h"
#include "gui/views/timeline_canvas.h"
#include "gui/views/trace_table.h"
#include "runtime/base/error.h"

namespace shardlab::gui {
namespace {

constexpr const char* kBegin = "shardlab://view/";
constexpr const char* kAxes[] = {"wall", "virtual", "logical"};

QString range_text(TimeRange range, Ns origin) { return QStringLiteral("%1-%2").arg(range.begin - origin).arg(range.end - origin); }

// Of "A-B", each of which may be negative: the window has a margin before the first event.
TimeRange range_of(const QString& text) {
  const qsizetype dash = text.indexOf(QLatin1Char('-'), 1);
  bool begins = false, ends = false;
  const TimeRange range{text.left(dash).toLongLong(&begins), text.mid(dash + 1).toLongLong(&ends)};
  return dash > 0 && begins && ends && !range.empty() ? range : TimeRange{};
}

TimeRange moved(TimeRange range, Ns by) { return range.empty() ? range : TimeRange{range.begin + by, range.end + by}; }

// Its file's, or of a run that goes on its folder's.
QString name_of_trace(const TraceData& trace) { return qstr(trace.title); }

QString selected(const TraceData& trace, const SelectionState& state) {
  if (state.lane >= 0 && state.event >= 0)
    return QStringLiteral("event:%1@%2")
        .arg(state.lane)
        .arg(trace.lanes[std::size_t(state.lane)].events->begin[std::size_t(state.event)] - trace.range.begin);
  if (state.collective >= 0) return QStringLiteral("collective:%1").arg(state.collective);
  if (state.diagnosis >= 0) return QStringLiteral("diagnosis:%1").arg(state.diagnosis);
  if (state.device >= 0) return QStringLiteral("device:%1").arg(state.device);
  return state.process >= 0 ? QStringLiteral("process:%1").arg(state.process) : QString();
}

void select(Selection& selection, const QString& what) {
  const TraceData& trace = *selection.trace();
  if (!what.startsWith(QLatin1String("event:"))) {
    if (!follow_link(selection, what, nullptr)) selection.clear();
    return;
  }
  const QString lane_text = what.section(QLatin1Char(':'), 1).section(QLatin1Char('@'), 0, 0);
  const auto lane = std::size_t(std::max(lane_text.toInt(), 0));
  if (lane >= trace.lanes.size()) return;
  const auto& begin = trace.lanes[lane].events->begin;
  const Ns time = what.section(QLatin1Char('@'), 1).toLongLong() + trace.range.begin;
  const auto at = std::lower_bound(begin.begin(), begin.end(), time);
  if (at != begin.end()) selection.select_event(int(lane), at - begin.begin());
}

}  // namespace

bool is_link(const QString& text) { return text.trimmed().startsWith(QLatin1String(kBegin)); }

QString to_text(const ViewLink& link) {
  QUrlQuery query;
  const auto add = [&](const char* key, const QString& value) {
    if (!value.isEmpty()) query.addQueryItem(QString::fromUtf8(key), QString::fromUtf8(QUrl::toPercentEncoding(value, "@:,")));
  };
  add("view", link.view);
  if (!link.time.empty()) add("time", range_text(link.time, 0));
  add("select", link.select);
  if (link.array >= 0) add("array", QString::number(link.array));
  if (link.touched) add("touched", QStringLiteral("1"));
  if (!link.range.empty()) add("range", range_text(link.range, 0));
  if (link.axis != TimeAxis::kWall) add("axis", QString::fromUtf8(kAxes[int(link.axis)]));
  add("lanes", link.lanes);
  add("hide", link.hide);
  if (link.hide_empty) add("hide-empty", QStringLiteral("1"));
  const QString parts = query.toString(QUrl::FullyEncoded);
  return QString::fromUtf8(kBegin) + QString::fromUtf8(QUrl::toPercentEncoding(link.trace)) +
         (parts.isEmpty() ? QString() : QLatin1Char('?') + parts);
}

ViewLink link_from_text(const QString& text) {
  const QUrl url(text.trimmed(), QUrl::StrictMode);
  ViewLink link;
  link.trace = url.path(QUrl::FullyDecoded).mid(1);
  if (!is_link(text) || !url.isValid() || link.trace.isEmpty() || link.trace.contains(QLatin1Char('/')))
    throw_user_error("\"{}\" is no link to a view: it is like {}run.db?view=waits&select=collective:12", text.toStdString(), kBegin);
  const QUrlQuery query(url);
  const auto value = [&](const char* key) { return query.queryItemValue(QString::fromUtf8(key), QUrl::FullyDecoded); };
  link.view = value("view");
  link.time = range_of(value("time"));
  link.select = value("select");
  if (const QString array = value("array"); !array.isEmpty()) link.array = array.toInt();
  link.touched = value("touched") == QLatin1String("1");
  link.range = range_of(value("range"));
  for (std::size_t a = 0; a < std::size(kAxes); ++a)
    if (value("axis") == QLatin1String(kAxes[a])) link.axis = TimeAxis(a);
  link.lanes = value("lanes");
  link.hide = value("hide");
  link.hide_empty = value("hide-empty") == QLatin1String("1");
  return link;
}

ViewLink link_of(const MainWindow& window) {
  const TraceData& trace = *window.selection().trace();
  const SelectionState& state = window.selection().state();
  const TimelineCanvas& canvas = window.timeline();
  ViewLink link{.trace = name_of_trace(trace), .view = qstr(window.view_in_front()), .select = selected(trace, state)};
  link.array = state.array;
  link.touched = state.touched;
  const TimeRange limits = canvas.scale().limits(), shown = canvas.scale().window();
  if (shown != limits) link.time = moved(shown, -limits.begin);
  link.range = moved(state.range, -trace.range.begin);
  link.axis = canvas.axis();
  if (!canvas.grouping().groups.empty()) link.lanes = qstr(canvas.grouping().title);
  link.hide = canvas.lane_filter.pattern();
  link.hide_empty = canvas.hide_empty;
  return link;
}

void show_link(MainWindow& window, const ViewLink& link) {
  Selection& selection = window.selection();
  const TracePtr trace = selection.trace();
  if (!trace || trace->preview) throw_user_error("the link is of {}, and no trace is open yet", link.trace.toStdString());
  if (name_of_trace(*trace) != link.trace)
    throw_user_error("the link is of {}, and {} is open", link.trace.toStdString(), name_of_trace(*trace).toStdString());
  TimelineCanvas* canvas = &window.timeline();
  canvas->lane_filter = LaneFilter(link.hide);
  canvas->hide_empty = link.hide_empty;
  canvas->set_grouping(link.lanes);
  canvas->set_axis(link.axis);
  if (link.array >= 0) selection.select_array(link.array, nullptr, false);
  select(selection, link.select);
  if (link.touched) selection.select_array(link.array);
  if (!link.range.empty()) selection.select_range(moved(link.range, trace->range.begin));
  for (const ViewDef* def : all_views())
    if (qstr(def->id) == link.view) window.show_view(def->id);
  // Last: what is selected comes into sight otherwise. Another axis may still be in the making.
  const auto show_time = [canvas, time = link.time] {
    const TimeRange limits = canvas->scale().limits();
    canvas->set_window(time.empty() ? limits : moved(time, limits.begin));
  };
  if (canvas->shown()) return show_time();
  auto* once = new QObject(canvas);
  QObject::connect(canvas, &TimelineCanvas::shown_changed, once, [canvas, once, show_time] {
    if (!canvas->shown()) return;
    once->deleteLater();
    show_time();
  });
}

}  // namespace shardlab::gui
