// The forest and the folding of lanes against brute force.
#include <gtest/gtest.h>

#include <random>

#include "gui/models/lane_builder.h"
#include "gui/models/lane_fold.h"
#include "gui/models/lane_groups.h"
#include "tests/gui/sample_traces.h"

namespace shardlab::gui {
namespace {

LaneSummary brute_force(const LaneEvents& lane, std::size_t first, std::size_t last) {
  LaneSummary sum;
  for (std::size_t i = first; i < last; ++i) {
    const Ns length = lane.end[i] - lane.begin[i];
    sum.busy += length;
    if (length > sum.longest) {
      sum.longest = length;
      sum.longest_index = std::uint32_t(i);
    }
    sum.flags |= lane.flags[i];
    ++sum.count;
  }
  return sum;
}

TEST(LaneForest, AgreesWithBruteForce) {
  std::mt19937 random(3);
  for (const int events : {0, 1, 2, 31, 32, 33, 64, 97, 1000, 4099}) {
    const LaneEvents lane = sample::random_lane(unsigned(events), events, events / 50);
    for (int i = 0; i < 200; ++i) {
      std::size_t first = random() % std::size_t(events + 1), last = random() % std::size_t(events + 1);
      if (first > last) std::swap(first, last);
      const LaneSummary got = lane.summary(first, last), want = brute_force(lane, first, last);
      ASSERT_EQ(got.busy, want.busy) << events << " events, [" << first << ", " << last << ")";
      ASSERT_EQ(got.count, want.count);
      ASSERT_EQ(got.longest, want.longest);
      ASSERT_EQ(got.flags, want.flags);
      if (want.count > 0) { ASSERT_EQ(got.longest_index, want.longest_index); }
    }
  }
}

// Whatever the zoom: each visible event is in exactly one item, and no error is lost.
TEST(FoldLane, KeepsEveryEventAndEveryFlag) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    const LaneEvents lane = sample::random_lane(seed, 5000, 7);
    const Ns end = lane.end.back();
    for (const Ns fold : {Ns(1), Ns(7), Ns(100), Ns(3001), end / 900 + 1, end + 1}) {
      for (const TimeRange window : {TimeRange{0, end + 1}, TimeRange{end / 3, end / 2}, TimeRange{end / 3, end / 3 + 200}}) {
        std::vector<LaneItem> items;
        fold_lane(lane, window, fold, items);
        std::size_t visible = 0, counted = 0;
        std::uint8_t flags = 0, want_flags = 0;
        for (std::size_t i = 0; i < lane.size(); ++i)
          if (lane.end[i] >= window.begin && lane.begin[i] < window.end) {
            ++visible;
            want_flags |= lane.flags[i];
          }
        Ns before = -1;
        for (const auto& item : items) {
          EXPECT_GE(item.begin, before);
          before = item.end;
          counted += item.count;
          flags |= item.flags;
          EXPECT_LE(item.busy, item.end - item.begin);
        }
        // The last fold may reach beyond the window, never stop short of it.
        EXPECT_GE(counted, visible) << "seed " << seed << " fold " << fold;
        EXPECT_EQ(flags & want_flags, want_flags) << "seed " << seed << " fold " << fold;
      }
    }
  }
}

TEST(FoldLane, DrawsAtMostAFewItemsForEachPixel) {
  const LaneEvents lane = sample::random_lane(9, 200'000, 3);
  const Ns end = lane.end.back();
  std::vector<LaneItem> items;
  fold_lane(lane, {0, end}, end / 800, items);
  EXPECT_LE(items.size(), 3U * 800U);
}

TEST(EventAt, FindsTheEventUnderTheCursorAndTheNearestWithinTheSlack) {
  LaneEvents lane;
  for (const auto& [begin, end] : {std::pair<Ns, Ns>{10, 20}, {30, 31}, {100, 200}}) {
    lane.begin.push_back(begin);
    lane.end.push_back(end);
  }
  EXPECT_EQ(event_at(lane, 15, 0), 0);
  EXPECT_EQ(event_at(lane, 25, 0), -1);
  EXPECT_EQ(event_at(lane, 27, 4), 1);
  EXPECT_EQ(event_at(lane, 150, 0), 2);
  EXPECT_EQ(event_at(lane, 5000, 10), -1);
  EXPECT_EQ(event_at(LaneEvents{}, 5, 10), -1);
}

TEST(SplitRows, PutsOverlapsIntoRowsOfTheirOwn) {
  LaneEvents lane;
  for (const auto& [begin, end] : {std::pair<Ns, Ns>{0, 100}, {10, 20}, {15, 40}, {50, 60}, {100, 110}}) {
    lane.begin.push_back(begin);
    lane.end.push_back(end);
    lane.label.push_back(0);
    lane.collective.push_back(-1);
    lane.kind.push_back(EventKind::kCompute);
    lane.flags.push_back(0);
  }
  const auto rows = split_rows(lane, 4);
  ASSERT_EQ(rows.size(), 3U);
  std::size_t count = 0;
  for (const auto& row : rows) {
    count += row->size();
    for (std::size_t i = 1; i < row->size(); ++i) EXPECT_LE(row->end[i - 1], row->begin[i]);
  }
  EXPECT_EQ(count, lane.size());
}

// 2 processes of 2 devices on two hosts; the mesh permutes them, and one device is on no mesh.
TEST(LaneGroups, ByProcessHostAndMeshAxis) {
  TraceData trace;
  for (int p = 0; p < 2; ++p) {
    trace.processes.push_back({.index = p, .host = p == 0 ? "node-a" : "node-b"});
    trace.lanes.push_back({.process = p, .device = -1, .name = "host"});
    for (int d = 0; d < 2; ++d) {
      trace.devices.push_back({.ordinal = 2 * p + d, .process = p, .local = d});
      trace.lanes.push_back({.process = p, .device = 2 * p + d});
    }
  }
  trace.lanes.push_back({.process = 1, .device = 4});
  EXPECT_EQ(lane_groupings(trace).size(), 2u) << "no mesh: by process and by host";
  trace.meshes.push_back({.axes = {{"one", 1}, {"a", 2}, {"b", 2}}, .devices = {3, 0, 1, 2}});
  trace.meshes.push_back({.axes = {{"small", 2}}, .devices = {0, 1}});
  const auto groupings = lane_groupings(trace);
  ASSERT_EQ(groupings.size(), 4u);
  EXPECT_EQ(groupings[0].group_of, (std::vector<int>{0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(groupings[1].groups, (std::vector<std::string>{"node-a", "node-b"}));
  EXPECT_EQ(groupings[2].title, "axis a");
  EXPECT_EQ(groupings[2].group_of, (std::vector<int>{2, 0, 1, 2, 1, 0, 2}));
  EXPECT_EQ(groupings[3].title, "axis b");
  EXPECT_EQ(groupings[3].group_of, (std::vector<int>{2, 1, 0, 2, 1, 0, 2}));
  EXPECT_EQ(groupings[3].groups, (std::vector<std::string>{"b=0", "b=1", "others"}));
}

}  // namespace
}  // namespace shardlab::gui
