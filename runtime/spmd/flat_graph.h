// A graph with the bodies of its loops and branches, and per-device code over some axes of the mesh, laid out beside it, as propagation
// goes through them.
//
// Source: the module that XLA hands to Shardy. Values that a loop does not change are used by its body where they are, through an open
// constraint where their sharding is the user's; a scan reads its slices from the whole and writes them into the whole; and behind each
// loop, branch or barrier stands one data-flow edge a result, which joins what may come there; per-device code has one for each value
// that it takes or gives. In place of an op with an outline stand the outline's steps.
#pragma once

#include <map>
#include <vector>

#include "runtime/spmd/prepare.h"

namespace shardlab::spmd {

struct FlatGraph {
  // Values and nodes of the given graph come first, under their own numbers. Loops and branches have no operands here: their edges have,
  // and an outline's steps those of its op.
  Graph graph;
  std::vector<NodeId> order;     // in which nodes are visited
  std::vector<ValueId> sharers;  // per value: whose sharding it has; what a loop carries has that of its result
  // Per node: the body in which it stands (0: the graph itself), and whose place in it it has (an edge: its loop's).
  std::vector<int> blocks;
  std::vector<NodeId> places;   // and a step of an outline its op's
  std::vector<NodeId> regions;  // per node: the given graph's node in one of whose bodies it stands, or itself
  std::vector<bool> in_code;    // per node: whether it stands in code over some axes where open constraints stand behind all ops

  // What a step of an outline uses that is an operand of its op.
  struct OutlineUse {
    NodeId step;
    int place;
    NodeId node;
    int operand;
  };
  std::vector<OutlineUse> outline_uses;

  // A value on both sides of where code over some axes takes or gives it: around the code it is cut by the code's axes first.
  struct CodeEdge {
    Spec manual_part;
    std::vector<bool> ends;  // per axis of the mesh whether what follows it in a dimension stays on its side
    int operand = -1;        // of the code's node; -1: it is a result
  };
  std::map<NodeId, CodeEdge> code_edges;

  struct Body;
  using Bodies = std::map<NodeId, std::vector<Body>>;  // of a graph's nodes with bodies
  struct Body {
    Graph graph;                  // with its constants cloned
    std::vector<ValueId> values;  // per value of it which one here; -1: none. There may be more of them, and of nodes
    std::vector<NodeId> nodes;    // per node of it which one here
    std::vector<ValueId> params;  // per parameter, used or not, what it is here
    Bodies bodies;
  };
  Bodies bodies;

  bool is_edge(NodeId node) const;
  bool is_in_outline(NodeId node) const;
  bool is_opened(NodeId node) const;  // the open constraint of a value that a loop does not change
};

// `is_given`: per parameter whether its sharding is the user's.
FlatGraph flattened(const Graph& graph, const std::vector<bool>& is_given, const Mesh& mesh);

}  // namespace shardlab::spmd
