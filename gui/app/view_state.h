// What a person has set up over a trace: marks, pins, window, perspective. Kept beside the trace, never in it.
#pragma once

#include <QByteArray>
#include <QString>

#include <map>
#include <vector>

#include "gui/models/marks.h"
#include "gui/models/trace_data.h"

namespace shardlab::gui {

struct ViewState {
  QString perspective, theme;
  TimeRange window;                                 // empty: the whole
  std::vector<TimeMark> marks;                      // by time
  std::map<int, TimeRange> bookmarks;               // 1 … 9
  std::vector<std::pair<int, int>> pinned, hidden;  // (process, device) of lanes; device -1: the host lane
  QString lane_filter;                              // a pattern that hides lanes
  bool hide_empty = false;
  QByteArray docks;  // of QMainWindow::saveState
  bool operator==(const ViewState&) const = default;
};

// "run.db" → "run.db.view.json".
QString state_path(const QString& trace);
QByteArray to_json(const ViewState& state);
// What is not understood is left out: an old or broken file must not keep a trace from opening.
ViewState state_from_json(const QByteArray& json);
// Nothing where there is no such file.
ViewState read_state(const QString& trace);
// False where it cannot be written, for instance beside a trace on a read-only disk.
bool write_state(const QString& trace, const ViewState& state);

}  // namespace shardlab::gui
