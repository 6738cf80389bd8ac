// The graph of one program: values in SSA form, made by nodes, each with its source line.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/base/where.h"
#include "runtime/graph/call.h"
#include "runtime/graph/op_def.h"

namespace shardlab {

using NodeId = int;

struct Value {
  TensorType type;
  NodeId producer = -1;  // -1: a parameter
  int result_index = 0;  // which of the producer's results; for a parameter its number
};

struct Node {
  const OpDef* op = nullptr;
  std::vector<ValueId> operands, results;
  Attrs attrs;          // bodies too: attribute "bodies"
  Where where;          // the user's line
  std::string user_op;  // the op the user called, e.g. "mean" for its reduce_sum
  CallRef call = {};    // the innermost one that it is in
  int call_result = 0;  // its result is the so many-th that a call gives; 0: none, or nobody knows
};

// Nodes are in topological order: every operand is a parameter or the result of an earlier node.
struct Graph {
  std::string name = "main";
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> params, results;

  const TensorType& type(ValueId value) const { return values[value].type; }
  std::vector<TensorType> types(const std::vector<ValueId>& ids) const;
};

// The same graph without nodes that no result needs; parameters stay.
Graph without_dead_nodes(const Graph& graph);

// Visits every node, those of bodies too, each body before the node that has it.
void visit_nodes(const Graph& graph, const std::function<void(const Node&)>& visit);

// Throws InternalError naming the node where an invariant fails: order, types against the shape rule, arity, ids in range.
void verify(const Graph& graph);

// Canonical text, one node a line; values are numbered in order, so equal programs print alike. Source lines and user names are left
// out unless asked for. Bodies are printed inside the node that has them, each with numbers of its own.
//   main(%0: float32[4,8]) {
//     %1 = sin(%0) : float32[4,8]
//     %2 = reduce_sum(%1) {axes = [0, 1]} : float32[]
//     return %2
//   }
std::string print(const Graph& graph, bool with_where = false);

// Reads what print() wrote (without source lines). `find_op` gives the definition of a name. UserError with line and column.
Graph parse_graph(std::string_view text, const OpDef* (*find_op)(std::string_view));

}  // namespace shardlab
