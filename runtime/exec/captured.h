// Bodies of nodes, as they take what they capture from around them.
#pragma once

#include "runtime/exec/operand.h"
#include "runtime/exec/tracing.h"

namespace shardlab {

std::vector<Operand> operands_of(const std::vector<Array>& arrays, Where where);
// What several bodies captured, each array once.
std::vector<Array> all_captured(const std::vector<TracedBody>& bodies);
// The body with parameters for all captured arrays, which stand before its own or after them.
GraphRef with_captured(TracedBody body, const std::vector<Array>& captured, bool first);

}  // namespace shardlab
