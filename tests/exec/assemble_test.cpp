// Arrays made of each process's own data: the guide's ways, uneven meshes, processes that own nothing, and every documented error.
#include "runtime/exec/assemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "runtime/exec/devices.h"
#include "runtime/exec/multihost.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "tests/support/error_of.h"
#include "tests/support/thread_job.h"

namespace shardlab {
namespace {

using ::testing::HasSubstr;
using testing::on_job;
std::vector<int> iota_vector(std::int64_t begin, std::int64_t end) {
  std::vector<int> values(std::size_t(end - begin));
  std::iota(values.begin(), values.end(), int(begin));
  return values;
}

// The global array's values, in every process.
std::vector<int> whole_of(const Array& x) { return multihost_utils::process_allgather(x, true).to_vector<int>(); }

// Rows [begin, end) of an array of 3 columns whose elements are their own number.
Array rows(std::int64_t begin, std::int64_t end) { return array<int>(iota_vector(begin * 3, end * 3), {end - begin, 3}); }

TEST(ProcessLocalData, BatchesByProcess) {
  for (const std::vector<int>& layout : std::vector<std::vector<int>>{{8}, {2, 2, 2, 2}, {4, 4}})
    on_job(layout, [] {
      Sharding sharding = NamedSharding(make_mesh({device_count()}, {"batch"}), P("batch"));
      std::int64_t each = 16 / process_count();
      Array batch = make_array_from_process_local_data(sharding, rows(process_index() * each, (process_index() + 1) * each));
      EXPECT_EQ(batch.shape(), (Shape{16, 3}));
      EXPECT_EQ(batch.addressable_shards().at(0).type.shape, (Shape{2, 3}));
      EXPECT_EQ(batch.is_fully_addressable(), process_count() == 1);
      EXPECT_EQ(whole_of(batch), iota_vector(0, 48));
    });
}

TEST(ProcessLocalData, PermutedDevicesAndAxesTogether) {
  on_job({2, 2}, [] {
    // Process 0 holds cuts 0 and 3 of the rows, process 1 cuts 1 and 2.
    Mesh mesh({2, 2}, {"x", "y"}, {0, 2, 3, 1});
    Sharding sharding = NamedSharding(mesh, P(SpecEntry{"x", "y"}));
    Array mine = process_index() == 0 ? array<int>({0, 1, 2, 9, 10, 11}, {2, 3}) : array<int>({3, 4, 5, 6, 7, 8}, {2, 3});
    EXPECT_EQ(whole_of(make_array_from_process_local_data(sharding, mine)), iota_vector(0, 12));
    // Columns by process: both hold every row.
    Sharding columns = NamedSharding(Mesh({2, 2}, {"x", "y"}, {0, 2, 1, 3}), P("x", "y"));
    Array part = array<int>({0, 1, 2, 3, 4, 5, 6, 7}, {4, 2});
    Array global = make_array_from_process_local_data(columns, part);
    EXPECT_EQ(global.shape(), (Shape{4, 4}));
    EXPECT_EQ(whole_of(global), (std::vector<int>{0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7}));
  });
}

TEST(ProcessLocalData, ReplicatedDimensionsAndGivenShapes) {
  on_job({1, 3}, [] {
    Sharding replicated = NamedSharding(make_mesh({4}, {"a"}), P());
    EXPECT_EQ(make_array_from_process_local_data(replicated, rows(0, 2)).shape(), (Shape{2, 3}));
    // One process holds one cut and the other three: what they hold is not equally much, so the shape must be said.
    Sharding cut = NamedSharding(make_mesh({4}, {"a"}), P("a"));
    Array mine = process_index() == 0 ? rows(0, 2) : rows(2, 8);
    EXPECT_THAT(error_of([&] { make_array_from_process_local_data(cut, mine); }),
                HasSubstr("Unable to compute global_shape due to non-uniform sharding. Specify global shape directly. Partially computed "
                          "global_shape=(None, 3)"));
    EXPECT_EQ(whole_of(make_array_from_process_local_data(cut, mine, Shape{8, 3})), iota_vector(0, 24));
    // The whole dimension in each process is good too.
    EXPECT_EQ(whole_of(make_array_from_process_local_data(cut, rows(0, 8), Shape{8, 3})), iota_vector(0, 24));
    EXPECT_THAT(
        error_of([&] {
          make_array_from_process_local_data(cut, rows(0, 5), Shape{8, 3});
        }),
        HasSubstr(process_index() == 0 ? "Invalid host data, each dimension should match either global or process shape. In dimension "
                                         "0, the process data has 5 elements. Process addresses 2 elements and global_shape=(8, 3)."
                                       : "Process addresses 6 elements and global_shape=(8, 3)."));
  });
  on_job({2}, [] {
    Sharding cut = NamedSharding(make_mesh({2}, {"a"}), P("a"));
    EXPECT_THAT(error_of([&] {
                  make_array_from_process_local_data(cut, rows(0, 2), Shape{4, 3});
                }),
                HasSubstr("global_shape should be None or equal to local_data.shape.Got global_shape=(4, 3) and local_data.shape=(2, 3)."));
  });
}

TEST(ProcessLocalData, AProcessThatOwnsNothing) {
  on_job({2, 2, 1}, [] {
    Sharding sharding = NamedSharding(make_mesh({4}, {"a"}), P("a"));
    Array array_ = make_array_from_process_local_data(sharding, rows(process_index() * 4, process_index() * 4 + 4));
    EXPECT_EQ(array_.shape(), (Shape{8, 3}));
    EXPECT_EQ(array_.addressable_shards().size(), process_index() == 2 ? 0u : 2u);
    EXPECT_EQ(whole_of(array_), iota_vector(0, 24));
    EXPECT_EQ(array_.text(), "Array(shape=(8, 3), dtype=int32)");
  });
}

// The guide: np.arange(device_count()) put together from one number a device.
TEST(SingleDeviceArrays, TheGuidesTwoWays) {
  for (const std::vector<int>& layout : std::vector<std::vector<int>>{{2, 2, 2, 2}, {3, 3}, {8}})
    on_job(layout, [] {
      Shape shape{process_count(), local_device_count()};
      std::vector<Array> local;
      for (const Device& device : local_devices())
        local.push_back(device_put(array<int>({process_index() * local_device_count() + device.local_index}, {1, 1}), device));
      std::swap(local.front(), local.back());  // any order
      Array global = make_array_from_single_device_arrays(shape, NamedSharding(make_mesh(shape, {"i", "j"}), P("i", "j")), local);
      EXPECT_EQ(whole_of(global), iota_vector(0, device_count()));
      if (process_count() < 2) return;
      // Over processes 0 and 1 alone; the others take no part.
      std::vector<Device> some = local_devices(0), more = local_devices(1);
      some.insert(some.end(), more.begin(), more.end());
      Shape half{2, local_device_count()};
      if (process_index() > 1) local.clear();
      Array part =
          make_array_from_single_device_arrays(half, NamedSharding(make_mesh(half, {"i", "j"}, some), P("i", "j")), local, DType::kInt32);
      for (const Shard& shard : part.addressable_shards()) EXPECT_EQ(shard.type.elements(), 1);
      EXPECT_EQ(part.addressable_shards().empty(), process_index() > 1);
    });
}

TEST(SingleDeviceArrays, Errors) {
  on_job({2, 1}, [] {
    if (process_index() == 1) return;
    Sharding sharding = NamedSharding(Mesh({2}, {"a"}, {0, 1}), P("a"));
    auto on = [](int device, int values) {
      return device_put(array<int>(std::vector<int>(std::size_t(values))), devices()[std::size_t(device)]);
    };
    auto error = [&](std::vector<Array> arrays, std::optional<DType> dtype = {}) {
      return error_of([&] { make_array_from_single_device_arrays({4}, sharding, arrays, dtype); });
    };
    EXPECT_EQ(error({on(1, 2), on(0, 2)}), "no error");
    EXPECT_THAT(error({on(0, 2)}),
                HasSubstr("Expected 2 per-device arrays (this is how many devices are addressable by the sharding), but got 1"));
    EXPECT_THAT(
        error({on(0, 2), on(0, 2)}),
        HasSubstr(
            "When making an array from single-device arrays, the input arrays must be from distinct devices, but got device IDs [0, 0]"));
    EXPECT_THAT(error({on(0, 2), on(1, 3)}),
                HasSubstr("Expected shard shape (2,) doesn't match the single device array shape (3,). Shape of "
                          "Array is int32[4] with sharding NamedSharding("));
    EXPECT_THAT(
        error({on(0, 2), on(1, 2)}, DType::kFloat32),
        HasSubstr("Input buffers to `Array` must have matching dtypes. Got int32, expected float32 for buffer: int32[2] on device 0"));
    EXPECT_THAT(error_of([&] { make_array_from_single_device_arrays({4}, NamedSharding(Mesh({1}, {"a"}, {1}), P("a")), {on(0, 4)}); }),
                HasSubstr("Sharding contains devices {1} that are not present in per-device arrays. Per-device arrays contain devices {0} "
                          "that are not present in the sharding."));
    EXPECT_THAT(error_of([&] { make_array_from_single_device_arrays({5}, sharding, {}); }), HasSubstr("should be divisible by 2"));
    EXPECT_THAT(error_of([&] { make_array_from_single_device_arrays({4}, NamedSharding(Mesh({1}, {"a"}, {2}), P("a")), {}); }),
                HasSubstr("`dtype` must be provided"));
  });
}

TEST(Callback, OncePerDeviceAndErrors) {
  on_job({2, 2, 1}, [] {
    Sharding sharding = NamedSharding(make_mesh({2, 2}, {"x", "y"}), P("x"));
    int calls = 0;
    auto data = [&](const Box& index) {
      ++calls;
      return rows(index[0].start, index[0].stop);
    };
    Array made = make_array_from_callback({4, 3}, sharding, data, DType::kInt32);
    EXPECT_EQ(calls, process_index() == 2 ? 0 : 2);
    EXPECT_EQ(whole_of(made), iota_vector(0, 12));
    calls = 0;
    make_array_from_callback({4, 3}, NamedSharding(make_mesh({2, 2}, {"x", "y"}), P()), data, DType::kInt32);
    EXPECT_EQ(calls, process_index() == 2 ? 0 : 1) << "once in all where it is replicated";
    if (process_index() == 2) {
      EXPECT_THAT(error_of([&] {
                    make_array_from_callback({4, 3}, sharding, data);
                  }),
                  HasSubstr("If the Array has no addressable shards, `dtype`"));
    } else {
      EXPECT_THAT(
          error_of([&] {
            make_array_from_callback({4, 3}, sharding, [](const Box&) { return rows(0, 1); });
          }),
          HasSubstr("Expected shard shape (2, 3) doesn't match the single device array shape (1, 3). Shape of Array is int32[4,3] with "
                    "sharding NamedSharding("));
    }
  });
}

}  // namespace
}  // namespace shardlab
