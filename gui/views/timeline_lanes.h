// The lanes of the timeline as a picture: painted beside the window's thread where there is much to paint, and stretched to another
// window of time or another size until the next one is there.
#pragma once

#include <QImage>
#include <QPainter>

#include "gui/views/timeline_painter.h"

namespace shardlab::gui {

// What lanes look like hangs on this alone.
struct LanesKey {
  TracePtr trace;
  TimeRange window;
  QSize size;
  double ratio = 1;         // device pixels a pixel
  std::int64_t layout = 0;  // of the rows, counted
  int scroll_y = 0;
  int coarser = 1;
  int hover_collective = -1;
  const Theme* theme = nullptr;
  std::shared_ptr<const FoldSet> folds;
  TimeAxis axis = TimeAxis::kWall;
  bool lateness = false;
  bool operator==(const LanesKey&) const = default;
};

// Whether this paints the widget on the screen; pictures of it that are asked for are painted at once, as they are to be.
bool on_screen(const QPainter& painter, const QWidget& widget);

struct LanesPicture {
  LanesKey key;
  TimeScale scale;
  QRect plot;           // of the lanes, within the picture
  int rows_height = 0;  // of all of them, in sight or not
  QImage image;

  // On any thread: `scene` must not point to what the window's thread changes; its front is not painted.
  static LanesPicture paint(LanesKey key, TimelineScene scene, int rows_height);
  // As far as it has what `scene` shows; the rest is empty.
  void draw_stretched(QPainter& painter, const TimelineScene& scene, const QRect& plot, int rows_height) const;
};

}  // namespace shardlab::gui
