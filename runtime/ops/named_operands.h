// Operands that users write by name, as jax.numpy's keyword arguments: where=, weights=.
#pragma once

#include "runtime/graph/op_def.h"

namespace shardlab {

// The kind of a composite's optional attribute that is one more operand: scenarios write its name, and the call holds its place among the
// operands. (Names that a composite must be given, a collective's axes, are no operand.)
inline constexpr AttrDef::Kind kNamedOperand = AttrDef::Kind::kNames;

constexpr bool names_operand(const OpDef& op, const AttrDef& attr) {
  return attr.kind == kNamedOperand && !attr.required && !op.is_primitive() && op.region == RegionKind::kNone;
}

}  // namespace shardlab
