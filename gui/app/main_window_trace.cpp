// The main window's traces: opening, following a run that goes on, showing, and what is kept beside a trace.
#include <QDropEvent>
#include <QFileInfo>
#include <QMimeData>
#include <QStatusBar>

#include "gui/app/main_window.h"
#include "gui/app/sheet.h"
#include "gui/app/view_state.h"
#include "gui/models/format.h"
#include "gui/views/theme.h"
#include "gui/views/timeline_canvas.h"

namespace shardlab::gui {

void MainWindow::reload() {
  if (options_.trace.isEmpty()) return;
  keep_state();
  open(options_.trace);
}

// A trace that is written again, or grows, is read again when it has been still for a moment.
void MainWindow::watch_file() {
  constexpr int kStillMs = 400;
  reload_timer_.setSingleShot(true);
  reload_timer_.setInterval(kStillMs);
  connect(&watcher_, &QFileSystemWatcher::fileChanged, this, [this] { reload_timer_.start(); });
  connect(&reload_timer_, &QTimer::timeout, this, [this] {
    if (QFileInfo::exists(options_.trace))
      reload();
    else
      reload_timer_.start();  // between the removal of the old and the appearance of the new
  });
}

// A run that goes on is read whenever it has grown. What is selected, the window of time and the places of views stay; a window at
// the end moves with it.
void MainWindow::watch_run() {
  connect(&live_, &LiveTrace::grown, this, [this](const QString& trace, bool) {
    const QFileInfo folder(options_.trace);
    job_.start(trace.toStdString(),
               (folder.fileName() == QLatin1String("parts") ? folder.dir().dirName() : folder.fileName()).toStdString());
  });
  connect(&live_, &LiveTrace::failed, this, [this](const QString& message) {
    if (selection_.trace() && again_) return statusBar()->showMessage(message);
    banner_->show_failure(message);
    Q_EMIT load_failed(message);
  });
}

void MainWindow::show_again(TracePtr trace) {
  auto* canvas = &timeline();
  const TimeRange limits = canvas->scale().limits();
  TimeRange window = canvas->scale().window();
  const bool whole = window == limits, at_end = window.end >= limits.end, wall = canvas->axis() == TimeAxis::kWall;
  idle_told_ = false;
  paint_awaited_ = true;
  selection_.follow_trace(std::move(trace));
  if (wall && !whole) {
    if (at_end) window = {canvas->scale().limits().end - window.length(), canvas->scale().limits().end};
    canvas->set_window(window, WindowStep::kFollow);
  }
  if (options_.view.isEmpty() && banner_->verdict().level == VerdictLevel::kError && perspective_ != banner_->verdict().perspective)
    apply(perspective(banner_->verdict().perspective.toStdString()));
}

void MainWindow::keep_state() {
  auto* canvas = &timeline();
  if (!options_.remember || !selection_.trace() || selection_.trace()->preview || selection_.trace()->path.empty()) return;
  ViewState state{.perspective = perspective_,
                  .theme = theme_of(this).dark ? QStringLiteral("dark") : QStringLiteral("light"),
                  .marks = canvas->marks,
                  .bookmarks = canvas->bookmarks,
                  .pinned = canvas->pinned,
                  .hidden = canvas->hidden,
                  .lane_filter = canvas->lane_filter.pattern(),
                  .hide_empty = canvas->hide_empty,
                  .docks = saveState()};
  if (canvas->axis() == TimeAxis::kWall && canvas->scale().window() != canvas->scale().limits()) state.window = canvas->scale().window();
  const QString trace = qstr(selection_.trace()->path);
  // Nothing set up: no file. What was there is brought up to date.
  if (!(state.marks.empty() && state.bookmarks.empty() && state.pinned.empty() && state.hidden.empty() && state.window.empty()) ||
      QFileInfo::exists(state_path(trace)))
    write_state(trace, state);
}

void MainWindow::restore_state() {
  auto* canvas = &timeline();
  const ViewState state =
      options_.remember && selection_.trace() && !selection_.trace()->preview ? read_state(qstr(selection_.trace()->path)) : ViewState{};
  canvas->marks = state.marks;
  canvas->bookmarks = state.bookmarks;
  canvas->pinned = state.pinned;
  canvas->hidden = state.hidden;
  canvas->lane_filter = LaneFilter(state.lane_filter);
  canvas->hide_empty = state.hide_empty;
  canvas->set_up();
  if (!state.window.empty()) canvas->set_window(state.window, WindowStep::kFollow);
  if (!state.docks.isEmpty()) restoreState(state.docks);
}

void MainWindow::closeEvent(QCloseEvent* event) {
  keep_state();
  QMainWindow::closeEvent(event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls() && event->mimeData()->urls().value(0).isLocalFile()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) { open(event->mimeData()->urls().value(0).toLocalFile()); }

void MainWindow::open(const QString& path) {
  if (!watcher_.files().isEmpty()) watcher_.removePaths(watcher_.files());
  const bool run = QFileInfo(path).isDir();
  if (options_.remember && !run && QFileInfo::exists(path)) watcher_.addPath(path);
  again_ = path == options_.trace && selection_.trace() && !selection_.trace()->preview && selection_.trace()->path == path.toStdString();
  options_.trace = path;
  setWindowTitle(QFileInfo(path).fileName() + QStringLiteral(" – shardlab"));
  if (!again_) banner_->show_loading(path, 0);
  idle_told_ = false;
  job_.cancel();
  run ? live_.follow(path) : live_.stop();
  if (!run) job_.start(path.toStdString());
}

void MainWindow::show_trace(TracePtr trace) {
  idle_told_ = false;
  paint_awaited_ = true;
  const bool again = selection_.trace() && selection_.trace()->preview && selection_.trace()->path == trace->path;
  const bool preview = trace->preview;
  selection_.set_trace(std::move(trace));
  if (preview) banner_->show_loading(options_.trace, 0);
  if (!again || banner_->verdict().perspective != perspective_) {
    if (options_.view.isEmpty())
      apply(perspective(banner_->verdict().perspective.toStdString()));
    else if (options_.view == QLatin1String(kSheet))
      show_sheet();
    else
      show_only(options_.view.toStdString());
  }
  if (preview) return;
  again_ = live_.following();  // what comes next is this run, grown
  restore_state();
  Q_EMIT trace_shown();
}

}  // namespace shardlab::gui
