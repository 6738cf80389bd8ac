// Reads statements and bodies.
#pragma once

#include "scenarios/document/document.h"
#include "scenarios/document/node.h"

namespace shardlab::scenarios {

// `document` has the cluster, the meshes and the functions' names, parameters and results.
Body read_body(const Node& node, const Document& document);
// A name, a number or a list.
Argument read_argument(const Node& node, const Document& document);

}  // namespace shardlab::scenarios
