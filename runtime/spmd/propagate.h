// Propagation: chooses the sharding of every value from those of the parameters, constraints and wanted results.
//
// Source: reproduces Shardy's aggressive propagation by factor rules, with its op-priority levels.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/spmd/program.h"

namespace shardlab::spmd {

// An attribute of a node that takes values of several meshes: it takes no sharding from them, nor gives them any.
inline constexpr const char* kMeetsMeshes = "meets_meshes";

// One dimension's sharding during propagation.
struct DimSharding {
  Axes axes;
  bool closed = false;  // may not be extended
  bool operator==(const DimSharding&) const = default;
};
// Of one value; nothing: not decided (all dimensions open and empty).
using ValueSharding = std::optional<std::vector<DimSharding>>;

struct PropagationInput {
  const Graph* graph = nullptr;
  Mesh mesh;
  std::vector<std::optional<Spec>> params;   // committed or in_shardings: closed; nothing: open
  std::vector<std::optional<Spec>> results;  // out_shardings: closed; nothing: open
  // Bodies: what is known of them beforehand and may be extended. Empty, or one each.
  std::vector<ValueSharding> open_params = {}, open_results = {};
};

// A body of a loop or branch as its values were left. Of its parameters, those that the loop does not change as the body gets them, those
// that it scans over in slices.
struct BodyPropagation;
using SharedBodies = std::shared_ptr<const std::vector<BodyPropagation>>;
using BodyPropagations = std::map<NodeId, SharedBodies>;  // by node
struct BodyPropagation {
  Graph graph;  // the body's, with constants cloned
  std::vector<ValueSharding> values;
  std::vector<std::vector<Origin>> origins;  // what comes from around the body comes by its parameters and results
  BodyPropagations bodies;
};

struct Propagation {
  Graph graph;                        // the input's, with constants cloned for each user
  std::vector<ValueSharding> values;  // of `graph`
  std::vector<Spec> results;          // after the cut at the function's boundary: JAX's result shardings
  std::vector<std::vector<Origin>> origins;
  BodyPropagations bodies;
};

Propagation propagate(const PropagationInput& input);

}  // namespace shardlab::spmd
