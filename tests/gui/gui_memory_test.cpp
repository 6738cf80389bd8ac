// What devices hold of arrays over time: counted device by device, on every axis, in the timeline and in the view.
#include "gui/models/memory.h"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QLayout>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>

#include <filesystem>
#include <random>
#include <set>

#include "gui/app/main_window.h"
#include "gui/app/options.h"
#include "gui/models/array_uses.h"
#include "gui/models/format.h"
#include "gui/models/memory_model.h"
#include "gui/models/retime.h"
#include "gui/models/text_twin.h"
#include "gui/models/trace_loader.h"
#include "gui/views/timeline_canvas.h"
#include "gui/views/view_frame.h"
#include "tests/gui/sample_traces.h"
#include "tests/gui/trace_builder.h"
#include "tests/gui/wait_idle.h"
#include "tests/traces/sample_trace.h"
#include "traces/database.h"

namespace shardlab::gui {
namespace {

TEST(StepCounter, SaysWhatItIsAndTheMostOfAnyStretch) {
  std::mt19937 random(5);
  for (const int count : {0, 1, 2, 63, 64, 65, 500}) {
    std::vector<std::pair<Ns, std::int64_t>> changes;
    for (int i = 0; i < count; ++i) changes.emplace_back(Ns(random() % 300), std::int64_t(random() % 100) - 30);
    const StepCounter counter(changes);
    std::vector<std::int64_t> value(302, 0);
    for (int t = 0; t < 302; ++t)
      for (const auto& [time, change] : changes)
        if (time <= t) value[std::size_t(t)] += change;
    for (int t = 0; t < 302; ++t) ASSERT_EQ(counter.at(t), value[std::size_t(t)]) << count << " changes, at " << t;
    EXPECT_EQ(counter.at(-1), 0);
    for (int i = 0; i < 200; ++i) {
      const Ns begin = Ns(random() % 300), end = begin + 1 + Ns(random() % 100);
      const auto most = counter.most_in(begin, std::min<Ns>(end, 302));
      std::int64_t wanted = value[std::size_t(begin)];
      for (Ns t = begin; t < std::min<Ns>(end, 302); ++t) wanted = std::max(wanted, value[std::size_t(t)]);
      ASSERT_EQ(most.value, wanted) << count << " changes, from " << begin << " to " << end;
      ASSERT_EQ(value[std::size_t(most.time)], wanted);
    }
  }
}

TEST(StepCounter, TheMostOfSeveral) {
  std::mt19937 random(6);
  for (const int counters : {1, 2, 3, 7}) {
    std::vector<StepCounter> all;
    for (int c = 0; c < counters; ++c) {
      std::vector<std::pair<Ns, std::int64_t>> changes;
      for (int i = 0; i < 20 * c; ++i) changes.emplace_back(Ns(random() % 100), std::int64_t(random() % 50) - 10);
      all.emplace_back(changes);
    }
    std::vector<const StepCounter*> borrowed;
    for (const auto& each : all) borrowed.push_back(&each);
    const StepCounter most = StepCounter::most_of(borrowed);
    for (Ns t = -1; t < 101; ++t) {
      std::int64_t wanted = std::numeric_limits<std::int64_t>::min();
      for (const auto& each : all) wanted = std::max(wanted, each.at(t));
      // Nothing changes before the first change of any.
      if (most.empty() || t < 0) wanted = std::max<std::int64_t>(wanted, 0);
      ASSERT_EQ(most.at(t), wanted) << counters << " at " << t;
    }
  }
}

// Bytes on a device at a time, by the definition.
std::int64_t held_bytes(const TraceData& trace, const Device& device, Ns time) {
  std::int64_t bytes = 0;
  for (const auto& hold : trace.array_holds) {
    if (hold.process != device.process || time < hold.begin || time >= hold.end) continue;
    const Array& array = trace.arrays[std::size_t(hold.array)];
    for (const auto& shard : array.layout->shards) {
      if (shard.device != device.ordinal) continue;
      std::int64_t elements = 1;
      for (std::size_t d = 0; d < shard.begin.size(); ++d) elements *= shard.end[d] - shard.begin[d];
      bytes += elements * 4;
    }
  }
  return bytes;
}

TEST(MemoryUse, CountsEachDevicesPartOfWhatItsProcessHolds) {
  const TracePtr trace = sample::held();
  const MemoryUse& memory = *trace->memory;
  std::int64_t most = 0;
  for (Ns time = 0; time < trace->range.end; time += 500)
    for (const auto& device : trace->devices) {
      const int index = memory.index_of(device.ordinal);
      ASSERT_GE(index, 0);
      const DeviceMemory& counted = memory.devices()[std::size_t(index)];
      EXPECT_EQ(counted.arrays.at(time), held_bytes(*trace, device, time)) << "device " << device.ordinal << " at " << time;
      // What the launch holds between its steps comes on top while it runs.
      EXPECT_EQ(counted.with_steps.at(time) - counted.arrays.at(time), time >= 50'000 && time < 90'000 ? 192 : 0);
      std::int64_t sum = 0;
      for (const auto& held : held_at(*trace, device.ordinal, time)) sum += held.bytes;
      EXPECT_EQ(sum, held_bytes(*trace, device, time));
      most = std::max(most, sum);
    }
  EXPECT_EQ(memory.peak(trace->range).arrays, most);
  EXPECT_EQ(memory.devices().size(), 4U) << "the devices of a process hold equal parts";
  EXPECT_EQ(memory.of_all().arrays->most().value, most);
  // Process 3 drops x early: its peak is another.
  EXPECT_LT(memory.of_process(3).arrays->at(70'000), memory.of_process(0).arrays->at(70'000));
}

TEST(MemoryUse, ReplicasCountOnEachDevice) {
  sample::TraceBuilder b(1, 4, 4);
  b.compute(0, 1000, "ones", b.site("toy.cpp", 3));
  b.array("x", {8, 8}, {"", ""}, 0);
  b.hold(100, 600);
  const TracePtr trace = b.done("replicas.db");
  ASSERT_EQ(trace->memory->devices().size(), 1U);
  EXPECT_EQ(trace->memory->devices()[0].devices, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(trace->memory->devices()[0].arrays.at(300), 256);
  EXPECT_EQ(trace->memory->devices()[0].arrays.at(600), 0);
}

TEST(MemoryUse, WhatWasNotRecordedIsSaid) {
  EXPECT_EQ(why_no_memory(*sample::toy()), "this trace does not record when arrays end");
  EXPECT_EQ(why_no_memory(*sample::held()), "");
  EXPECT_EQ(why_no_memory(*sample::empty()), "no arrays were recorded");
}

// An array whose end was not recorded is held to the end.
TEST(MemoryUse, WhatNeverEndedIsHeld) {
  const TracePtr trace = sample::held();
  const auto held = held_at(*trace, 0, trace->range.end);
  ASSERT_EQ(held.size(), 2U);
  EXPECT_EQ(held_text(*trace, held[0]), "w float32[16,8] at toy.cpp:8");
  EXPECT_EQ(held[0].end, kOpen);
}

// Each device has its own clock there, and holds at each of its events what it held at it.
TEST(MemoryUse, OnEveryAxisTheSameIsHeldAtTheSameEvents) {
  const TracePtr wall = sample::held();
  for (const TimeAxis axis : {TimeAxis::kVirtual, TimeAxis::kLogical}) {
    const TracePtr shown = retime(*wall, axis);
    for (std::size_t l = 0; l < wall->lanes.size(); ++l) {
      const int device = wall->lanes[l].device;
      if (device < 0) continue;
      const StepCounter& before = wall->memory->devices()[std::size_t(wall->memory->index_of(device))].arrays;
      const StepCounter& after = shown->memory->devices()[std::size_t(shown->memory->index_of(device))].arrays;
      EXPECT_EQ(before.most().value, after.most().value);
      for (std::size_t i = 0; i < wall->lanes[l].events->size(); ++i) {
        const LaneEvents& from = *wall->lanes[l].events;
        const LaneEvents& to = *shown->lanes[l].events;
        EXPECT_EQ(after.at((to.begin[i] + to.end[i]) / 2), before.at((from.begin[i] + from.end[i]) / 2))
            << wall->lanes[l].name << " in event " << i << " on axis " << int(axis);
      }
    }
  }
}

TEST(MemoryModel, TablesHoldWhatTheySay) {
  const TracePtr trace = sample::held();
  const MemoryPicture picture = make_memory_picture(*trace, trace->range, MemoryAt::kMost, -1);
  DeviceMemoryModel devices;
  HeldArrayModel held;
  QAbstractItemModelTester of_devices(&devices, QAbstractItemModelTester::FailureReportingMode::Fatal);
  QAbstractItemModelTester of_arrays(&held, QAbstractItemModelTester::FailureReportingMode::Fatal);
  devices.set(trace, picture.devices);
  held.set(trace, picture.held);
  EXPECT_EQ(devices.rowCount(), 4);
  std::int64_t sum = 0;
  for (int r = 0; r < held.rowCount(); ++r) sum += held.at(r).bytes;
  EXPECT_EQ(sum, picture.moment.arrays);
  EXPECT_EQ(held.index(0, HeldArrayModel::kPlace).data().toString(), QStringLiteral("toy.cpp:8"));
  EXPECT_GE(held.at(0).bytes, held.at(1).bytes) << "the largest first";
  held.sort(HeldArrayModel::kName, Qt::AscendingOrder);
  EXPECT_LE(held.index(0, 0).data().toString(), held.index(1, 0).data().toString());
  EXPECT_TRUE(memory_sentence(*trace, picture).contains(bytes_text(picture.moment.arrays)));
  held.set(trace, {});
  devices.set(nullptr, {});
  EXPECT_EQ(held.rowCount() + devices.rowCount(), 0);
}

// Which launch is the last to take an array, and which arrays the program alone holds.
TEST(MemoryModel, SaysWhatArraysAreKeptFor) {
  TraceData trace = *sample::held();
  ASSERT_FALSE(trace.launches.empty());
  const MemoryPicture unknown = make_memory_picture(trace, trace.range, MemoryAt::kMost, 0);
  EXPECT_EQ(kept_for_text(trace, unknown.held.front()), QString()) << "the trace does not tell";
  const int kept = unknown.held.front().array;
  trace.array_uses = std::make_shared<const ArrayUses>(std::vector<ArrayUse>{{.array = kept, .process = 0, .launch = 0, .position = 0}},
                                                       trace.arrays.size(), true);
  trace.launches[0].site = trace.arrays[0].site;
  trace.launches[0].started = unknown.moment.time;
  trace.launches[0].done = unknown.moment.time + 1;
  const MemoryPicture picture = make_memory_picture(trace, trace.range, MemoryAt::kMost, 0);
  ASSERT_GE(picture.held.size(), 2U);
  EXPECT_TRUE(kept_for_text(trace, picture.held[0]).startsWith(QStringLiteral("matmul at toy.cpp:")));
  EXPECT_EQ(kept_for_text(trace, picture.held[1]), QStringLiteral("no launch"));
  EXPECT_TRUE(memory_sentence(trace, picture).contains(QStringLiteral("that no launch takes any more")))
      << memory_sentence(trace, picture).toStdString();
  trace.launches[0].done = unknown.moment.time;
  EXPECT_EQ(kept_for_text(trace, make_memory_picture(trace, trace.range, MemoryAt::kMost, 0).held[0]), QStringLiteral("no launch"));
}

TEST(MemoryModel, TheMomentAndTheDeviceAreChosen) {
  const TracePtr trace = sample::held();
  const MemoryPicture end = make_memory_picture(*trace, trace->range, MemoryAt::kEnd, 7);
  EXPECT_EQ(end.moment.device, 7);
  EXPECT_EQ(end.held.size(), 2U);
  const MemoryPicture begin = make_memory_picture(*trace, {1'000, 2'000}, MemoryAt::kBegin, 7);
  ASSERT_EQ(begin.held.size(), 1U);
  EXPECT_EQ(trace->arrays[std::size_t(begin.held[0].array)].name, "x");
  EXPECT_EQ(make_memory_picture(*sample::toy(), {0, 100}, MemoryAt::kMost, -1).moment.device, -1);
}

// From the file: what one trace has and an older one lacks.
TEST(MemoryFile, OlderTracesSayThatTheyLackIt) {
  const std::string folder = ::testing::TempDir() + "gui_memory_test_" + std::to_string(QCoreApplication::applicationPid());
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/toy.db";
  traces::sample::write_sample_trace("toy", path);
  EXPECT_FALSE(load_trace({.path = path})->records_array_ends) << "who wrote it did not know";
  traces::Database(path, traces::OpenMode::kUpdate)
      .execute(
          "INSERT INTO array_holders SELECT id, 0, time_ns FROM arrays; INSERT INTO array_ends SELECT id, 0, time_ns + 9, 0 FROM arrays "
          "WHERE id > 1");
  const TracePtr fresh = load_trace({.path = path});
  EXPECT_TRUE(fresh->records_array_ends);
  ASSERT_EQ(fresh->array_holds.size(), fresh->arrays.size());
  EXPECT_EQ(fresh->array_holds[0].end, kOpen);
  EXPECT_EQ(fresh->array_holds[1].end, fresh->array_holds[1].begin + 9);
  traces::Database(path, traces::OpenMode::kUpdate)
      .execute("DROP VIEW array_memory; DROP TABLE array_holders; DROP TABLE array_ends; PRAGMA user_version = 0");
  const TracePtr old = load_trace({.path = path});
  EXPECT_FALSE(old->arrays.empty());
  EXPECT_TRUE(old->notices.empty());
  EXPECT_EQ(why_no_memory(*old), "this trace does not record when arrays end");
  EXPECT_TRUE(timeline_text(*old, old->range).contains(QStringLiteral("this trace does not record when arrays end")));
  std::filesystem::remove_all(folder);
}

// A window that is narrow while it is being laid out does not make two equal panes of them.
TEST(Panes, HaveTheirSizesWhateverTheWindowWasBefore) {
  QWidget view;
  auto *first = new QWidget, *second = new QWidget;
  lay_out(&view, {.bars = {}, .first = first, .second = second, .sizes = {300, 600}, .narrow_px = 500});
  view.resize(100, 300);
  view.layout()->activate();
  view.resize(1200, 300);
  view.show();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&view));
  EXPECT_GT(second->width(), first->width() * 3 / 2);
  view.resize(400, 300);
  EXPECT_GT(second->y(), first->y()) << "below it";
  view.resize(1200, 300);
  EXPECT_GT(second->width(), first->width() * 3 / 2);
}

class MemoryWindow : public ::testing::Test {
 protected:
  void open(TracePtr trace) {
    window_.resize(1200, 1000);
    window_.show();
    window_.show_trace(std::move(trace));
    EXPECT_TRUE(wait_idle(window_));
    canvas_ = window_.view("timeline").findChild<TimelineCanvas*>();
    ASSERT_NE(canvas_, nullptr);
    // The lanes of devices alone have room for a counter each.
    canvas_->parentWidget()->setFixedHeight(560);
    ASSERT_TRUE(QTest::qWaitFor([&] { return canvas_->height() > 400; }, 20'000));
    for (const auto& process : window_.selection().trace()->processes) canvas_->hidden.emplace_back(process.index, -1);
    canvas_->set_up();
  }
  // Rows of the canvas in which the colour of a counter is.
  QString tooltip_somewhere(const char* words) const {
    for (int y = 27; y < canvas_->viewport()->height(); ++y) {
      const QString text = canvas_->tooltip_at({canvas_->label_width() + 400, y});
      if (text.contains(QString::fromUtf8(words))) return text;
    }
    return {};
  }
  MainWindow window_{Options{}};
  TimelineCanvas* canvas_ = nullptr;
};

TEST_F(MemoryWindow, ALaneADeviceSaysWhatItHoldsAtThePointer) {
  open(sample::held());
  // The two devices of a process hold the same.
  for (const char* words : {"devices 0,1 hold", "devices 2,3 hold", "devices 4,5 hold", "devices 6,7 hold"})
    EXPECT_FALSE(tooltip_somewhere(words).isEmpty()) << words;
  const QString text = tooltip_somewhere("devices 2,3 hold");
  EXPECT_TRUE(text.contains(QStringLiteral("at most"))) << text.toStdString();
  EXPECT_TRUE(text.contains(QStringLiteral("toy.cpp:"))) << "the lines that made them: " << text.toStdString();
  QSignalSpy hovered(canvas_, &TimelineCanvas::hovered);
  QTest::mouseMove(canvas_->viewport(), {canvas_->label_width() + 400, 60});
  bool said = false;
  for (const auto& call : hovered) said |= call[0].toString().contains(QStringLiteral(" hold"));
  EXPECT_TRUE(said);
}

TEST_F(MemoryWindow, AClickChoosesTheDeviceOrAllThatShareTheCounter) {
  open(sample::held());
  // Where the devices' counters lie: each below its lane.
  std::set<int> chosen;
  for (int y = 27; y < canvas_->viewport()->height(); ++y) {
    const QPoint at(canvas_->label_width() + 400, y);
    if (!canvas_->tooltip_at(at).contains(QStringLiteral(" hold "))) continue;
    window_.selection().clear();
    QTest::mouseClick(canvas_->viewport(), Qt::LeftButton, {}, at);
    chosen.insert(window_.selection().state().device);
  }
  EXPECT_EQ(chosen, (std::set<int>{0, 1, 2, 3, 4, 5, 6, 7})) << "also those that hold the same as another";
  // One for all: nobody alone.
  canvas_->parentWidget()->setFixedHeight(200);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !tooltip_somewhere("the fullest, holds").isEmpty(); }, 20'000));
  for (int y = 27; y < canvas_->viewport()->height(); ++y) {
    const QPoint at(canvas_->label_width() + 400, y);
    if (!canvas_->tooltip_at(at).contains(QStringLiteral("the fullest, holds"))) continue;
    QTest::mouseClick(canvas_->viewport(), Qt::LeftButton, {}, at);
    const SelectionState& state = window_.selection().state();
    EXPECT_EQ(state.device, -1);
    break;
  }
}

TEST_F(MemoryWindow, FewerLanesWhereThereIsLessRoom) {
  open(sample::held());
  canvas_->toggle_counters();
  EXPECT_TRUE(tooltip_somewhere("holds").isEmpty()) << "counters are hidden";
  canvas_->toggle_counters();
  canvas_->parentWidget()->setFixedHeight(240);
  EXPECT_TRUE(QTest::qWaitFor([&] { return !tooltip_somewhere("the fullest, holds").isEmpty(); }, 20'000));
}

TEST_F(MemoryWindow, OnEveryAxis) {
  open(sample::held());
  for (const TimeAxis axis : {TimeAxis::kVirtual, TimeAxis::kLogical, TimeAxis::kWall}) {
    canvas_->set_axis(axis);
    // On the others each device has a clock of its own.
    EXPECT_FALSE(tooltip_somewhere(axis == TimeAxis::kWall ? "devices 2,3 hold" : "CPU 3 holds").isEmpty()) << int(axis);
  }
}

TEST_F(MemoryWindow, TheViewFollowsWhatIsChosenAndChoosesIt) {
  open(sample::held());
  window_.show_view("memory");
  QTableView* held = nullptr;
  QTableView* devices = nullptr;
  for (auto* table : window_.findChildren<QTableView*>()) {
    if (table->accessibleName() == QStringLiteral("Arrays that the device holds")) held = table;
    if (table->accessibleName() == QStringLiteral("What each device holds at most")) devices = table;
  }
  ASSERT_TRUE(held && devices);
  ASSERT_TRUE(QTest::qWaitFor([&] { return devices->model()->rowCount() == 4; }, 20'000));
  ASSERT_GT(held->model()->rowCount(), 2);
  held->selectRow(1);
  const int array = window_.selection().state().array;
  EXPECT_EQ(held->currentIndex().siblingAtColumn(0).data().toString().toStdString(),
            window_.selection().trace()->arrays[std::size_t(array)].name);
  const int before = held->model()->rowCount();
  window_.selection().select_range({100'000, 104'000});
  EXPECT_TRUE(QTest::qWaitFor([&] { return held->model()->rowCount() < before; }, 20'000)) << "later less is held";
}

}  // namespace
}  // namespace shardlab::gui
