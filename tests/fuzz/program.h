// A random program over the ops of the registry, with a random mesh and random shardings: traced as it is, or as the same program for one
// device.
#pragma once

#include <optional>

#include "runtime/exec/array.h"
#include "tests/fuzz/random.h"

namespace shardlab::fuzz {

class Program {
 public:
  // Of a seed always the same; with fewer ops a beginning of it.
  Program(unsigned seed, int ops_max);

  const Mesh& mesh() const { return mesh_; }
  const std::vector<TensorType>& params() const { return params_; }
  // How a parameter lies; nothing: uncommitted.
  const std::vector<std::optional<Sharding>>& shardings() const { return shardings_; }
  std::vector<std::vector<std::byte>> data() const;

  // The results, computed by whatever is being traced. `sharded`: with constraints and per-device code, else without.
  std::vector<Array> run(const std::vector<Array>& args, bool sharded) const;
  // The ops that were tried, of all runs so far: a name may be refused by its op, and is not counted then.
  static const std::vector<std::string>& ops_seen();

 private:
  unsigned seed_;
  int ops_max_;
  Mesh mesh_;
  std::vector<TensorType> params_;
  std::vector<std::optional<Sharding>> shardings_;
};

// A sharding's spec at random, each axis at most once, several on one dimension at times; even unless said otherwise.
Sharding random_sharding(Random& random, const Mesh& mesh, const Shape& shape, bool may_be_uneven);

}  // namespace shardlab::fuzz
