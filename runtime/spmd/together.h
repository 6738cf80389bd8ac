// Mode C of the planner: the forms of all values of a program chosen together.
#pragma once

#include <optional>
#include <vector>

#include "runtime/spmd/problem.h"

namespace shardlab::spmd {

struct Choice {
  struct Form {
    ValueId value = -1;
    Spec spec;
  };
  std::vector<Form> first;  // of operands, made before the node because later ones are sliced from them, too
  Candidate way;
  std::vector<Spec> kept;  // per result: the form that it is brought into at once
};
using Choices = std::vector<std::optional<Choice>>;  // per node; nothing where there is nothing to choose

struct Chosen {
  std::vector<NodeId> order;  // every node, after those that make its operands: which forms are at hand depends on it
  Choices choices;
};

// Beam searches over the nodes in order for the fewest wire bytes of the whole program. A state holds, of each value that is still
// needed, the forms in which it is at hand; a form made for one user serves later ones. The last searches look ahead: they rank states
// by what the plan found before them needs later, and may make a form because several of those needs can be sliced from it.
// Nothing where the program is too large for the limits in together.cpp. `finer_results`: a result may be left cut finer than wanted.
std::optional<Chosen> choose_together(Problem& problem, bool finer_results);

}  // namespace shardlab::spmd
