// The timeline's canvas: zoom, pan, choosing events, tooltips and keys over what TimelinePainter draws.
#pragma once

#include <QAbstractScrollArea>
#include <QKeySequence>

#include <functional>
#include <map>
#include <optional>
#include <span>

#include "gui/models/background.h"
#include "gui/models/frame_log.h"
#include "gui/models/lane_filter.h"
#include "gui/models/lane_groups.h"
#include "gui/models/marks.h"
#include "gui/models/retime.h"
#include "gui/models/selection.h"
#include "gui/views/diagram_access.h"
#include "gui/views/timeline_lanes.h"
#include "gui/views/timeline_painter.h"

namespace shardlab::gui {

class TimelineCanvas;

// What dragging with the left button does; Shift always measures, the middle button always moves.
enum class MouseMode : std::uint8_t { kSelect, kPan, kZoom, kMeasure };

// What the timeline's keys ask of others.
enum class TimelineRequest : std::uint8_t { kPalette, kExplainWait, kCompare, kPlay, kSearch, kKeys };

// How the window of time comes to be another one, for the way back.
enum class WindowStep : std::uint8_t {
  kJump,    // a step of its own
  kGlide,   // of a drag or a wheel: those that follow each other are one step
  kFollow,  // with a trace that grows, or another timeline: no step
};

// A key of the timeline, for the handler and the key map alike.
struct TimelineKeyDef {
  const char* key;
  const char* doc;
  void (*run)(TimelineCanvas&);
};
std::span<const TimelineKeyDef> timeline_keys();

class TimelineCanvas : public QAbstractScrollArea, public AccessibleDiagram {
  Q_OBJECT

 public:
  TimelineCanvas(Selection& selection, Background& background, QWidget* parent = nullptr);
  ~TimelineCanvas() override;

  const TimeScale& scale() const { return scale_; }
  void set_window(TimeRange window, WindowStep step = WindowStep::kJump);
  // Times outside of the trace that can be shown too: those of a run beside it.
  void set_room(TimeRange room);
  void step_window(int direction);  // through the windows that were shown
  int label_width() const { return kLabelWidth; }
  QString tooltip_at(QPoint position) const;  // HTML, empty where there is nothing

  void zoom_by(double factor);  // about the cursor, else about the middle
  void pan_by(double share);    // of the window's width
  void fit_selection();         // a second time its collective, then everything
  void fit_all();
  void step_event(int direction);  // next or previous event in the lane
  void step_lane(int direction);   // the lane above or below, at the same time
  void clear_selection();
  void step_member(int direction);     // of the selected collective, over its devices
  void step_same_kind(int direction);  // to the event of the same name in the lane
  void toggle_lateness();
  void cycle_axis();
  void set_axis(TimeAxis axis);
  TimeAxis axis() const { return axis_; }
  // The trace on the chosen axis; null while it is being made.
  const TracePtr& shown() const { return trace_; }
  void toggle_mark();
  void set_bookmark(int number);
  void go_to_bookmark(int number);
  void toggle_pin();
  void hide_row();
  void show_all_rows();
  void toggle_hide_empty();
  void ask_lane_filter() { Q_EMIT lane_filter_asked(); }
  void select_range_of_selection();
  void toggle_counters();
  void toggle_collapsed();
  void set_mouse_mode(MouseMode mode);
  MouseMode mouse_mode() const { return mouse_mode_; }
  void toggle_wheel();                      // kept in the settings
  void cycle_grouping();                    // of lanes: by process, by host, along each axis of the mesh
  void set_grouping(const QString& title);  // by process where there is no such
  const LaneGrouping& grouping() const { return groupings_[grouping_]; }

  // How long painting took.
  const FrameLog& frames() const { return frames_; }
  // Whether what is on the screen is what is to be seen, and not the last picture, stretched, until the next one is there, nor a coarser
  // one until many events are folded.
  bool up_to_date() const { return up_to_date_; }

  using Lanes = std::vector<std::pair<int, int>>;  // (process, device), device -1: the host lane
  // What a person has set up, to be kept beside the trace.
  std::vector<TimeMark> marks;
  std::map<int, TimeRange> bookmarks;
  Lanes pinned, hidden;
  LaneFilter lane_filter;   // hides lanes that are not pinned
  bool hide_empty = false;  // and those that have no event in the window of time
  void set_up();            // after these were changed

  // What is not in sight must be known: an error may be in it.
  struct Hidden {
    int lanes = 0, with_errors = 0;
  };
  Hidden hidden_lanes() const { return hidden_; }

