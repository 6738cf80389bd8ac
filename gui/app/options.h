// The command line of `shardlab-view`.
#pragma once

#include <QSize>
#include <QString>
#include <QStringList>

#include <stdexcept>

#include "gui/models/selection.h"

namespace shardlab::gui {

enum class ThemeChoice : std::uint8_t { kSystem, kLight, kDark };

struct Options {
  QString trace;       // empty: the window opens without one
  QString bench;       // file for the measurements of the window; "-": standard output
  QString screenshot;  // empty: an ordinary window
  QString view;        // id of the only view to show, or kSheet; empty: all of the perspective
  QString array;       // name of the array to show
  QString select;      // "diagnosis:0", "collective:12", "device:3", "process:1"
  QSize size{1600, 1000};
  ThemeChoice theme = ThemeChoice::kSystem;
  QString link;           // to a view, as text; empty: none
  QString compare;        // a second trace
  bool remember = false;  // marks, pins and window, beside the trace
  bool help = false;
};

// What is wrong with the command line, for the user.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// `arguments` without the program's name. Throws UsageError.
Options parse_options(const QStringList& arguments);
QString usage_text();

// Selects what the options ask for. Throws UsageError where the trace has no such thing.
void apply_selection(const Options& options, Selection& selection);

}  // namespace shardlab::gui
