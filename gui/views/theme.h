// Colours of the window, dark and light: a colour-blind-safe set (Okabe–Ito); red means error and nothing else.
#pragma once

#include <QColor>
#include <QPalette>
#include <QString>
#include <QWidget>

#include <string_view>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

struct Theme {
  bool dark = false;
  QColor window, base, raised, text, muted, line, faint;  // surfaces, writing, rules
  QColor accent, error, warning, good;
  QColor error_back, warning_back, good_back, differ_back;
  QColor compute, host, lane, lane_alternate;

  QColor collective(std::string_view kind) const;  // one hue a kind, also for kinds unknown here
  // One hue a device up to eight, else one a process with shades inside it.
  QColor device(const TraceData& trace, int ordinal) const;
  QColor group(int index) const;
  QColor heat(double share) const;  // of heat maps: 0 nearly the base, 1 the strongest
  QPalette palette() const;
};

const Theme& light_theme();
const Theme& dark_theme();

// The theme that the widget's palette belongs to.
const Theme& theme_of(const QWidget* widget);

// Black or white, whichever reads better on `back`.
QColor ink_on(const QColor& back);

// `top` laid over `under` with that opacity.
QColor blend(const QColor& top, const QColor& under, double opacity);

}  // namespace shardlab::gui
