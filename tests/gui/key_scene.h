// A window of its own for each key of the key map, and what presses it: shared by the scripts that show what the keys do.
#pragma once

#include <QDialog>
#include <QTemporaryDir>

#include <functional>
#include <map>

#include "gui/app/key_map.h"
#include "gui/app/main_window.h"
#include "gui/views/timeline_canvas.h"
#include "gui/views/when_seen.h"

namespace shardlab::gui::keys {

constexpr int kLongMs = 60'000;

// Over a trace that has what the key is for.
struct Scene {
  explicit Scene(const KeyEntry& the_entry);
  void activate();
  void focus_timeline();
  TimelineCanvas& canvas() { return window.timeline(); }
  Selection& selection() { return window.selection(); }
  const SelectionState& state() { return window.selection().state(); }
  TimeRange shown() { return canvas().scale().window(); }
  TimeRange limits() { return canvas().scale().limits(); }
  LaneEvents& events() { return *selection().trace()->lanes[std::size_t(state().lane)].events; }
  // The first device's lane, an event in its middle.
  void select_event(std::int64_t event = 5) { selection().select_event(selection().trace()->lanes[0].device < 0 ? 1 : 0, event); }
  QImage picture() { return canvas().viewport()->grab().toImage(); }
  bool sees(std::string_view view) { return in_sight(window.view(view)); }
  bool has_focus(std::string_view view);

  void press() { press(entry.fallback); }
  void press(const QKeySequence& key);
  void press(const char* key) { press(QKeySequence(QString::fromUtf8(key))); }
  // Types `path` into the dialog of files that `deed` opens, and Return until it has looked the folder up and takes it.
  void name_file(const QString& path, const std::function<void()>& deed);
  void press_and_name(const QString& path) {
    name_file(path, [this] { press(); });
  }
  QDialog* dialog();  // the one in sight, null where there is none
  QString file(const char* name) { return folder.filePath(QString::fromUtf8(name)); }

  const KeyEntry& entry;
  QTemporaryDir folder;
  MainWindow window;
};

// Presses the key and sees what it does.
using Script = std::function<void(Scene&)>;
using Scripts = std::map<QString, Script>;  // by the entry's id

Scripts window_scripts();   // of the window, its views and perspectives
Scripts moving_scripts();   // over the timeline
Scripts setting_scripts();  // of the timeline

Script goes_to(std::string_view view);
void finds_in_the_palette(Scene& scene);

}  // namespace shardlab::gui::keys
