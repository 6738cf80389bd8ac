// Every launch that took or gave an array, from the array to the launches and back: model, filter, Inspector, timeline, text, old traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QImage>
#include <QTest>
#include <QTextBrowser>

#include <filesystem>

#include "gui/models/array_uses.h"
#include "gui/models/event_model.h"
#include "gui/models/launch_events.h"
#include "gui/models/text_twin.h"
#include "gui/models/trace_loader.h"
#include "gui/views/shard_widget.h"
#include "gui/views/theme.h"
#include "gui/views/timeline_canvas.h"
#include "tests/gui/sample_traces.h"
#include "tests/gui/shown.h"
#include "tests/gui/wait_idle.h"
#include "tests/traces/sample_trace.h"
#include "traces/database.h"

namespace shardlab::gui {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A chain of calls over arrays of one kind, as a loop makes them.
TEST(ArrayUses, AreToldWhereNoOtherArrayCouldBeMeant) {
  TraceData trace;
  trace.processes.push_back({.index = 0, .devices = {0}});
  trace.devices.push_back({.ordinal = 0});
  auto layout = std::make_shared<ArrayLayout>();
  layout->shape = {8};
  layout->spec = "P('a',)";
  layout->shards.push_back({.device = 0, .begin = {0}, .end = {8}});
  const Program::Value value{.dtype = "float32", .sharding = "P('a',)", .shape = {8}};
  trace.programs.push_back({.name = "f", .operands = {value, value}});
  trace.programs.push_back({.name = "put", .operands = {{.dtype = "float32", .sharding = "host", .shape = {8}}}});
  const auto array = [&](Ns made, Ns end) {
    trace.arrays.push_back({.dtype = "float32", .layout = layout, .time = made});
    trace.array_holds.push_back({.array = int(trace.arrays.size()) - 1, .process = 0, .begin = made, .end = end});
  };
  array(0, 30);
  array(20, 50);
  array(60, kOpen);
  trace.array_holds.pop_back();  // its launch never began: it may still be an operand
  const auto launch = [&](int program, Ns issued) {
    trace.launches.push_back({.number = std::int64_t(trace.launches.size()), .program = program, .issued = issued});
  };
  launch(0, 10);  // the first alone
  launch(0, 25);  // two that it may be
  launch(0, 40);  // the second alone
  launch(0, 55);  // none is held
  launch(1, 65);  // a value of the host
  launch(0, 70);  // the third
  EXPECT_EQ(find_array_uses(trace), (std::vector<ArrayUse>{{0, 0, 0}, {1, 0, 2}, {2, 0, 5}}));
  trace.array_uses = std::make_shared<const ArrayUses>(find_array_uses(trace), trace.arrays.size(), false);
  const auto calls = uses_of(trace, 1);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].launch, 2);
  EXPECT_EQ(calls[0].processes, (std::vector<int>{0}));
  EXPECT_TRUE(uses_of(trace, 7).empty());
}

