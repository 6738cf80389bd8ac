// The whole trace in a strip: how busy it was, where its errors are, and which window the timeline shows.
#pragma once

#include <QImage>
#include <QWidget>

#include "gui/models/background.h"
#include "gui/models/selection.h"
#include "gui/views/theme.h"

namespace shardlab::gui {

class TimelineMinimap : public QWidget {
  Q_OBJECT

 public:
  // `left_margin`: the canvas' label column, so that both have one time axis direction and edge.
  TimelineMinimap(Background& background, int left_margin, QWidget* parent = nullptr);
  ~TimelineMinimap() override;
  void set_trace(TracePtr trace, TimeRange limits);
  void set_window(TimeRange window);

 Q_SIGNALS:
  void window_asked(shardlab::gui::TimeRange window);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  QSize sizeHint() const override { return {400, 44}; }

 private:
  // What the strip looks like hangs on this alone.
  struct Key {
    TracePtr trace;
    TimeRange limits;
    QSize size;
    double ratio = 1;
    const Theme* theme = nullptr;
    bool operator==(const Key&) const = default;
  };
  // The trace without the window's frame.
  struct Strip {
    Key key;
    QImage image;
  };
  static Strip make_strip(Key key);  // on any thread
  void paint_strip(QPainter& painter);
  double x(Ns time) const;
  void centre_on(double at);

  Background& background_;
  TracePtr trace_;
  int left_margin_;
  TimeRange limits_, window_;
  Strip strip_;
  bool strip_awaited_ = false;
};

}  // namespace shardlab::gui
