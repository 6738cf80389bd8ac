// The command palette: every action, view, array, collective, diagnosis, process, device and time, found as one types.
#pragma once

#include <QAbstractListModel>
#include <QDialog>

#include <functional>
#include <vector>

namespace shardlab::gui {

class MainWindow;

struct PaletteEntry {
  QString title, hint;  // what it is, and its key or place
  std::function<void()> run;
};

// All entries that contain every word of `text`, the best first; a time such as "1.5ms" is an entry of its own.
std::vector<PaletteEntry> find_entries(MainWindow& window, const QString& text);

QDialog* make_palette(MainWindow& window);

}  // namespace shardlab::gui
