// A view of a trace as a text to send to somebody: which trace by its name alone, which view, window of time, selection and lanes.
#pragma once

#include <QString>

#include <optional>

#include "gui/models/retime.h"
#include "gui/models/trace_data.h"

namespace shardlab::gui {

class MainWindow;

// "shardlab://view/run.db?view=waits&time=1200-5300&select=collective:12". Times are nanoseconds from the begin of what is shown.
struct ViewLink {
  QString trace;   // its file's name, without folders
  QString view;    // id of the one that has the focus; empty: none
  QString select;  // "collective:12", "event:3@1200" (in lane 3, that begins then), "device:1", "process:0", "diagnosis:0"; empty: nothing
  int array = -1;
  bool touched = false;  // its launches are marked
  TimeRange time;        // the window; empty: the whole
  TimeRange range;       // that is chosen; empty: none
  TimeAxis axis = TimeAxis::kWall;
  QString lanes;  // how they are grouped; empty: by process
  QString hide;   // the pattern that hides some of them
  bool hide_empty = false;
  bool operator==(const ViewLink&) const = default;
};

bool is_link(const QString& text);
QString to_text(const ViewLink& link);
// Throws UserError where the text is none. What is not known in it is passed over: it may come from a newer program.
ViewLink link_from_text(const QString& text);

ViewLink link_of(const MainWindow& window);
// What the trace in the window does not have is left as it is. Throws UserError where the link is of another trace.
void show_link(MainWindow& window, const ViewLink& link);

}  // namespace shardlab::gui
