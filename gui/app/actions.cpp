// The actions of the window that belong to no view, and the map of all keys.
#include <QDialog>
#include <QFileDialog>
#include <QStatusBar>
#include <QTextBrowser>
#include <QVBoxLayout>

#include <array>

#include "gui/app/main_window.h"
#include "gui/app/screenshot.h"
#include "gui/models/format.h"
#include "gui/views/timeline_canvas.h"

namespace shardlab::gui {

std::span<const ActionDef> all_actions() {
  static constexpr std::array<ActionDef, 10> kActions{{
      {"open", "&File", "&Open …", "Ctrl+O", "Open another trace", [](MainWindow& w) { w.choose_and_open(); }},
      {"picture", "&File", "Save &Picture …", "Ctrl+E", "Save the window as a picture", [](MainWindow& w) { w.save_picture(); }},
      {"quit", "&File", "&Quit", "Ctrl+Q", "Close the window", [](MainWindow& w) { w.close(); }},
      {"back", "&Go", "&Back", "Alt+Left", "To what was selected before", [](MainWindow& w) { w.selection().back(); }},
      {"forward", "&Go", "&Forward", "Alt+Right", "To what was selected after", [](MainWindow& w) { w.selection().forward(); }},
      {"next-problem", "&Go", "&Next Problem", "N", "To the next diagnosis", [](MainWindow& w) { w.step_problem(1); }},
      {"previous-problem", "&Go", "&Previous Problem", "Shift+N", "To the diagnosis before", [](MainWindow& w) { w.step_problem(-1); }},
      {"clear", "&Go", "&Clear Selection", "Ctrl+Shift+A", "Select nothing", [](MainWindow& w) { w.selection().clear(); }},
      {"theme", "&View", "&Dark or Light", "Ctrl+T", "Change between the dark and the light theme",
       [](MainWindow& w) { w.toggle_theme(); }},
      {"keys", "&Help", "&Keys", "F1", "All keys", [](MainWindow& w) { w.show_keys(); }},
  }};
  return kActions;
}

void MainWindow::save_picture() {
  const QString path = QFileDialog::getSaveFileName(this, QStringLiteral("Save the window as a picture"), QStringLiteral("shardlab.png"),
                                                    QStringLiteral("Pictures (*.png)"));
  if (path.isEmpty()) return;
  try {
    write_picture(*this, path);
    statusBar()->showMessage(QStringLiteral("Saved %1").arg(path), 5000);
  } catch (const std::exception& problem) { statusBar()->showMessage(qstr(problem.what())); }
}

void MainWindow::show_keys() {
  QString rows;
  const auto section = [&](const char* title) {
    rows += QStringLiteral("<tr><td colspan='2'><br><b>%1</b></td></tr>").arg(QString::fromUtf8(title));
  };
  const auto row = [&](const char* key, const char* doc) {
    rows += QStringLiteral("<tr><td width='130'><tt>%1</tt></td><td>%2</td></tr>")
                .arg(QString::fromUtf8(key).toHtmlEscaped(), QString::fromUtf8(doc).toHtmlEscaped());
  };
  section("Everywhere");
  for (const auto& def : all_actions()) row(def.key, def.doc);
  section("Views");
  for (const ViewDef* def : all_views()) row(def->key, def->doc);
  section("Perspectives");
  for (const auto& def : all_perspectives()) row(def.key, def.doc);
  section("Timeline");
  for (const auto& def : timeline_keys()) row(def.key, def.doc);
  auto* dialog = new QDialog(this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(QStringLiteral("Keys"));
  auto* text = new QTextBrowser(dialog);
  text->setHtml(QStringLiteral("<table cellpadding='2'>%1</table>").arg(rows));
  auto* layout = new QVBoxLayout(dialog);
  layout->addWidget(text);
  dialog->resize(560, 720);
  dialog->open();
}

}  // namespace shardlab::gui
