#include "gui/models/time_scale.h"

#include <algorithm>
#include <cmath>

namespace shardlab::gui {

void TimeScale::set_limits(TimeRange limits) {
  const Ns length = std::max<Ns>(limits.length(), 1000);
  const Ns margin = std::max<Ns>(length / 50, 1);
  limits_ = {limits.begin - margin, limits.begin + length + margin};
  window_ = limits_;
}

void TimeScale::set_width(int width_px) { width_px_ = std::max(width_px, 1); }

void TimeScale::set_window(TimeRange window) {
  const Ns length = std::clamp(window.length(), kShortestNs, limits_.length());
  Ns begin = std::clamp(window.begin, limits_.begin, limits_.end - length);
  window_ = {begin, begin + length};
}

double TimeScale::ns_per_px() const { return double(window_.length()) / width_px_; }

double TimeScale::x_of(Ns time) const { return double(time - window_.begin) / ns_per_px(); }

Ns TimeScale::time_at(double x) const { return window_.begin + Ns(std::llround(x * ns_per_px())); }

void TimeScale::zoom(double factor, double anchor_x) {
  const Ns anchor = time_at(anchor_x);
  const Ns length = std::clamp(Ns(std::llround(double(window_.length()) * factor)), kShortestNs, limits_.length());
  const Ns begin = anchor - Ns(std::llround(double(length) * anchor_x / width_px_));
  set_window({begin, begin + length});
}

void TimeScale::pan(double pixels) {
  const Ns delta = Ns(std::llround(pixels * ns_per_px()));
  set_window({window_.begin + delta, window_.end + delta});
}

void TimeScale::fit(TimeRange range, double margin) {
  const Ns pad = std::max<Ns>(Ns(double(range.length()) * margin), kShortestNs / 4);
  set_window({range.begin - pad, range.end + pad});
}

Ruler make_ruler(const TimeScale& scale, Ns origin, int spacing_px) {
  Ruler ruler;
  const double least = scale.ns_per_px() * spacing_px;
  Ns power = 1;
  while (double(power) * 10 <= least) power *= 10;
  ruler.step = power;
  for (const int factor : {1, 2, 5, 10})
    if (double(power * factor) >= least) {
      ruler.step = power * factor;
      break;
    }
  const Ns minor = std::max<Ns>(ruler.step / 5, 1);
  const TimeRange window = scale.window();
  Ns tick = (window.begin - origin) / minor * minor;
  if (tick < window.begin - origin) tick += minor;
  for (; tick < window.end - origin; tick += minor) ruler.ticks.push_back({origin + tick, tick % ruler.step == 0});
  return ruler;
}

}  // namespace shardlab::gui
