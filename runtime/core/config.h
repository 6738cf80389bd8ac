// The flags that change what programs compute, with the names of jax.config.
#pragma once

namespace shardlab {

struct Config {
  bool enable_x64 = false;             // whether int64, uint64, float64 and complex128 exist, and are the defaults
  bool threefry_partitionable = true;  // random bits from an element's own index: shards need nothing from each other
  bool operator==(const Config&) const = default;
};

}  // namespace shardlab
