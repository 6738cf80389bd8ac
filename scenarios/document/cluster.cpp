// "cluster", "meshes" and "limits".
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "runtime/base/text.h"
#include "runtime/exec/device_profile.h"
#include "scenarios/document/document_error.h"
#include "scenarios/document/sections.h"
#include "scenarios/document/values.h"

namespace shardlab::scenarios {
namespace {

constexpr int kProcessesMax = 4096;
constexpr int kDevicesMax = 65536;  // of all processes
constexpr std::int64_t kLimitMsMax = 7LL * 24 * 3600 * 1000;

// A word of a list; the later ones belong to the format and not to this version.
std::string word(const Node& node, std::span<const std::string_view> known, std::span<const std::string_view> later) {
  std::string text = node.string();
  if (std::find(known.begin(), known.end(), text) != known.end()) return text;
  if (std::find(later.begin(), later.end(), text) != later.end()) throw NotSupportedError(node.pointer(), fmt::format("'{}'", text));
  std::vector<std::string_view> all(known.begin(), known.end());
  all.insert(all.end(), later.begin(), later.end());
  node.fail(fmt::format("unknown word '{}'{} (one of {})", text, did_you_mean(text, all), fmt::join(all, ", ")));
}

RunMode read_run(const Node& node) {
  std::string text = word(node, kRunModes, {});
  return text == "auto" ? RunMode::kAuto : text == "spawned" ? RunMode::kSpawned : RunMode::kSimulated;
}

bool read_structure(const Node& node) {
  static constexpr std::string_view kKnown[] = {"data", "structure"};
  return word(node, kKnown, {}) == "structure";
}

}  // namespace

Cluster read_cluster(const Node& node) {
  static constexpr std::string_view kKeys[] = {
      "processes", "devices", "backend", "transport", "run", "profile", "execute", "topology", "memory_bytes_per_device"};
  static constexpr std::string_view kBackends[] = {"cpu", "cuda"};
  static constexpr std::string_view kTransports[] = {"auto", "local", "shm", "tcp"}, kLaterTransports[] = {"mpi", "nccl"};
  node.only_keys(kKeys, "the cluster");
  Cluster cluster;
  if (auto each = node.find("processes")) cluster.processes = int(each->integer(1, kProcessesMax));
  if (auto each = node.find("devices")) cluster.devices = int(each->integer(1, kDevicesMax));
  if (std::int64_t(cluster.processes) * cluster.devices > kDevicesMax)
    node.fail(fmt::format("{} × {} devices are more than {}", cluster.processes, cluster.devices, kDevicesMax));
  if (auto each = node.find("backend")) cluster.backend = word(*each, kBackends, {});
  if (auto each = node.find("transport")) cluster.transport = word(*each, kTransports, kLaterTransports);
  if (cluster.transport == "local" && cluster.processes > 1)
    node.at("transport").fail("'local' is inside one process; several need 'shm' or 'auto'");
  if (auto each = node.find("run")) cluster.run = read_run(*each);
  if (auto each = node.find("execute")) cluster.structure = read_structure(*each);
  if (cluster.structure && cluster.run == RunMode::kSpawned)
    node.at("run").fail("\"structure\" runs nothing: with it, \"run\" is \"simulated\" or \"auto\"");
  if (auto each = node.find("profile")) {
    cluster.profile = each->string();
    at_node(*each, [&] {
      return make_devices(find_device_profile(cluster.profile), std::vector<int>(std::size_t(cluster.processes), cluster.devices));
    });
  }
  for (std::string_view later : {"topology", "memory_bytes_per_device"})
    if (auto each = node.find(later)) throw NotSupportedError(each->pointer(), fmt::format("'{}' of a cluster", later));
  return cluster;
}

Limits read_limits(const Node& node) {
  static constexpr std::string_view kKeys[] = {"run_ms", "stuck_ms", "link_ms"};
  node.only_keys(kKeys, "the limits");
  Limits limits;
  if (auto each = node.find("run_ms")) limits.run_ms = each->integer(1, kLimitMsMax);
  if (auto each = node.find("stuck_ms")) limits.stuck_ms = each->integer(1, kLimitMsMax);
  if (auto each = node.find("link_ms")) limits.link_ms = each->integer(1, kLimitMsMax);
  return limits;
}

Schedules read_schedules(const Node& node) {
  static constexpr std::string_view kKeys[] = {"policy", "depth", "count", "choices", "note"};
  static constexpr std::string_view kPolicies[] = {"fifo", "random", "pct", "exhaustive", "replay"};
  constexpr std::int64_t kCountMax = 100'000'000;
  node.only_keys(kKeys, "the schedules");
  Schedules schedules;
  schedules.policy = word(node.at("policy"), kPolicies, {});
  if (auto each = node.find("depth")) schedules.depth = int(each->integer(1, 16));
  if (auto each = node.find("count")) schedules.count = each->integer(1, kCountMax);
  if (schedules.policy == "exhaustive" && !node.find("count")) schedules.count = kCountMax;
  if (auto each = node.find("choices")) schedules.choices = each->strings();
  if (schedules.policy == "replay" && !node.find("choices"))
    node.fail("\"replay\" needs \"choices\": the threads in order, as a report names them");
  return schedules;
}

namespace {

std::vector<AxisType> read_axis_types(const Node& node, std::size_t axes) {
  std::vector<AxisType> types;
  for (const Node& item : node.items()) {
    const std::string name = item.string();
    if (name != name_of(AxisType::kAuto) && name != name_of(AxisType::kExplicit)) item.wanted("\"Auto\" or \"Explicit\"");
    types.push_back(name == name_of(AxisType::kAuto) ? AxisType::kAuto : AxisType::kExplicit);
  }
  if (types.size() != axes) node.fail(fmt::format("{} types for {} axes", types.size(), axes));
  return types;
}

}  // namespace

Mesh read_mesh(const Node& node, const Document& document) {
  static constexpr std::string_view kKeys[] = {"shape", "axes", "devices", "axis_types"};
  node.only_keys(kKeys, "a mesh");
  Node shape_node = node.at("shape");
  Shape shape = shape_node.integers(1, kDevicesMax);
  std::vector<std::string> axes = node.at("axes").strings();
  if (axes.size() != shape.size()) node.at("axes").fail(fmt::format("{} axes for a mesh of {} dimensions", axes.size(), shape.size()));
  std::int64_t size = 1, devices = document.cluster.device_count();
  for (std::int64_t extent : shape) size = std::min<std::int64_t>(size * extent, kDevicesMax + 1);
  auto listed = node.find("devices");
  if (!listed && size > devices)
    shape_node.fail(fmt::format("a mesh of {} devices, but the cluster has {} ({} processes × {})", size, devices,
                                document.cluster.processes, document.cluster.devices));
  std::vector<int> ordinals(std::size_t(listed ? 0 : size));
  std::iota(ordinals.begin(), ordinals.end(), 0);
  if (listed) ordinals = read_ordinals(*listed, document);
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].empty()) node.at("axes").fail("an axis without a name");
  std::vector<AxisType> types;
  if (auto given = node.find("axis_types")) types = read_axis_types(*given, axes.size());
  return at_node(node, [&] { return Mesh(shape, axes, ordinals, types); });
}

}  // namespace shardlab::scenarios
