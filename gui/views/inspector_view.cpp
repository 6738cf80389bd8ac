// What is selected, in words: an event, a collective with its members, a device, a process.
#include <QEvent>
#include <QScrollBar>
#include <QTextBrowser>
#include <QTextDocument>
#include <QTimer>

#include <algorithm>
#include <numeric>

#include "gui/models/format.h"
#include "gui/models/launch_events.h"
#include "gui/models/memory.h"
#include "gui/views/inspector_page.h"
#include "gui/views/trace_table.h"
#include "gui/views/view_def.h"
#include "gui/views/when_seen.h"

namespace shardlab::gui {
namespace {

constexpr std::size_t kMembersMax = 16;  // a table takes long to lay out

// Of many members those that came last: they are what the others waited for.
std::vector<std::size_t> members_to_tell(const Collective& call) {
  std::vector<std::size_t> told(call.members.size());
  std::iota(told.begin(), told.end(), std::size_t{0});
  if (told.size() <= kMembersMax) return told;
  const auto later = [&call](std::size_t a, std::size_t b) {
    return std::pair(call.members[b].enter, a) < std::pair(call.members[a].enter, b);
  };
  std::partial_sort(told.begin(), told.begin() + kMembersMax, told.end(), later);
  told.resize(kMembersMax);
  return told;
}

QString member_row(const Page& page, const Member& member, Ns first) {
  const Ns wait_end = member.start == kOpen ? member.exit : member.start;
  const QString link = member.device >= 0 ? QStringLiteral("<a href='device:%1'>%1</a>").arg(member.device)
                                          : QStringLiteral("<a href='process:%1'>%1</a>").arg(member.process);
  return QStringLiteral("<tr><td>%1</td><td align='right'>%2</td><td align='right'>%3</td><td align='right'>%4</td></tr>")
      .arg(link, member.enter == first ? QStringLiteral("first") : QStringLiteral("+") + duration_text(member.enter - first),
           wait_end == kOpen ? QStringLiteral("<font color='%1'>for ever</font>").arg(page.theme().error.name())
                             : duration_text(wait_end - member.enter),
           member.start == kOpen || member.exit == kOpen ? QStringLiteral("–") : duration_text(member.exit - member.start));
}

// Who of its groups is missing: those who issued it stood elsewhere, the others never came to it.
void describe_absent(Page& page, const TraceData& trace, const Collective& call) {
  std::vector<int> waiting_elsewhere, absent;
  for (const int ordinal : call.type->groups->devices) {
    const Device* device = trace.device(ordinal);
    if (!device || call.member_of(*device)) continue;
    const bool issued = std::find(call.not_begun.begin(), call.not_begun.end(), device->process) != call.not_begun.end();
    (issued ? waiting_elsewhere : absent).push_back(ordinal);
  }
  const auto tell = [&page](const QString& what, const std::vector<int>& devices) {
    if (!devices.empty())
      page.paragraph(QStringLiteral("<font color='%1'>%2: devices %3</font>").arg(page.theme().error.name(), what, set_text(devices, 60)));
  };
  tell(QStringLiteral("Issued, but never begun"), waiting_elsewhere);
  tell(QStringLiteral("Never came"), absent);
}

void describe_members(Page& page, const TraceData& trace, const Collective& call, int index) {
  Ns first = kOpen;
  for (const auto& member : call.members) first = std::min(first, member.enter);
  const bool by_device = std::any_of(call.members.begin(), call.members.end(), [](const Member& m) { return m.device >= 0; });
  QString rows = QStringLiteral("<tr><td><font color='%1'>%2</font></td>")
                     .arg(page.theme().muted.name(), by_device ? QStringLiteral("device") : QStringLiteral("process"));
  for (const char* head : {"late", "waited", "transfer"})
    rows += QStringLiteral("<td align='right'><font color='%1'>%2</font></td>").arg(page.theme().muted.name(), QString::fromUtf8(head));
  rows += QStringLiteral("</tr>");
  const std::vector<std::size_t> told = members_to_tell(call);
  for (const std::size_t i : told) rows += member_row(page, call.members[i], first);
  page.title(QStringLiteral("Members"), told.size() < call.members.size()
                                            ? QStringLiteral("the %1 of %2 that came last").arg(told.size()).arg(call.members.size())
                                            : QString());
  page.raw(QStringLiteral("<table cellspacing='0' cellpadding='2' width='100%'>%1</table>").arg(rows));
  if (told.size() < call.members.size())
    page.paragraph(
        QStringLiteral("… %1 more (<a href='events:coll:%2'>open the table</a>)").arg(call.members.size() - told.size()).arg(index));
  describe_absent(page, trace, call);
}

void describe_collective(Page& page, const TraceData& trace, int index) {
  const Collective& call = trace.collectives[std::size_t(index)];
  const CollectiveType& type = *call.type;
  page.title(html(type.kind), QStringLiteral("collective #%1").arg(index));
  const QString begun = call.not_begun.empty() ? QString() : QStringLiteral(" when issued, not begun by all");
  if (call.failed && (call.state != "matched" || !begun.isEmpty()))
    page.fact("State", QStringLiteral("<font color='%1'><b>%2</b>%3</font>").arg(page.theme().error.name(), html(call.state), begun));
  else
    page.fact("State", html(call.state) + begun + (call.open ? QStringLiteral(", never ended") : QString()));
  if (call.diagnosis >= 0)
    page.fact(
        "Diagnosis",
        QStringLiteral("<a href='diagnosis:%1'>%2</a>").arg(call.diagnosis).arg(html(trace.diagnoses[std::size_t(call.diagnosis)].code)));
  page.fact("For op", html(type.op));
  page.fact("Where", html(trace.site_text(type.site)));
  page.fact("Result", html(type.dtype + type.shape));
  page.fact("Reduction", html(type.reduction));
  if (const auto& lists = type.groups->lists; !lists.empty()) {
    QString groups = QStringLiteral("%1 × %2 devices").arg(lists.size()).arg(lists[0].size());
    if (!type.axes.empty()) groups += QStringLiteral(" along ") + html(type.axes);
    QStringList sets;
    for (std::size_t g = 0; g < std::min<std::size_t>(lists.size(), 8); ++g) sets << QStringLiteral("{%1}").arg(set_text(lists[g], 30));
    if (lists.size() > 8) sets << QStringLiteral("…");
    page.fact("Groups", groups + QStringLiteral("<br>") + sets.join(QLatin1Char(' ')));
  }
  page.fact("Bytes",
            bytes_text(type.bytes) + QStringLiteral(" on a device, ") + bytes_text(type.wire_bytes) + QStringLiteral(" on the wire"));
  page.fact("Seq", QString::number(call.seq));
  page.fact("Sharding",
            type.sharding_before.empty() ? QString() : html(type.sharding_before) + QStringLiteral(" → ") + html(type.sharding_after));
  page.fact("Why", html(type.cause));
  if (!call.open) page.fact("Took", duration_text(call.span().length()));
  describe_members(page, trace, call, index);
}

// What the devices (none: all of them) hold of arrays in a stretch of time, at most.
void describe_memory(Page& page, const TraceData& trace, TimeRange range, const std::vector<int>& devices) {
  if (!trace.memory || trace.memory->empty()) return;
  std::vector<int> counters;
  for (const int device : devices)
    if (const int index = trace.memory->index_of(device); index >= 0) counters.push_back(index);
  if (counters.empty() && !devices.empty()) return;
  const MemoryUse::Moment most = trace.memory->peak(range, devices.empty() ? nullptr : &counters);
  QString text = QStringLiteral("at most %1").arg(bytes_text(most.arrays));
  if (most.with_steps > most.arrays) text += QStringLiteral(", %1 with what runs").arg(bytes_text(most.with_steps));
  if (devices.size() != 1) text += QStringLiteral(", on <a href='device:%1'>device %1</a>").arg(most.device);
  page.fact("Memory", text + QStringLiteral(", at %1").arg(duration_text(most.time - trace.range.begin)));
}

// What the fullest device held when it held most, with the lines that made it.
void describe_held(Page& page, const TraceData& trace) {
  constexpr std::size_t kShownMax = 5;
  if (const std::string why = why_no_memory(trace); !trace.arrays.empty() && !why.empty()) return page.fact("Memory", qstr(why));
  if (!trace.memory || trace.memory->empty()) return;
  describe_memory(page, trace, trace.range, {});
  const MemoryUse::Moment most = trace.memory->peak(trace.range);
  const auto held = held_at(trace, most.device, most.time);
  QStringList lines;
  for (std::size_t i = 0; i < std::min(held.size(), kShownMax); ++i)
    lines << QStringLiteral("%1 <a href='array:%2'>%3</a>")
                 .arg(bytes_text(held[i].bytes))
                 .arg(held[i].array)
                 .arg(html(held_text(trace, held[i])));
  if (held.size() > kShownMax) lines << QStringLiteral("and %1 more").arg(held.size() - kShownMax);
  page.fact("of which", lines.join(QStringLiteral("<br>")));
}

void describe_process(Page& page, const TraceData& trace, int index) {
  const Process* process = trace.process(index);
  if (!process) return;
  page.title(QStringLiteral("Process %1").arg(index));
  page.fact("State", process->ended_badly()
                         ? QStringLiteral("<font color='%1'>%2</font>").arg(page.theme().error.name(), html(process->state))
                         : html(process->state));
  if (process->signal != 0) page.fact("Signal", QString::number(process->signal));
  if (process->exit_code != 0) page.fact("Exit code", QString::number(process->exit_code));
  page.fact("At", html(process->where));
  page.fact("Error", html(process->error).replace(QLatin1Char('\n'), QStringLiteral("<br>")));
  page.fact("Host", html(process->host));
  if (process->pid > 0) page.fact("Pid", QString::number(process->pid));
  page.fact("Devices", set_text(process->devices, 60));
  if (!process->devices.empty()) describe_memory(page, trace, trace.range, process->devices);
}

void describe_device(Page& page, const TraceData& trace, int ordinal) {
  const Device* device = trace.device(ordinal);
  if (!device) return;
  page.title(html(device->name), QStringLiteral("device %1").arg(ordinal));
  page.fact("Process", QStringLiteral("<a href='process:%1'>%1</a>").arg(device->process));
  Ns busy = 0;
  std::uint64_t events = 0;
  for (const auto& lane : trace.lanes)
    if (lane.device == ordinal) {
      const LaneSummary sum = lane.events->summary();
      busy += sum.busy;
      events += sum.count;
    }
  page.fact("Events", QString::number(events));
  if (!trace.range.empty())
    page.fact("Busy",
              QStringLiteral("%1 (%2 %)").arg(duration_text(busy)).arg(100.0 * double(busy) / double(trace.range.length()), 0, 'f', 1));
  describe_memory(page, trace, trace.range, {ordinal});
}

void describe_event(Page& page, const TraceData& trace, const SelectionState& state) {
  const Lane& lane = trace.lanes[std::size_t(state.lane)];
  const auto i = std::size_t(state.event);
  const Label& label = trace.labels[lane.events->label[i]];
  page.title(html(label.name), qstr(event_kind_name(lane.events->kind[i])));
  page.fact("On", html(lane.name) + QStringLiteral(", process %1").arg(lane.process));
  page.fact("Begins", duration_text(lane.events->begin[i] - trace.range.begin));
  page.fact("Took",
            lane.events->flags[i] & kFlagOpen ? QStringLiteral("never ended") : duration_text(lane.events->end[i] - lane.events->begin[i]));
  page.fact("Where", html(trace.site_text(label.site)));
  if (lane.device >= 0) describe_memory(page, trace, {lane.events->begin[i], lane.events->end[i]}, {lane.device});
}

void describe_trace(Page& page, const TraceData& trace) {
  page.title(html(trace.title));
  page.fact("Processes", QString::number(trace.processes.size()));
  page.fact("Devices", QString::number(trace.devices.size()));
  QStringList meshes;
  for (std::size_t i = 0; i < std::min<std::size_t>(trace.meshes.size(), 6); ++i) meshes << html(trace.meshes[i].text());
  page.fact("Meshes", meshes.join(QStringLiteral("<br>")));
  page.fact("Arrays", QString::number(trace.arrays.size()));
  page.fact("Collectives", QString::number(trace.collectives.size()));
  page.fact("Events", QString::number(trace.event_count()));
  page.fact("Lasted", duration_text(trace.range.length()));
  describe_held(page, trace);
  for (const auto& notice : trace.notices)
    page.paragraph(QStringLiteral("<font color='%1'>%2</font>").arg(page.theme().warning.name(), html(notice.text)));
  page.paragraph(
      QStringLiteral("<font color='%1'>Select an event, a device, a cell or a row to see it here.</font>").arg(page.theme().muted.name()));
}

// What is chosen is a part of this one; null: it is not known.
const Launch* launch_of(const TraceData& trace, const SelectionState& state) {
  if (trace.preview) return nullptr;
  if (state.lane >= 0 && state.event >= 0) return launch_of_event(trace, state.lane, state.event);
  if (state.collective < 0) return nullptr;
  // On the lowest process that issued it, whether it began there or not.
  const Collective& call = trace.collectives[std::size_t(state.collective)];
  int process = call.members.empty() ? -1 : call.members.front().process;
  for (const int issuer : call.not_begun) process = process < 0 ? issuer : std::min(process, issuer);
  return trace.launch(process, call.launch);
}

QString page_of(const Selection& selection, const Theme& theme, bool all) {
  const TracePtr& trace = selection.trace();
  const SelectionState& state = selection.state();
  Page page(theme, all);
  // An array that somebody chose comes first, until he goes on to an event or a call; what nobody chose comes last.
  const bool has_array = state.array >= 0 && !trace->preview;
  const bool array_first = has_array && state.touched && state.collective < 0 && state.event < 0;
  if (array_first) describe_array(page, *trace, state);
  if (state.collective >= 0) {
    describe_collective(page, *trace, state.collective);
  } else if (state.lane >= 0 && state.event >= 0) {
    describe_event(page, *trace, state);
  }
  if (const Launch* launch = launch_of(*trace, state)) describe_launch(page, *trace, *launch);
  if (state.device >= 0) describe_device(page, *trace, state.device);
  if (state.device < 0 && state.process >= 0) describe_process(page, *trace, state.process);
  if (!state.range.empty()) {
    page.title(QStringLiteral("Range"));
    page.fact("From", duration_text(state.range.begin - trace->range.begin));
    page.fact("Length", duration_text(state.range.length()));
    describe_memory(page, *trace, state.range, state.device >= 0 ? std::vector<int>{state.device} : std::vector<int>());
  }
  if (state.collective < 0 && state.device < 0 && state.process < 0 && state.event < 0 && !array_first) describe_trace(page, *trace);
  if (has_array && !array_first) describe_array(page, *trace, state);
  return page.done();
}

// However often the selection changes before the next frame, and while the view is out of sight: laid out once, when it is looked at.
class Inspector : public QTextBrowser {
 public:
  explicit Inspector(ViewContext& context) : selection_(context.selection) {
    setOpenLinks(false);
    setAccessibleName(QStringLiteral("What is selected"));
    document()->setDocumentMargin(8);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    connect(this, &QTextBrowser::anchorClicked, this, [this, find_events = context.find_events](const QUrl& url) {
      constexpr QLatin1String kEvents("events:");
      const QString link = url.toString();
      if (link == QLatin1String("all")) {
        all_ = true;
        const int scrolled = verticalScrollBar()->value();
        refresh();
        return verticalScrollBar()->setValue(scrolled);
      }
      if (link.startsWith(kEvents) && find_events) return find_events(link.mid(kEvents.size()));
      if (link.startsWith(QLatin1String("launch:"))) {
        const QString launch = link.section(QLatin1Char(':'), 1);
        const auto [lane, event] = event_of_launch(*selection_.trace(), launch.section(QLatin1Char('-'), 0, 0).toInt(),
                                                   launch.section(QLatin1Char('-'), 1).toLongLong());
        return selection_.select_event(lane, event, this);
      }
      follow_link(selection_, link, this);
    });
    timer_.setSingleShot(true);
    connect(&timer_, &QTimer::timeout, this, [this] { seen_.mark(); });
    connect(&selection_, &Selection::changed, this, [this] {
      all_ = false;
      timer_.start(0);
    });
  }

 protected:
  void changeEvent(QEvent* event) override {
    if (event->type() == QEvent::PaletteChange) timer_.start(0);
    QTextBrowser::changeEvent(event);
  }

 private:
  void refresh() {
    if (!selection_.trace()) return clear();
    setHtml(page_of(selection_, theme_of(this), all_));
  }

  Selection& selection_;
  bool all_ = false;  // lists are not cut
  QTimer timer_;
  WhenSeen seen_{this, [this] { refresh(); }};
};

QWidget* make_inspector(ViewContext& context) { return new Inspector(context); }

}  // namespace

const ViewDef kInspectorView{
    .id = "inspector",
    .title = "Inspector",
    .key = "Ctrl+Shift+I",
    .doc = "The facts of what is selected",
    .area = ViewArea::kRight,
    .make = make_inspector,
    .text =
        [](const Selection& s) {
          QTextDocument document;
          document.setHtml(page_of(s, light_theme(), true));
          return document.toPlainText() + QLatin1Char('\n');
        },
};

}  // namespace shardlab::gui
