#include "runtime/exec/devices.h"

#include <fmt/ranges.h>

#include <numeric>
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

std::string name_of(const Device& device) {
  if (device.platform == "tpu")
    return fmt::format("TPU_{}(process={},({},{}))", device.id, device.process_index, fmt::join(device.coords, ","), device.core_on_chip);
  return device.platform == "gpu" ? fmt::format("cuda:{}", device.local_index) : fmt::format("TFRT_CPU_{}", device.id);
}

std::ostream& operator<<(std::ostream& out, const Sharding& sharding) {
  const Mesh& mesh = sharding.mesh();
  if (sharding.is_single_device()) {
    Context* context = Context::current_or_null();
    const int ordinal = mesh.devices()[0];
    std::string device = context ? context->device(ordinal).text() : fmt::format("device {}", ordinal);
    return out << "SingleDeviceSharding(device=" << device << ", memory_kind=device)";
  }
  // The same mesh with its devices in order has no list of them in its text; and a spec ends with its last cut dimension.
  std::vector<int> in_order(mesh.devices().size());
  std::iota(in_order.begin(), in_order.end(), 0);
  constexpr int kRankMax = 64;
  Spec spec = sharding.spec(kRankMax);
  while (!spec.empty() && spec.back().empty()) spec.pop_back();
  return out << "NamedSharding(mesh=" << Mesh(mesh.shape(), mesh.axis_names(), in_order, mesh.axis_types()).text() << ", spec=PartitionSpec"
             << text_of(spec, mesh).substr(1) << ", memory_kind=device)";
}

}  // namespace shardlab
