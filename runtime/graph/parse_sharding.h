// Shardings in the canonical text: NamedSharding(mesh=Mesh('a': 4), spec=P('a',)), SingleDeviceSharding(device=0).
#pragma once

#include "runtime/core/sharding.h"
#include "runtime/graph/text_reader.h"

namespace shardlab {

// Whether one stands at the reader's position.
bool stands_sharding(const TextReader& text);
Sharding read_sharding(TextReader& text);

}  // namespace shardlab
