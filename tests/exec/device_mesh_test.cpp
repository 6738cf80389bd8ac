// Device profiles, device orders and PositionalSharding: what the documents print for a v3-8 and a v5e-4x4.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/exec/context.h"
#include "runtime/exec/device_profile.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/visualize.h"

namespace shardlab {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ProfileScope {
 public:
  ProfileScope(std::string name, int devices) {
    ContextOptions options;
    options.devices_per_process = {devices};
    options.worker_threads = 1;
    options.profile = std::move(name);
    Context::set_current(std::make_shared<Context>(std::move(options)));
  }
  ~ProfileScope() { Context::set_current(nullptr); }
};

std::vector<int> ids_of(const std::vector<Device>& devices) {
  std::vector<int> ids;
  for (const Device& device : devices) ids.push_back(device.id);
  return ids;
}

std::vector<int> ids_of(const Mesh& mesh) {
  std::vector<int> ids;
  for (int ordinal : mesh.devices()) ids.push_back(Context::current().device(ordinal).id);
  return ids;
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const UserError& error) { return error.what(); }
  return "nothing was thrown";
}

TEST(DeviceProfile, DevicesAreOrderedByProcessThenId) {
  auto devices = make_devices(find_device_profile("v5e-4x4"), {4, 4, 4, 4});
  EXPECT_THAT(ids_of(devices), ElementsAre(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15));
  EXPECT_EQ(devices[2].text(), "TpuDevice(id=4, process_index=0, coords=(0,1,0), core_on_chip=0)");
  EXPECT_EQ(devices[15].process_index, 3);
  EXPECT_EQ(devices[15].local_index, 3);
}

TEST(DeviceProfile, CpuNumbersMayLeaveGaps) {
  EXPECT_THAT(ids_of(make_devices(find_device_profile("cpu-tfrt"), {2, 2})), ElementsAre(0, 1, 131072, 131073));
  EXPECT_THAT(ids_of(make_devices(find_device_profile("cpu-pjrt"), {1, 1, 1})), ElementsAre(0, 2048, 4096));
  EXPECT_THAT(ids_of(make_devices(find_device_profile("cpu"), {2, 0, 1})), ElementsAre(0, 1, 2));
}

TEST(DeviceProfile, ErrorsNameTheProfileAndTheNearestOne) {
  EXPECT_THAT(message_of([] { find_device_profile("v5e-4x8"); }), HasSubstr("v5e-4x4"));
  EXPECT_THAT(message_of([] { make_devices(find_device_profile("v3-8"), {4}); }), HasSubstr("has 8 devices, but the job has 4"));
}

TEST(DeviceMesh, RingOfAV3) {
  ProfileScope scope("v3-8", 8);
  EXPECT_THAT(ids_of(create_device_mesh({8}).devices), ElementsAre(0, 1, 2, 3, 6, 7, 4, 5));
  EXPECT_THAT(ids_of(create_device_mesh({4, 2}).devices), ElementsAre(0, 1, 2, 3, 6, 7, 4, 5));
}

