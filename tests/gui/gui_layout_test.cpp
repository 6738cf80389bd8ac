// What is computed before anything is drawn: sharding grids, mesh layouts, time scales, texts.
#include <gtest/gtest.h>

#include <set>

#include "gui/models/format.h"
#include "gui/models/shard_grid.h"
#include "gui/models/time_scale.h"
#include "gui/models/verdict.h"
#include "tests/gui/sample_traces.h"

namespace shardlab::gui {
namespace {

const Array& array_named(const TraceData& trace, const std::string& name) {
  for (const auto& array : trace.arrays)
    if (array.name == name) return array;
  throw std::runtime_error("no array " + name);
}

// Each element of the array is covered by exactly the devices that hold it.
void expect_covered(const Array& array) {
  const ShardGrid grid = make_shard_grid(array);
  std::size_t held = 0;
  std::int64_t elements = 0, total = 1;
  for (const std::int64_t size : array.layout->shape) total *= size;
  for (const auto& plane : grid.planes)
    for (const auto& cell : plane.cells) {
      held += cell.devices.size();
      std::int64_t size = 1;
      for (std::size_t d = 0; d < cell.begin.size(); ++d) size *= cell.end[d] - cell.begin[d];
      elements += size;
      EXPECT_LE(cell.row_last, plane.rows());
      EXPECT_LE(cell.col_last, plane.cols());
    }
  EXPECT_EQ(held + grid.idle.size(), array.layout->shards.size()) << array.name;
  EXPECT_EQ(elements, total) << array.name;
}

TEST(ShardGrid, CoversEveryArrayOfTheSamples) {
  for (const auto& trace : {sample::toy(), sample::grid(32, 16, 64, 1), sample::grid(7, 1, 7, 1), sample::long_names()})
    for (const auto& array : trace->arrays) expect_covered(array);
}

TEST(ShardGrid, KnowsDimensionsCopiesAndUnevenness) {
  const auto trace = sample::toy();
  const ShardGrid x = make_shard_grid(array_named(*trace, "x"));
  ASSERT_EQ(x.planes.size(), 1U);
  EXPECT_EQ(x.planes[0].rows(), 4);
  EXPECT_EQ(x.planes[0].cols(), 2);
  EXPECT_EQ(x.summary(), "8 shards, one device each");

  const ShardGrid w = make_shard_grid(array_named(*trace, "w"));
  EXPECT_EQ(w.planes[0].cells[0].devices, (std::vector<int>{0, 2, 4, 6}));
  EXPECT_EQ(w.summary(), "2 shards, 4 copies of each");

  const ShardGrid bias = make_shard_grid(array_named(*trace, "bias"));  // 9 over 4: 3, 3, 3 and nothing
  EXPECT_EQ(bias.summary(), "3 shards, 2 copies of each, 2 devices hold nothing");
  EXPECT_EQ(bias.row_dim, -1);

  Array cut{.name = "cut", .dtype = "float32"};
  ArrayLayout thirds{.shape = {10}};
  for (int d = 0; d < 3; ++d) thirds.shards.push_back({.device = d, .begin = {d * 4}, .end = {std::min(10, d * 4 + 4)}});
  cut.layout = std::make_shared<const ArrayLayout>(thirds);
  EXPECT_TRUE(make_shard_grid(cut).uneven);

  const ShardGrid batch = make_shard_grid(array_named(*trace, "batch"));
  EXPECT_EQ(batch.planes.size(), 4U);
  EXPECT_EQ(batch.planes[1].title, "[1:2, :, :]");

  const ShardGrid total = make_shard_grid(array_named(*trace, "total"));
  EXPECT_EQ(total.cell_count(), 1U);
  EXPECT_EQ(total.summary(), "replicated: 8 devices each hold all");
}

TEST(MeshLayout, PlacesDevicesAtTheirCoordinates) {
  const Mesh mesh{.name = "m", .axes = {{"c", 2}, {"a", 2}, {"b", 3}}, .devices = {5, 4, 3, 2, 1, 0, 6, 7, 8, 9, 10, 11}};
  const MeshLayout layout = make_mesh_layout(mesh);
  EXPECT_EQ(layout.rows, 2);
  EXPECT_EQ(layout.cols, 3);
  EXPECT_EQ(layout.plane_titles, (std::vector<std::string>{"c=0", "c=1"}));
  EXPECT_EQ(layout.places[4].device, 1);
  EXPECT_EQ(layout.places[4].coordinates, (std::vector<int>{0, 1, 1}));
  std::set<std::tuple<int, int, int>> places;
  for (const auto& place : layout.places) places.emplace(place.plane, place.row, place.col);
  EXPECT_EQ(places.size(), 12U);
  EXPECT_EQ(boxes_of(layout, {5, 4, 3}).size(), 1U);  // a row is one box
  EXPECT_EQ(boxes_of(layout, {5, 2, 6}).size(), 2U);  // a column, and one in the other plane
  EXPECT_EQ(boxes_of(layout, {5, 1}).size(), 2U);     // a diagonal is not a box
}

TEST(TimeScale, ZoomKeepsTheTimeUnderTheCursor) {
  TimeScale scale;
  scale.set_limits({1'000'000'000'000, 1'000'000'500'000});
  scale.set_width(1000);
  for (int i = 0; i < 12; ++i) {
    const Ns before = scale.time_at(400);
    scale.zoom(0.6, 400);
    EXPECT_NEAR(double(scale.time_at(400) - before), 0, scale.ns_per_px() + 1);
  }
  for (int i = 0; i < 40; ++i) scale.zoom(1.7, 100);
  EXPECT_EQ(scale.window(), scale.limits());
  for (int i = 0; i < 200; ++i) scale.zoom(0.1, 900);
  EXPECT_EQ(scale.window().length(), TimeScale::kShortestNs);
  scale.pan(1e9);
  EXPECT_EQ(scale.window().end, scale.limits().end);
}

TEST(TimeScale, RulersHaveRoomForTheirLabels) {
  TimeScale scale;
  scale.set_limits({0, 4'000'000'000});
  scale.set_width(1200);
  for (int i = 0; i < 60; ++i) {
    const Ruler ruler = make_ruler(scale, 0, 110);
    EXPECT_GE(double(ruler.step) / scale.ns_per_px(), 109.0);
    EXPECT_LE(ruler.ticks.size(), 120U);
    scale.zoom(0.7, 333);
  }
}

TEST(Format, ReadsAsPeopleWrite) {
  const QString thin = QChar(0x202f);
  EXPECT_EQ(duration_text(1'234'567), QStringLiteral("1.235") + thin + QStringLiteral("ms"));
  EXPECT_EQ(duration_text(20'700), QStringLiteral("20.70") + thin + QStringLiteral("µs"));
  EXPECT_EQ(bytes_text(1536), QStringLiteral("1.50") + thin + QStringLiteral("KiB"));
  EXPECT_EQ(set_text({6, 0, 1, 2, 3}), QStringLiteral("0–3,6"));
  EXPECT_EQ(set_text({0, 1}), QStringLiteral("0,1"));
  EXPECT_EQ(set_text({0, 2, 4, 6, 8, 10}, 6), QStringLiteral("0,2,4…"));
  EXPECT_EQ(count_text(1, "process", "processes"), QStringLiteral("1 process"));
  EXPECT_EQ(count_text(12000, "event", "events"), QStringLiteral("12,000 events"));
}

TEST(Verdict, IsOneSentenceForEachKindOfTrace) {
  EXPECT_EQ(make_verdict(*sample::toy()).sentence, QStringLiteral("No diagnosis: 4 processes, 3 collectives, all matched."));
  EXPECT_EQ(make_verdict(*sample::toy()).level, VerdictLevel::kGood);
  const Verdict deadlock = make_verdict(*sample::deadlock());
  EXPECT_EQ(deadlock.level, VerdictLevel::kError);
  EXPECT_TRUE(deadlock.sentence.startsWith(QStringLiteral("Process 3 ")));
  EXPECT_EQ(deadlock.perspective, QStringLiteral("hang"));
  EXPECT_EQ(make_verdict(*sample::torn()).level, VerdictLevel::kWarning);
  EXPECT_EQ(make_verdict(*sample::empty()).level, VerdictLevel::kNote);
}

}  // namespace
}  // namespace shardlab::gui
