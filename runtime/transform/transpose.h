// Turns a linear graph round: from the cotangents of its results to those of its parameters.
#pragma once

#include "runtime/transform/inline.h"

namespace shardlab::transform {

// `linear` is linear in its first `asked` parameters; `known` are values in the builder for the others. One cotangent per result, kZero
// where it is zero; the cotangents of the first parameters, kZero where they are zero. UserError naming the op and the user's line where
// an op that is met is not linear or has no transpose. `begun`: what the sums of the first parameters' cotangents begin with.
std::vector<ValueId> emit_transpose(GraphBuilder& b, const Graph& linear, int asked, const std::vector<ValueId>& known,
                                    const std::vector<ValueId>& cotangents, const std::vector<ValueId>& begun = {});

}  // namespace shardlab::transform