  std::function<void(TimelineRequest)> request;
  std::function<QKeySequence(const TimelineKeyDef&)> key_of;  // where keys were changed

  int access_groups() const override { return int(rows_.size()); }
  QString access_group_name(int group) const override;
  int access_items(int group) const override;
  QString access_item_name(int group, int item) const override;
  QRect access_item_box(int group, int item) const override;
  void access_choose(int group, int item) override;

 Q_SIGNALS:
  void window_changed(shardlab::gui::TimeRange window);
  void shown_changed();               // another trace or axis
  void rows_changed();                // other lanes, or elsewhere
  void lane_filter_asked();           // by a key: somebody is to type it
  void hovered(const QString& text);  // one line for the status bar

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  static constexpr int kLabelWidth = 168;
  static constexpr int kRulerHeight = 26;
  static constexpr int kCounterHeight = 34;

  struct Hit {
    int row = -1;     // index into rows_
    int memory = -1;  // index into memory_rows_
    std::int64_t event = -1;
    bool label = false;    // in the column of lane names
    bool process = false;  // in the column of processes
  };
  Hit hit(QPoint position) const;
  void set_trace();
  void show_trace(TracePtr trace);
  int rows_room() const;
  Ns snapped(QPoint position) const;
  const TimelineKeyDef* def_of(const QKeyEvent& event) const;
  QString range_text(TimeRange range) const;  // its length, events and bytes
  TimeRange range_of_event() const;           // of the selection, empty where there is none
  TimeRange range_of_collective() const;
  void drag_to(QPoint position);
  void layout_rows();
  void make_rows(bool merged);
  bool is_empty(const Lane& lane) const;  // in the window of time
  bool hides(const Lane& lane) const;
  void count_hidden();
  void layout_if_other_lanes();
  // Which counters of memory stand among the rows: after the row with that index, -1 before the first.
  std::vector<std::pair<int, TimelineMemoryRow>> memory_rows_for(int room) const;
  TimelineMemoryRow memory_row(const std::vector<int>& devices) const;
  QString memory_text(const std::vector<int>& counters, Ns time) const;  // what they hold at that time, in a few words
  QString memory_tooltip(const TimelineMemoryRow& row, Ns time) const;
  void on_selection(const SelectionState& state, QObject* origin);
  void mark_touched();
  QString touched_text(int lane, std::int64_t event) const;  // "of a launch that took x", or nothing
  void reveal(TimeRange range);
  TimelineScene scene() const;
  void fold_ahead();
  bool take_long() const;
  void paint_lanes(QPainter& painter, const TimelineScene& scene);
  const StepCounter* bytes_in_flight() const;  // null where nothing was sent
  void select_hit(const Hit& hit);
  void select_memory(const TimelineMemoryRow& row);
  int selected_row() const;

  Selection& selection_;
  Background& background_;
  FrameLog frames_;
  std::shared_ptr<const FoldSet> folds_ = std::make_shared<FoldSet>();
  LanesPicture lanes_;
  bool lanes_awaited_ = false, up_to_date_ = true;
  std::int64_t layout_ = 0;  // of rows_, counted
  TracePtr trace_;
  TimeScale scale_;
  std::vector<TimelineRow> rows_;
  int rows_height_ = 0;
  Hidden hidden_;
  std::vector<int> hidden_lanes_;  // indices, ascending
  std::vector<TimelineMemoryRow> memory_rows_;
  TimeAxis axis_ = TimeAxis::kWall;
  bool lateness_ = false;
  bool counters_ = true;
  std::vector<LaneGrouping> groupings_{LaneGrouping{}};
  std::size_t grouping_ = 0;
  int hover_collective_ = -1;
  TouchedLanes touched_;  // of the array in the trace, -1: none is to be marked
  TracePtr touched_trace_;
  int touched_array_ = -1;
  QPoint press_;
  QPoint last_;
  bool dragging_ = false;
  bool choosing_ = false;   // a range
  bool measuring_ = false;  // from edge to edge
  MouseMode mouse_mode_ = MouseMode::kSelect;
  bool wheel_zooms_ = false;
  int fitted_ = 0;                 // how often F was pressed over this selection
  std::optional<bool> collapsed_;  // devices in lockstep are one row; not set: where there is no room for all
  std::vector<TimeRange> windows_before_, windows_after_;
  bool gliding_ = false;
  bool by_keyboard_ = false;
  // What fold_ahead() has asked for and not yet got.
  const TraceData* asked_trace_ = nullptr;
  Ns asked_level_ = 0;
  TimeRange asked_;
  TimeRange drag_;
};

}  // namespace shardlab::gui
