// A run at a glance: what the devices' time went to, what stands out, and the view that a trace without findings opens on.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QTest>

#include <cmath>

#include "gui/app/main_window.h"
#include "gui/models/format.h"
#include "gui/models/overview.h"
#include "gui/views/timeline_canvas.h"
#include "gui/views/utilisation_map.h"
#include "gui/views/when_seen.h"
#include "tests/gui/sample_traces.h"
#include "tests/gui/trace_builder.h"
#include "tests/gui/wait_idle.h"

namespace shardlab::gui {
namespace {

// Two processes with a device each: process 1 computes for 900 and process 0 for 300, then they meet for 100.
TracePtr late(Ns unit = 1) {
  sample::TraceBuilder b(2, 1, 1);
  const int line = b.site("toy.cpp", 11);
  b.compute(0, 300 * unit, "matmul", line);
  b.compute(1, 900 * unit, "matmul", line);
  b.collective(sample::all_reduce({"matmul", "[8]", "a", 32, 64, line}), b.all(), 100 * unit);
  return b.done("late.db");
}

bool says(const Overview& overview, const char* what) {
  return std::any_of(overview.findings.begin(), overview.findings.end(),
                     [&](const Finding& each) { return each.text.contains(QString::fromUtf8(what)); });
}

TEST(Overview, TellsWaitingFromCommunicating) {
  const Overview overview = make_overview(*late());
  ASSERT_EQ(overview.rows.size(), 2U);
  EXPECT_EQ(overview.range.length(), 1200);
  // The builder leaves 200 after each computation.
  EXPECT_EQ(overview.rows[0].total.compute, 300);
  EXPECT_EQ(overview.rows[0].total.wait, 600);
  EXPECT_EQ(overview.rows[0].total.transfer, 100);
  EXPECT_EQ(overview.rows[1].total.compute, 900);
  EXPECT_EQ(overview.rows[1].total.wait, 0);
  EXPECT_EQ(split_text(overview.total, overview.device_time()),
            QStringLiteral("computing 50 %, communicating 8 %, waiting for peers 25 %, nothing recorded 17 %"));
  EXPECT_NEAR(overview.share(0, 1, 0, 30, TimeUse::kCompute), 1, 1e-9) << "the first quarter of the run, device 0 computes";
  EXPECT_NEAR(overview.share(0, 2, 60, 90, TimeUse::kWait), 0.5, 1e-9) << "of two devices one waits";
}

TEST(Overview, SaysWhomTheOthersWaitedFor) {
  const Overview overview = make_overview(*late());
  EXPECT_TRUE(says(overview, "Most waiting was for process 1: 100 % of all of it, over 1 collective"));
  EXPECT_TRUE(says(overview, "all-reduce at toy.cpp:11 took 33 % of the devices' time in 2 events, 75 % of it waiting"));
  EXPECT_TRUE(says(overview, "matmul at toy.cpp:11 took 50 %"));
  EXPECT_TRUE(says(overview, "Uneven work: CPU 1"));
  for (const Finding& each : overview.findings) EXPECT_FALSE(each.link.isEmpty()) << each.text.toStdString();
}

// A program whose processes start side by side is no reason to warn.
TEST(Overview, WarnsOfWaitingThatLasts) {
  for (const auto& [unit, level] : {std::pair{Ns(1000), VerdictLevel::kNote}, {Ns(1'000'000), VerdictLevel::kWarning}}) {
    const Overview overview = make_overview(*late(unit));
    const auto found = std::find_if(overview.findings.begin(), overview.findings.end(), [](const Finding& each) {
      return each.text.startsWith(QStringLiteral("Most waiting was for process 1"));
    });
    ASSERT_NE(found, overview.findings.end());
    EXPECT_EQ(found->level, level);
    EXPECT_TRUE(found->text.contains(QStringLiteral("by up to 6"))) << found->text.toStdString();
  }
}

TEST(Overview, PutsTheGravestFirst) {
  const auto trace = sample::deadlock();
  const Overview overview = make_overview(*trace);
  ASSERT_FALSE(overview.findings.empty());
  EXPECT_EQ(overview.findings[0].link, QStringLiteral("diagnosis:0"));
  EXPECT_EQ(overview.findings[0].level, VerdictLevel::kError);
  EXPECT_EQ(overview.findings[0].text, qstr(trace->diagnoses[0].code)) << "its sentence is the verdict, which stands above";
  const Overview torn = make_overview(*sample::torn());
  EXPECT_TRUE(says(torn, "Process 3 did not end well"));
  EXPECT_TRUE(says(torn, "records end early"));
  EXPECT_FALSE(says(overview, "never ended")) << "the diagnosis says so";
  TraceData undiagnosed = *trace;
  undiagnosed.diagnoses.clear();
  EXPECT_TRUE(says(make_overview(undiagnosed), "all-reduce at toy.cpp:13 never ended"));
  EXPECT_TRUE(make_overview(*sample::empty()).findings.empty());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(make_overview(*trace, stop.get_token()).rows.empty());
}

class OverviewOfKind : public testing::TestWithParam<sample::Kind> {};

// No time is counted twice or lost: bins add up to rows, rows to the whole, and an event's pieces to the event.
TEST_P(OverviewOfKind, AddsUp) {
  const auto trace = GetParam().make();
  const Overview overview = make_overview(*trace);
  TimeSplit sum;
  for (const auto& row : overview.rows) {
    TimeSplit bins;
    for (const TimeSplit& bin : row.bins) bins.add(bin);
    EXPECT_EQ(bins.compute, row.total.compute);
    EXPECT_EQ(bins.wait, row.total.wait);
    EXPECT_EQ(bins.transfer, row.total.transfer);
    const LaneEvents& events = *trace->lanes[std::size_t(row.lane)].events;
    Ns busy = 0;
    for (std::size_t i = 0; i < events.size(); ++i) busy += std::min(events.end[i], trace->range.end) - events.begin[i];
    EXPECT_EQ(row.total.sum(), busy);
    EXPECT_LE(busy, trace->range.length());
    sum.add(row.total);
  }
  EXPECT_EQ(sum.sum(), overview.total.sum());
  EXPECT_EQ(overview.rows.size(), trace->devices.size());
}

// Found by halving, as it would be found one by one.
TEST_P(OverviewOfKind, FindsTheMemberOfADevice) {
  const auto trace = GetParam().make();
  for (const auto& call : trace->collectives)
    for (const auto& device : trace->devices) {
      const Member* member = nullptr;
      for (const auto& each : call.members)
        if (each.device == device.ordinal ||
            (each.device < 0 && each.process == device.process && call.type->groups->contains(device.ordinal)))
          member = &each;
      ASSERT_EQ(call.member_of(device), member);
    }
}

TEST_P(OverviewOfKind, TableAndTextKeepTheRules) {
  const auto trace = GetParam().make();
  OverviewModel model(trace, make_overview(*trace));
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  EXPECT_EQ(model.rowCount(), int(trace->devices.size()));
  const QString text = overview_text(*trace, make_overview(*trace));
  EXPECT_TRUE(text.startsWith(make_verdict(*trace).sentence));
  EXPECT_EQ(text.contains(QStringLiteral("nothing recorded")), !trace->devices.empty());
}

INSTANTIATE_TEST_SUITE_P(Samples, OverviewOfKind, testing::ValuesIn(sample::kinds().begin(), sample::kinds().end()),
                         [](const auto& each) { return std::string(each.param.name); });

struct Shown {
  explicit Shown(TracePtr trace) : window(Options{}) {
    window.show();
    window.show_trace(std::move(trace));
    EXPECT_TRUE(wait_idle(window));
  }
  bool sees(std::string_view id) { return in_sight(window.view(id)); }
  MainWindow window;
};

TEST(Landing, IsTheOverviewWhereNothingIsWrong) {
  Shown good(late()), bad(sample::deadlock()), empty(sample::empty());
  EXPECT_TRUE(good.sees("overview"));
  EXPECT_FALSE(bad.sees("overview"));
  EXPECT_TRUE(bad.sees("diagnoses"));
  EXPECT_FALSE(empty.sees("overview"));
}

TEST(Landing, ACellLeadsToItsDeviceAndTime) {
  Shown shown(late());
  auto& map = *shown.window.view("overview").findChild<UtilisationMap*>();
  ASSERT_EQ(map.access_groups(), 2);
  const QRect cell = map.access_item_box(1, 4);
  QTest::mouseClick(&map, Qt::LeftButton, {}, cell.center());
  EXPECT_EQ(shown.window.selection().state().device, 1);
  map.setFocus();
  QTest::keyClick(&map, Qt::Key_Up);
  EXPECT_EQ(shown.window.selection().state().device, 0);
  QTest::keyClick(&map, Qt::Key_Return);
  const TimeRange window = shown.window.timeline().scale().window();
  EXPECT_LT(window.length(), 100);
  EXPECT_GE(window.begin, 400);
  EXPECT_LE(window.end, 700);
  EXPECT_TRUE(map.access_item_name(1, 4).contains(QStringLiteral("computing 100 %"))) << map.access_item_name(1, 4).toStdString();
}

}  // namespace
}  // namespace shardlab::gui
