#include "gui/app/export_trace.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QStatusBar>

#include "gui/app/main_window.h"
#include "gui/models/format.h"
#include "runtime/base/error.h"
#include "traces/exporters/export.h"

namespace shardlab::gui {
namespace {

QString filter_of(const exporters::ExportFormatDef& format) {
  return QStringLiteral("%1 (*%2)").arg(qstr(format.title), qstr(format.ending));
}

// By the name's ending; else the one that the dialog shows, whose ending the name then gets.
const exporters::ExportFormatDef& format_of(QString& path, const QString& filter) {
  const exporters::ExportFormatDef* shown = exporters::all_export_formats().front();
  for (const auto* format : exporters::all_export_formats()) {
    if (path.endsWith(qstr(format->ending))) return *format;
    if (filter_of(*format) == filter) shown = format;
  }
  path += qstr(shown->ending);
  return *shown;
}

QString export_and_tell(const std::string& trace, const exporters::ExportFormatDef& format, const std::string& path) {
  try {
    const exporters::Exported exported = exporters::export_trace(trace, format, path);
    const QString files = exported.files.size() == 1
                              ? qstr(exported.files.front())
                              : QStringLiteral("%1 and %2 more").arg(qstr(exported.files.front())).arg(exported.files.size() - 1);
    return QStringLiteral("Exported %1: %2, %3%4")
        .arg(files, count_text(exported.events, "event", "events"), bytes_text(exported.bytes),
             exported.notices.empty() ? QString() : QStringLiteral("; ") + qstr(exported.notices.front()));
  } catch (const Error& problem) { return qstr(problem.what()); }
}

}  // namespace

void choose_and_export(MainWindow& window) {
  const TracePtr& shown = window.selection().trace();
  if (!shown || shown->path.empty()) return window.statusBar()->showMessage(QStringLiteral("There is no trace to export: open one first"));
  const std::string trace = shown->path;
  QStringList filters;
  for (const auto* format : exporters::all_export_formats()) filters << filter_of(*format);
  QString filter = filters.front();
  const QString name = QFileInfo(qstr(trace)).completeBaseName() + qstr(exporters::all_export_formats().front()->ending);
  QString path = QFileDialog::getSaveFileName(&window, QStringLiteral("Export the trace for another tool"), name,
                                              filters.join(QStringLiteral(";;")), &filter);
  if (path.isEmpty()) return;
  const exporters::ExportFormatDef& format = format_of(path, filter);
  static constexpr char kExport = 0;  // one at a time; another one does not stop the first, whose message is dropped
  window.statusBar()->showMessage(QStringLiteral("Exporting …"));
  window.background().run(
      &kExport, [trace, &format, path = path.toStdString()](const std::stop_token&) { return export_and_tell(trace, format, path); },
      [&window](const QString& message) { window.statusBar()->showMessage(message); });
}

}  // namespace shardlab::gui