TEST(ArrayUses, AreGroupedByTheCallOfTheProgram) {
  const TracePtr trace = sample::steps(1000);
  const std::vector<UsesOfCall> uses = uses_of(*trace, 0);
  ASSERT_EQ(uses.size(), 3U) << "made, taken in a loop, taken for good";
  EXPECT_TRUE(uses[0].gives);
  EXPECT_THAT(uses[0].processes, ElementsAre(0, 1));
  EXPECT_EQ(uses[1].launches, 2000) << "of two processes; each takes it twice";
  EXPECT_THAT(uses[1].positions, ElementsAre(0, 1, 2)) << "the first also in place of a loss";
  EXPECT_EQ(uses[1].donated, 0);
  EXPECT_EQ(uses[1].launch, 1) << "the first";
  EXPECT_EQ(uses[2].donated, 2);
  EXPECT_EQ(trace->array_uses->count_of(0), 2U + 2 * (2 * 1000 + 1) + 2);
  const auto of_launch = trace->array_uses->of_launch(1, 2);
  ASSERT_THAT(of_launch, SizeIs(4));
  EXPECT_EQ(of_launch[1].array, 1) << "the loss of the step before";
  EXPECT_TRUE(of_launch[3].gives);
  EXPECT_THAT(trace->array_uses->of_launch(1, 99'999), IsEmpty());
  EXPECT_THAT(uses_of(*trace, -1), IsEmpty());
  EXPECT_THAT(uses_of(*trace, 99'999), IsEmpty());
}

TEST(ArrayUses, TextSaysWhoAndWithWhatCollectives) {
  const TracePtr trace = sample::steps(3);
  EXPECT_EQ(uses_text(*trace, 0, -1).toStdString(),
            "made by init at net.cpp:12, processes 0,1\n"
            "taken by train_step at net.cpp:31, as operands 0–2, processes 0,1, 6 times, with all-reduce #0\n"
            "taken by finish at net.cpp:40, as operand 0, processes 0,1, donated\n");
  TraceData without = *trace;
  without.array_uses = nullptr;
  EXPECT_EQ(uses_text(without, 0, -1).toStdString(), "this trace does not tell which arrays launches took\n");
  EXPECT_TRUE(uses_text(*trace, int(trace->arrays.size()) - 1, -1).contains(QStringLiteral("taken by no launch")));
}

TEST(LaunchEvents, AreThoseOfItsDevicesInItsTime) {
  const TracePtr trace = sample::steps(4);
  for (const Launch& launch : trace->launches) {
    int lanes = 0;
    for (std::size_t l = 0; l < trace->lanes.size(); ++l) {
      const EventRun run = events_of_launch(*trace, launch, int(l));
      if (run.empty()) continue;
      ++lanes;
      EXPECT_EQ(trace->lanes[l].process, launch.process);
      EXPECT_EQ(run.last - run.first, launch.program == 1 ? 2U : 1U) << "a step computes and sums";
      for (std::uint32_t e = run.first; e < run.last; ++e) EXPECT_EQ(launch_of_event(*trace, int(l), e), &launch);
    }
    EXPECT_EQ(lanes, 2) << "two devices a process";
    const auto [lane, event] = event_of_launch(*trace, launch.process, launch.number);
    ASSERT_GE(lane, 0);
    EXPECT_EQ(launch_of_event(*trace, lane, event), &launch);
    EXPECT_EQ(collectives_of_launch(*trace, launch).size(), launch.program == 1 ? 1U : 0U);
  }
  const Launch& step = *trace->launch(0, 1);
  EXPECT_THAT(collectives_of_launch(*trace, step, 3), ElementsAre(0));
  EXPECT_THAT(collectives_of_launch(*trace, step, 99), IsEmpty()) << "a device that is in no group";
}

// One that never ended took all that came on its devices; one that never began, nothing.
TEST(LaunchEvents, OfLaunchesThatDidNotEnd) {
  TraceData trace = *sample::steps(2);
  Launch& last = trace.launches[std::size_t(trace.launches.size()) / 2 - 1];
  ASSERT_EQ(last.process, 0);
  last.done = kOpen;
  int lane = 0;
  while (trace.lanes[std::size_t(lane)].device != 0) ++lane;
  EXPECT_EQ(events_of_launch(trace, last, lane).last, trace.lanes[std::size_t(lane)].events->size());
  last.started = kOpen;
  EXPECT_TRUE(events_of_launch(trace, last, lane).empty());
  EXPECT_THAT(collectives_of_launch(trace, last), IsEmpty());
}

TEST(Touched, LanesHaveTheEventsOfTheLaunches) {
  const TracePtr trace = sample::steps(3);
  const TouchedLanes touched = find_touched(*trace, 0);
  for (std::size_t l = 0; l < trace->lanes.size(); ++l) {
    if (trace->lanes[l].device < 0) continue;
    EXPECT_EQ(touched.lanes[l].gives.size(), 1U);
    EXPECT_EQ(touched.lanes[l].takes.size(), 4U) << "once a launch, however often it takes the array";
    EXPECT_TRUE(touched.gave(int(l), 0));
    EXPECT_FALSE(touched.took(int(l), 0));
    EXPECT_TRUE(touched.took(int(l), 2)) << "the sum of the first step";
  }
  EXPECT_FALSE(touched.touched(99, 0));
}

TEST(Touched, TheFilterFindsTheirEvents) {
  const TracePtr trace = sample::steps(3);
  const auto count = [&](const char* text) {
    QString error;
    const Filter filter = Filter::parse(QString::fromUtf8(text), &error);
    EXPECT_TRUE(error.isEmpty()) << error.toStdString();
    return find_events(*trace, filter, 10'000, {}).size();
  };
  EXPECT_EQ(count("array:0"), 4U * (1 + 3 * 2 + 1)) << "four devices: init, three steps of two events, finish";
  EXPECT_EQ(count("array:0 kind:all-reduce dev:1"), 3U);
  EXPECT_EQ(count("-array:0 kind:compute"), 0U);
  EXPECT_EQ(count("array:2,3"), 4U * 5) << "the second and third loss: both steps, the third once, and finish";
  EXPECT_EQ(count("array:77"), 0U);
  QString error;
  Filter::parse(QStringLiteral("array:0-9999"), &error);
  EXPECT_FALSE(error.isEmpty());
  Filter::parse(QStringLiteral("array>3"), &error);
  EXPECT_FALSE(error.isEmpty());
}

TEST(Touched, AChosenArrayIsMarkedUntilTheSelectionIsCleared) {
  Selection selection;
  selection.set_trace(sample::steps(3));
  EXPECT_FALSE(selection.state().touched) << "nobody chose it";
  selection.select_shard(0, 2);
  EXPECT_EQ(selection.state().array, 0);
  EXPECT_EQ(selection.state().device, 2);
  EXPECT_EQ(selection.state().process, 1);
  EXPECT_TRUE(selection.state().touched);
  selection.select_event(1, 0);
  EXPECT_TRUE(selection.state().touched) << "one goes from launch to launch";
  selection.clear();
  EXPECT_FALSE(selection.state().touched);
  selection.back();
  EXPECT_TRUE(selection.state().touched);
  selection.back();
  EXPECT_EQ(selection.state().device, 2);
  selection.select_shard(99, 2);
  EXPECT_EQ(selection.state().array, 0);
}

class TouchedWindow : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(wait_idle(window())); }
  // Waits for them, since the page is laid out when it is looked at.
  void expect_in_inspector(const std::vector<const char*>& wanted) {
    window().show_view("inspector");
    for (const char* words : wanted)
      EXPECT_TRUE(QTest::qWaitFor([&] { return page()->toPlainText().contains(QString::fromUtf8(words)); }))
          << words << " in " << page()->toPlainText().toStdString();
  }
  QTextBrowser* page() { return qobject_cast<QTextBrowser*>(&window().view("inspector")); }
  TimelineCanvas& canvas() { return *window().view("timeline").findChild<TimelineCanvas*>(); }
  // Pixels of the marks' colour.
  int marked() {
    EXPECT_TRUE(QTest::qWaitFor([&] { return canvas().shown() && canvas().up_to_date(); }));
    const QImage picture = canvas().viewport()->grab().toImage().convertToFormat(QImage::Format_RGB32);
    const QRgb accent = theme_of(&canvas()).accent.rgb();
    int count = 0;
    for (int y = 0; y < picture.height(); ++y)
      for (int x = canvas().label_width() + 2; x < picture.width(); ++x) count += picture.pixel(x, y) == accent;
    return count;
  }
  MainWindow& window() { return shown_.window; }
  Selection& selection() { return window().selection(); }
  Shown shown_{sample::steps(6)};
};

TEST_F(TouchedWindow, TheInspectorListsEveryOpAndLeadsToThem) {
  selection().select_shard(0, 2);
  expect_in_inspector({"init at net.cpp:12", "train_step at net.cpp:31", "12 times", "with all-reduce", "finish at net.cpp:40", "donated",
                       "16 launches", "marked in the timeline"});
  Q_EMIT page()->anchorClicked(QUrl(QStringLiteral("launch:1-3")));
  const SelectionState& state = selection().state();
  ASSERT_GE(state.lane, 0);
  EXPECT_EQ(launch_of_event(*selection().trace(), state.lane, state.event)->number, 3);
  expect_in_inspector({"launch 3 of process 1", "Takes", "weights float32[8,4]", "loss float32[8,4]", "Gives"});
  Q_EMIT page()->anchorClicked(QUrl(QStringLiteral("array:3")));
  EXPECT_EQ(selection().state().array, 3);
  expect_in_inspector({"array loss"});
}

TEST_F(TouchedWindow, TheTimelineMarksTheLaunchesOnEveryAxis) {
  const int before = marked();
  selection().select_array(0);
  const int chosen = marked();
  EXPECT_GT(chosen, before + 200);
  for (const TimeAxis axis : {TimeAxis::kVirtual, TimeAxis::kLogical, TimeAxis::kWall}) {
    canvas().set_axis(axis);
    EXPECT_GT(marked(), before + 200) << int(axis);
  }
  selection().clear();
  EXPECT_EQ(marked(), before);
}

TEST_F(TouchedWindow, AClickOnAShardChoosesTheArrayToo) {
  window().show_view("sharding");
  selection().clear();
  auto* shards = window().view("sharding").findChild<ShardWidget*>();
  ASSERT_NE(shards, nullptr);
  shards->access_choose(0, 1);
  EXPECT_TRUE(selection().state().touched);
  EXPECT_EQ(selection().state().device, 2) << "the second half lies there first";
}

TEST_F(TouchedWindow, EventsTellIt) {
  selection().select_array(0);
  bool took = false, made = false;
  for (int group = 0; group < canvas().access_groups(); ++group)
    for (int item = 0; item < canvas().access_items(group); ++item) {
      took |= canvas().access_item_name(group, item).endsWith(QStringLiteral("of a launch that took weights"));
      made |= canvas().access_item_name(group, item).endsWith(QStringLiteral("of the launch that made weights"));
    }
  EXPECT_TRUE(took);
  EXPECT_TRUE(made);
}

// From the file: what one trace has and an older one lacks.
TEST(TouchedFile, OlderTracesSayThatTheyLackIt) {
  const std::string folder = ::testing::TempDir() + "gui_touched_test_" + std::to_string(QCoreApplication::applicationPid());
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/toy.db";
  traces::sample::write_sample_trace("toy", path);
  EXPECT_EQ(load_trace({.path = path})->array_uses, nullptr) << "who wrote it did not know";
  traces::Database(path, traces::OpenMode::kUpdate)
      .execute(
          "INSERT INTO launch_arrays SELECT process, launch, 0, 0, 2, 1 FROM launches; INSERT INTO launch_arrays SELECT process, launch, "
          "1, 0, "
          "1, 0 FROM launches LIMIT 1; INSERT INTO launch_arrays SELECT process, launch, 0, 1, 9999, 0 FROM launches LIMIT 1");
  const TracePtr fresh = load_trace({.path = path});
  ASSERT_NE(fresh->array_uses, nullptr);
  EXPECT_TRUE(fresh->array_uses->told());
  const Launch& first = fresh->launches.front();
  EXPECT_EQ(fresh->array_uses->of_launch(first.process, first.number).size(), 2U)
      << "the one that is missing in the table of arrays is passed over";
  EXPECT_EQ(fresh->array_uses->count_of(1), fresh->launches.size());
  traces::Database(path, traces::OpenMode::kUpdate)
      .execute(
          "INSERT INTO array_holders SELECT id, 0, time_ns FROM arrays; DROP VIEW array_launches; DROP TABLE launch_arrays; PRAGMA "
          "user_version = 2");
  const TracePtr old = load_trace({.path = path});
  ASSERT_NE(old->array_uses, nullptr);
  EXPECT_FALSE(old->array_uses->told());
  EXPECT_TRUE(old->notices.empty());
  EXPECT_TRUE(uses_text(*old, 0, -1).contains(QStringLiteral("found by elimination")));
  traces::Database(path, traces::OpenMode::kUpdate)
      .execute("DROP VIEW array_memory; DROP TABLE array_holders; DROP TABLE array_ends; PRAGMA user_version = 0");
  const TracePtr oldest = load_trace({.path = path});
  EXPECT_EQ(oldest->array_uses, nullptr);
  EXPECT_TRUE(uses_text(*oldest, 0, -1).contains(QStringLiteral("does not tell")));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace shardlab::gui
