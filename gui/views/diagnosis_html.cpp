#include "gui/views/diagnosis_html.h"

#include <algorithm>

#include "gui/models/format.h"
#include "gui/models/selection.h"
#include "gui/models/side_facts.h"
#include "gui/models/verdict.h"
#include "gui/views/source_html.h"

namespace shardlab::gui {
namespace {

constexpr std::size_t kSidesMax = 6;
constexpr int kSourceContext = 2;

struct FieldDef {
  const char* title;
  std::string (*value)(const Participant&);
};
constexpr FieldDef kFields[] = {
    {"Op", [](const Participant& p) { return p.op; }},
    {"Collective", [](const Participant& p) { return p.kind == "launch" || is_own_step(p) ? std::string() : p.kind; }},
    {"Where", [](const Participant& p) { return p.where; }},
    {"Seq", [](const Participant& p) { return p.seq < 0 ? std::string() : std::to_string(p.seq); }},
    {"Shape", [](const Participant& p) { return p.shape; }},
    {"Type", [](const Participant& p) { return p.dtype; }},
    {"Sharding", [](const Participant& p) { return p.sharding; }},
    {"Mesh", [](const Participant& p) { return p.mesh; }},
    {"State", [](const Participant& p) { return p.state; }},
};

bool same(const Participant& a, const Participant& b) {
  return std::all_of(std::begin(kFields), std::end(kFields), [&](const FieldDef& field) { return field.value(a) == field.value(b); });
}

bool differs(const std::vector<Side>& sides, const FieldDef& field) {
  // A side that has no such thing does not differ in it.
  std::string first;
  for (const Side& side : sides) {
    const std::string value = field.value(*side.participant);
    if (first.empty()) first = value;
    if (!value.empty() && value != first) return true;
  }
  return false;
}

// A participant names its line without folders, which the trace's sites know; or its statement, with the place in the document.
traces::SourceLines lines_of(const TraceData& trace, const Participant& side) {
  if (const std::string pointer = traces::pointer_of(side.where); side.statement >= 0 && !pointer.empty())
    return traces::read_statement_lines(traces::scenario_of(trace.path), pointer, kSourceContext);
  return traces::read_source_lines(place_with_folders(trace, side.where), trace.path, kSourceContext);
}

QString process_links(const Side& side) {
  QStringList links;
  for (const int p : side.processes) {
    if (links.size() == 8) {
      links << QStringLiteral("…");
      break;
    }
    links << QStringLiteral("<a href='process:%1'>%1</a>").arg(p);
  }
  return (side.processes.size() == 1 ? QStringLiteral("process ") : QStringLiteral("processes ")) + links.join(QStringLiteral(", "));
}

constexpr std::size_t kArraysMax = 6;  // of a side

// "x float32[8,8] P('a', None), of device_put at toy.cpp:31" of what the side's launch takes, or of what it gives.
QString arrays_html(const TraceData& trace, const Launch* launch, bool gives) {
  QStringList lines;
  std::size_t more = 0;
  for (const SideArray& each : launch ? arrays_of_side(trace, *launch) : std::vector<SideArray>()) {
    if (each.gives != gives) continue;
    if (std::size_t(lines.size()) == kArraysMax) {
      ++more;
      continue;
    }
    const Array& array = trace.arrays[std::size_t(each.array)];
    lines << QStringLiteral("<a href='array:%1'>%2</a> %3%4%5")
                 .arg(each.array)
                 .arg(html(array.display_name()), html(array.type_text() + " " + array.layout->spec),
                      each.made.empty() ? QString() : QStringLiteral(", of ") + html(each.made),
                      each.donated ? QStringLiteral(", donated") : QString());
  }
  if (more > 0) lines << QStringLiteral("and %1 more").arg(more);
  return lines.join(QStringLiteral("<br>"));
}

// What the trace knows of each side beside the verdict: a row where it knows it of any.
QString facts_rows(const TraceData& trace, const std::vector<Side>& sides, std::size_t shown, const Theme& theme) {
  struct Fact {
    const char* title;
    QString (*text)(const TraceData&, const Launch*);
  };
  static constexpr Fact kFacts[] = {
      {"Called in", [](const TraceData& of, const Launch* launch) { return launch ? html(callers_text(of, *launch)) : QString(); }},
      {"Takes", [](const TraceData& of, const Launch* launch) { return arrays_html(of, launch, false); }},
      {"Gives", [](const TraceData& of, const Launch* launch) { return arrays_html(of, launch, true); }},
  };
  QString rows;
  for (const Fact& fact : kFacts) {
    QString row;
    bool any = false;
    for (std::size_t i = 0; i < shown; ++i) {
      const QString text = fact.text(trace, launch_of_side(trace, *sides[i].participant));
      any |= !text.isEmpty();
      row += QStringLiteral("<td>%1</td>").arg(text.isEmpty() ? QStringLiteral("–") : text);
    }
    if (any)
      rows += QStringLiteral("<tr><td style='white-space:nowrap'><font color='%1'>%2</font></td>%3</tr>")
                  .arg(theme.muted.name(), qstr(fact.title), row);
  }
  return rows;
}

QString sides_table(const TraceData& trace, const Diagnosis& diagnosis, const std::vector<Side>& sides, const Theme& theme) {
  const std::size_t shown = std::min(sides.size(), kSidesMax);
  const int width = int(88 / std::max<std::size_t>(shown, 1));
  QString head = QStringLiteral("<tr><td width='12%'></td>");
  QString devices = QStringLiteral("<tr><td style='white-space:nowrap'><font color='%1'>Devices</font></td>").arg(theme.muted.name());
  bool any_device = false, any_source = false;
  QString sources = QStringLiteral("<tr><td><font color='%1'>Source</font></td>").arg(theme.muted.name());
  for (std::size_t i = 0; i < shown; ++i) {
    head += QStringLiteral("<td width='%1%' bgcolor='%2'><b>%3%4</b></td>")
                .arg(width)
                .arg((sides[i].guilty ? theme.error_back : theme.raised).name(),
                     sides[i].guilty && !diagnosis.tie ? QStringLiteral("✖ ") : QString(), process_links(sides[i]));
    any_device |= !sides[i].devices.empty();
    devices += QStringLiteral("<td>%1</td>").arg(set_text(sides[i].devices, 60));
    const QString source = source_html(lines_of(trace, *sides[i].participant), theme);
    any_source |= !source.isEmpty();
    sources += QStringLiteral("<td>%1</td>").arg(source);
  }
  QString rows = head + QStringLiteral("</tr>");
  for (const auto& field : kFields) {
    const bool all_empty =
        std::all_of(sides.begin(), sides.end(), [&](const Side& side) { return field.value(*side.participant).empty(); });
    if (all_empty) continue;
    const bool other = sides.size() > 1 && differs(sides, field);
    rows += QStringLiteral("<tr><td style='white-space:nowrap'><font color='%1'>%2%3</font></td>")
                .arg((other ? theme.error : theme.muted).name(), other ? QStringLiteral("≠ ") : QString(), qstr(field.title));
    for (std::size_t i = 0; i < shown; ++i) {
      const QString value = html(field.value(*sides[i].participant));
      rows += QStringLiteral("<td%1>%2%3%4</td>")
                  .arg(other ? QStringLiteral(" bgcolor='%1'").arg(theme.differ_back.name()) : QString(),
                       other ? QStringLiteral("<b>") : QString(), value.isEmpty() ? QStringLiteral("–") : value,
                       other ? QStringLiteral("</b>") : QString());
    }
    rows += QStringLiteral("</tr>");
  }
  if (any_device) rows += devices + QStringLiteral("</tr>");
  rows += facts_rows(trace, sides, shown, theme);
  if (any_source)
    rows += sources + QStringLiteral("</tr>");
  else if (!sides[0].participant->where.empty() && sides[0].participant->statement < 0)
    rows += QStringLiteral(
                "<tr><td><font color='%1'>Source</font></td><td colspan='%2'><font color='%1'>not readable from here</font></td></tr>")
                .arg(theme.muted.name())
                .arg(shown);
  QString text = QStringLiteral("<table cellspacing='1' cellpadding='4' width='100%'>%1</table>").arg(rows);
  if (sides.size() > shown)
    text += QStringLiteral("<p><font color='%1'>and %2 more sides</font></p>").arg(theme.muted.name()).arg(sides.size() - shown);
  return text;
}

}  // namespace

std::vector<Side> sides_of(const Diagnosis& diagnosis) {
  std::vector<Side> sides;
  for (const auto& participant : diagnosis.participants) {
    const bool guilty = std::find(diagnosis.processes.begin(), diagnosis.processes.end(), participant.process) != diagnosis.processes.end();
    auto side =
        std::find_if(sides.begin(), sides.end(), [&](const Side& s) { return s.guilty == guilty && same(*s.participant, participant); });
    if (side == sides.end()) side = sides.insert(sides.end(), Side{.participant = &participant, .guilty = guilty});
    side->processes.push_back(participant.process);
    side->devices.insert(side->devices.end(), participant.devices.begin(), participant.devices.end());
  }
  return sides;
}

QString diagnosis_html(const TraceData& trace, int index, const Theme& theme) {
  const Diagnosis& diagnosis = trace.diagnoses[std::size_t(index)];
  const QColor tone = diagnosis.severity == "error" ? theme.error : diagnosis.severity == "warning" ? theme.warning : theme.muted;
  QString text = QStringLiteral("<p style='margin-top:2px; margin-bottom:8px'><b><font color='%1'>%2</font></b> &nbsp; %3</p>")
                     .arg(tone.name(), html(diagnosis.code), html(diagnosis.message));
  // Sides are compared with their like: those that disagree, then the steps of their own that led them there.
  std::vector<Side> sides = sides_of(diagnosis);
  const auto own = std::stable_partition(sides.begin(), sides.end(), [](const Side& side) { return !is_own_step(*side.participant); });
  const std::vector<Side> steps(own, sides.end());
  sides.erase(own, sides.end());
  if (!sides.empty()) text += sides_table(trace, diagnosis, sides, theme);
  if (!steps.empty())
    text += QStringLiteral("<p style='margin-bottom:2px'><b>Where they went apart</b></p>") + sides_table(trace, diagnosis, steps, theme);
  if (diagnosis.tie)
    text += QStringLiteral("<p><font color='%1'>No majority: all sides are shown, none is blamed.</font></p>").arg(theme.muted.name());
  if (!diagnosis.explain.empty()) text += QStringLiteral("<p>%1</p>").arg(html(diagnosis.explain));
  QStringList facts;
  for (const auto& [name, value] : diagnosis.details)
    if (name != "look_ahead") facts << QStringLiteral("%1: %2").arg(html(name), html(value));
  if (diagnosis.detected_ns > diagnosis.evidence_ns && diagnosis.evidence_ns > 0)
    facts << QStringLiteral("told %1 after the evidence was complete").arg(duration_text(diagnosis.detected_ns - diagnosis.evidence_ns));
  if (const int collective = collective_of_diagnosis(trace, index); collective >= 0)
    facts << QStringLiteral("<a href='collective:%1'>collective #%1</a>").arg(collective);
  if (!facts.isEmpty())
    text += QStringLiteral("<p><font color='%1'>%2</font></p>").arg(theme.muted.name(), facts.join(QStringLiteral(" · ")));
  return qstr(trace.places.in(text.toStdString()));
}

QString no_diagnosis_html(const TraceData& trace, const Theme& theme) {
  const Verdict verdict = make_verdict(trace);
  const QColor tone = verdict.level == VerdictLevel::kGood      ? theme.good
                      : verdict.level == VerdictLevel::kWarning ? theme.warning
                                                                : theme.muted;
  QString text = QStringLiteral("<p><font color='%1'>%2</font></p>").arg(tone.name(), verdict.sentence.toHtmlEscaped());
  for (const auto& notice : trace.notices)
    text += QStringLiteral("<p><font color='%1'>%2</font></p>").arg(theme.warning.name(), html(notice.text));
  return text;
}

}  // namespace shardlab::gui
