// What programs ask of devices beside devices(): another process's, and printing them.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "runtime/core/sharding.h"
#include "runtime/exec/device.h"

namespace shardlab {

// UserError where there is no such process.
std::vector<Device> local_devices(int process_index);

std::ostream& operator<<(std::ostream& out, const Device& device);
// Python's str(device), short: "TFRT_CPU_131072", "cuda:0", "TPU_10(process=3,(2,2,0,0))".
std::string name_of(const Device& device);
// As Python prints a list of them: "[CpuDevice(id=0), CpuDevice(id=1)]".
std::ostream& operator<<(std::ostream& out, const std::vector<Device>& devices);

// As Python prints it: "NamedSharding(mesh=Mesh('a': 8, 'b': 2), spec=PartitionSpec('a',), memory_kind=device)". Sharding::text() says more
// where devices are permuted.
std::ostream& operator<<(std::ostream& out, const Sharding& sharding);

// Whether the calling thread has asked for its context: from then on it is too late to join a job.
bool is_context_used();

}  // namespace shardlab
