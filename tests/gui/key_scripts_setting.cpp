// What shows that the keys that set the timeline up do what the key map says: axes, marks, lanes, what dragging does.
#include <gtest/gtest.h>

#include <QApplication>
#include <QDialog>
#include <QTableView>
#include <QTest>
#include <QToolButton>
#include <QWheelEvent>

#include "tests/gui/key_scene.h"
#include "tests/gui/sample_traces.h"
#include "tests/gui/wait_idle.h"
#include "tests/traces/sample_trace.h"

namespace shardlab::gui::keys {
namespace {

void changes_the_picture(Scene& s) {
  const QImage before = s.picture();
  s.press();
  EXPECT_NE(s.picture(), before);
  s.press();
  EXPECT_EQ(s.picture(), before) << "the same key takes it back";
}

Script keeps_window(int number, bool keep) {
  return [=](Scene& s) {
    s.press("W");
    const TimeRange kept = s.shown();
    s.press(QKeySequence(QStringLiteral("Ctrl+%1").arg(number)));
    ASSERT_TRUE(s.canvas().bookmarks.contains(number));
    EXPECT_EQ(s.canvas().bookmarks[number], kept);
    s.press("0");
    if (keep) return;
    s.press();
    EXPECT_EQ(s.shown(), kept);
  };
}

// One process whose devices share a store of events.
TracePtr lockstep() {
  auto trace = std::make_shared<TraceData>(*sample::grid(1, 4, 4, 3));
  std::shared_ptr<LaneEvents> first;
  for (auto& lane : trace->lanes) {
    if (lane.device < 0) continue;
    if (first) lane.events = first;
    first = lane.events;
  }
  return trace;
}

// Dragging from a third to two thirds of the window does what the mode says.
Script drags(MouseMode mode) {
  return [=](Scene& s) {
    s.press("Alt+3");
    s.press("Alt+1");
    for (int i = 0; i < 3; ++i) s.press("W");
    if (mode != MouseMode::kSelect) s.press();
    EXPECT_EQ(s.canvas().mouse_mode(), mode);
    const TimeRange before = s.shown();
    QWidget* on = s.canvas().viewport();
    const int left = s.canvas().label_width(), width = on->width() - left;
    const QPoint from(left + width / 3, 60), to(left + 2 * width / 3, 60);
    QTest::mousePress(on, Qt::LeftButton, {}, from);
    for (const QPoint at : {(from + to) / 2, to}) {
      QMouseEvent move(QEvent::MouseMove, at, on->mapToGlobal(at), Qt::NoButton, Qt::LeftButton, Qt::NoModifier);
      QApplication::sendEvent(on, &move);
    }
    QTest::mouseRelease(on, Qt::LeftButton, {}, to);
    const TimeRange chosen = s.state().range;
    if (mode == MouseMode::kPan) {
      EXPECT_NEAR(double(before.begin - s.shown().begin), double(before.length()) / 3, 0.02 * double(before.length()));
    } else if (mode == MouseMode::kZoom) {
      EXPECT_NEAR(double(s.shown().length()), double(before.length()) / 3, 0.02 * double(before.length()));
    } else {
      EXPECT_EQ(s.shown(), before);
      EXPECT_NEAR(double(chosen.length()), double(before.length()) / 3, 0.1 * double(before.length()));
    }
    EXPECT_EQ(chosen.empty(), mode == MouseMode::kPan || mode == MouseMode::kZoom);
  };
}

}  // namespace

Scripts setting_scripts() {
  Scripts all{
      {QStringLiteral("timeline-L"), changes_the_picture},
      {QStringLiteral("timeline-T"),
       [](Scene& s) {
         s.press();
         EXPECT_EQ(s.canvas().axis(), TimeAxis::kVirtual);
         s.press();
         EXPECT_EQ(s.canvas().axis(), TimeAxis::kLogical);
       }},
      {QStringLiteral("timeline-M"),
       [](Scene& s) {
         s.select_event();
         s.press();
         EXPECT_EQ(s.canvas().marks.size(), 1U);
       }},
      {QStringLiteral("timeline-R"),
       [](Scene& s) {
         s.select_event(4);
         s.press();
         EXPECT_EQ(s.state().range, (TimeRange{s.events().begin[4], s.events().end[4]}));
       }},
      {QStringLiteral("timeline-P"),
       [](Scene& s) {
         s.selection().select_device(5);
         s.press();
         EXPECT_TRUE(s.canvas().access_group_name(0).contains(QStringLiteral("CPU 5")));
       }},
      {QStringLiteral("timeline-H"),
       [](Scene& s) {
         const int lanes = s.canvas().access_groups();
         s.selection().select_device(5);
         s.press();
         EXPECT_EQ(s.canvas().access_groups(), lanes - 1);
       }},
      {QStringLiteral("timeline-Ctrl+H"),
       [](Scene& s) {
         const int lanes = s.canvas().access_groups();
         s.press();
         QWidget* field = QApplication::focusWidget();
         ASSERT_NE(field, &s.canvas());
         QTest::keyClicks(field, QStringLiteral("CPU 5"));
         EXPECT_EQ(s.canvas().access_groups(), lanes - 1);
       }},
      {QStringLiteral("timeline-Shift+E"),
       [](Scene& s) {
         s.press();
         EXPECT_TRUE(s.canvas().hide_empty);
         s.press();
         EXPECT_FALSE(s.canvas().hide_empty);
       }},
      {QStringLiteral("timeline-Shift+H"),
       [](Scene& s) {
         const int lanes = s.canvas().access_groups();
         s.selection().select_device(5);
         s.press("H");
         s.press();
         EXPECT_EQ(s.canvas().access_groups(), lanes);
       }},
      {QStringLiteral("timeline-Shift+G"),
       [](Scene& s) {
         s.press();
         EXPECT_STRNE(s.canvas().grouping().title.c_str(), "process");
       }},
      {QStringLiteral("timeline-B"), changes_the_picture},
      {QStringLiteral("timeline-E"),
       [](Scene& s) {
         s.window.show_trace(lockstep());
         QTest::qWait(0);
         const int lanes = s.canvas().access_groups();
         s.press();
         EXPECT_EQ(s.canvas().access_groups(), lanes - 3) << "four devices that did the same";
         s.press();
         EXPECT_EQ(s.canvas().access_groups(), lanes);
       }},
      {QStringLiteral("timeline-C"),
       [](Scene& s) {
         const QString path = s.file("toy.db");
         traces::sample::write_sample_trace("toy", path.toStdString(), {});
         s.window.open(path);
         ASSERT_TRUE(wait_idle(s.window));
         compare_with(&s.window.view("compare"), path);
         ASSERT_TRUE(QTest::qWaitFor([&] { return s.selection().other() != nullptr; }, kLongMs));
         s.focus_timeline();
         const int last = int(s.selection().trace()->collectives.size()) - 1;
         ASSERT_GE(last, 0);
         s.selection().select_collective(last);
         s.press();
         EXPECT_TRUE(s.sees("compare"));
         EXPECT_TRUE(QTest::qWaitFor([&] {
           const auto tables = s.window.view("compare").findChildren<QTableView*>();
           return std::any_of(tables.begin(), tables.end(), [&](const QTableView* each) {
             return each->accessibleName() == QStringLiteral("Collectives of both runs") && each->currentIndex().row() == last;
           });
         }));
       }},
      {QStringLiteral("timeline-Space"),
       [](Scene& s) {
         s.window.show_trace(sample::deadlock());
         QTest::qWait(0);
         s.focus_timeline();
         auto* play = s.window.view("waits").findChild<QToolButton*>(QStringLiteral("play"));
         s.press();
         EXPECT_TRUE(s.sees("waits"));
         EXPECT_EQ(play->isChecked(), play->isEnabled());
         s.press();
         EXPECT_FALSE(play->isChecked()) << "the same key stops it, in the view of waits";
       }},
      {QStringLiteral("timeline-?"),
       [](Scene& s) {
         QTest::keyClick(QApplication::focusWidget(), '?');
         QTest::qWait(0);
         ASSERT_NE(s.dialog(), nullptr);
         EXPECT_EQ(s.dialog()->windowTitle(), QStringLiteral("Keys"));
       }},
      {QStringLiteral("timeline-Alt+1"), drags(MouseMode::kSelect)},
      {QStringLiteral("timeline-Alt+2"), drags(MouseMode::kPan)},
      {QStringLiteral("timeline-Alt+3"), drags(MouseMode::kZoom)},
      {QStringLiteral("timeline-Alt+4"), drags(MouseMode::kMeasure)},
      {QStringLiteral("timeline-Shift+Z"),
       [](Scene& s) {
         const auto wheel = [&](Qt::KeyboardModifiers modifiers) {
           const QPointF at(s.canvas().label_width() + 200, 60);
           QWheelEvent turn(at, s.canvas().viewport()->mapToGlobal(at), {}, {0, 120}, {}, modifiers, Qt::NoScrollPhase, false);
           const TimeRange before = s.shown();
           QApplication::sendEvent(s.canvas().viewport(), &turn);
           return s.shown() != before;
         };
         EXPECT_FALSE(wheel({}));
         EXPECT_TRUE(wheel(Qt::ControlModifier));
         s.press();
         EXPECT_TRUE(wheel({}));
         EXPECT_FALSE(wheel(Qt::ControlModifier));
         s.press();
         EXPECT_FALSE(wheel({}));
       }},
  };
  for (int n = 1; n <= 9; ++n) {
    all[QStringLiteral("timeline-%1").arg(n)] = keeps_window(n, false);
    all[QStringLiteral("timeline-Ctrl+%1").arg(n)] = keeps_window(n, true);
  }
  return all;
}

}  // namespace shardlab::gui::keys
