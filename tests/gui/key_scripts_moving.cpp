// What shows that the keys that move over the timeline do what the key map says.
#include <gtest/gtest.h>

#include <QTest>

#include "tests/gui/key_scene.h"

namespace shardlab::gui::keys {
namespace {

void zooms(Scene& s) {
  const bool in = s.entry.fallback[0].key() == Qt::Key_W;
  if (!in) s.press("Shift+W");
  const Ns before = s.shown().length();
  s.press();
  const double ratio = double(s.shown().length()) / double(before);
  const double far = s.entry.fallback[0].keyboardModifiers() == Qt::ShiftModifier     ? 0.2015
                     : s.entry.fallback[0].keyboardModifiers() == Qt::ControlModifier ? 0.9
                                                                                      : 0.67;
  EXPECT_NEAR(ratio, in ? far : 1 / far, 0.03);
}

// To the left of where it was by `share` of the window, or to the right.
Script pans(int direction, double share) {
  return [=](Scene& s) {
    for (int i = 0; i < 8; ++i) s.press("W");
    const TimeRange before = s.shown();
    s.press();
    EXPECT_NEAR(double(s.shown().begin - before.begin), direction * share * double(before.length()), 0.02 * double(before.length()) + 2);
    EXPECT_NEAR(double(s.shown().length()), double(before.length()), 2);
  };
}

Script steps_event(int direction) {
  return [=](Scene& s) {
    s.select_event();
    s.press();
    EXPECT_EQ(s.state().event, 5 + direction);
  };
}

Script steps_lane(int direction) {
  return [=](Scene& s) {
    s.select_event();
    s.press("Down");
    const int lane = s.state().lane;
    s.press();
    EXPECT_EQ(s.state().lane - lane > 0, direction > 0);
    EXPECT_NE(s.state().lane, lane);
  };
}

Script steps_same(int direction) {
  return [=](Scene& s) {
    s.select_event(4);
    const std::uint32_t label = s.events().label[4];
    s.press();
    EXPECT_EQ(s.state().event, 4 + 2 * direction) << "compute and collective take turns";
    EXPECT_EQ(s.events().label[std::size_t(s.state().event)], label);
  };
}

Script steps_member(int direction) {
  return [=](Scene& s) {
    s.selection().select_collective(0);
    s.press("]");
    s.press("]");
    const int device = s.state().device;
    s.press();
    EXPECT_EQ(s.state().device, device + direction);
  };
}

void fits_the_event(Scene& s) {
  s.select_event();
  s.press();
  EXPECT_LT(s.shown().length(), s.limits().length());
  EXPECT_LE(s.shown().begin, s.events().begin[5]);
  EXPECT_GE(s.shown().end, s.events().end[5]);
}

}  // namespace

Scripts moving_scripts() {
  Scripts all{
      {QStringLiteral("timeline-W"), zooms},
      {QStringLiteral("timeline-S"), zooms},
      {QStringLiteral("timeline-A"), pans(-1, 0.15)},
      {QStringLiteral("timeline-D"), pans(1, 0.15)},
      {QStringLiteral("timeline-Shift+A"), pans(-1, 0.6)},
      {QStringLiteral("timeline-Shift+D"), pans(1, 0.6)},
      {QStringLiteral("timeline-Ctrl+A"), pans(-1, 0.0375)},
      {QStringLiteral("timeline-Ctrl+D"), pans(1, 0.0375)},
      {QStringLiteral("timeline-Shift+W"), zooms},
      {QStringLiteral("timeline-Shift+S"), zooms},
      {QStringLiteral("timeline-Ctrl+W"), zooms},
      {QStringLiteral("timeline-Ctrl+S"), zooms},
      {QStringLiteral("timeline-F"),
       [](Scene& s) {
         fits_the_event(s);
         const TimeRange event = s.shown();
         s.press();
         const Collective& call = s.selection().trace()->collectives[std::size_t(s.state().collective)];
         EXPECT_NE(s.shown(), event) << "its collective";
         EXPECT_TRUE(s.shown().begin <= call.span().begin && s.shown().end >= call.span().end);
         s.press();
         EXPECT_EQ(s.shown(), s.limits());
       }},
      {QStringLiteral("timeline-Backspace"),
       [](Scene& s) {
         const TimeRange whole = s.shown();
         s.press("W");
         const TimeRange near = s.shown();
         s.press("D");
         s.press();
         EXPECT_EQ(s.shown(), near);
         s.press();
         EXPECT_EQ(s.shown(), whole);
         s.press();
         EXPECT_EQ(s.shown(), whole) << "there is nothing before";
       }},
      {QStringLiteral("timeline-Shift+Backspace"),
       [](Scene& s) {
         s.press("W");
         s.press("W");
         const TimeRange last = s.shown();
         s.press("Backspace");
         s.press("Backspace");
         s.press();
         s.press();
         EXPECT_EQ(s.shown(), last);
       }},
      {QStringLiteral("timeline-0"),
       [](Scene& s) {
         s.press("W");
         s.press();
         EXPECT_EQ(s.shown(), s.limits());
       }},
      {QStringLiteral("timeline-."), steps_same(1)},
      {QStringLiteral("timeline-,"), steps_same(-1)},
      {QStringLiteral("timeline-Right"), steps_event(1)},
      {QStringLiteral("timeline-Left"), steps_event(-1)},
      {QStringLiteral("timeline-Down"), steps_lane(1)},
      {QStringLiteral("timeline-Up"), steps_lane(-1)},
      {QStringLiteral("timeline-Esc"),
       [](Scene& s) {
         s.select_event();
         s.press();
         EXPECT_EQ(s.state().lane, -1);
       }},
      {QStringLiteral("timeline-Return"), fits_the_event},
      {QStringLiteral("timeline-]"), steps_member(1)},
      {QStringLiteral("timeline-["), steps_member(-1)},
      {QStringLiteral("timeline-G"), finds_in_the_palette},
      {QStringLiteral("timeline-X"), goes_to("waits")},
      {QStringLiteral("timeline-/"), goes_to("events")},
  };
  return all;
}

}  // namespace shardlab::gui::keys
