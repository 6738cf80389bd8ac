// The guide's mesh over half of the devices: the processes without any of them take part and hold no data.
#include <fmt/format.h>

#include <iostream>

#include "guide.h"
using namespace shardlab;

int main(int argc, char** argv) {
  join(argc, argv);
  int num_devices = device_count() / 2;
  auto all = devices();
  auto mesh = make_mesh({num_devices}, {"a"}, {.axis_types = {AxisType::kExplicit}, .devices = {all.begin() + num_devices, all.end()}});

  auto data = arange(64).reshape({8, 8});
  auto x = device_put(data, NamedSharding(mesh, P("a")));

  if (process_index() == 0) {
    visualize_array_sharding(x);
    std::cout << '\n' << x.sharding() << '\n';
  }

  // The data local to each process.
  std::cout << "Devices attached to process " << process_index() << ": " << local_devices() << '\n';
  std::cout << "Addressable data for process " << process_index() << ":\n";
  for (const Shard& shard : x.addressable_shards())
    std::cout << fmt::format("device {} has local data {}\n", name_of(shard.device), shard.text());

  auto result = sum(sin(x));
  std::cout << "process=" << process_index() << " got result: " << result << '\n';
}
