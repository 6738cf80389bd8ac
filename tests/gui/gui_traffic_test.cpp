// The communication matrix and the moves of reshards, against sums done another way.
#include <gtest/gtest.h>

#include <random>

#include "gui/models/comm_matrix.h"
#include "gui/models/reshard.h"
#include "gui/models/text_twin.h"
#include "tests/gui/sample_traces.h"

namespace shardlab::gui {
namespace {

double sum_of(const CommMatrix& matrix) {
  double sum = 0;
  for (const auto& [at, cell] : matrix.cells) sum += cell.bytes;
  return sum;
}

TEST(CommMatrix, CarriesAllWireBytesHoweverItIsGrouped) {
  for (const auto& trace : {sample::toy(), sample::grid(4, 2, 2, 6), sample::grid(1, 7, 7, 3)}) {
    double wire = 0;
    for (const auto& call : trace->collectives) wire += call.open ? 0 : double(call.type->wire_bytes);
    for (const MatrixBy by : {MatrixBy::kDevice, MatrixBy::kProcess, MatrixBy::kAxis}) {
      const CommMatrix matrix = make_comm_matrix(*trace, {.by = by});
      EXPECT_NEAR(sum_of(matrix), wire, 1e-6 * wire + 1e-9);
      EXPECT_NEAR(matrix.total.bytes, wire, 1e-6 * wire + 1e-9);
    }
  }
}

TEST(CommMatrix, FollowsTheWindowAndLeavesOutWhatNeverEnded) {
  const auto trace = sample::grid(4, 2, 2, 6);
  const CommMatrix all = make_comm_matrix(*trace, {});
  const TimeRange first = trace->collectives[0].span();
  EXPECT_LT(make_comm_matrix(*trace, {.window = first}).total.count, all.total.count);
  EXPECT_EQ(all.total.count, 6);
  EXPECT_GT(make_comm_matrix(*sample::deadlock(), {}).skipped, 0);
}

TEST(CommMatrix, IsChosenByOpGroupAndStep) {
  const auto trace = sample::grid(4, 2, 2, 6);
  const CommMatrix all = make_comm_matrix(*trace, {});
  const MatrixChoices choices = matrix_choices(*trace);
  ASSERT_FALSE(choices.ops.empty());
  std::int64_t count = 0;
  for (const auto& op : choices.ops) count += make_comm_matrix(*trace, {.op = op}).total.count;
  EXPECT_EQ(count, all.total.count) << "every collective is one op's";
  EXPECT_EQ(make_comm_matrix(*trace, {.op = "no such op"}).total.count, 0);

  // Groups that lie side by side carry all bytes together, and each only within itself.
  double bytes = 0;
  std::set<int> seen;
  for (const auto& group : choices.groups) {
    const CommMatrix one = make_comm_matrix(*trace, {.group = group});
    EXPECT_GT(one.total.count, 0);
    EXPECT_NEAR(sum_of(one), one.total.bytes, 1e-6 * one.total.bytes + 1e-9);
    bytes += one.total.bytes;
    for (const auto& [at, cell] : one.cells)
      for (const int row : {int(at >> 32), int(at & 0xffffffff)})
        EXPECT_TRUE(std::count(group.begin(), group.end(), trace->devices[std::size_t(row)].ordinal)) << row;
  }
  EXPECT_NEAR(bytes, all.total.bytes, 1e-6 * bytes);
  EXPECT_EQ(make_comm_matrix(*trace, {.group = {0, 7}}).total.count, 0);

  count = 0;
  ASSERT_GT(all.steps, 0);
  for (int step = 1; step <= all.steps; ++step) count += make_comm_matrix(*trace, {.step = step}).total.count;
  EXPECT_EQ(count, all.total.count) << "every collective is of one step";
  EXPECT_EQ(make_comm_matrix(*trace, {.step = all.steps + 1}).total.count, 0);
  EXPECT_EQ(make_comm_matrix(*trace, {.step = 1}).steps, all.steps) << "how many there are does not hang on which is chosen";
}

TEST(CommMatrix, CountsBandwidthAsNcclTestsDo) {
  CollectiveType type{.kind = "all-reduce", .bytes = 1000};
  type.groups = std::make_shared<DeviceGroups>(DeviceGroups{.lists = {{0, 1, 2, 3}}, .devices = {0, 1, 2, 3}});
  EXPECT_DOUBLE_EQ(data_bytes(type), 1000);
  EXPECT_DOUBLE_EQ(bus_factor(type), 1.5);
  type.kind = "all-gather";
  EXPECT_DOUBLE_EQ(bus_factor(type), 0.75);
  type.kind = "reduce-scatter";
  EXPECT_DOUBLE_EQ(data_bytes(type), 4000) << "its size is the input's";
  type.kind = "all-to-all";
  EXPECT_EQ(links_of(type).size(), 12U);
  type.kind = "collective-permute";
  type.pairs = {{0, 1}, {1, 0}, {2, 2}};
  EXPECT_EQ(links_of(type).size(), 2U) << "what stays on its device is no traffic";
  EXPECT_DOUBLE_EQ(bus_factor(type), 1);
}

TEST(Spec, ReadsWhatTheTraceWrites) {
  const auto spec = parse_spec("P('a', ('b', 'c'), None) partial over ('d')");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->axes, (std::vector<std::vector<std::string>>{{"a"}, {"b", "c"}, {}}));
  EXPECT_EQ(spec->partial, (std::vector<std::string>{"d"}));
  EXPECT_TRUE(parse_spec("P()"));
  EXPECT_TRUE(parse_spec("P(('a', 'b'),)"));
  for (const char* wrong : {"", "host", "P(", "P('a'", "P('a' 'b')"}) EXPECT_FALSE(parse_spec(wrong)) << wrong;
}

TraceData with_mesh(std::vector<Mesh::Axis> axes, std::vector<int> order = {}) {
  TraceData trace;
  int count = 1;
  for (const auto& axis : axes) count *= axis.size;
  Mesh mesh{.axes = std::move(axes)};
  for (int d = 0; d < count; ++d) {
    mesh.devices.push_back(order.empty() ? d : order[std::size_t(d)]);
    trace.devices.push_back({.ordinal = d, .process = d / 2});
  }
  trace.meshes.push_back(std::move(mesh));
  return trace;
}

// Every element of every new shard is kept or moved exactly once, and comes from a device that held it.
void expect_whole(const TraceData& trace, const ArrayLayout& before, const ArrayLayout& after) {
  const MovePlan plan = plan_moves(trace, before, after);
  EXPECT_EQ(plan.missing, 0);
  std::map<int, std::int64_t> arrived;
  for (const auto& move : plan.moves) {
    EXPECT_NE(move.source, move.target);
    const auto holder = std::find_if(before.shards.begin(), before.shards.end(), [&](const Shard& s) { return s.device == move.source; });
    ASSERT_NE(holder, before.shards.end());
    for (std::size_t d = 0; d < move.begin.size(); ++d) {
      EXPECT_GE(move.begin[d], holder->begin[d]);
      EXPECT_LE(move.end[d], holder->end[d]);
    }
    arrived[move.target] += move.elements;
  }
  std::int64_t wanted = 0, kept = 0;
  for (const auto& shard : after.shards) {
    std::int64_t size = 1;
    for (std::size_t d = 0; d < shard.begin.size(); ++d) size *= shard.end[d] - shard.begin[d];
    wanted += size;
    kept += size - arrived[shard.device];
    EXPECT_GE(size, arrived[shard.device]);
  }
  EXPECT_EQ(plan.kept, kept);
  EXPECT_EQ(plan.elements + plan.kept, wanted);
}

TEST(Moves, AreExactForUnevenPermutedAndSharedAxes) {
  std::mt19937 random(5);
  const std::vector<std::string> specs{"P(None, None)", "P('a', None)",        "P(None, 'a')",
                                       "P('b', 'a')",   "P(('a', 'b'), None)", "P(None, ('b', 'a'))"};
  for (const auto& axes : {std::vector<Mesh::Axis>{{"a", 2}, {"b", 1}}, {{"a", 3}, {"b", 2}}, {{"a", 7}, {"b", 1}}, {{"a", 4}, {"b", 2}}}) {
    int count = 1;
    for (const auto& axis : axes) count *= axis.size;
    std::vector<int> order;
    for (int d = 0; d < count; ++d) order.push_back(d);
    std::shuffle(order.begin(), order.end(), random);
    const TraceData trace = with_mesh(axes, order);
    for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{8, 8}, {5, 3}, {1, 13}, {0, 4}})
      for (const auto& from : specs)
        for (const auto& to : specs) {
          const auto before = make_layout(trace, 0, shape, *parse_spec(from)), after = make_layout(trace, 0, shape, *parse_spec(to));
          ASSERT_TRUE(before && after);
          SCOPED_TRACE(from + " -> " + to);
          expect_whole(trace, *before, *after);
          if (from == to) { EXPECT_EQ(plan_moves(trace, *before, *after).elements, 0); }
        }
  }
}

