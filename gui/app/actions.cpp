// The actions of the window that belong to no view.
#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QPushButton>
#include <QStatusBar>

#include <array>

#include "gui/app/export_trace.h"
#include "gui/app/key_map.h"
#include "gui/app/main_window.h"
#include "gui/app/palette.h"
#include "gui/app/performance_panel.h"
#include "gui/app/report_builder.h"
#include "gui/app/screenshot.h"
#include "gui/app/view_link.h"
#include "gui/models/format.h"

namespace shardlab::gui {
namespace {

void align(MainWindow& window, Alignment alignment) {
  window.show_view(kCompareView.id);
  align_runs(&window.view(kCompareView.id), alignment);
}

}  // namespace

std::span<const ActionDef> all_actions() {
  static constexpr std::array<ActionDef, 24> kActions{{
      {"open", "&File", "&Open …", "Ctrl+O", "Open another trace", [](MainWindow& w) { w.choose_and_open(); }},
      {"picture", "&File", "Save &Picture …", "Ctrl+E", "Save the window as a picture", [](MainWindow& w) { w.save_picture(); }},
      {"view-picture", "&File", "Save This &View …", "Ctrl+Alt+E", "Save the view that has the focus as a picture",
       [](MainWindow& w) { w.save_view(); }},
      {"report", "&File", "&Report …", "Ctrl+Shift+E", "Choose what goes into a report, and save it as one HTML file",
       [](MainWindow& w) { make_report_builder(w)->open(); }},
      {"export", "&File", "E&xport Trace …", "Ctrl+Alt+X", "Write the trace for Perfetto, chrome://tracing or Chakra",
       [](MainWindow& w) { choose_and_export(w); }},
      {"copy-link", "&File", "Copy &Link to This View", "Ctrl+Shift+U",
       "Copy a text that leads to this view: window of time, selection, lanes; without folders of this machine",
       [](MainWindow& w) { w.copy_link(); }},
      {"go-to-link", "&Go", "Go to Copied &Link", "Ctrl+Shift+J", "Go where a copied link to a view leads",
       [](MainWindow& w) { w.go_to_link(); }},
      {"reload", "&File", "&Read Again", "F5", "Read the trace again; one that grows is followed by itself",
       [](MainWindow& w) { w.reload(); }},
      {"quit", "&File", "&Quit", "Ctrl+Q", "Close the window", [](MainWindow& w) { w.close(); }},
      {"palette", "&Go", "&Command Palette …", "Ctrl+K", "Find any command, array, collective, diagnosis or time",
       [](MainWindow& w) { w.show_palette(); }},
      {"next-view", "&Go", "Next &View", "F6", "To the next view in sight", [](MainWindow& w) { w.step_view(1); }},
      {"previous-view", "&Go", "Previous V&iew", "Shift+F6", "To the view before in sight", [](MainWindow& w) { w.step_view(-1); }},
      {"back", "&Go", "&Back", "Alt+Left", "To what was selected before", [](MainWindow& w) { w.selection().back(); }},
      {"forward", "&Go", "&Forward", "Alt+Right", "To what was selected after", [](MainWindow& w) { w.selection().forward(); }},
      {"next-problem", "&Go", "&Next Problem", "N", "To the next diagnosis", [](MainWindow& w) { w.step_problem(1); }},
      {"previous-problem", "&Go", "&Previous Problem", "Shift+N", "To the diagnosis before", [](MainWindow& w) { w.step_problem(-1); }},
      {"clear", "&Go", "&Clear Selection", "Ctrl+Shift+A", "Select nothing", [](MainWindow& w) { w.selection().clear(); }},
      {"align-here", "&Go", "Align the Runs &Here", "Ctrl+Alt+H", "What is chosen in both runs of the comparison lies at one place",
       [](MainWindow& w) { align(w, Alignment::kHere); }},
      {"align-start", "&Go", "Align the Runs at Their &Start", "Ctrl+Alt+B", "Both runs of the comparison begin at one place",
       [](MainWindow& w) { align(w, Alignment::kStart); }},
      {"align-typed", "&Go", "S&hift the Second Run …", "Ctrl+Alt+J", "Type by how much later the second run of the comparison is shown",
       [](MainWindow& w) { align(w, Alignment::kTyped); }},
      {"theme", "&View", "&Dark or Light", "Ctrl+T", "Change between the dark and the light theme",
       [](MainWindow& w) { w.toggle_theme(); }},
      {"example", "&Help", "Run the &Example", "Shift+F1", "Run an example here and watch it: a network, its reshardings, a late process",
       [](MainWindow& w) { w.run_example(); }},
      {"performance", "&Help", "Own &Performance", "F12", "How long the last frames took and what the trace takes in memory, or not",
       [](MainWindow& w) { w.toggle_performance(); }},
      {"keys", "&Help", "&Keys …", "F1", "All keys, to read, change or print", [](MainWindow& w) { w.show_keys(); }},
  }};
  return kActions;
}

namespace {

// Asks for a file, lets `write` write it, and says what came of it.
template <typename Write>
void save_as(MainWindow& window, const QString& title, const QString& name, const Write& write) {
  const QString path = QFileDialog::getSaveFileName(&window, title, name, QStringLiteral("Pictures and text (%1)").arg(picture_formats()));
  if (path.isEmpty()) return;
  try {
    write(path);
    window.statusBar()->showMessage(QStringLiteral("Saved %1").arg(path), 5000);
  } catch (const std::exception& problem) { window.statusBar()->showMessage(qstr(problem.what())); }
}

}  // namespace

void MainWindow::save_picture() {
  save_as(*this, QStringLiteral("Save the window as a picture"), QStringLiteral("shardlab.png"),
          [this](const QString& path) { write_picture(path); });
}

void MainWindow::save_view() {
  const ViewDef* chosen = &kTimelineView;
  for (const ViewDef* def : all_views())
    if (def->id == view_in_front()) chosen = def;
  save_as(*this, QStringLiteral("Save the view %1 as a picture").arg(QString::fromUtf8(chosen->title)),
          qstr(chosen->id) + QStringLiteral(".png"), [this, chosen](const QString& path) {
            gui::write_picture(*views_.at(chosen->id), path,
                               [&] { return selection_.trace() ? chosen->text(selection_) : QStringLiteral("no trace\n"); });
          });
}

std::string_view MainWindow::view_in_front() const {
  for (const auto& [id, view] : views_)
    if (view == focusWidget() || view->isAncestorOf(focusWidget())) return id;
  return kTimelineView.id;
}

void MainWindow::copy_link() {
  if (!selection_.trace() || selection_.trace()->preview) return;
  const QString link = to_text(link_of(*this));
  QApplication::clipboard()->setText(link);
  statusBar()->showMessage(QStringLiteral("Copied %1").arg(link), 5000);
}

void MainWindow::go_to_link() { go_to_link(QApplication::clipboard()->text()); }

void MainWindow::go_to_link(const QString& text) {
  try {
    show_link(*this, link_from_text(text));
  } catch (const std::exception& problem) { statusBar()->showMessage(qstr(problem.what()), 8000); }
}

void MainWindow::toggle_performance() {
  if (auto* panel = findChild<QDialog*>(QStringLiteral("performance")); panel && panel->isVisible()) {
    panel->close();
    return;
  }
  make_performance_panel(*this)->show();
}

// Of each there is one at a time: what is open already comes to the front.
void MainWindow::show_keys() {
  if (keys_ && keys_->isVisible()) return keys_->activateWindow();
  keys_ = make_key_dialog(this, [this] { apply_keys(); });
  keys_->open();
}

// The example is what the run view holds at first: to see is to run it.
void MainWindow::run_example() {
  show_view(kRunView.id);
  if (auto* example = view(kRunView.id).findChild<QPushButton*>(QStringLiteral("example"))) example->click();
}

void MainWindow::show_palette() {
  if (palette_dialog_ && palette_dialog_->isVisible()) return palette_dialog_->activateWindow();
  palette_dialog_ = make_palette(*this);
  palette_dialog_->show();
}

}  // namespace shardlab::gui
