// The guide's pipelines: two stages on the two halves of the devices, and twelve microbatches through four stages on four devices.
#include <iostream>
#include <vector>

#include "guide.h"
using namespace shardlab;

int main(int argc, char** argv) {
  join(argc, argv);
  int num_devices = device_count() / 2;
  auto all = devices();
  auto mesh_first_half = make_mesh({num_devices}, {"a"}, std::vector<Device>(all.begin(), all.begin() + num_devices));
  auto mesh_second_half = make_mesh({num_devices}, {"a"}, std::vector<Device>(all.begin() + num_devices, all.end()));

  // The input lies on the first mesh.
  auto data = arange(64).reshape({8, 8});
  auto x = device_put(data, NamedSharding(mesh_first_half, P("a")));

  auto f = jit([](const Array& a) { return a + 1; });
  auto g = jit([](const Array& a) { return a * 2; });

  // All processes go all the way, so that each has `y` and `z`, with data or without.
  auto y = f(x);
  auto z = device_put(y, NamedSharding(mesh_second_half, P("a")));
  auto result = g(z);
  std::cout << "process " << process_index() << " has " << result.addressable_shards().size() << " shards of the result\n";

  // Each microbatch goes through four stages, each on a device of its own. No call waits: the devices of different processes work at the
  // same time, one on a microbatch, the next on the one before.
  std::vector<Device> stage_devices(all.begin(), all.begin() + 4);
  std::vector<Array> results;
  for (int m = 0; m < 12; ++m) {
    auto mb = arange(512 * 512).reshape({512, 512});
    for (int stage = 0; stage < 4; ++stage) {
      mb = device_put(mb, stage_devices[std::size_t(stage)]);
      mb = stage % 2 == 0 ? f(mb) : g(mb);
    }
    results.push_back(mb);
  }
  // ((i + 1) * 2 + 1) * 2, on the last stage's device alone.
  for (const Array& mb : results)
    for (const Shard& shard : mb.addressable_shards()) {
      require(shard.data->as<int>()[0] == 6, "the first element");
      require(shard.data->as<int>()[512 * 512 - 1] == 4 * (512 * 512 - 1) + 6, "the last element");
    }
  std::cout << "process " << process_index() << " has seen " << results.size() << " microbatches\n";
}
