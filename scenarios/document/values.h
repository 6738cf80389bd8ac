// Reads the values of a document: shardings, constants, process lists.
#pragma once

#include <optional>
#include <vector>

#include "scenarios/document/document.h"
#include "scenarios/document/document_error.h"
#include "scenarios/document/node.h"

namespace shardlab::scenarios {

PartitionSpec read_spec(const Node& node);
// The mesh that a name means, and the one there is where none is named.
const Mesh& mesh_at(const Node& node, const Document& document);
const Mesh& only_mesh(const Node& node, const Document& document);
// {"mesh": "m", "spec": […]}, a bare spec where there is one mesh, or {"device": ordinal}.
Sharding read_sharding(const Node& node, const Document& document);
// The same of with_sharding_constraint, whose specs may have "UNCONSTRAINED" in place of axes.
struct OpenSharding {
  Sharding sharding;   // such dimensions are not cut
  PartitionSpec spec;  // as written
  bool has_open_dimensions = false;
};
OpenSharding read_open_sharding(const Node& node, const Document& document);
// A list of shardings and nulls.
std::vector<std::optional<Sharding>> read_shardings(const Node& node, const Document& document);

DType read_dtype(const Node& node);
// A number or nested lists of numbers, row-major. Without `dtype`: bool, int32 or float32 (with enable_x64 the wide ones), as its
// elements are.
Literal read_literal(const Node& node, std::optional<DType> dtype, const Config& config);
Scalar read_scalar(const Node& node);
// Numbers and booleans of nested lists, in order.
std::vector<double> read_numbers(const Node& node);

// Distinct process indices of the cluster, ascending.
std::vector<int> read_processes(const Node& node, const Document& document);
std::vector<int> read_ordinals(const Node& node, const Document& document);

// Runs `read`; a UserError without a pointer of its own gets this node's.
template <typename F>
auto at_node(const Node& node, F&& read) {
  try {
    return read();
  } catch (const DocumentError&) { throw; } catch (const UserError& error) {
    node.fail(error.what());
  }
}

}  // namespace shardlab::scenarios
