// The main window: the verdict, the views of the list in docks, actions, and loading.
//
// Knows views by their definitions alone. `idle` tells that nothing is left to load, lay out or paint.
#pragma once

#include <QDialog>
#include <QDockWidget>
#include <QFileSystemWatcher>
#include <QLabel>
#include <QMainWindow>
#include <QPointer>
#include <QTimer>

#include <map>
#include <span>
#include <string_view>

#include "gui/app/options.h"
#include "gui/app/perspectives.h"
#include "gui/models/live_trace.h"
#include "gui/models/load_job.h"
#include "gui/models/selection.h"
#include "gui/views/verdict_banner.h"
#include "gui/views/view_def.h"

namespace shardlab::gui {

class MainWindow;
class TimelineCanvas;

struct ActionDef {
  const char* id;
  const char* menu;
  const char* title;
  const char* key;  // may be empty
  const char* doc;
  void (*run)(MainWindow&);
};
std::span<const ActionDef> all_actions();

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(const Options& options);
  ~MainWindow() override;

  Selection& selection() { return selection_; }
  const Selection& selection() const { return selection_; }
  Background& background() { return background_; }
  // A trace, or the folder of a run that goes on: it is followed to its end. What is open already is read again in place.
  void open(const QString& path);
  // Shows a trace that is already in memory.
  void show_trace(TracePtr trace);
  void show_view(std::string_view id);  // brings it to the front and gives it the focus
  void show_only(std::string_view id);  // and hides all others
  void show_sheet();                    // all of them, none before another
  void apply(const PerspectiveDef& def);
  void step_problem(int direction);
  void toggle_theme();
  void choose_and_open();
  void save_picture();
  void copy_link();   // to what is shown, as a text to send to somebody
  void go_to_link();  // of the clipboard
  void go_to_link(const QString& text);
  void save_view();  // the one that has the focus, else the timeline
  // The verdict and what the visible views show, as text.
  QString text() const;
  void write_picture(const QString& path);
  void show_keys();
  void show_palette();
  void run_example();
  void toggle_performance();
  void reload();
  void step_view(int direction);  // the focus, over the views in sight
  QWidget& view(std::string_view id) { return *views_.at(id); }
  std::string_view view_in_front() const;  // that has the focus, else the timeline
  TimelineCanvas& timeline() const;        // of the trace, not of the one compared with
  // What the menus hold, for the palette.
  QList<QAction*> actions_of_menus() const { return menu_actions_; }
  // After keys were changed.
  void apply_keys();
  // Marks, pins, window and docks beside the trace; only a window that a person uses keeps them.
  void keep_state();
  void restore_state();

 Q_SIGNALS:
  void trace_shown();
  void load_failed(const QString& message);
  void idle();
  void painted(bool preview);  // a trace that was shown has been painted for the first time

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void make_views();
  void answer(TimelineRequest what);
  void make_menus();
  void make_status();
  void watch_idle();
  void watch_file();
  void watch_run();
  void show_again(TracePtr trace);
  QWidget* widget_of(std::string_view id) const;

  Options options_;
  Selection selection_;
  LoadJob job_;
  LiveTrace live_;
  bool again_ = false;  // what is being read is what is shown, as it is now
  Background background_;
  VerdictBanner* banner_;
  QLabel* status_;
  QPointer<QDialog> keys_, palette_dialog_;
  std::map<std::string_view, QDockWidget*> docks_;
  std::map<std::string_view, QWidget*> views_;
  QString perspective_;  // the id of the last that was applied
  QList<QAction*> menu_actions_;
  QFileSystemWatcher watcher_;
  QTimer reload_timer_;
  bool sheet_ = false;
  bool idle_told_ = true;
  bool paint_awaited_ = false;
};

// The style, the theme's palette, a fixed font size and locale.
void apply_style(bool dark);
bool system_is_dark();

}  // namespace shardlab::gui