TEST(DeviceMesh, TorusOfAV5e) {
  ProfileScope scope("v5e-4x4", 16);
  EXPECT_THAT(ids_of(make_mesh({8, 2}, {"a", "b"})), ElementsAre(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
  EXPECT_THAT(ids_of(make_mesh({16}, {"a"})), ElementsAre(0, 1, 2, 3, 7, 6, 5, 9, 10, 11, 15, 14, 13, 12, 8, 4));
  EXPECT_THAT(ids_of(make_mesh({4, 4}, {"a", "b"})), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

TEST(DeviceMesh, HalfOfAV5eIsARing) {
  ContextOptions options;
  options.devices_per_process = {4, 4, 4, 4};
  auto devices = make_devices(find_device_profile("v5e-4x4"), options.devices_per_process);
  DeviceGrid half = create_device_mesh({8}, std::vector<Device>(devices.begin() + 8, devices.end()));
  EXPECT_THAT(ids_of(half.devices), ElementsAre(8, 9, 10, 11, 15, 14, 13, 12));
}

TEST(DeviceMesh, WholeAxesOfATorus) {
  ProfileScope scope("v4-16", 8);
  EXPECT_THAT(ids_of(create_device_mesh({2, 4}).devices), ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
  EXPECT_THAT(message_of([] { create_device_mesh({8, 2}); }), HasSubstr("Number of devices 8 must equal the product of mesh_shape"));
}

TEST(DeviceMesh, AnAxisThatIsNoProductOfPhysicalOnesIsRefused) {
  ProfileScope scope("v4-128", 64);
  EXPECT_THAT(message_of([] { create_device_mesh({8, 8}); }), HasSubstr("Failed to find assignment for logical_axis_index 1 of size 8"));
}

TEST(MeshAxisTypes, ArePartOfTheMesh) {
  Mesh mesh({2, 1}, {"a", "b"}, {0, 1}, {AxisType::kAuto, AxisType::kExplicit});
  EXPECT_EQ(mesh.text(), "Mesh('a': 2, 'b': 1, axis_types=(Auto, Explicit))");
  EXPECT_FALSE(mesh == Mesh({2, 1}, {"a", "b"}, {0, 1}));
  EXPECT_THAT(message_of([] {
                Mesh({2}, {"a"}, {0, 1}, {AxisType::kAuto, AxisType::kAuto});
              }),
              HasSubstr("Number of axis names should match the number of axis_types"));
}

TEST(PositionalSharding, PrintsAsTheDocumentDoes) {
  ProfileScope scope("v3-8", 8);
  PositionalSharding sharding(create_device_mesh({8}));
  EXPECT_EQ(sharding.text(), "PositionalSharding([{TPU 0} {TPU 1} {TPU 2} {TPU 3} {TPU 6} {TPU 7} {TPU 4} {TPU 5}])");
  EXPECT_EQ(sharding.reshape(4, 2).text(),
            "PositionalSharding([[{TPU 0} {TPU 1}]\n"
            "                    [{TPU 2} {TPU 3}]\n"
            "                    [{TPU 6} {TPU 7}]\n"
            "                    [{TPU 4} {TPU 5}]])");
  EXPECT_EQ(sharding.reshape(4, 2).replicate(0).text(), "PositionalSharding([[{TPU 0, 2, 4, 6} {TPU 1, 3, 5, 7}]])");
  EXPECT_EQ(sharding.reshape(4, 2).replicate(1).shape(), (Shape{4, 1}));
  EXPECT_EQ(sharding.reshape(4, 2).replicate(0, false).shape(), (Shape{2}));
  EXPECT_TRUE(sharding.replicate().is_fully_replicated());
  EXPECT_EQ(sharding.reshape(-1, 2), sharding.reshape(4, 2));
}

TEST(PositionalSharding, LaysValuesOutAsItsSetsSay) {
  ProfileScope scope("v3-8", 8);
  PositionalSharding sharding = PositionalSharding(create_device_mesh({8})).reshape(4, 2);
  EXPECT_EQ(sharding_text({8192, 8192}, sharding.replicate(0).T(), {}),
            sharding_text({8192, 8192}, NamedSharding(make_mesh(create_device_mesh({4, 2}), {"x", "y"}), P("y")), {}));
  // A transpose reshaped: the device at (row, column) of the 2 x 4 picture.
  Sharding turned = sharding.T();
  for (int row = 0; row < 2; ++row)
    for (int column = 0; column < 4; ++column) {
      Box box = turned.boxes({2, 4})[std::size_t(column * 2 + row)];
      EXPECT_EQ(box[0].start, row);
      EXPECT_EQ(box[1].start, column);
    }
}

TEST(PositionalSharding, ValuesOfLowerRankTakeTheLastDimensions) {
  ProfileScope scope("v3-8", 8);
  PositionalSharding sharding = PositionalSharding(create_device_mesh({8})).reshape(4, 2);
  Array bias = device_put(arange(6), sharding.replicate(0));
  EXPECT_EQ(bias.addressable_shards()[0].type.shape, Shape{3});
  EXPECT_THAT(message_of([&] { device_put(arange(8), sharding); }), HasSubstr("is only valid for values of rank"));
}

TEST(PositionalSharding, ReshapesOfOneObjectGoTogether) {
  ProfileScope scope("v3-8", 8);
  PositionalSharding sharding = PositionalSharding(create_device_mesh({8})).reshape(4, 2);
  Array x = arange(64).reshape({8, 8});
  Array product = matmul(device_put(x, sharding.replicate(1)), device_put(x, sharding.replicate(0)));
  EXPECT_TRUE(product.sharding().is_equivalent_to(sharding, product.shape()));
  std::vector<Device> some = devices();
  some.resize(6);
  PositionalSharding six(some);
  Array y = device_put(arange(36).reshape({6, 6}), six.reshape(3, 2).T());
  EXPECT_EQ(y.to_vector<std::int32_t>()[35], 35);
  EXPECT_THAT(message_of([&] { Sharding(six.reshape(3, 2).T().reshape(3, 2)); }), HasSubstr("no mesh of the 6 devices"));
}

TEST(PositionalSharding, OtherDeviceOrdersAreRefusedWithBoth) {
  ProfileScope scope("cpu", 8);
  std::vector<Device> ordered = devices(), permuted;
  for (int place : {0, 1, 2, 3, 6, 7, 4, 5}) permuted.push_back(ordered[std::size_t(place)]);
  Array x = arange(64).reshape({8, 8});
  Array y = device_put(x, PositionalSharding(ordered).reshape(4, 2)), z = device_put(x, PositionalSharding(permuted).reshape(4, 2));
  std::string text = message_of([&] { add(y, z).block_until_ready(); });
  EXPECT_THAT(text, HasSubstr("[0, 1, 2, 3, 4, 5, 6, 7]"));
  EXPECT_THAT(text, HasSubstr("[0, 1, 2, 3, 6, 7, 4, 5]"));
}

}  // namespace
}  // namespace shardlab
