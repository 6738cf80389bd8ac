// The whole trace in a strip: how busy it was, where its errors are, and which window the timeline shows.
#pragma once

#include <QImage>
#include <QWidget>

#include "gui/models/selection.h"

namespace shardlab::gui {

class TimelineMinimap : public QWidget {
  Q_OBJECT

 public:
  // `left_margin`: the canvas' label column, so that both have one time axis direction and edge.
  TimelineMinimap(Selection& selection, int left_margin, QWidget* parent = nullptr);
  void set_trace(TracePtr trace, TimeRange limits);
  void set_window(TimeRange window);

 Q_SIGNALS:
  void window_asked(shardlab::gui::TimeRange window);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  QSize sizeHint() const override { return {400, 44}; }

 private:
  void build();
  double x(Ns time) const;
  void centre_on(double at);

  Selection& selection_;
  TracePtr trace_;
  int left_margin_;
  TimeRange limits_, window_;
  QImage strip_;  // of the trace, without the window's frame; empty until painted
  bool strip_dark_ = false;
};

}  // namespace shardlab::gui
