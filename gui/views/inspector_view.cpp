// What is selected, in words: an event, a collective with its members, a device, a process.
#include <QEvent>
#include <QTextBrowser>
#include <QTextDocument>

#include <algorithm>

#include "gui/models/format.h"
#include "gui/views/theme.h"
#include "gui/views/trace_table.h"
#include "gui/views/view_def.h"

namespace shardlab::gui {
namespace {

constexpr std::size_t kMembersMax = 64;

class Page {
 public:
  explicit Page(const Theme& theme) : theme_(theme) {}
  void title(const QString& text, const QString& note = {}) {
    close();
    text_ += QStringLiteral("<p style='margin:6px 0 4px 0'><b>%1</b> <font color='%2'>%3</font></p>").arg(text, theme_.muted.name(), note);
  }
  void fact(const char* name, const QString& value) {
    if (value.isEmpty()) return;
    open();
    text_ += QStringLiteral("<tr><td width='84'><font color='%1'>%2</font></td><td>%3</td></tr>")
                 .arg(theme_.muted.name(), QString::fromUtf8(name), value);
  }
  void paragraph(const QString& text) {
    close();
    text_ += QStringLiteral("<p>%1</p>").arg(text);
  }
  void raw(const QString& text) {
    close();
    text_ += text;
  }
  QString done() {
    close();
    return text_;
  }
  const Theme& theme() const { return theme_; }

 private:
  void open() {
    if (!table_) text_ += QStringLiteral("<table cellspacing='0' cellpadding='2' width='100%'>");
    table_ = true;
  }
  void close() {
    if (table_) text_ += QStringLiteral("</table>");
    table_ = false;
  }
  const Theme& theme_;
  QString text_;
  bool table_ = false;
};

void describe_members(Page& page, const TraceData& trace, const Collective& call) {
  Ns first = kOpen;
  for (const auto& member : call.members) first = std::min(first, member.enter);
  const bool by_device = std::any_of(call.members.begin(), call.members.end(), [](const Member& m) { return m.device >= 0; });
  QString rows = QStringLiteral("<tr><td><font color='%1'>%2</font></td>")
                     .arg(page.theme().muted.name(), by_device ? QStringLiteral("device") : QStringLiteral("process"));
  for (const char* head : {"late", "waited", "transfer"})
    rows += QStringLiteral("<td align='right'><font color='%1'>%2</font></td>").arg(page.theme().muted.name(), QString::fromUtf8(head));
  rows += QStringLiteral("</tr>");
  for (std::size_t i = 0; i < std::min(call.members.size(), kMembersMax); ++i) {
    const Member& member = call.members[i];
    const Ns wait_end = member.start == kOpen ? member.exit : member.start;
    const QString link = member.device >= 0 ? QStringLiteral("<a href='device:%1'>%1</a>").arg(member.device)
                                            : QStringLiteral("<a href='process:%1'>%1</a>").arg(member.process);
    rows += QStringLiteral("<tr><td>%1</td><td align='right'>%2</td><td align='right'>%3</td><td align='right'>%4</td></tr>")
                .arg(link, member.enter == first ? QStringLiteral("first") : QStringLiteral("+") + duration_text(member.enter - first),
                     wait_end == kOpen ? QStringLiteral("<font color='%1'>for ever</font>").arg(page.theme().error.name())
                                       : duration_text(wait_end - member.enter),
                     member.start == kOpen || member.exit == kOpen ? QStringLiteral("–") : duration_text(member.exit - member.start));
  }
  page.title(QStringLiteral("Members"));
  page.raw(QStringLiteral("<table cellspacing='0' cellpadding='2' width='100%'>%1</table>").arg(rows));
  std::vector<int> absent;
  for (const int ordinal : call.type->groups->devices)
    if (const Device* device = trace.device(ordinal); device && !call.member_of(*device)) absent.push_back(ordinal);
  if (!absent.empty())
    page.paragraph(QStringLiteral("<font color='%1'>Never came: devices %2</font>").arg(page.theme().error.name(), set_text(absent, 60)));
  if (call.members.size() > kMembersMax) page.paragraph(QStringLiteral("and %1 more").arg(call.members.size() - kMembersMax));
}

void describe_collective(Page& page, const TraceData& trace, int index) {
  const Collective& call = trace.collectives[std::size_t(index)];
  const CollectiveType& type = *call.type;
  page.title(html(type.kind), QStringLiteral("collective #%1").arg(index));
  if (call.failed)
    page.fact("State", QStringLiteral("<font color='%1'><b>%2</b></font>").arg(page.theme().error.name(), html(call.state)));
  else
    page.fact("State", html(call.state) + (call.open ? QStringLiteral(", never ended") : QString()));
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
  describe_members(page, trace, call);
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
  for (const auto& notice : trace.notices)
    page.paragraph(QStringLiteral("<font color='%1'>%2</font>").arg(page.theme().warning.name(), html(notice.text)));
  page.paragraph(
      QStringLiteral("<font color='%1'>Select an event, a device, a cell or a row to see it here.</font>").arg(page.theme().muted.name()));
}

QString page_of(const Selection& selection, const Theme& theme) {
  const TracePtr& trace = selection.trace();
  const SelectionState& state = selection.state();
  Page page(theme);
  if (state.collective >= 0) {
    describe_collective(page, *trace, state.collective);
  } else if (state.lane >= 0 && state.event >= 0) {
    describe_event(page, *trace, state);
  }
  if (state.device >= 0) describe_device(page, *trace, state.device);
  if (state.device < 0 && state.process >= 0) describe_process(page, *trace, state.process);
  if (!state.range.empty()) {
    page.title(QStringLiteral("Range"));
    page.fact("From", duration_text(state.range.begin - trace->range.begin));
    page.fact("Length", duration_text(state.range.length()));
  }
  if (state.collective < 0 && state.device < 0 && state.process < 0 && state.event < 0) describe_trace(page, *trace);
  return page.done();
}

class Inspector : public QTextBrowser {
 public:
  explicit Inspector(Selection& selection) : selection_(selection) {
    setOpenLinks(false);
    setAccessibleName(QStringLiteral("What is selected"));
    document()->setDocumentMargin(8);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    connect(this, &QTextBrowser::anchorClicked, this, [this](const QUrl& url) { follow_link(selection_, url.toString(), this); });
    connect(&selection, &Selection::changed, this, [this] { refresh(); });
  }

 protected:
  void changeEvent(QEvent* event) override {
    if (event->type() == QEvent::PaletteChange) refresh();
    QTextBrowser::changeEvent(event);
  }

 private:
  void refresh() {
    if (!selection_.trace()) return clear();
    setHtml(page_of(selection_, theme_of(this)));
  }

  Selection& selection_;
};

QWidget* make_inspector(ViewContext& context) { return new Inspector(context.selection); }

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
          document.setHtml(page_of(s, light_theme()));
          return document.toPlainText() + QLatin1Char('\n');
        },
};

}  // namespace shardlab::gui
