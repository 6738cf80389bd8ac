// What the length of a stretch of time hangs on: the chain across devices, through who came last, and through hosts.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QTest>

#include "gui/app/main_window.h"
#include "gui/models/critical_path.h"
#include "gui/views/path_strip.h"
#include "tests/gui/sample_traces.h"
#include "tests/gui/trace_builder.h"
#include "tests/gui/wait_idle.h"

namespace shardlab::gui {
namespace {

// "CPU 1 matmul 900; CPU 1 nothing recorded 200; …"
std::string chain(const TraceData& trace, const CriticalPath& path) {
  QStringList parts;
  for (std::size_t s = 0; s < path.steps.size(); ++s)
    parts << QStringLiteral("%1 %2 %3")
                 .arg(QString::fromStdString(trace.lanes[std::size_t(path.steps[s].lane)].name), path.what(trace, s))
                 .arg(path.steps[s].end - path.steps[s].begin);
  return parts.join(QStringLiteral("; ")).toStdString();
}

CriticalPath path_of(const TracePtr& trace) { return find_critical_path(*trace, trace->range); }

// The builder leaves 200 after each computation, and 300 after a collective.
TEST(CriticalPath, GoesThroughWhoCameLast) {
  sample::TraceBuilder b(2, 1, 1);
  const int line = b.site("toy.cpp", 11);
  b.compute(0, 300, "matmul", line);
  b.compute(1, 900, "matmul", line);
  b.collective(sample::all_reduce({"matmul", "[8]", "a", 32, 64, line}), b.all(), 100);
  b.compute(0, 500, "relu", line);
  const auto trace = b.done("late.db");
  const CriticalPath path = path_of(trace);
  EXPECT_EQ(chain(*trace, path),
            "CPU 1 matmul 900; CPU 1 nothing recorded 200; CPU 0 all-reduce of matmul 100; CPU 0 nothing recorded 300; CPU 0 relu 500");
  EXPECT_EQ(path.changes, 1U);
  EXPECT_EQ(path.range, trace->range);
  EXPECT_EQ(path.shares[0].what, "matmul");
  EXPECT_EQ(path.shares[0].processes, (std::vector<int>{1})) << "the short one hides behind it";
  EXPECT_EQ(path.uses[std::size_t(PathUse::kWait)], 0) << "who waits is not what the length hangs on";
}

TEST(CriticalPath, KeepsToARange) {
  sample::TraceBuilder b(1, 1, 1);
  const int line = b.site("toy.cpp", 11);
  b.compute(0, 1000, "sin", line);
  b.compute(0, 1000, "cos", line);
  const auto trace = b.done("two.db");
  EXPECT_EQ(chain(*trace, find_critical_path(*trace, {500, 1500})), "CPU 0 sin 500; CPU 0 nothing recorded 200; CPU 0 cos 300");
  EXPECT_EQ(chain(*trace, find_critical_path(*trace, {500, 1100})), "CPU 0 sin 500") << "to what ended last";
  EXPECT_TRUE(find_critical_path(*trace, {1020, 1100}).steps.empty());
  EXPECT_TRUE(find_critical_path(*trace, {}).steps.empty());
}

// A device that waits for its host's next launch hangs on the host; a read of the host on the device that had the value.
TEST(CriticalPath, GoesThroughTheHost) {
  sample::TraceBuilder b(1, 1, 1);
  const int line = b.site("toy.cpp", 11);
  b.compute(0, 1000, "sin", line);  // until 1000, and from 1200 on
  b.compute(0, 400, "cos", line);
  b.event(0, 600, 1100, EventKind::kHostRead, "print", line);  // waits for sin
  const int sin = b.program("sin", {0}), cos = b.program("cos", {0});
  b.launch(0, sin, 0, 0);
  b.launch(0, cos, 1, 1150);
  b.trace.launches[0].started = 0;
  b.trace.launches[1].started = 1200;
  auto trace = b.done("host.db");
  EXPECT_EQ(chain(*trace, path_of(trace)), "CPU 0 sin 1000; host host: print 100; CPU 0 host, before cos 100; CPU 0 cos 400");
  EXPECT_EQ(path_of(trace).uses[std::size_t(PathUse::kHost)], 200);
  // Issued in time, the pause is not the host's.
  TraceData early = *trace;
  early.launches[1].issued = 900;
  EXPECT_NE(chain(early, find_critical_path(early, early.range)).find("nothing recorded 200"), std::string::npos);
}

TEST(CriticalPath, SaysWhatWasWaitedForInVain) {
  const auto trace = sample::deadlock();
  const CriticalPath path = path_of(trace);
  ASSERT_FALSE(path.steps.empty());
  EXPECT_EQ(path.steps.back().use, PathUse::kWait);
  EXPECT_GT(path.uses[std::size_t(PathUse::kWait)], 0);
}

class PathOfKind : public testing::TestWithParam<sample::Kind> {};

// Without a hole and without an overlap from end to end, and never longer than the stretch that it explains.
TEST_P(PathOfKind, IsOneChain) {
  const auto trace = GetParam().make();
  const CriticalPath path = path_of(trace);
  EXPECT_EQ(path.steps.empty(), trace->event_count() == 0);
  Ns sum = 0;
  for (std::size_t s = 0; s < path.steps.size(); ++s) {
    const PathStep& step = path.steps[s];
    EXPECT_LT(step.begin, step.end);
    EXPECT_EQ(step.begin, s == 0 ? path.range.begin : path.steps[s - 1].end);
    if (step.event >= 0) {
      const LaneEvents& events = *trace->lanes[std::size_t(step.lane)].events;
      EXPECT_LE(events.begin[std::size_t(step.event)], step.begin);
      EXPECT_GE(events.end[std::size_t(step.event)], step.end);
    }
    sum += step.end - step.begin;
  }
  EXPECT_EQ(sum, path.range.length());
  Ns shares = 0;
  for (const auto& share : path.shares) shares += share.time;
  EXPECT_EQ(shares, sum);
  PathModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.set(trace, path.shares, path.range.length());
  EXPECT_EQ(model.rowCount(), int(path.shares.size()));
  EXPECT_TRUE(path_text(*trace, path).startsWith(path_summary(path)));
}

INSTANTIATE_TEST_SUITE_P(Samples, PathOfKind, testing::ValuesIn(sample::kinds().begin(), sample::kinds().end()),
                         [](const auto& each) { return std::string(each.param.name); });

// Events without a length at one moment on several lanes do not send it round for ever.
TEST(CriticalPath, EndsWhateverIsRecorded) {
  sample::TraceBuilder b(3, 1, 1);
  const int line = b.site("toy.cpp", 11);
  for (int lane = 0; lane < 6; ++lane)
    for (const Ns time : {0, 100, 100, 200, 200, 200})
      b.event(lane, time, time, lane % 2 ? EventKind::kCompute : EventKind::kHostRead, "none", line);
  for (int p = 0; p < 3; ++p) {
    b.launch(p, b.program("p", {p}), 0, 200);
    b.trace.launches.back().started = 200;
  }
  const auto trace = b.done("none.db");
  const CriticalPath path = find_critical_path(*trace, {-50, 300});
  EXPECT_LE(path.range.length(), 250);
}

TEST(CriticalPath, AStepAndItsEventLeadToEachOther) {
  Options options;
  options.view = QStringLiteral("path");
  MainWindow window(options);
  window.show();
  window.show_trace(sample::toy());
  ASSERT_TRUE(wait_idle(window));
  auto& strip = *window.view("path").findChild<PathStrip*>();
  ASSERT_GT(strip.access_groups(), 0);
  strip.setFocus();
  for (int i = 0; i < 3; ++i) QTest::keyClick(&strip, Qt::Key_Right);
  const SelectionState state = window.selection().state();
  EXPECT_GE(state.device, 0);
  QTest::mouseClick(&strip, Qt::LeftButton, {}, strip.access_item_box(0, 0).center());
  EXPECT_TRUE(strip.accessibleDescription().contains(QStringLiteral("from"))) << strip.accessibleDescription().toStdString();
  // A chosen range has a path of its own.
  const TimeRange whole = window.selection().trace()->range;
  window.selection().select_range({whole.begin, whole.begin + whole.length() / 4});
  EXPECT_TRUE(QTest::qWaitFor([&] {
    return strip.accessibleDescription().startsWith(
        path_summary(find_critical_path(*window.selection().trace(), window.selection().state().range)));
  }));
}

}  // namespace
}  // namespace shardlab::gui
