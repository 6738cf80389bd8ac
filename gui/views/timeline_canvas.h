// The timeline's canvas: zoom, pan, choosing events, tooltips and keys over what TimelinePainter draws.
#pragma once

#include <QAbstractScrollArea>

#include <span>

#include "gui/models/selection.h"
#include "gui/views/timeline_painter.h"

namespace shardlab::gui {

class TimelineCanvas;

// A key of the timeline, for the handler and the key map alike.
struct TimelineKeyDef {
  const char* key;
  const char* doc;
  void (*run)(TimelineCanvas&);
};
std::span<const TimelineKeyDef> timeline_keys();

class TimelineCanvas : public QAbstractScrollArea {
  Q_OBJECT

 public:
  explicit TimelineCanvas(Selection& selection, QWidget* parent = nullptr);

  const TimeScale& scale() const { return scale_; }
  void set_window(TimeRange window);
  int label_width() const { return kLabelWidth; }
  QString tooltip_at(QPoint position) const;  // HTML, empty where there is nothing

  void zoom_by(double factor);  // about the cursor, else about the middle
  void pan_by(double share);    // of the window's width
  void fit_selection();         // a second time: everything
  void fit_all();
  void step_event(int direction);  // next or previous event in the lane
  void step_lane(int direction);   // the lane above or below, at the same time
  void clear_selection();

 Q_SIGNALS:
  void window_changed(shardlab::gui::TimeRange window);
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
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  static constexpr int kLabelWidth = 168;
  static constexpr int kRulerHeight = 26;

  struct Hit {
    int row = -1;  // index into rows_
    std::int64_t event = -1;
    bool label = false;    // in the column of lane names
    bool process = false;  // in the column of processes
  };
  Hit hit(QPoint position) const;
  void set_trace();
  void layout_rows();
  void make_rows(bool merged);
  void on_selection(const SelectionState& state, QObject* origin);
  void reveal(TimeRange range);
  TimelineScene scene() const;
  void select_hit(const Hit& hit);
  int selected_row() const;

  Selection& selection_;
  TracePtr trace_;
  CollectiveIndex collectives_;
  TimeScale scale_;
  std::vector<TimelineRow> rows_;
  int rows_height_ = 0;
  int hover_collective_ = -1;
  QPoint press_;
  QPoint last_;
  bool dragging_ = false;
  bool choosing_ = false;  // a range, with Shift
  bool fitted_ = false;    // the last fit was to the selection
  bool by_keyboard_ = false;
  TimeRange drag_;
};

}  // namespace shardlab::gui
