// Reads statements that call an op of the registry: its attributes, by name or by position, and which arguments are its operands.
#pragma once

#include <optional>
#include <vector>

#include "runtime/graph/op_def.h"
#include "scenarios/document/document.h"
#include "scenarios/document/node.h"

namespace shardlab::scenarios {

// The keys that all statements have.
inline constexpr std::string_view kCommonKeys[] = {"let", "op", "args", "on", "not_on", "note"};

Step read_op(const Node& statement, const OpDef& op, const Document& document);
// How many arguments are operands: a number, a list or null after as many as the function has is an attribute by position.
std::size_t operand_count(const Node& statement, const OpDef& op);
// Operands that are written by name, in the order of the op's attributes: they come after the arguments.
std::vector<Node> named_operands(const Node& statement, const OpDef& op);
// "sharding": where the statement's result lies, if it says so.
std::optional<Sharding> out_sharding(const Node& statement, const Document& document);

}  // namespace shardlab::scenarios
