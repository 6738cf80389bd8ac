// The one selection: what follows from what, history, and bad indices.
#include <gtest/gtest.h>

#include <QSignalSpy>

#include "gui/models/selection.h"
#include "gui/views/trace_table.h"
#include "tests/gui/sample_traces.h"

namespace shardlab::gui {
namespace {

TEST(Selection, BeginsWithTheFirstNamedArrayAndTheFirstDiagnosis) {
  Selection selection;
  selection.set_trace(sample::toy());
  EXPECT_EQ(selection.state(), SelectionState{.array = 0});
  selection.set_trace(sample::deadlock());
  EXPECT_EQ(selection.state().diagnosis, 0);
  EXPECT_EQ(selection.state().process, 3);
  EXPECT_GE(selection.state().collective, 0);
  EXPECT_FALSE(selection.can_go_back());
  selection.set_trace(nullptr);
  EXPECT_EQ(selection.state(), SelectionState{});
}

TEST(Selection, BeginsWithAnArrayOnTheMostDevices) {
  auto trace = std::make_shared<TraceData>(*sample::toy());
  Array alone = trace->arrays.at(0);
  auto layout = std::make_shared<ArrayLayout>(*alone.layout);
  layout->shards.resize(1);
  alone.layout = layout;
  trace->arrays.insert(trace->arrays.begin(), alone);
  Selection selection;
  selection.set_trace(trace);
  EXPECT_EQ(selection.state().array, 1);
}

TEST(Selection, ACollectiveBringsItsDevicesAndItsDiagnosis) {
  Selection selection;
  selection.set_trace(sample::deadlock());
  selection.clear();
  selection.select_collective(0);
  EXPECT_EQ(selection.devices().size(), 8U);
  EXPECT_EQ(selection.state().diagnosis, -1);
  selection.select_collective(1);
  EXPECT_EQ(selection.state().diagnosis, 0);
}

TEST(Selection, ADeviceBringsItsProcessLaneAndStaysInItsCollective) {
  Selection selection;
  selection.set_trace(sample::toy());
  selection.select_collective(1);
  selection.select_device(5);
  EXPECT_EQ(selection.state().process, 2);
  EXPECT_EQ(selection.state().collective, 1);
  EXPECT_EQ(selection.devices(), std::vector<int>{5});
  EXPECT_EQ(selection.trace()->lanes[std::size_t(selection.lane())].device, 5);
  selection.select_process(1);
  EXPECT_EQ(selection.devices(), (std::vector<int>{2, 3}));
  EXPECT_EQ(selection.state().collective, -1);
}

TEST(Selection, AnEventBringsItsCollective) {
  Selection selection;
  selection.set_trace(sample::toy());
  const auto& lanes = selection.trace()->lanes;
  for (std::size_t l = 0; l < lanes.size(); ++l)
    for (std::size_t e = 0; e < lanes[l].events->size(); ++e) {
      selection.select_event(int(l), std::int64_t(e));
      EXPECT_EQ(selection.state().collective, lanes[l].events->collective[e]);
      EXPECT_EQ(selection.state().device, lanes[l].device);
    }
}

TEST(Selection, HistoryGoesBackAndForward) {
  Selection selection;
  selection.set_trace(sample::toy());
  selection.select_collective(0);
  selection.select_device(3);
  selection.select_array(2);
  selection.back();
  EXPECT_EQ(selection.state().array, 0);
  selection.back();
  EXPECT_EQ(selection.state().device, -1);
  selection.forward();
  selection.forward();
  EXPECT_EQ(selection.state().array, 2);
  EXPECT_FALSE(selection.can_go_forward());
  selection.back();
  selection.select_process(0);
  EXPECT_FALSE(selection.can_go_forward());
  for (int i = 0; i < 1000; ++i) selection.select_device(i % 8);
  int steps = 0;
  for (; selection.can_go_back(); ++steps) selection.back();
  EXPECT_EQ(steps, int(Selection::kHistoryMax));
}

TEST(Selection, IgnoresWhatIsNotThereAndTellsNothingTwice) {
  Selection selection;
  selection.select_device(0);
  selection.set_trace(sample::toy());
  QSignalSpy spy(&selection, &Selection::changed);
  selection.select_array(99);
  selection.select_collective(-1);
  selection.select_device(1000);
  selection.select_process(17);
  selection.select_diagnosis(0);
  selection.select_event(0, 0);  // the host lane may have none, or one
  const auto before = spy.count();
  selection.select_device(2);
  selection.select_device(2);
  EXPECT_EQ(spy.count(), before + 1);
}

TEST(Links, SelectWhatTheyName) {
  Selection selection;
  selection.set_trace(sample::deadlock());
  EXPECT_TRUE(follow_link(selection, QStringLiteral("device:5"), nullptr));
  EXPECT_EQ(selection.state().device, 5);
  EXPECT_TRUE(follow_link(selection, QStringLiteral("diagnosis:0"), nullptr));
  for (const char* bad : {"", "device", "device:", "device:x", "device:99", "thing:1", ":1"})
    EXPECT_FALSE(follow_link(selection, QString::fromUtf8(bad), nullptr)) << bad;
}

// What is chosen already is there all the same: `--select diagnosis:0` of a trace that opens on it.
TEST(Links, AreTrueOfWhatIsChosenAlready) {
  Selection selection;
  selection.set_trace(sample::deadlock());
  ASSERT_EQ(selection.state().diagnosis, 0);
  EXPECT_TRUE(follow_link(selection, QStringLiteral("diagnosis:0"), nullptr));
  EXPECT_FALSE(follow_link(selection, QStringLiteral("diagnosis:1"), nullptr));
  EXPECT_FALSE(follow_link(selection, QStringLiteral("array:-1"), nullptr));
  selection.set_trace(nullptr);
  EXPECT_FALSE(follow_link(selection, QStringLiteral("process:0"), nullptr));
}

// A run that has grown by a collective before and one behind what was selected, and by an event at the front of its lane.
TEST(Selection, FollowsARunThatGrows) {
  Selection selection;
  const TracePtr before = sample::grid(4, 2, 2, 3);
  selection.set_trace(before);
  selection.select_event(before->collectives.empty() ? 0 : 2, 1);
  const SelectionState chosen = selection.state();
  auto after = std::make_shared<TraceData>(*before);
  Collective early = before->collectives[0];
  early.seq = 1000;
  after->collectives.insert(after->collectives.begin(), early);
  auto events = std::make_shared<LaneEvents>(*before->lanes[2].events);
  events->begin.insert(events->begin.begin(), -10);
  events->end.insert(events->end.begin(), -5);
  events->label.insert(events->label.begin(), 0);
  events->kind.insert(events->kind.begin(), EventKind::kCompute);
  events->flags.insert(events->flags.begin(), 0);
  events->collective.insert(events->collective.begin(), -1);
  after->lanes[2].events = events;
  selection.follow_trace(after);
  EXPECT_EQ(selection.state().lane, chosen.lane);
  EXPECT_EQ(selection.state().event, chosen.event + 1);
  EXPECT_EQ(selection.state().collective, chosen.collective < 0 ? -1 : chosen.collective + 1);
  EXPECT_EQ(selection.state().device, chosen.device);
  EXPECT_FALSE(selection.can_go_back());
  // What is gone is selected no more; a verdict that came is shown.
  auto verdict = std::make_shared<TraceData>(*after);
  verdict->collectives.clear();
  verdict->lanes.resize(2);
  selection.follow_trace(verdict);
  EXPECT_EQ(selection.state().collective, -1);
  EXPECT_EQ(selection.state().event, -1);
  verdict = std::make_shared<TraceData>(*after);
  verdict->diagnoses.push_back({.code = "deadlock", .processes = {1}});
  selection.follow_trace(verdict);
  EXPECT_EQ(selection.state().diagnosis, 0);
}

}  // namespace
}  // namespace shardlab::gui
