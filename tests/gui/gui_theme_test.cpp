// The colours as they are seen: text has contrast, and what lies on one lane stays apart for every kind of colour vision.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>

#include "gui/views/theme.h"

namespace shardlab::gui {
namespace {

using Triple = std::array<double, 3>;

Triple linear(const QColor& colour) {
  const auto one = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
  return {one(colour.redF()), one(colour.greenF()), one(colour.blueF())};
}

// WCAG 2.1: from 1 to 21; 4.5 is enough for text of any size.
double contrast(const QColor& a, const QColor& b) {
  const auto luminance = [](const QColor& colour) {
    const auto [r, g, blue] = linear(colour);
    return 0.2126 * r + 0.7152 * g + 0.0722 * blue;
  };
  const double first = luminance(a), second = luminance(b);
  return (std::max(first, second) + 0.05) / (std::min(first, second) + 0.05);
}

// Rows of the matrices of Machado, Oliveira and Fernandes (2009) for the whole loss of one kind of cones; the first is full sight.
struct Sight {
  const char* name;
  std::array<Triple, 3> rows;
};
constexpr Sight kSights[] = {
    {"all cones", {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}},
    {"protanopia", {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}}},
    {"deuteranopia", {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}}},
    {"tritanopia", {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}}}};

// CIELAB of what is seen, under D65.
Triple seen(const QColor& colour, const Sight& sight) {
  const Triple from = linear(colour);
  Triple to{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) to[i] += sight.rows[i][j] * from[j];
    to[i] = std::clamp(to[i], 0.0, 1.0);
  }
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = f((0.4124 * to[0] + 0.3576 * to[1] + 0.1805 * to[2]) / 0.95047), y = f(0.2126 * to[0] + 0.7152 * to[1] + 0.0722 * to[2]),
               z = f((0.0193 * to[0] + 0.1192 * to[1] + 0.9505 * to[2]) / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

double distance(const QColor& a, const QColor& b, const Sight& sight) {
  const Triple p = seen(a, sight), q = seen(b, sight);
  return std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}

class ThemeTest : public testing::TestWithParam<const Theme*> {};
INSTANTIATE_TEST_SUITE_P(Both, ThemeTest, testing::Values(&light_theme(), &dark_theme()),
                         [](const auto& each) { return each.param->dark ? "dark" : "light"; });

TEST_P(ThemeTest, TextHasContrast) {
  constexpr double kLeast = 4.5;
  const Theme& t = *GetParam();
  for (const QColor& back : {t.window, t.base, t.raised, t.lane_alternate, t.error_back, t.warning_back, t.good_back, t.differ_back})
    for (const QColor& text : {t.text, t.muted})
      EXPECT_GE(contrast(text, back), kLeast) << text.name().toStdString() << " on " << back.name().toStdString();
  for (const QColor& back : {t.window, t.base, t.raised})
    for (const QColor& text : {t.accent, t.error, t.warning, t.good})
      EXPECT_GE(contrast(text, back), kLeast) << text.name().toStdString() << " on " << back.name().toStdString();
  for (const auto& [text, back] : {std::pair(t.error, t.error_back), std::pair(t.warning, t.warning_back), std::pair(t.good, t.good_back)})
    EXPECT_GE(contrast(text, back), kLeast) << text.name().toStdString() << " on its own ground";
  const QPalette palette = t.palette();
  EXPECT_GE(contrast(palette.color(QPalette::HighlightedText), palette.color(QPalette::Highlight)), kLeast);
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0})  // numbers in a cell are large or not there
    EXPECT_GE(contrast(ink_on(t.heat(share)), t.heat(share)), 3) << share;
}

// A difference of two is just seen side by side. Waiting is hatched and errors have an edge besides.
TEST_P(ThemeTest, WhatLiesOnOneLaneStaysApart) {
  constexpr double kLeast = 9;
  const Theme& t = *GetParam();
  std::map<std::string, QColor> on_a_device{{"compute", t.compute}, {"error", t.error}};
  for (const char* kind : {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute", "transfer"})
    on_a_device[kind] = t.collective(kind);
  for (const Sight& sight : kSights) {
    for (const auto& [name, colour] : on_a_device) {
      for (const auto& [other, second] : on_a_device)
        if (name < other) { EXPECT_GE(distance(colour, second, sight), kLeast) << name << " and " << other << ", " << sight.name; }
      EXPECT_GE(distance(colour, t.lane, sight), kLeast) << name << " on its lane, " << sight.name;
    }
    EXPECT_GE(distance(t.host, t.error, sight), kLeast) << sight.name;
    EXPECT_GE(distance(t.host, t.lane, sight), kLeast) << sight.name;
  }
}

}  // namespace
}  // namespace shardlab::gui
