// Shardings as text: of a type as JAX's typeof has it, and pictures for the terminal as jax.debug.visualize_array_sharding draws them.
#pragma once

#include <functional>
#include <string>

#include "runtime/exec/operand.h"

namespace shardlab {

struct VisualizeOptions {
  bool color = false;  // ANSI colours
  double scale = 1.0;
  int min_width = 9;
  int max_columns = 80;
};

// The box drawing of an array, without a trailing newline: JAX's for 1 and 2 dimensions; of more, one of the last two dimensions for every
// part of those before, under its indices. UserError for scalars.
std::string array_sharding_text(const Array& array, const VisualizeOptions& options = {});
std::string sharding_text(const Shape& shape, const Sharding& sharding, const VisualizeOptions& options = {});
// Prints it to standard output: of an array at once; of a value traced by jit when the program is compiled, as propagation cut it (once,
// not at later calls). Inside shard_map each device has a tile of its own, and the picture is of one such tile on all of them.
void visualize_array_sharding(const Operand& array, const VisualizeOptions& options = {});
// Calls back with the sharding, at the same time. The callback may be called on another process as well, in each for itself.
void inspect_array_sharding(const Operand& value, std::function<void(const Sharding&)> callback);

// JAX's typeof(x): "float32[4@i,8@j]" for an array that lies on a mesh, "~float32[4]" for a weak one. Inside jit it tells what the type
// says there: cuts by Explicit axes; in per-device code the axes along which the value may vary: "float32[4]{V:(i,j)}".
std::string typeof_text(const Array& array);

// jax.debug
namespace debug {
using shardlab::inspect_array_sharding;
using shardlab::visualize_array_sharding;
}  // namespace debug

// numpy's text of a dense row-major array: print()'s form ("[[0 1]\n [2 3]]", summarised beyond 1000 elements).
std::string numpy_text(const TensorType& type, const std::byte* data);

}  // namespace shardlab
