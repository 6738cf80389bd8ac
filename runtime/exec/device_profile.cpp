// Sources: jax-ml/jax, jax/_src/mesh_utils.py (device kinds); cloud TPU documentation (chips a host); the two numberings of CPU devices
// are those of PJRT's CPU clients, 2^17 and 2^11 a process.
#include "runtime/exec/device_profile.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "runtime/base/error.h"
#include "runtime/base/text.h"

namespace shardlab {
namespace {

constexpr DeviceProfile kProfiles[] = {
    // clang-format off
    {.name = "cpu", .doc = "virtual CPU devices, numbered densely", .platform = "cpu", .kind = "cpu"},
    {.name = "cpu-tfrt", .doc = "as JAX 0.4 numbers CPU devices: 131072 a process", .platform = "cpu", .kind = "cpu", .process_stride = 131072},
    {.name = "cpu-pjrt", .doc = "as JAX 0.5 and later number CPU devices: 2048 a process", .platform = "cpu", .kind = "cpu", .process_stride = 2048},
    {.name = "gpu-8", .doc = "one host of eight GPUs", .platform = "gpu", .kind = "gpu"},
    {.name = "v2-8", .doc = "TPU v2, 4 chips of 2 cores on one host", .platform = "tpu", .kind = "TPU v2", .chips = {2, 2, 1}, .host_chips = {2, 2, 1}, .cores = 2},
    {.name = "v3-8", .doc = "TPU v3, 4 chips of 2 cores on one host", .platform = "tpu", .kind = "TPU v3", .chips = {2, 2, 1}, .host_chips = {2, 2, 1}, .cores = 2},
    {.name = "v3-32", .doc = "TPU v3, 16 chips of 2 cores on four hosts", .platform = "tpu", .kind = "TPU v3", .chips = {4, 4, 1}, .host_chips = {2, 2, 1}, .cores = 2},
    {.name = "v4-8", .doc = "TPU v4, 4 chips on one host", .platform = "tpu", .kind = "TPU v4", .chips = {2, 2, 1}, .host_chips = {2, 2, 1}},
    {.name = "v4-16", .doc = "TPU v4, 2 x 2 x 2 chips on two hosts", .platform = "tpu", .kind = "TPU v4", .chips = {2, 2, 2}, .host_chips = {2, 2, 1}},
    {.name = "v4-128", .doc = "TPU v4, 4 x 4 x 4 chips on sixteen hosts", .platform = "tpu", .kind = "TPU v4", .chips = {4, 4, 4}, .host_chips = {2, 2, 1}},
    {.name = "v5p-16", .doc = "TPU v5p, 2 x 2 x 2 chips on two hosts", .platform = "tpu", .kind = "TPU v5", .chips = {2, 2, 2}, .host_chips = {2, 2, 1}},
    {.name = "v5e-2x2", .doc = "TPU v5e, 4 chips on one host", .platform = "tpu", .kind = "TPU v5 lite", .chips = {2, 2, 1}, .host_chips = {2, 2, 1}},
    {.name = "v5e-2x4", .doc = "TPU v5e, 8 chips on one host", .platform = "tpu", .kind = "TPU v5 lite", .chips = {2, 4, 1}, .host_chips = {2, 4, 1}},
    {.name = "v5e-4x4", .doc = "TPU v5e, 16 chips on four hosts", .platform = "tpu", .kind = "TPU v5 lite", .chips = {4, 4, 1}, .host_chips = {2, 2, 1}},
    {.name = "v5e-8x8", .doc = "TPU v5e, 64 chips on sixteen hosts", .platform = "tpu", .kind = "TPU v5 lite", .chips = {8, 8, 1}, .host_chips = {2, 2, 1}},
    {.name = "v5e-16x16", .doc = "TPU v5e, 256 chips on 64 hosts", .platform = "tpu", .kind = "TPU v5 lite", .chips = {16, 16, 1}, .host_chips = {2, 2, 1}},
    {.name = "v6e-2x4", .doc = "TPU v6e, 8 chips on one host", .platform = "tpu", .kind = "TPU v6 lite", .chips = {2, 4, 1}, .host_chips = {2, 4, 1}},
    {.name = "v6e-4x4", .doc = "TPU v6e, 16 chips on four hosts", .platform = "tpu", .kind = "TPU v6 lite", .chips = {4, 4, 1}, .host_chips = {2, 2, 1}},
    // clang-format on
};

// The devices of the machine by host, and by id inside one; hosts are numbered with x fastest.
std::vector<Device> devices_by_host(const DeviceProfile& profile) {
  std::vector<std::pair<int, Device>> hosted;
  const auto& [nx, ny, nz] = profile.chips;
  const auto& [hx, hy, hz] = profile.host_chips;
  for (int z = 0; z < nz; ++z)
    for (int y = 0; y < ny; ++y)
      for (int x = 0; x < nx; ++x)
        for (int core = 0; core < profile.cores; ++core) {
          Device device;
          device.id = ((z * ny + y) * nx + x) * profile.cores + core;
          device.coords = {x, y, z};
          device.core_on_chip = core;
          hosted.emplace_back(((z / hz) * (ny / hy) + y / hy) * (nx / hx) + x / hx, device);
        }
  std::stable_sort(hosted.begin(), hosted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Device> devices;
  for (auto& [host, device] : hosted) devices.push_back(device);
  return devices;
}

}  // namespace

std::span<const DeviceProfile> device_profiles() { return kProfiles; }

const DeviceProfile& find_device_profile(std::string_view name) {
  auto found = std::find_if(std::begin(kProfiles), std::end(kProfiles), [&](const DeviceProfile& each) { return each.name == name; });
  if (found != std::end(kProfiles)) return *found;
  std::vector<std::string_view> names;
  for (const DeviceProfile& each : kProfiles) names.push_back(each.name);
  throw_user_error("there is no device profile '{}'{}; the profiles are {}", name, did_you_mean(name, names), fmt::join(names, ", "));
}

std::vector<Device> make_devices(const DeviceProfile& profile, const std::vector<int>& devices_per_process) {
  const int total = std::accumulate(devices_per_process.begin(), devices_per_process.end(), 0);
  if (profile.device_count() != 0 && profile.device_count() != total)
    throw_user_error(
        "the device profile '{}' ({}) has {} devices, but the job has {} ({} processes with {} each); make them equal with -n and -d",
        profile.name, profile.doc, profile.device_count(), total, devices_per_process.size(), fmt::join(devices_per_process, ", "));
  std::vector<Device> machine = profile.device_count() != 0 ? devices_by_host(profile) : std::vector<Device>(std::size_t(total));
  std::vector<Device> devices;
  for (int process = 0; process < int(devices_per_process.size()); ++process) {
    const auto begin = machine.begin() + std::ptrdiff_t(devices.size());
    const int count = devices_per_process[std::size_t(process)];
    std::sort(begin, begin + count, [](const Device& a, const Device& b) { return a.id < b.id; });
    for (int local = 0; local < count; ++local) {
      Device device = *(begin + local);
      device.ordinal = int(devices.size());
      device.process_index = process;
      device.local_index = local;
      device.platform = profile.platform;
      device.kind = profile.kind;
      if (profile.device_count() == 0) device.id = profile.process_stride != 0 ? process * profile.process_stride + local : device.ordinal;
      devices.push_back(std::move(device));
    }
  }
  return devices;
}

}  // namespace shardlab
