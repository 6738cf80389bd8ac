#include "gui/views/theme.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/base/text.h"

namespace shardlab::gui {
namespace {

// Okabe and Ito (2008) without black and vermillion (too near to an error's red), with grey and brown instead.
constexpr std::array<QRgb, 8> kHues{0xff0072b2, 0xffe69f00, 0xff009e73, 0xffcc79a7, 0xff56b4e9, 0xfff0e442, 0xff8c6d46, 0xff8a8f98};

struct KindColour {
  std::string_view kind;
  QRgb colour;
};
constexpr std::array<KindColour, 6> kKinds{{
    {"all-reduce", 0xff0072b2},
    {"all-gather", 0xff009e73},
    {"reduce-scatter", 0xffe69f00},
    {"all-to-all", 0xffcc79a7},
    {"collective-permute", 0xff56b4e9},
    {"transfer", 0xff8c6d46},
}};

Theme make_light() {
  Theme t;
  t.window = 0xf3f4f6;
  t.base = 0xffffff;
  t.raised = 0xe9ebef;
  t.text = 0x1b1f24;
  t.muted = 0x5b6470;
  t.line = 0xcdd2d9;
  t.faint = 0xe4e7ec;
  t.accent = 0x1264a3;
  t.error = 0xc62828;
  t.warning = 0x9a5b00;
  t.good = 0x1b7a3d;
  t.error_back = 0xfdecea;
  t.warning_back = 0xfff4de;
  t.good_back = 0xe8f5ec;
  t.differ_back = 0xffe3df;
  t.compute = 0xb9c3d0;
  t.host = 0xd9c7e8;
  t.lane = 0xffffff;
  t.lane_alternate = 0xf8f9fb;
  return t;
}

Theme make_dark() {
  Theme t;
  t.dark = true;
  t.window = 0x1f2227;
  t.base = 0x17191d;
  t.raised = 0x2b2f36;
  t.text = 0xe6e8eb;
  t.muted = 0x9aa3af;
  t.line = 0x3b414a;
  t.faint = 0x2a2e35;
  t.accent = 0x5eb1ef;
  t.error = 0xff6b60;
  t.warning = 0xf2b84b;
  t.good = 0x66c988;
  t.error_back = 0x3d2020;
  t.warning_back = 0x3a2f18;
  t.good_back = 0x1b3024;
  t.differ_back = 0x55282a;
  t.compute = 0x4c5664;
  t.host = 0x5a4a6b;
  t.lane = 0x17191d;
  t.lane_alternate = 0x1b1e23;
  return t;
}

}  // namespace

const Theme& light_theme() {
  static const Theme kTheme = make_light();
  return kTheme;
}

const Theme& dark_theme() {
  static const Theme kTheme = make_dark();
  return kTheme;
}

const Theme& theme_of(const QWidget* widget) {
  return widget->palette().color(QPalette::Window).lightness() < 128 ? dark_theme() : light_theme();
}

QColor Theme::collective(std::string_view kind) const {
  const auto known = std::find_if(kKinds.begin(), kKinds.end(), [kind](const KindColour& each) { return each.kind == kind; });
  const QColor colour(known != kKinds.end() ? known->colour : kHues[hash_bytes(kind) % kHues.size()]);
  return dark && colour.lightness() < 100 ? blend(Qt::white, colour, 0.22) : colour;
}

QColor Theme::device(const TraceData& trace, int ordinal) const {
  const Device* device = trace.device(ordinal);
  if (!device || ordinal < 0) return muted;
  if (trace.devices.size() <= kHues.size()) return QColor(kHues[std::size_t(ordinal) % kHues.size()]);
  const bool one_process = trace.processes.size() < 2;
  const QColor hue(kHues[std::size_t(one_process ? ordinal : device->process) % kHues.size()]);
  const Process* process = trace.process(device->process);
  const int count = one_process ? int(trace.devices.size() + 7) / 8 : process ? int(process->devices.size()) : 1;
  const int place = one_process ? ordinal / 8 : device->local;
  const double shade = count > 1 ? double(place) / (count - 1) : 0.5;
  return blend(shade < 0.5 ? Qt::black : Qt::white, hue, std::abs(shade - 0.5) * 0.6);
}

QColor Theme::group(int index) const {
  const QColor hue(kHues[std::size_t(index) % kHues.size()]);
  return dark ? hue.lighter(110) : hue.darker(115);
}

QColor Theme::heat(double share) const {
  return blend(dark ? QColor(0x8fd0ff) : QColor(0x08306b), dark ? QColor(0x1d2733) : QColor(0xe3eef8), share);
}

QPalette Theme::palette() const {
  QPalette p;
  p.setColor(QPalette::Window, window);
  p.setColor(QPalette::WindowText, text);
  p.setColor(QPalette::Base, base);
  p.setColor(QPalette::AlternateBase, lane_alternate);
  p.setColor(QPalette::Text, text);
  p.setColor(QPalette::PlaceholderText, muted);
  p.setColor(QPalette::Button, raised);
  p.setColor(QPalette::ButtonText, text);
  p.setColor(QPalette::BrightText, error);
  p.setColor(QPalette::ToolTipBase, raised);
  p.setColor(QPalette::ToolTipText, text);
  p.setColor(QPalette::Highlight, accent);
  p.setColor(QPalette::HighlightedText, dark ? QColor(Qt::black) : QColor(Qt::white));
  p.setColor(QPalette::Link, accent);
  p.setColor(QPalette::LinkVisited, accent);
  p.setColor(QPalette::Mid, line);
  p.setColor(QPalette::Midlight, faint);
  p.setColor(QPalette::Dark, line);
  p.setColor(QPalette::Light, raised);
  p.setColor(QPalette::Shadow, line);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    p.setColor(QPalette::Disabled, role, blend(muted, window, 0.6));
  return p;
}

QColor ink_on(const QColor& back) {
  const double luminance = 0.299 * back.red() + 0.587 * back.green() + 0.114 * back.blue();
  return luminance > 140 ? QColor(0x14171b) : QColor(Qt::white);
}

QColor blend(const QColor& top, const QColor& under, double opacity) {
  const auto mix = [&](int a, int b) { return int(std::lround(a * opacity + b * (1 - opacity))); };
  return QColor(mix(top.red(), under.red()), mix(top.green(), under.green()), mix(top.blue(), under.blue()));
}

}  // namespace shardlab::gui
