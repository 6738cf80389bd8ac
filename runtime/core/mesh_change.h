// The same cut said in the axes of another mesh of the same devices in the same order.
#pragma once

#include <optional>

#include "runtime/core/sharding.h"

namespace shardlab {

// Every piece as the digits of `to`'s axes that tell the same devices apart: on 8 devices 'x' of Mesh('x': 8) is ('a', 'b') of
// Mesh('a': 4, 'b': 2), and 'a' is 'x:(1)4'. Nothing where the axes do not nest (2 × 3 and 3 × 2). The meshes have one device order.
std::optional<Spec> spec_on(const Spec& spec, const Mesh& from, const Mesh& to);

}  // namespace shardlab
