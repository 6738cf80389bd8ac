// Statements with functions in them: shard_map, custom_partitioning, cond, while_loop and scan.
#pragma once

#include "scenarios/document/document.h"
#include "scenarios/document/node.h"

namespace shardlab::scenarios {

// Throws DocumentError where functions, counts or specs do not fit; types are checked by validate.
Step read_shard_map(const Node& statement, const Document& document);
Step read_custom_partitioning(const Node& statement, const Document& document);
Step read_cond(const Node& statement, const Document& document);
Step read_while_loop(const Node& statement, const Document& document);
Step read_scan(const Node& statement, const Document& document);

// The function that the statement's "fn" names, which has as many parameters as the statement has arguments; and the mesh that it names, or
// the only one.
const Function& called_function(const Node& statement, const Document& document);
const Mesh& mesh_of(const Node& statement, const Document& document);

// The function that a node names; DocumentError with the nearest name.
const Function& function_at(const Node& node, const Document& document);

}  // namespace shardlab::scenarios
