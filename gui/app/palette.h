// The command palette: every action, view, array, collective, diagnosis, process, device and time, found as one types.
#pragma once

#include <QAbstractListModel>
#include <QDialog>

#include <functional>
#include <stop_token>
#include <vector>

#include "gui/models/selection.h"

namespace shardlab::gui {

class MainWindow;

struct PaletteEntry {
  QString title, hint;  // what it is, and its key or place
  std::function<void()> run;
};

// All entries that contain every word of `text`, the best first; a time such as "1.5ms" is an entry of its own.
std::vector<PaletteEntry> find_entries(MainWindow& window, const QString& text);
// Of these what the window does, and what the trace has. The latter touches no widget and runs on any thread; where `stop` asks for
// it, what is returned is of no use.
std::vector<PaletteEntry> find_commands(MainWindow& window, const QString& text);
std::vector<PaletteEntry> find_things(Selection& selection, const TracePtr& trace, const QString& text, const std::stop_token& stop = {});

QDialog* make_palette(MainWindow& window);

}  // namespace shardlab::gui
