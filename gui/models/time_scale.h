// The window of time on screen: its mapping to pixels, zoom about a point, pan, and the ticks of its ruler.
#pragma once

#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

class TimeScale {
 public:
  static constexpr Ns kShortestNs = 20;  // no window is shorter

  // `limits`: what can be shown; the window stays within it, with a margin of 2 % on both sides.
  void set_limits(TimeRange limits);
  void set_width(int width_px);
  void set_window(TimeRange window);

  TimeRange limits() const { return limits_; }
  TimeRange window() const { return window_; }
  int width() const { return width_px_; }

  double x_of(Ns time) const;  // subtracts before it converts, so nanoseconds stay exact
  Ns time_at(double x) const;
  double ns_per_px() const;

  void zoom(double factor, double anchor_x);  // factor < 1 zooms in; the time under `anchor_x` stays there
  void pan(double pixels);                    // positive: towards later times
  void fit(TimeRange range, double margin = 0.02);
  void fit_all() { set_window(limits_); }

 private:
  TimeRange limits_{0, 1000};
  TimeRange window_{0, 1000};
  int width_px_ = 1000;
};

struct Tick {
  Ns time;
  bool major;
};

struct Ruler {
  Ns step = 1;  // between major ticks: 1, 2 or 5 times a power of ten
  std::vector<Tick> ticks;
};

// Ticks for `window`, major ones at least `spacing_px` apart. `origin` is the time shown as 0.
Ruler make_ruler(const TimeScale& scale, Ns origin, int spacing_px);

}  // namespace shardlab::gui
