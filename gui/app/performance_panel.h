// The window's own speed: how long the last frames of the timeline took, and what the trace takes in memory.
#pragma once

#include <QDialog>

namespace shardlab::gui {

class MainWindow;

// Beside the window, without taking the focus; deletes itself when it is closed.
QDialog* make_performance_panel(MainWindow& window);

}  // namespace shardlab::gui
