// Reads the sections of a document beside its statements.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "scenarios/document/document.h"
#include "scenarios/document/node.h"

namespace shardlab::scenarios {

Cluster read_cluster(const Node& node);
Limits read_limits(const Node& node);
Schedules read_schedules(const Node& node);
Mesh read_mesh(const Node& node, const Document& document);

// `statements`: the pointers that a fault may name.
std::vector<Fault> read_faults(const Node& node, const Document& document, const std::set<std::string>& statements);

Sweep read_sweep(const Node& node, const Document& document);

// `names`: what the program binds.
std::vector<Expectation> read_expectations(const Node& node, const Document& document, const std::set<std::string>& names);

}  // namespace shardlab::scenarios