TEST(Moves, GatherSendsFromTheNearest) {
  const TraceData trace = with_mesh({{"a", 2}, {"b", 2}});  // processes {0,1} and {2,3}
  const auto before = make_layout(trace, 0, {4}, *parse_spec("P('b')")), after = make_layout(trace, 0, {4}, *parse_spec("P(None)"));
  const MovePlan plan = plan_moves(trace, *before, *after);
  EXPECT_EQ(plan.moves.size(), 4U);
  EXPECT_EQ(plan.across, 0) << "each half is in the own process";
  EXPECT_FALSE(make_layout(trace, 0, {4}, *parse_spec("P('nothing')")));
}

TEST(Reshard, OfACollectiveTellsBothSides) {
  TraceData trace = with_mesh({{"a", 2}, {"b", 2}});
  CollectiveType type{.kind = "all-reduce",
                      .op = "matmul",
                      .dtype = "float32",
                      .shape = "[4,8]",
                      .cause = "sum over b",
                      .sharding_before = "P('a', None) partial over ('b')",
                      .sharding_after = "P('a', None)",
                      .wire_bytes = 64};
  type.groups = std::make_shared<DeviceGroups>(DeviceGroups{.lists = {{0, 1}, {2, 3}}, .devices = {0, 1, 2, 3}});
  trace.collectives.push_back({.type = std::make_shared<CollectiveType>(type)});
  const auto reshard = reshard_of_collective(trace, 0);
  ASSERT_TRUE(reshard);
  EXPECT_EQ(reshard->after->shape, (std::vector<std::int64_t>{8, 8})) << "the whole follows from a device's result";
  EXPECT_EQ(reshard->partial_before, (std::vector<std::string>{"b"}));
  EXPECT_TRUE(reshard_text(trace, *reshard).contains(QStringLiteral("partial over b")));
  EXPECT_FALSE(reshard_of_collective(trace, 7));
}

}  // namespace
}  // namespace shardlab::gui
