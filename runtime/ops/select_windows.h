// What the derivative of a max or min over windows is made of.
#pragma once

#include "runtime/ops/windows.h"

namespace shardlab::ops {

extern const OpDef kSelectAndGatherAdd;   // (operand, tangents): of each window, the tangent of the element that it chooses
extern const OpDef kSelectAndScatterAdd;  // (operand, source): each window's source, added to the element that it chooses

}  // namespace shardlab::ops
