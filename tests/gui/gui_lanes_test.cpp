// Which lanes the timeline shows, what it says of those that it does not, and how they come onto the screen where there is much to paint.
#include <gtest/gtest.h>

#include <QCheckBox>
#include <QLabel>
#include <QLineEdit>
#include <QScreen>
#include <QTest>

#include "gui/models/lane_filter.h"
#include "gui/views/lane_bar.h"
#include "gui/views/timeline_canvas.h"
#include "gui/views/timeline_minimap.h"
#include "tests/gui/sample_traces.h"
#include "tests/gui/shown.h"
#include "tests/gui/wait_idle.h"

namespace shardlab::gui {
namespace {

std::vector<std::string> hidden_by(const char* pattern) {
  const TracePtr trace = sample::toy(2);
  const LaneFilter filter(QString::fromUtf8(pattern));
  std::vector<std::string> names;
  for (const Lane& lane : trace->lanes)
    if (lane.device >= 0 && filter.hides(lane)) names.push_back(lane.name);
  return names;
}

TEST(LaneFilter, ReadsPartsGlobsAndExpressions) {
  const std::vector<std::string> all{"CPU 0", "CPU 1", "CPU 2", "CPU 3", "CPU 4", "CPU 5", "CPU 6", "CPU 7"};
  EXPECT_TRUE(hidden_by("").empty());
  EXPECT_TRUE(hidden_by("  ! ").empty()) << "nothing is typed yet";
  EXPECT_EQ(hidden_by("cpu 3"), (std::vector<std::string>{"CPU 3"})) << "case does not matter";
  EXPECT_EQ(hidden_by("CPU"), all);
  EXPECT_EQ(hidden_by("proc 1 *"), (std::vector<std::string>{"CPU 4", "CPU 5", "CPU 6", "CPU 7"}));
  EXPECT_EQ(hidden_by("CPU [2-3]"), (std::vector<std::string>{"CPU 2", "CPU 3"}));
  EXPECT_TRUE(hidden_by("*PU").empty()) << "a glob is all of a name";
  EXPECT_EQ(hidden_by("/[06]$/"), (std::vector<std::string>{"CPU 0", "CPU 6"}));
  EXPECT_EQ(hidden_by("!CPU 7"), (std::vector<std::string>{"CPU 0", "CPU 1", "CPU 2", "CPU 3", "CPU 4", "CPU 5", "CPU 6"}));
  EXPECT_TRUE(hidden_by("/(/").empty());
  EXPECT_FALSE(LaneFilter(QStringLiteral("/(/")).error().isEmpty());
}

class Lanes : public testing::Test {
 protected:
  explicit Lanes(TracePtr trace = sample::deadlock()) : shown_(std::move(trace)) {
    canvas_->setFocus();
    bar_ = dynamic_cast<LaneBar*>(canvas_->parentWidget()->findChild<QLineEdit*>()->parentWidget());
  }
  void press(const char* key) {
    const QKeySequence sequence(QString::fromUtf8(key));
    QTest::keyClick(canvas_, sequence[0].key(), sequence[0].keyboardModifiers());
  }
  QString said() const {
    QString all;
    for (const QLabel* label : bar_->findChildren<QLabel*>()) all += label->text() + QLatin1Char('|');
    return all;
  }
  bool has(const char* name) const {
    for (int r = 0; r < canvas_->access_groups(); ++r)
      if (canvas_->access_group_name(r).contains(QString::fromUtf8(name))) return true;
    return false;
  }
  Shown shown_;
  TimelineCanvas* canvas_ = &shown_.window.timeline();
  LaneBar* bar_ = nullptr;
};

TEST_F(Lanes, AreHiddenByWhatIsTyped) {
  const int all = canvas_->access_groups();
  EXPECT_FALSE(bar_->isVisible());
  press("Ctrl+H");
  ASSERT_TRUE(bar_->isVisible());
  auto* field = bar_->findChild<QLineEdit*>();
  ASSERT_TRUE(field->hasFocus());
  for (const char letter : std::string("CPU [0-3]")) QTest::keyClick(field, letter);
  EXPECT_EQ(canvas_->hidden_lanes().lanes, 4);
  EXPECT_EQ(canvas_->access_groups(), all - 4);
  EXPECT_TRUE(said().contains(QStringLiteral("4 lanes hidden"))) << said().toStdString();
  QTest::keyClick(field, Qt::Key_Return);
  EXPECT_TRUE(canvas_->hasFocus());
  EXPECT_TRUE(bar_->isVisible()) << "while lanes are hidden it says so";
  press("Shift+H");
  EXPECT_EQ(canvas_->access_groups(), all);
  EXPECT_FALSE(bar_->isVisible());
}

TEST_F(Lanes, WhatIsPinnedStaysAndErrorsAreSaid) {
  shown_.window.selection().select_device(5);
  press("P");
  canvas_->lane_filter = LaneFilter(QStringLiteral("CPU"));
  canvas_->set_up();
  EXPECT_TRUE(has("CPU 5"));
  EXPECT_FALSE(has("CPU 4"));
  int errors = 0;
  for (const Lane& lane : shown_.window.selection().trace()->lanes)
    errors += lane.device >= 0 && lane.device != 5 && (lane.events->summary().flags & kFlagError);
  ASSERT_GT(errors, 0);
  EXPECT_EQ(canvas_->hidden_lanes().with_errors, errors);
  EXPECT_TRUE(said().contains(QStringLiteral("%1 with an error").arg(errors))) << said().toStdString();
  canvas_->lane_filter = LaneFilter(QStringLiteral("/(/"));
  canvas_->set_up();
  EXPECT_TRUE(has("CPU 4")) << "what is no pattern hides nothing,";
  EXPECT_TRUE(said().contains(QStringLiteral("no pattern: "))) << "and is said to be none: " << said().toStdString();
}

// One device works at first, another at last.
TracePtr in_turn() {
  auto trace = std::make_shared<TraceData>();
  trace->processes.push_back({.index = 0, .devices = {0, 1}});
  trace->labels.push_back({.name = "work"});
  for (int d = 0; d < 2; ++d) {
    trace->devices.push_back({.ordinal = d, .name = "CPU " + std::to_string(d)});
    trace->lanes.push_back({.device = d, .name = trace->devices.back().name});
    LaneEvents& events = *trace->lanes.back().events;
    for (int i = 0; i < 10; ++i) {
      events.begin.push_back(d * 10'000 + i * 100);
      events.end.push_back(d * 10'000 + i * 100 + 90);
      events.label.push_back(0);
      events.collective.push_back(-1);
      events.kind.push_back(EventKind::kCompute);
    }
  }
  finish(*trace);
  return trace;
}

class EmptyLanes : public Lanes {
 protected:
  EmptyLanes() : Lanes(in_turn()) {}
};

TEST_F(EmptyLanes, AreHiddenWhileNothingIsInSightInThem) {
  press("Shift+E");
  EXPECT_EQ(canvas_->access_groups(), 2) << "in the whole both have events";
  canvas_->set_window({0, 2000});
  EXPECT_TRUE(has("CPU 0") && !has("CPU 1"));
  EXPECT_TRUE(bar_->isVisible());
  EXPECT_TRUE(said().contains(QStringLiteral("1 lane hidden"))) << said().toStdString();
  canvas_->set_window({9'500, 10'500});
  EXPECT_TRUE(!has("CPU 0") && has("CPU 1")) << "another window of time has others";
  canvas_->set_window({4'000, 6'000});
  EXPECT_EQ(canvas_->access_groups(), 0);
  canvas_->grab();  // says so, and falls over nothing
  press("Shift+E");
  EXPECT_EQ(canvas_->access_groups(), 2);
  EXPECT_FALSE(bar_->isVisible());
}

// Enough events in sight for a picture that is painted beside the window's thread.
TracePtr busy() {
  auto trace = std::make_shared<TraceData>();
  trace->processes.push_back({.index = 0});
  trace->labels.push_back({.name = "work"});
  for (int d = 0; d < 8; ++d) {
    trace->devices.push_back({.ordinal = d, .name = "CPU " + std::to_string(d)});
    trace->processes[0].devices.push_back(d);
    trace->lanes.push_back({.device = d, .name = trace->devices.back().name});
    *trace->lanes.back().events = sample::random_lane(unsigned(d), 20'000, 3);
    trace->lanes.back().events->label.assign(20'000, 0);
    trace->lanes.back().events->collective.assign(20'000, -1);
  }
  finish(*trace);
  return trace;
}

QImage on_screen(QWidget& widget) {
  const QPoint at = widget.mapTo(widget.window(), QPoint());
  return widget.screen()
      ->grabWindow(widget.window()->winId(), at.x(), at.y(), widget.width(), widget.height())
      .toImage()
      .convertToFormat(QImage::Format_RGB32);
}

TEST(LanesPicture, IsWhatIsPaintedAtOnceAndComesAsSoonAsItIsThere) {
  Shown shown(busy());
  auto* canvas = &shown.window.timeline();
  const auto settles = [&] { return QTest::qWaitFor([&] { return canvas->up_to_date() && shown.window.background().idle(); }, 20'000); };
  ASSERT_TRUE(settles());
  const auto direct = [&] { return canvas->viewport()->grab().toImage().convertToFormat(QImage::Format_RGB32); };
  QTest::qWait(0);
  EXPECT_EQ(on_screen(*canvas->viewport()), direct());

  // Another size or window of time: the last picture, stretched, until the next one is there.
  const auto deeds = {std::function([&] { shown.window.resize(shown.window.width() - 200, shown.window.height() - 60); }),
                      std::function([&] { canvas->zoom_by(0.7); }), std::function([&] { canvas->pan_by(0.2); })};
  for (const auto& deed : deeds) {
    deed();
    canvas->viewport()->repaint();
    EXPECT_FALSE(canvas->up_to_date());
    const QImage grabbed = direct();
    EXPECT_FALSE(canvas->up_to_date()) << "a picture that is asked for is painted for itself";
    ASSERT_TRUE(settles());
    QTest::qWait(0);
    EXPECT_EQ(on_screen(*canvas->viewport()), grabbed);
  }
  // What lies over the lanes is painted at once.
  shown.window.selection().select_device(3);
  canvas->viewport()->repaint();
  EXPECT_TRUE(canvas->up_to_date());
}

TEST(LanesPicture, TheWholeTraceIsStretchedToo) {
  Shown shown(busy());
  auto* minimap = shown.window.view("timeline").findChild<TimelineMinimap*>();
  const auto settles = [&] { return QTest::qWaitFor([&] { return shown.window.background().idle(); }, 20'000); };
  ASSERT_TRUE(settles());
  for (const int less : {0, 150}) {
    shown.window.resize(shown.window.width() - less, shown.window.height());
    minimap->repaint();
    ASSERT_TRUE(settles());
    QTest::qWait(0);
    EXPECT_EQ(on_screen(*minimap), minimap->grab().toImage().convertToFormat(QImage::Format_RGB32)) << less;
  }
}

}  // namespace
}  // namespace shardlab::gui
