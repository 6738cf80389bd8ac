// Pictures of shardings for the terminal, as jax.debug.visualize_array_sharding draws them.
#pragma once

#include <string>

#include "runtime/exec/array.h"

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
// Prints it to standard output.
void visualize_array_sharding(const Array& array, const VisualizeOptions& options = {});

// numpy's text of a dense row-major array: print()'s form ("[[0 1]\n [2 3]]", summarised beyond 1000 elements).
std::string numpy_text(const TensorType& type, const std::byte* data);

}  // namespace shardlab
