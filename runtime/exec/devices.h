// What programs ask of devices beside devices(): another process's, and printing them.
#pragma once

#include <iosfwd>
#include <vector>

#include "runtime/exec/device.h"

namespace shardlab {

// UserError where there is no such process.
std::vector<Device> local_devices(int process_index);

std::ostream& operator<<(std::ostream& out, const Device& device);
// As Python prints a list of them: "[CpuDevice(id=0), CpuDevice(id=1)]".
std::ostream& operator<<(std::ostream& out, const std::vector<Device>& devices);

// Whether the calling thread has asked for its context: from then on it is too late to join a job.
bool is_context_used();

}  // namespace shardlab
