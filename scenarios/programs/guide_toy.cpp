// The guide's toy example: an array over all processes, its shards, and a sum that every process knows. It assumes 8 devices.
#include <fmt/format.h>

#include <iostream>

#include "guide.h"
using namespace shardlab;

int main(int argc, char** argv) {
  join(argc, argv);
  require(device_count() == 8, "this example assumes 8 devices total");

  // A mesh that refers to devices of all processes.
  auto mesh = make_mesh({4, 2}, {"i", "j"});
  auto global_data = arange(32).reshape({4, 8});

  auto global_array = device_put(global_data, NamedSharding(mesh, P("i", "j")));
  require(global_array.shape() == global_data.shape(), "the shape");

  // Each process has different shards of it.
  for (const Shard& shard : global_array.addressable_shards())
    std::cout << fmt::format("device {} has local data {}\n", name_of(shard.device), shard.text());

  auto global_result = sum(sin(global_array));
  std::cout << fmt::format("process={} got result: {}\n", process_index(), double(global_result.item<float>()));
}
