// The table of ops, for docs/ops.md.
#pragma once

#include <string>

namespace shardlab {

// Markdown: every op with its operands, attributes, kind and documentation, from the definitions.
std::string op_table_markdown();

}  // namespace shardlab
