// What processes move when they gather, broadcast, wait or send: as programs, apart from any data.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "runtime/exec/executable.h"

namespace shardlab {

// What a transfer is called: the user's op, the collective's kind, and what else must agree between the processes.
struct TransferName {
  std::string name = "device_put", kind = "transfer", detail;
};
std::shared_ptr<const Executable> compile_transfer(Context& context, const TensorType& type, const Sharding& from, const Sharding& to,
                                                   bool from_host, const TransferName& name);

struct Movement {
  TensorType type;
  Sharding from, to;
  TransferName name;
};
// One device of each process, along "processes".
Mesh mesh_of_processes(const std::vector<int>& devices_per_process);
// `global`: the sharding of an array over processes; nothing: each process has `type` for itself.
Movement allgather_movement(const TensorType& type, const std::optional<Sharding>& global, bool tiled, const Mesh& processes);
Movement broadcast_movement(const TensorType& type, int root, const Mesh& processes);
Movement barrier_movement(std::string_view name, const Mesh& processes);

}  // namespace shardlab
