// What processes move when they gather, broadcast or wait for each other: the transfers, and their programs.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/exec/transfer.h"

namespace shardlab {

class Array;

// What moves, from where to where, under which name.
struct Movement {
  TensorType type;
  Sharding from, to;
  TransferName name;
};

// One device of each process, or of each of some, ascending; along "processes".
Mesh mesh_of_processes(const std::vector<int>& some = {});

// `global`: the sharding of an array over processes; nothing: each process has `type` for itself, and gets all of it stacked along a new
// first dimension, or `tiled` along the present one.
Movement allgather_movement(const TensorType& type, const std::optional<Sharding>& global, bool tiled);
Movement broadcast_movement(const TensorType& type, int root);
// Everybody gives everybody one element: nobody goes on before all have come.
Movement barrier_movement(std::string_view name, const std::vector<int>& some = {});

// Nothing is to be done. Over several processes a placement is a call like any other, also where no byte moves: all must make it.
bool lies_there(Context& context, const Array& x, const Sharding& to);
// device_put of x; `is_async` as TransferName has it.
std::shared_ptr<const Executable> placement_program(Context& context, const Array& x, const Sharding& to, bool is_async = false);
std::shared_ptr<const Executable> movement_program(Context& context, const Movement& movement);

}  // namespace shardlab
