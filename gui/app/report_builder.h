// What goes into a report: its parts to choose from, and the file that they are written to.
#pragma once

#include <QDialog>

namespace shardlab::gui {

class MainWindow;

// Deletes itself when it is closed. What is left out is kept in the settings.
QDialog* make_report_builder(MainWindow& window);

}  // namespace shardlab::gui
