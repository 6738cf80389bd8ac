// The definition of a view: what the main window knows of it.
#pragma once

#include <QWidget>

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "gui/models/background.h"
#include "gui/models/selection.h"

namespace shardlab::gui {

enum class TimelineRequest : std::uint8_t;

enum class ViewArea : std::uint8_t { kCentre, kLeft, kRight, kBottom, kBottomRight };

// What a view may use. It outlives the views.
struct ViewContext {
  Selection& selection;
  Background& background;
  std::function<void(const QString& path)> open_trace = {};  // in the window
  std::function<void(std::string_view id)> show_view = {};
  std::function<void(TimeRange window)> show_time = {};         // in the timeline
  std::function<void(TimelineRequest)> request = {};            // what its keys ask of others
  std::function<void(const QString& filter)> find_events = {};  // in the table of events
};

struct ViewDef {
  std::string_view id;  // for --view and stored layouts
  const char* title;
  const char* key;  // shows and focuses it, e.g. "Ctrl+F"
  const char* doc;  // one sentence, for tooltips and the key map
  ViewArea area;
  QWidget* (*make)(ViewContext&);
  // The same as text, of a selection with a trace: what a .txt picture holds.
  QString (*text)(const Selection&);
  bool in_report = true;  // shows what the trace has, not what one does with it
};

// All views; the first of an area is the one in front. Exactly one is in the centre.
std::span<const ViewDef* const> all_views();

extern const ViewDef kOverviewView;
extern const ViewDef kTimelineView;
extern const ViewDef kShardingView;
extern const ViewDef kDiagnosesView;
extern const ViewDef kCollectivesView;
extern const ViewDef kExplorerView;
extern const ViewDef kInspectorView;
extern const ViewDef kSequenceView;
extern const ViewDef kCallSitesView;
extern const ViewDef kWaitsView;
extern const ViewDef kMatrixView;
extern const ViewDef kReshardView;
extern const ViewDef kPredictionView;
extern const ViewDef kEventsView;
extern const ViewDef kStatsView;
extern const ViewDef kCriticalPathView;
extern const ViewDef kMemoryView;
extern const ViewDef kCompareView;
extern const ViewDef kSqlView;
extern const ViewDef kRunView;

// Opens a second trace in the compare view; false where the widget is another one.
bool compare_with(QWidget* compare_view, const QString& path);
bool compare_busy(const QWidget* compare_view);
// How the second run's clock lies beside the first's: as at the start, with what is chosen in both at one place, or by a number that is
// typed.
enum class Alignment : std::uint8_t { kStart, kHere, kTyped };
void align_runs(QWidget* compare_view, Alignment alignment);
void play_waits(QWidget* waits_view);  // or stops
void filter_events(QWidget* events_view, const QString& filter);

}  // namespace shardlab::gui
