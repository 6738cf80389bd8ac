#include "gui/app/html_report.h"

#include <QPainter>

#include <sstream>

#include "gui/app/main_window.h"
#include "gui/models/format.h"
#include "gui/models/verdict.h"
#include "gui/views/svg_device.h"
#include "gui/views/theme.h"
#include "runtime/base/error.h"
#include "traces/report.h"
#include "traces/trace_reader.h"

namespace shardlab::gui {
namespace {

constexpr QSize kViewSize{1180, 560};
constexpr std::string_view kSummary = "summary";

// Identifiers are unique in a document, not only in a picture.
QByteArray inline_svg(QWidget& view, const QByteArray& prefix, const QString& title) {
  const QSize before = view.size();
  view.resize(kViewSize);
  SvgDevice device(kViewSize);
  QPainter painter(&device);
  view.render(&painter);
  painter.end();
  view.resize(before);
  QByteArray svg = device.document(title);
  svg = svg.mid(svg.indexOf("<svg"));
  svg.replace(" id=\"", " id=\"" + prefix);
  svg.replace("url(#", "url(#" + prefix);
  return svg;
}

// What `shardlab report` says; of a file that cannot be read any more, why.
QByteArray summary_text(const std::string& path) {
  try {
    traces::TraceReader reader(path);
    std::ostringstream out;
    traces::write_report(reader, "text", out);
    return QByteArray::fromStdString(out.str());
  } catch (const Error& problem) { return problem.what(); }
}

QByteArray section_html(MainWindow& window, const ReportSection& section) {
  QByteArray html =
      "<section><h2>" + section.title.toHtmlEscaped().toUtf8() + "</h2><p>" + section.doc.toHtmlEscaped().toUtf8() + ".</p>\n";
  if (section.id == kSummary)
    return html + "<pre>" + QString::fromUtf8(summary_text(window.selection().trace()->path)).toHtmlEscaped().toUtf8() +
           "</pre></section>\n";
  for (const ViewDef* def : all_views()) {
    if (def->id != section.id) continue;
    html += inline_svg(window.view(def->id), QByteArray(def->id.data(), qsizetype(def->id.size())) + "-", section.title);
    html += "<details><summary>as text</summary><pre>" + def->text(window.selection()).toHtmlEscaped().toUtf8() + "</pre></details>";
  }
  return html + "</section>\n";
}

}  // namespace

std::vector<ReportSection> report_sections(MainWindow& window) {
  std::vector<ReportSection> sections;
  const TracePtr& trace = window.selection().trace();
  if (trace && !trace->path.empty())
    sections.push_back({kSummary, QStringLiteral("Summary"), QStringLiteral("What `shardlab report` says of the trace")});
  for (const ViewDef* def : all_views())
    if (trace && def->in_report) sections.push_back({def->id, QString::fromUtf8(def->title), QString::fromUtf8(def->doc)});
  return sections;
}

QByteArray html_report(MainWindow& window) { return html_report(window, report_sections(window)); }

QByteArray html_report(MainWindow& window, const std::vector<ReportSection>& sections) {
  const TracePtr& trace = window.selection().trace();
  if (!trace) return {};
  const Verdict verdict = make_verdict(*trace);
  const Theme& theme = theme_of(&window);
  QByteArray html =
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>" + verdict.context.toHtmlEscaped().toUtf8() +
      "</title>\n<style>body{font:14px 'DejaVu Sans',sans-serif;max-width:1220px;margin:24px auto;padding:0 16px;color:" +
      theme.text.name().toUtf8() + ";background:" + theme.window.name().toUtf8() +
      "}h1{font-size:20px}h2{font-size:16px;margin-top:32px}svg{width:100%;height:auto;border:1px solid " + theme.line.name().toUtf8() +
      "}pre{overflow:auto;font:12px 'DejaVu Sans Mono',monospace;background:" + theme.base.name().toUtf8() +
      ";padding:12px}summary{cursor:pointer;margin-top:6px}@media print{details{display:none}section{break-inside:avoid}}</style>\n<h1>" +
      verdict.sentence.toHtmlEscaped().toUtf8() + "</h1>\n<p>" + verdict.context.toHtmlEscaped().toUtf8() + "</p>\n";
  for (const auto& section : sections) html += section_html(window, section);
  return html + "</html>\n";
}

}  // namespace shardlab::gui
