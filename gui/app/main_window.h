// The main window: the verdict, the views of the list in docks, actions, and loading.
//
// Knows views by their definitions alone. `idle` tells that nothing is left to load, lay out or paint.
#pragma once

#include <QDockWidget>
#include <QLabel>
#include <QMainWindow>

#include <map>
#include <span>
#include <string_view>

#include "gui/app/options.h"
#include "gui/app/perspectives.h"
#include "gui/models/load_job.h"
#include "gui/models/selection.h"
#include "gui/views/verdict_banner.h"
#include "gui/views/view_def.h"

namespace shardlab::gui {

class MainWindow;

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

  Selection& selection() { return selection_; }
  void open(const QString& path);
  // Shows a trace that is already in memory.
  void show_trace(TracePtr trace);
  void show_view(std::string_view id);  // brings it to the front and gives it the focus
  void show_only(std::string_view id);  // and hides all others
  void apply(const PerspectiveDef& def);
  void step_problem(int direction);
  void toggle_theme();
  void choose_and_open();
  void save_picture();
  void show_keys();

 Q_SIGNALS:
  void trace_shown();
  void load_failed(const QString& message);
  void idle();

 private:
  void make_views();
  void make_menus();
  void make_status();
  void watch_idle();
  QWidget* widget_of(std::string_view id) const;

  Options options_;
  Selection selection_;
  LoadJob job_;
  VerdictBanner* banner_;
  QLabel* status_;
  std::map<std::string_view, QDockWidget*> docks_;
  std::map<std::string_view, QWidget*> views_;
  bool idle_told_ = true;
};

// Fusion, the theme's palette and style sheet, a fixed font size and locale.
void apply_style(bool dark);
bool system_is_dark();

}  // namespace shardlab::gui
