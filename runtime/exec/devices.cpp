#include "runtime/exec/devices.h"

#include <ostream>

#include "runtime/exec/context.h"

namespace shardlab {

std::vector<Device> local_devices(int process) {
  Context& context = Context::current();
  if (process < 0 || process >= context.process_count())
    throw_user_error("local_devices of process {}: there are {} processes", process, context.process_count());
  std::vector<Device> local;
  for (const Device& device : context.devices())
    if (device.process_index == process) local.push_back(device);
  return local;
}

std::ostream& operator<<(std::ostream& out, const Device& device) { return out << device.text(); }

std::ostream& operator<<(std::ostream& out, const std::vector<Device>& devices) {
  out << '[';
  for (std::size_t i = 0; i < devices.size(); ++i) out << (i > 0 ? ", " : "") << devices[i];
  return out << ']';
}

}  // namespace shardlab
