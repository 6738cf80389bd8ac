// What processes do together: gathering, broadcasting, agreeing, waiting, sending; and device_put between any two layouts of processes.
#include "runtime/exec/multihost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "runtime/comm/observer.h"
#include "runtime/exec/assemble.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "tests/support/error_of.h"
#include "tests/support/thread_job.h"

namespace shardlab {
namespace {

using namespace multihost_utils;
using ::testing::HasSubstr;
using testing::on_job;
const std::vector<std::vector<int>> kLayouts{{1}, {3}, {1, 1}, {2, 1, 3}, {2, 2, 2, 2}, {1, 1, 1, 1, 1, 1, 1}};

TEST(Allgather, OfWhatEachProcessHas) {
  for (const auto& layout : kLayouts)
    on_job(layout, [] {
      int n = process_count(), self = process_index();
      Array mine = array<int>({10 * self, 10 * self + 1});
      Array stacked = process_allgather(mine);
      EXPECT_EQ(stacked.shape(), (Shape{n, 2}));
      EXPECT_TRUE(stacked.is_fully_addressable());
      std::vector<int> wanted;
      for (int p = 0; p < n; ++p) wanted.insert(wanted.end(), {10 * p, 10 * p + 1});
      EXPECT_EQ(stacked.to_vector<int>(), wanted);
      EXPECT_EQ(process_allgather(mine, true).shape(), (Shape{2 * n}));
      EXPECT_EQ(process_allgather(mine, true).to_vector<int>(), wanted);
      EXPECT_EQ(process_allgather(self, true).shape(), (Shape{n})) << "scalars are stacked always";
      EXPECT_EQ(process_allgather(zeros({0, 4})).shape(), (Shape{n, 0, 4}));
    });
}

TEST(Allgather, OfAGlobalArrayEvenWhereNothingIsOwned) {
  on_job({2, 2, 1}, [] {
    Mesh mesh({2, 2}, {"x", "y"}, {3, 0, 2, 1});
    Array x = device_put(arange(24).reshape({4, 6}), NamedSharding(mesh, P("y", "x")));
    EXPECT_THAT(
        error_of([&] { x.fetch(); }),
        HasSubstr("Fetching value for `jax.Array` that spans non-addressable (non process local) devices is not possible. You can use "
                  "`jax.experimental.multihost_utils.process_allgather` to print the global array or use `.addressable_shards` method "
                  "of jax.Array to inspect the addressable (process local) shards."));
    std::vector<int> wanted(24);
    std::iota(wanted.begin(), wanted.end(), 0);
    EXPECT_EQ(process_allgather(x, true).to_vector<int>(), wanted);
  });
}

TEST(Broadcast, FromTheSource) {
  for (const auto& layout : kLayouts)
    on_job(layout, [] {
      int last = process_count() - 1;
      EXPECT_EQ(broadcast_one_to_all(array<float>({float(process_index()), 5})).to_vector<float>(), (std::vector<float>{0, 5}));
      EXPECT_EQ(broadcast_one_to_all(process_index(), process_index() == last).item<int>(), last);
      if (last > 0) {
        EXPECT_THAT(error_of([] { broadcast_one_to_all(1, true); }), HasSubstr("processes say that they are the source, and one must"));
        EXPECT_THAT(error_of([] { broadcast_one_to_all(1, false); }), HasSubstr("0 processes say"));
      }
    });
}

TEST(AssertEqual, TellsEverybodyWhoDiffersAndWhere) {
  on_job({1, 2, 1}, [] {
    assert_equal(array<int>({1, 2, 3}));
    assert_equal(2.5);
    std::vector<float> values{1, 2, 3, 4};
    if (process_index() == 2) values[2] = 7;
    std::string error = error_of([&] { assert_equal(array<float>(values, {2, 2}), "the batches differ"); });
    EXPECT_THAT(error,
                HasSubstr("the batches differ. Expected: [[1. 2.]\n [3. 4.]]; got: [[1. 2.]\n [7. 4.]]. (process 2 differs from process 0, "
                          "first at [1, 0])"));
  });
}

TEST(Barrier, ReturnsWhenAllHaveCome) {
  for (const auto& layout : kLayouts) {
    std::atomic<int> come = 0;
    on_job(layout, [&] {
      ++come;
      sync_global_devices("start");
      EXPECT_EQ(come, process_count());
      sync_global_devices("end");
    });
  }
}

TEST(PointToPoint, InOrderBothWays) {
  on_job({2, 1, 1}, [] {
    int self = process_index();
    for (int i = 0; i < 5 && self == 0; ++i) send(array<int>({i, i * i}), 2, i);
    if (self == 2) {
      for (int i = 0; i < 5; ++i) { EXPECT_EQ(recv({DType::kInt32, {2}}, 0, i).to_vector<int>(), (std::vector<int>{i, i * i})); }
      send(1.5, 1);
    }
    if (self == 1) { EXPECT_EQ(recv({DType::kFloat32, {}}, 2).item<float>(), 1.5f); }
    EXPECT_THAT(error_of([&] { send(1, self); }), HasSubstr(fmt::format("process {} cannot be its own peer", self)));
    EXPECT_THAT(error_of([] { recv({DType::kInt32, {}}, 3); }), HasSubstr("there is no process 3; the job has 3"));
  });
}

// Bytes that a job's processes send each other.
class SentBytes final : public comm::Observer {
 public:
  void on_call_done(const comm::Launch&, int, comm::Ns, comm::CallStatus, std::int64_t moved) override { total += moved; }
  std::atomic<std::int64_t> total = 0;
};

// Any mesh over any devices in any order, with any spec that divides.
Sharding random_sharding(std::mt19937& random, int device_count) {
  std::vector<int> ordinals(static_cast<std::size_t>(device_count));
  std::iota(ordinals.begin(), ordinals.end(), 0);
  std::shuffle(ordinals.begin(), ordinals.end(), random);
  static const std::vector<Shape> kShapes{{1}, {2}, {3}, {4}, {2, 2}, {3, 2}, {6}, {2, 3}, {1, 4}};
  Shape shape;
  do shape = kShapes[random() % kShapes.size()];
  while (element_count(shape) > device_count);
  ordinals.resize(std::size_t(element_count(shape)));
  std::vector<std::string> names(shape.size() == 1 ? std::vector<std::string>{"x"} : std::vector<std::string>{"x", "y"});
  Mesh mesh(shape, names, ordinals);
  if (shape.size() == 1) return Sharding(mesh, random() % 3 == 0 ? P() : random() % 2 ? P("x") : P(None, "x"));
  switch (random() % 6) {
    case 0:
      return Sharding(mesh, P());
    case 1:
      return Sharding(mesh, P("x", "y"));
    case 2:
      return Sharding(mesh, P("y", "x"));
    case 3:
      return Sharding(mesh, P(SpecEntry{"y", "x"}));
    case 4:
      return Sharding(mesh, P(None, SpecEntry{"x", "y"}));
    default:
      return Sharding(mesh, P("y"));
  }
}

TEST(DevicePut, BetweenAnyTwoLayoutsEachByteOnceAProcess) {
  for (const std::vector<int>& layout : std::vector<std::vector<int>>{{2, 2, 2}, {1, 3, 2}, {6}, {1, 1, 1, 1, 1, 1}}) {
    auto sent = std::make_shared<SentBytes>();
    for (unsigned seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << ", " << layout.size() << " processes");
      sent->total = 0;
      std::atomic<std::int64_t> needed = 0;
      on_job(layout, [&] {
        std::mt19937 random(seed);
        Sharding from = random_sharding(random, 6), to = random_sharding(random, 6);
        Array x = device_put(arange(144).reshape({12, 12}), from);
        x.block_until_ready();
        Context::current().add_observer(sent);
        Array y = device_put(x, to);
        y.block_until_ready();
        // What this process holds afterwards is right, and what it did not hold before came once.
        std::vector<bool> held(144), wanted(144);
        for (const Shard& shard : x.addressable_shards())
          for (auto r = shard.index[0].start; r < shard.index[0].stop; ++r)
            for (auto c = shard.index[1].start; c < shard.index[1].stop; ++c) held[std::size_t(r * 12 + c)] = true;
        for (const Shard& shard : y.addressable_shards()) {
          const int* data = shard.data->as<int>();
          for (auto r = shard.index[0].start; r < shard.index[0].stop; ++r)
            for (auto c = shard.index[1].start; c < shard.index[1].stop; ++c) {
              EXPECT_EQ(*data++, r * 12 + c);
              wanted[std::size_t(r * 12 + c)] = true;
            }
        }
        for (std::size_t i = 0; i < 144; ++i) needed += wanted[i] && !held[i] ? 4 : 0;
      });
      EXPECT_LE(sent->total, needed);
    }
  }
}

}  // namespace
}  // namespace shardlab
