// Draws the timeline: ruler, process and lane labels, lanes, collectives as one object over their members, selection.
//
// The back has what is many and changes with the window of time alone: it may be painted on any thread, into a picture. The front has
// what is few: names, ruler, selection, marks.
//
// Knows geometry and colours, no events: the canvas gives it a scene, also for pictures without a window.
#pragma once

#include <QFont>
#include <QImage>
#include <QPainter>

#include <vector>

#include "gui/models/collective_index.h"
#include "gui/models/fold_set.h"
#include "gui/models/lane_fold.h"
#include "gui/models/launch_events.h"
#include "gui/models/marks.h"
#include "gui/models/memory.h"
#include "gui/models/retime.h"
#include "gui/models/selection.h"
#include "gui/models/time_scale.h"
#include "gui/views/theme.h"

namespace shardlab::gui {

namespace timeline {
inline constexpr double kFoldPx = 2.0;     // narrower events are folded, into at most twice that
inline constexpr double kLabelPxMin = 26;  // narrower boxes have no text
}  // namespace timeline

// A lane's place on the canvas, in pixels from the top of the first.
struct TimelineRow {
  int lane = 0;   // the first of those it stands for
  int lanes = 1;  // more where devices in lockstep share a row for want of room
  int top = 0;
  int height = 0;
  bool first_of_group = false;  // of its process, unless lanes are grouped otherwise
  std::string group;            // the group's name, where it is no process
};

// A counter among the lanes: what devices hold of arrays.
struct TimelineMemoryRow {
  std::vector<int> counters;      // indices into MemoryUse::devices()
  std::vector<int> devices = {};  // ordinals of those that it stands for: of counters that are alike there may be more
  // To paint: the most of any of them is what is drawn. With what launches hold beside the arrays, or empty.
  std::vector<const StepCounter*> arrays, with_steps;
  int top = 0;
  int height = 0;  // before they are laid out: at least
};

struct TimelineScene {
  const TraceData* trace = nullptr;
  const Theme* theme = nullptr;
  const Selection* selection = nullptr;
  std::shared_ptr<const FoldSet> folds;  // items of the lanes; those that it lacks are folded while painting
  int coarser = 1;                       // times the fold level, while the right one is being made
  TimeScale scale;
  std::vector<TimelineRow> rows;
  QSize size;
  QFont font;
  int label_width = 0;
  int ruler_height = 0;
  int scroll_y = 0;
  int hover_collective = -1;
  const StepCounter* in_flight = nullptr;  // drawn below the lanes
  int counter_height = 0;
  std::vector<TimelineMemoryRow> memory_rows;
  const std::vector<TimeMark>* marks = nullptr;
  const TouchedLanes* touched = nullptr;  // where the launches lie that touched the chosen array
  TimeAxis axis = TimeAxis::kWall;
  bool lateness = false;  // collectives by how late each member came
  bool focused = false;
  TimeRange drag;  // a range being chosen
};

// Of the counters of memory.
QColor memory_colour(const Theme& theme);

// A colour for one event, by what it is.
QColor event_colour(const TraceData& trace, const Theme& theme, const Lane& lane, std::size_t index);

class TimelinePainter {
 public:
  TimelinePainter(QPainter& painter, const TimelineScene& scene);
  void paint() {
    paint_back();
    paint_front();
  }
  void paint_back();
  void paint_front();
  QRect plot() const { return plot_; }  // of the lanes

 private:
  void paint_ruler();
  void paint_labels();
  void paint_chips(const TimelineRow& row, const QRect& box);
  QString row_name(const TimelineRow& row) const;
  void paint_rows();
  void paint_lane(const TimelineRow& row);
  void paint_event(const Lane& lane, const LaneItem& item, const QRectF& box);
  void paint_collective_parts(const Lane& lane, const LaneItem& item, const QRectF& box);
  struct FoldHeights;
  static FoldHeights fold_heights(const LaneItem& item, double height);
  void start_strip(const TimelineRow& row);
  void paint_preview(const Lane& lane, const QRectF& box);
  void paint_fold(const Lane& lane, const LaneItem& item, const QRectF& box);
  void fold_into_strip(const Lane& lane, const LaneItem& item, const QRectF& box);
  void fill_strip(double left, double right, double top, double bottom, const QColor& colour);
  void paint_error_mark(const QRectF& box);
  // `plate`: laid under the text, over a hatch; invalid: none.
  void paint_text(const QRectF& box, const QString& text, const QColor& ink, const QColor& plate = {});
  void paint_curtains();
  void paint_curtain(int collective, bool strong);
  void paint_touched();
  void paint_runs(const TimelineRow& row, const std::vector<EventRun>& runs, bool gives);
  void paint_touch(const QRectF& box, bool gives);
  void paint_selection();
  void paint_flows(const Collective& call);
  void paint_marks();
  void paint_counter();
  void paint_counter_name();
  QRegion without_memory() const;  // where lanes lie
  void paint_memory();
  void paint_memory_row(const TimelineMemoryRow& row);
  void paint_memory_label(const TimelineMemoryRow& row, const QRect& box);
  QString tick_label(Ns time, Ns step) const;
  double x(Ns time) const { return scene_.label_width + scene_.scale.x_of(time); }
  const TimelineRow* row_of_device(int device) const;
  QRectF box_of(const TimelineRow& row, Ns begin, Ns end) const;

  QPainter& painter_;
  const TimelineScene& scene_;
  const TraceData& trace_;
  const Theme& theme_;
  QRect plot_;                      // of the lanes
  std::vector<int> row_of_device_;  // by ordinal, -1 where it has none
  std::vector<LaneItem> items_;
  // Folds of one row, written pixel by pixel: a tenth of what QPainter takes for as many rectangles. Null where the painter
  // writes vectors.
  QImage strip_;
  QRectF strip_box_;
  double strip_ratio_ = 1;
  bool strip_used_ = false;
};

}  // namespace shardlab::gui
