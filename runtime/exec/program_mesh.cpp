// mesh_of: the one mesh that arguments, shardings and constraints of a program agree on.
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/foreign_meshes.h"
#include "runtime/exec/program_cache.h"

namespace shardlab {
namespace {

// Who asked for a device set, for the error where two differ.
struct Wish {
  Mesh mesh;
  std::string who;
};

// "device ids [0, 1] on platform TPU"
std::string devices_text(const Mesh& mesh) {
  std::vector<int> ids;
  std::string platform = "cpu";
  for (int ordinal : mesh.devices()) {
    const Device& device = Context::current().device(ordinal);
    ids.push_back(device.id);
    platform = device.platform;
  }
  std::transform(platform.begin(), platform.end(), platform.begin(), [](unsigned char c) { return char(std::toupper(c)); });
  return fmt::format("device ids [{}] on platform {}", fmt::join(ids, ", "), platform);
}

[[noreturn]] void throw_incompatible(const Wish& a, const Wish& b, Where where) {
  std::string order;
  auto sorted = [](std::vector<int> devices) {
    std::sort(devices.begin(), devices.end());
    return devices;
  };
  if (sorted(a.mesh.devices()) == sorted(b.mesh.devices()))
    order = "; these are the same devices in another order: place one with device_put on the mesh of the other";
  throw_user_error("Received incompatible devices for jitted computation. Got {} with {} and {} with {}{} [{}]", a.who,
                   devices_text(a.mesh), b.who, devices_text(b.mesh), order, where.text());
}

// On other devices than the first: whether that is an error, or not known yet.
enum class Disagreement : std::uint8_t { kThrows, kIsPassedOver };

// The first mesh is the computation's; shardings on others of the same device order are said in its axes, where `may_differ`, or its in
// theirs (planning_mesh).
void add_wish(std::optional<Wish>& wish, const Sharding& sharding, std::string who, Where where, Disagreement disagreement,
              bool may_differ = true) {
  Wish mine{sharding.mesh(), std::move(who)};
  if (!wish) {
    wish = std::move(mine);
    return;
  }
  if (!wish->mesh.same_devices(mine.mesh)) {
    if (disagreement == Disagreement::kIsPassedOver) return;
    throw_incompatible(*wish, mine, where);
  }
  if (wish->mesh == mine.mesh || mine.mesh.axis_count() == 0) return;
  if (wish->mesh.axis_count() == 0) {
    wish = std::move(mine);
    return;
  }
  const bool is_finer = !wish->mesh.has_explicit_axes() && !mine.mesh.has_explicit_axes() && says_all_of(mine.mesh, wish->mesh);
  if (!may_differ && !is_finer)
    throw_user_error(
        "{} is on {} and {} on {}: the same devices under other axes in one computation are not supported; place one with "
        "device_put on the mesh of the other [{}]",
        wish->who, wish->mesh.text(), mine.who, mine.mesh.text(), where.text());
}

// A jitted function's by where it is in its tree, an op's by its number.
std::string argument_text(const ProgramRequest& request, std::size_t i) {
  return request.arg_paths ? fmt::format("args{}", key_path(request.arg_paths(), i)) : fmt::format("{}", i);
}

}  // namespace

std::optional<Mesh> mesh_of(const ProgramRequest& request, const Graph* graph, const std::vector<bool>& used) {
  std::optional<Wish> wish;
  const Disagreement disagreement = graph != nullptr ? Disagreement::kThrows : Disagreement::kIsPassedOver;
  auto is_taken = [&](std::size_t i) { return used.empty() || used[i]; };
  for (std::size_t i = 0; i < request.args.size(); ++i)
    if (request.args[i].committed() && is_taken(i))
      add_wish(wish, request.args[i].sharding(),
               fmt::format("argument {} of {} with shape {} and", argument_text(request, i), request.name, request.args[i].type().text()),
               request.where, disagreement);
  for (std::size_t i = 0; i < request.in_shardings.size(); ++i)
    if (request.in_shardings[i] && is_taken(i))
      add_wish(wish, *request.in_shardings[i], "explicit input sharding", request.where, disagreement);
  for (const auto& sharding : request.out_shardings)
    if (sharding) add_wish(wish, *sharding, "explicit output sharding", request.where, disagreement);
  if (graph != nullptr)
    visit_nodes(*graph, [&](const Node& node) {
      auto add = [&](const Sharding& sharding) {
        add_wish(wish, sharding, fmt::format("{} inside jit at {}", node.op->name, node.where.text()), request.where, disagreement,
                 node.op->is_constraint || is_wholly_manual(node, sharding.mesh()));
      };
      for (const auto& [name, value] : node.attrs.entries()) {
        if (auto* sharding = std::get_if<Sharding>(&value)) add(*sharding);
        if (auto* shardings = std::get_if<std::vector<Sharding>>(&value)) std::for_each(shardings->begin(), shardings->end(), add);
      }
    });
  if (!wish) return std::nullopt;
  return wish->mesh;
}

}  // namespace shardlab
