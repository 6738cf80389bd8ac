// What precedes propagation: constants get a copy for each user, and constraints seed their results and inputs.
#pragma once

#include <vector>

#include "runtime/spmd/propagate.h"

namespace shardlab::spmd {

// XLA does not hear of axes of size 1: they cut nothing, and take no dimension from others.
Axes without_axes_of_one(Axes axes);

struct Use {
  NodeId node = -1;  // -1: returned by the function
  int operand = 0;   // or the result's number
};
using Uses = std::vector<std::vector<Use>>;  // per value
Uses uses_of(const Graph& graph);

// For each result in turn the nodes that it needs, each after its operands' nodes, the first operand's first; then those that are there for
// their effect. The order in which XLA hands a module to Shardy, whatever the order in which it was written; where two ops disagree about
// a value the first has its way.
std::vector<NodeId> nodes_by_result(const Graph& graph);

// Constants, and what elementwise ops, broadcasts, reshapes and slices make of constants alone.
std::vector<bool> constant_expressions(const Graph& graph);  // per node
// A broadcast of one scalar.
bool is_scalar_broadcast(const Graph& graph, const Node& node);

// Per node: whether with_cloned_constants makes a copy of it for each user.
std::vector<bool> cloned_nodes(const Graph& graph);

enum class Clone : std::uint8_t {
  kForEachUser,
  // Of code over some axes: JAX puts an open constraint behind all of its ops, and one before each op that takes what a constraint gives,
  // so that XLA neither merges equal ones nor sees that they are constants: a mask is one for a value and its tangent.
  kForEachUse,
  kForEachTypedUse,  // the same where all other axes are in types: each op has its constraint already
};

// An attribute of the open constraint between a constraint and an op that takes what it gives.
inline constexpr const char* kOpensConstraint = "opens_constraint";

// The live graph, in which a constraint of what a loop or branch gives stands right behind it, for all users; how the loop carries it stays
// open (Shardy's data-flow edges have shardings of their own). And with every constant expression, every broadcast of a scalar, and every
// one that is but how an op takes a smaller operand ("implicit") cloned for each user, so that it never links two users' shardings. Scalars
// are not cloned. Values are numbered in order. `carried`: per parameter of a loop's body, whether the loop carries it; nothing: of no
// loop.
Graph with_cloned_constants(const Graph& graph, const std::vector<bool>& carried = {}, Clone clone = Clone::kForEachUser);

struct FlatGraph;
// Gives the results of constraints their specs, closed; inputs without a sharding take them over too; and later users of the input of a
// chain of constraints take its end instead. `values` holds what is decided so far.
void apply_constraints(FlatGraph& flat, const Mesh& mesh, std::vector<ValueSharding>& values);

// Per value the axes that none of its dimensions takes, as constraints with open dimensions ("replicated") and edges of code over some axes
// (kWholeAtEdges) say; empty where none says so.
std::vector<Axes> barred_axes(const Graph& graph, const Mesh& mesh);

// The node's rule with every dimension filled; absent for constants.
FactorRule rule_of(const Graph& graph, const Node& node);
// The rule by which shardings travel: another one where windows look at whole dimensions, which a part of cannot be computed from a part.
FactorRule propagation_rule_of(const Graph& graph, const Node& node);

}  // namespace shardlab::spmd
