#include "runtime/exec/movements.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/exec/context.h"
#include "runtime/exec/program_cache.h"
#include "runtime/exec/signature.h"

namespace shardlab {

Mesh mesh_of_processes(const std::vector<int>& some) {
  Context& context = Context::current();
  std::vector<int> first;
  for (const Device& device : context.devices())
    if (device.local_index == 0 && (some.empty() || std::binary_search(some.begin(), some.end(), device.process_index)))
      first.push_back(device.ordinal);
  Shape shape{std::int64_t(first.size())};
  return Mesh(std::move(shape), {"processes"}, std::move(first));
}

Movement allgather_movement(const TensorType& type, const std::optional<Sharding>& global, bool tiled) {
  Mesh processes = mesh_of_processes();
  Movement movement{type,
                    global.value_or(Sharding(processes, PartitionSpec("processes"))),
                    Sharding(processes, PartitionSpec()),
                    {"process_allgather", "transfer", ""}};
  if (global) return movement;
  if (tiled && type.rank() > 0)
    movement.type.shape[0] *= processes.size();
  else
    movement.type.shape.insert(movement.type.shape.begin(), processes.size());
  return movement;
}

Movement broadcast_movement(const TensorType& type, int root) {
  Mesh processes = mesh_of_processes();
  Sharding from = Sharding::on_device(processes.devices()[std::size_t(root)]);
  return {type, std::move(from), Sharding(processes, PartitionSpec()), {"broadcast_one_to_all", "transfer", ""}};
}

Movement barrier_movement(std::string_view name, const std::vector<int>& some) {
  Mesh processes = mesh_of_processes(some);
  return {{DType::kInt32, {processes.size()}},
          Sharding(processes, PartitionSpec("processes")),
          Sharding(processes, PartitionSpec()),
          {"barrier", "barrier", std::string(name)}};
}

bool lies_there(Context& context, const Array& x, const Sharding& to) {
  return x.committed() && x.sharding() == to && context.owners(to.mesh().devices()).size() < 2;
}

std::shared_ptr<const Executable> placement_program(Context& context, const Array& x, const Sharding& to, bool is_async) {
  TransferName name;
  name.is_async = is_async;
  std::string key =
      fmt::format("{}{}{}{}", name.name, is_async ? " is_async" : "", signature_of(std::vector<Array>{x}), signature_of({to}));
  auto executable = context.programs().find(key);
  if (!executable) {
    executable = compile_transfer(context, x.type(), x.sharding(), to, !x.committed(), name);
    context.programs().add(key, executable);
  }
  return executable;
}

std::shared_ptr<const Executable> movement_program(Context& context, const Movement& movement) {
  std::string key = fmt::format("{} {}{}{}{}", movement.name.name, movement.name.detail, movement.name.is_async ? " is_async " : "",
                                movement.type.text(), signature_of({movement.from, movement.to}));
  auto executable = context.programs().find(key);
  if (!executable) {
    executable = compile_transfer(context, movement.type, movement.from, movement.to, false, movement.name);
    context.programs().add(key, executable);
  }
  return executable;
}

}  // namespace shardlab
