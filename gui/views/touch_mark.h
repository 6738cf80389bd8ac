// The sign of a launch that took the chosen array, or gave it: a tip from below the lane, or from above it.
#pragma once

#include <QPainter>
#include <QRectF>

#include "gui/views/theme.h"

namespace shardlab::gui {

// In the middle of the box, at its lower edge, or of the maker at its upper one.
void paint_touch_mark(QPainter& painter, const QRectF& box, bool gives, const Theme& theme);

}  // namespace shardlab::gui
