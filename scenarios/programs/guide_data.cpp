// The guide's ways to make arrays of external data: whole in every process, by process, by device, and over two of the processes.
#include <iostream>

#include "guide.h"
using namespace shardlab;

namespace {

// Each process loads the examples of its own part of the batch.
void by_process() {
  int batch_size = 64;
  int per_process_batch_size = batch_size / process_count();
  int per_device_batch_size = batch_size / device_count();

  auto mesh = make_mesh({device_count()}, {"batch"});
  auto sharding = NamedSharding(mesh, P("batch"));
  auto process_batch = full({per_process_batch_size, 128, 42}, float(process_index()));
  auto global_batch = make_array_from_process_local_data(sharding, process_batch);

  require(global_batch.shape()[0] == batch_size, "the global batch");
  require(process_batch.shape()[0] == per_process_batch_size, "the process's batch");
  require(global_batch.addressable_shards()[0].type.shape[0] == per_device_batch_size, "the device's batch");
}

// One number on each device, counted over all of them.
std::vector<Array> local_arrays() {
  std::vector<Array> arrays;
  for (const Device& device : local_devices())
    arrays.push_back(device_put(array<int>({process_index() * local_device_count() + device.local_index}, {1, 1}), device));
  return arrays;
}

void by_device() {
  Shape shape{process_count(), local_device_count()};
  auto mesh = make_mesh(shape, {"i", "j"});
  auto sharding = NamedSharding(mesh, P("i", "j"));
  auto global_array = make_array_from_single_device_arrays(shape, sharding, local_arrays());
  auto gathered = multihost_utils::process_allgather(global_array, true).to_vector<int>();
  for (int i = 0; i < device_count(); ++i) require(gathered[std::size_t(i)] == i, "the numbers of the devices");
}

// Over the devices of processes 0 and 1; the others give no data, and the dtype.
void over_two_processes() {
  if (process_count() < 2) return;
  Shape shape{2, local_device_count()};
  auto some = local_devices(0), more = local_devices(1);
  some.insert(some.end(), more.begin(), more.end());
  auto sharding = NamedSharding(make_mesh(shape, {"i", "j"}, some), P("i", "j"));
  bool takes_part = process_index() < 2;
  auto array = make_array_from_single_device_arrays(shape, sharding, takes_part ? local_arrays() : std::vector<Array>(), DType::kInt32);
  for (const Shard& shard : array.addressable_shards()) require(shard.type.elements() == 1, "one number a device");
  require(takes_part != array.addressable_shards().empty(), "the others hold nothing");
}

}  // namespace

int main(int argc, char** argv) {
  join(argc, argv);
  by_process();
  by_device();
  over_two_processes();
  multihost_utils::sync_global_devices("all ways");
  std::cout << "process " << process_index() << " of " << process_count() << " made all its arrays\n";
}
