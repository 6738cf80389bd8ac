// shard_map: every collective against a pure reference over meshes, device orders and processes; errors with JAX's texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/shard_map.h"
#include "tests/support/eight_devices.h"
#include "tests/support/thread_job.h"

namespace shardlab {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Ints = std::vector<std::int32_t>;
using Strings = std::vector<std::string>;

struct Setting {
  Shape shape;
  Strings names;
  std::vector<int> devices_per_process;
  bool permuted = false;
  Strings over;  // the collective's axes
};

std::vector<Setting> settings() {
  std::vector<Setting> all;
  auto add = [&](Shape shape, Strings names, std::vector<std::vector<int>> layouts, std::vector<Strings> overs) {
    for (const auto& layout : layouts)
      for (const Strings& over : overs)
        for (bool permuted : {false, true}) all.push_back({shape, names, layout, permuted, over});
  };
  add({2, 2, 2}, {"a", "b", "c"}, {{8}, {4, 4}, {2, 2, 2, 2}, {5, 3}}, {{"a"}, {"c"}, {"b", "a"}, {"a", "b", "c"}});
  add({8}, {"a"}, {{8}, {2, 2, 2, 2}}, {{"a"}});
  add({3, 2}, {"a", "b"}, {{6}, {3, 3}, {2, 1, 2, 1}}, {{"a"}, {"b"}, {"b", "a"}});
  add({7}, {"a"}, {{7}, {4, 3}, {2, 2, 2, 1}}, {{"a"}});
  add({1}, {"a"}, {{1}}, {{"a"}});
  return all;
}

Mesh mesh_of(const Setting& setting) {
  std::vector<int> devices(std::size_t(element_count(setting.shape)));
  std::iota(devices.begin(), devices.end(), 0);
  if (setting.permuted) std::shuffle(devices.begin(), devices.end(), std::mt19937(7));
  return Mesh(setting.shape, setting.names, devices);
}

std::vector<std::vector<int>> groups_of(const Setting& setting) {
  Mesh mesh = mesh_of(setting);
  Axes pieces;
  for (const std::string& name : setting.over) pieces.push_back(mesh.whole_axis(*mesh.axis_index(name)));
  return groups_along(mesh, pieces);
}

// One device's value: rows x columns.
struct Local {
  int rows = 0, columns = 0;
  Ints data;
  Local(int r, int c) : rows(r), columns(c), data(std::size_t(r * c), 0) {}
  std::int32_t& at(int r, int c) { return data[std::size_t(r * columns + c)]; }
  std::int32_t at(int r, int c) const { return data[std::size_t(r * columns + c)]; }
};
// What a group's members get of what they hold.
using Reference = std::function<std::vector<Local>(const std::vector<Local>&)>;

int group_size(const Setting& setting) { return int(groups_of(setting)[0].size()); }

// The device at position p holds rows [p * rows, (p + 1) * rows) of an arange.
void check(const Setting& setting, const ArrayFunction& function, const Reference& reference) {
  SCOPED_TRACE(fmt::format("{} over {} axes, {} processes, permuted {}", text_of(setting.shape), setting.over.size(),
                           setting.devices_per_process.size(), setting.permuted));
  const int rows = 2 * group_size(setting), columns = 3;
  Mesh mesh = mesh_of(setting);
  std::vector<Local> held, wanted(std::size_t(mesh.size()), Local(0, 0));
  for (int p = 0; p < mesh.size(); ++p) {
    held.emplace_back(rows, columns);
    std::iota(held.back().data.begin(), held.back().data.end(), p * rows * columns);
  }
  for (const auto& group : groups_of(setting)) {
    std::vector<Local> members;
    for (int position : group) members.push_back(held[std::size_t(position)]);
    std::vector<Local> results = reference(members);
    for (std::size_t r = 0; r < group.size(); ++r) wanted[std::size_t(group[r])] = results[r];
  }
  testing::on_job(setting.devices_per_process, [&] {
    Array x = arange(mesh.size() * rows * columns).reshape({mesh.size() * rows, columns});
    PartitionSpec spec(SpecEntry(setting.names));
    ShardMapOptions options{.mesh = mesh, .in_specs = {spec}, .out_specs = {spec}, .check_vma = false};
    Array y = shard_map(function, options, {device_put(x, NamedSharding(mesh, spec))}, Where{}).at(0);
    for (const Shard& shard : y.addressable_shards()) {
      int position = mesh.position_of(shard.device.ordinal);
      const Local& want = wanted[std::size_t(position)];
      ASSERT_EQ(shard.type.elements(), std::int64_t(want.data.size()));
      Ints got(shard.data->as<std::int32_t>(), shard.data->as<std::int32_t>() + want.data.size());
      EXPECT_EQ(got, want.data) << "position " << position;
    }
  });
}

template <typename Combine>
Reference reduction(Combine combine) {
  return [=](const std::vector<Local>& members) {
    Local all = members[0];
    for (std::size_t m = 1; m < members.size(); ++m)
      for (std::size_t i = 0; i < all.data.size(); ++i) all.data[i] = combine(all.data[i], members[m].data[i]);
    return std::vector<Local>(members.size(), all);
  };
}

class Collectives : public ::testing::TestWithParam<int> {
 protected:
  const Setting& setting() const {
    static const std::vector<Setting> kAll = settings();
    return kAll[std::size_t(GetParam())];
  }
  ArrayFunction along(Array (*op)(const Operand&, const AxisNames&)) const {
    return [this, op](const std::vector<Array>& x) { return std::vector<Array>{op(x[0], setting().over)}; };
  }
};

TEST_P(Collectives, Reductions) {
  check(setting(), along(psum), reduction(std::plus<>()));
  check(setting(), along(pmax), reduction([](int a, int b) { return std::max(a, b); }));
  check(setting(), along(pmin), reduction([](int a, int b) { return std::min(a, b); }));
}

TEST_P(Collectives, AllGather) {
  check(
      setting(),
      [&](const std::vector<Array>& x) { return std::vector<Array>{all_gather(x[0], setting().over, {.axis = 1, .tiled = true})}; },
      [](const std::vector<Local>& members) {
        Local all(members[0].rows, members[0].columns * int(members.size()));
        for (int m = 0; m < int(members.size()); ++m)
          for (int r = 0; r < all.rows; ++r)
            for (int c = 0; c < members[0].columns; ++c) all.at(r, m * members[0].columns + c) = members[std::size_t(m)].at(r, c);
        return std::vector<Local>(members.size(), all);
      });
  // Stacked before dimension 0: the members' values one after another.
  check(
      setting(), [&](const std::vector<Array>& x) { return std::vector<Array>{all_gather(x[0], setting().over)}; },
      [](const std::vector<Local>& members) {
        Local all(members[0].rows * int(members.size()), members[0].columns);
        all.data.clear();
        for (const Local& each : members) all.data.insert(all.data.end(), each.data.begin(), each.data.end());
        return std::vector<Local>(members.size(), all);
      });
}

TEST_P(Collectives, PsumScatter) {
  check(
      setting(), [&](const std::vector<Array>& x) { return std::vector<Array>{psum_scatter(x[0], setting().over, {.tiled = true})}; },
      [](const std::vector<Local>& members) {
        Local sum = reduction(std::plus<>())(members)[0];
        std::vector<Local> results;
        int rows = sum.rows / int(members.size());
        for (int m = 0; m < int(members.size()); ++m) {
          results.emplace_back(rows, sum.columns);
          std::copy_n(sum.data.begin() + m * rows * sum.columns, rows * sum.columns, results.back().data.begin());
        }
        return results;
      });
}

std::vector<Local> exchanged(const std::vector<Local>& members, const std::vector<int>& sizes) {
  int widest = *std::max_element(sizes.begin(), sizes.end()), columns = members[0].columns;
  std::vector<Local> results;
  int start = 0;
  for (int size : sizes) {
    results.emplace_back(widest, columns * int(members.size()));
    for (int m = 0; m < int(members.size()); ++m)
      for (int r = 0; r < size; ++r)
        for (int c = 0; c < columns; ++c) results.back().at(r, m * columns + c) = members[std::size_t(m)].at(start + r, c);
    start += size;
  }
  return results;
}

TEST_P(Collectives, AllToAll) {
  int size = group_size(setting());
  check(
      setting(),
      [&](const std::vector<Array>& x) {
        return std::vector<Array>{all_to_all(x[0], setting().over, {.split_axis = 0, .concat_axis = 1, .tiled = true})};
      },
      [&](const std::vector<Local>& members) { return exchanged(members, std::vector<int>(std::size_t(size), 2)); });
  // The first takes nothing, the last what the first would have.
  if (size == 1) return;
  std::vector<int> sizes(std::size_t(size), 2);
  sizes.front() = 0;
  sizes.back() = 4;
  check(
      setting(),
      [&](const std::vector<Array>& x) {
        std::vector<std::int64_t> split(sizes.begin(), sizes.end());
        return std::vector<Array>{
            all_to_all(x[0], setting().over, {.split_axis = 0, .concat_axis = 1, .tiled = true, .split_sizes = split})};
      },
      [&](const std::vector<Local>& members) { return exchanged(members, sizes); });
}

// (n, 2, 3) split along n and stacked at the same place: members exchange rows; the same again is the identity.
TEST_P(Collectives, AllToAllUntiledIsItsOwnInverse) {
  int size = group_size(setting());
  check(
      setting(),
      [&](const std::vector<Array>& x) {
        Array split = x[0].reshape({size, 2, 3});
        Array there = all_to_all(split, setting().over, {.split_axis = 0, .concat_axis = 1});
        EXPECT_EQ(there.shape(), (Shape{2, size, 3}));
        Array back = all_to_all(there, setting().over, {.split_axis = 1, .concat_axis = 0});
        return std::vector<Array>{back.reshape({2 * size, 3})};
      },
      [](const std::vector<Local>& members) { return members; });
}

TEST_P(Collectives, PermuteAndBroadcast) {
  int size = group_size(setting());
  std::vector<std::pair<int, int>> ring;  // the last one is left out: the first gets zeros
  for (int r = 0; r + 1 < size; ++r) ring.emplace_back(r, r + 1);
  check(
      setting(), [&](const std::vector<Array>& x) { return std::vector<Array>{ppermute(x[0], setting().over, ring)}; },
      [](const std::vector<Local>& members) {
        std::vector<Local> results{Local(members[0].rows, members[0].columns)};
        results.insert(results.end(), members.begin(), members.end() - 1);
        return results;
      });
  check(
      setting(), [&](const std::vector<Array>& x) { return std::vector<Array>{pbroadcast(x[0], setting().over, size - 1)}; },
      [](const std::vector<Local>& members) { return std::vector<Local>(members.size(), members.back()); });
}

TEST_P(Collectives, ShuffleTakesFromThePlacesThatItNames) {
  int size = group_size(setting());
  std::vector<int> turned(std::size_t(size), 0);
  for (int i = 0; i < size; ++i) turned[std::size_t(i)] = size - 1 - i;
  check(
      setting(), [&](const std::vector<Array>& x) { return std::vector<Array>{pshuffle(x[0], setting().over, turned)}; },
      [](const std::vector<Local>& members) { return std::vector<Local>(members.rbegin(), members.rend()); });
  turned.back() = turned.front() + 1;
  EXPECT_THROW(pshuffle(ones({2}), setting().over, turned), UserError);
}

TEST_P(Collectives, AxisIndex) {
  check(
      setting(),
      [&](const std::vector<Array>& x) {
        return std::vector<Array>{x[0] * 0 + axis_index(setting().over) * 10 + axis_size(setting().over)};
      },
      [](const std::vector<Local>& members) {
        std::vector<Local> results = members;
        for (std::size_t m = 0; m < members.size(); ++m)
          std::fill(results[m].data.begin(), results[m].data.end(), std::int32_t(m * 10 + members.size()));
        return results;
      });
}

INSTANTIATE_TEST_SUITE_P(Meshes, Collectives, ::testing::Range(0, int(settings().size())));

class Solo : public OnEightDevices {
 protected:
  Mesh mesh = Mesh({4, 2}, {"a", "b"}, {0, 1, 2, 3, 4, 5, 6, 7});
};

Array twice(const Array& x) { return x + x; }
Array same(const Array& x) { return x; }

TEST_F(Solo, GroupsOfAnAxis) {
  auto f = [](const Array& x) {
    return apply("psum", {x}, Attrs{{"axis_name", Strings{"a"}}, {"axis_index_groups", std::vector<std::int64_t>{2, 0, 3, 2, 1, 2}}},
                 Where{})
        .at(0);
  };
  Array y = shard_map(f, {.mesh = mesh, .in_specs = {P("a")}, .out_specs = {P("a")}, .check_vma = false})(arange(4));
  EXPECT_EQ(y.to_vector<std::int32_t>(), (Ints{3, 3, 3, 3}));
  Array z = shard_map(f, {.mesh = mesh, .in_specs = {P("a")}, .out_specs = {P("a")}, .check_vma = false})(arange(8));
  EXPECT_EQ(z.to_vector<std::int32_t>(), (Ints{6, 8, 6, 8, 6, 8, 6, 8}));
}

// Inside jit, between other ops, capturing a value: the captured one is replicated.
TEST_F(Solo, InsideJit) {
  auto f = jit([&](const Array& x, const Array& w) {
    Array scaled = x * 2;
    Array y = shard_map([&](const Array& part) { return psum(part * w, {"a"}); },
                        {.mesh = mesh, .in_specs = {P("a")}, .out_specs = {P()}})(scaled);
    return sum(y);
  });
  Array x = device_put(arange(16), NamedSharding(mesh, P("a")));
  EXPECT_EQ(f(x, arange(4)).item<std::int32_t>(), 2 * (0 * 1 * 0 + [] {
                                                    int total = 0;
                                                    for (int i = 0; i < 16; ++i) total += i * (i % 4);
                                                    return total;
                                                  }()));
}

TEST_F(Solo, ReplicationIsChecked) {
  std::string text = error_of([&] { shard_map(twice, {.mesh = mesh, .in_specs = {P("a", "b")}, .out_specs = {P("a")}})(zeros({8, 8})); });
  EXPECT_THAT(text, HasSubstr("was given out_specs which require replication which can't be statically inferred given the mesh:"));
  EXPECT_THAT(text, HasSubstr("The mesh given has shape (4, 2) with corresponding axis names ('a', 'b')."));
  EXPECT_THAT(text, HasSubstr("out_specs is P('a',) which implies that the corresponding output value is replicated across mesh axis 'b', "
                              "but could not infer replication over any axes: argument 0 is cut over 'b' by in_specs[0] = P('a', 'b')"));
  EXPECT_THAT(text, HasSubstr("keeps that; psum, pmean or pmax over 'b' makes it the same there, or name 'b' in out_specs"));
  EXPECT_THAT(text, HasSubstr("passing the check_vma=False argument"));
  EXPECT_THAT(error_of([&] {
                shard_map(same, {.mesh = mesh, .in_specs = {P("a", "b")}, .out_specs = {P()}})(zeros({8, 8}));
              }),
              HasSubstr("only varying across mesh axes {} and not {a,b}, but it was inferred to be possibly varying over {a,b}"));
  auto summed = [](const Array& x) { return psum(x, {"b"}); };
  EXPECT_EQ(shard_map(summed, {.mesh = mesh, .in_specs = {P("a", "b")}, .out_specs = {P("a")}})(ones({8, 8})).shape(), (Shape{8, 4}));
}

TEST_F(Solo, ErrorsHaveJaxsTexts) {
  EXPECT_THAT(
      error_of([&] {
        shard_map(same, {.mesh = mesh, .in_specs = {P("a", "b", None)}, .out_specs = {P()}})(zeros({8, 8}));
      }),
      HasSubstr("was given an in_specs entry which is too long to be compatible with the corresponding input value from the "
                "function:\n\nin_specs[0] is P('a', 'b', None) which has length 3, but args[0] has shape float32[8,8], which has rank 2 "
                "(and 2 < 3)"));
  EXPECT_THAT(error_of([&] {
                shard_map(same, {.mesh = mesh, .in_specs = {P("a")}, .out_specs = {P("a")}})(zeros({10, 8}));
              }),
              HasSubstr("which maps array axis 0 (of size 10) to mesh axis 'a' (of size 4), but 4 does not evenly divide 10"));
  EXPECT_THAT(error_of([&] { psum(ones({4}), {"i"}); }), HasSubstr("unbound axis name: i"));
  auto wrong = [](const Array& x) { return psum(x, {"c"}); };
  EXPECT_THAT(error_of([&] { shard_map(wrong, {.mesh = mesh, .in_specs = {P("a")}, .out_specs = {P("a")}})(zeros({8})); }),
              HasSubstr("unbound axis name: c"));
  EXPECT_THAT(error_of([&] {
                shard_map(same, {.mesh = mesh, .in_specs = {P("a"), P("b")}, .out_specs = {P("a")}})(zeros({8}));
              }),
              AllOf(HasSubstr("got 2 specs for 1 argument of 'f'; give one for each argument, or one for each leaf"),
                    HasSubstr("shard_map_test.cpp:")));
}

// The same bits for every layout of processes.
TEST(Layouts, SumsAreEqualToTheLastBit) {
  std::vector<std::vector<float>> sums;
  for (const std::vector<int>& layout : {std::vector<int>{8}, {4, 4}, {3, 5}, {2, 2, 2, 2}}) {
    std::vector<float> got(4, 0);
    testing::on_job(layout, [&] {
      Mesh mesh({8}, {"a"}, {3, 1, 4, 0, 5, 7, 2, 6});
      Array x = device_put(sin(arange(32) * 0.7), NamedSharding(mesh, P("a")));
      Array y = shard_map([](const Array& part) { return psum(part, {"a"}); }, {.mesh = mesh, .in_specs = {P("a")}, .out_specs = {P()}})(x);
      std::vector<float> all = y.to_vector<float>();
      if (process_index() == 0) got = all;
    });
    sums.push_back(got);
  }
  for (const auto& each : sums) EXPECT_EQ(each, sums[0]);
}

}  // namespace
}  // namespace shardlab
