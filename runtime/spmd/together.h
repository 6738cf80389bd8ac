// Mode C of the planner: the forms of all values of a program chosen together.
#pragma once

#include <optional>
#include <vector>

#include "runtime/spmd/problem.h"

namespace shardlab::spmd {

struct Choice {
  Candidate way;
  std::vector<Spec> kept;  // per result: the form that it is brought into at once
};
using Choices = std::vector<std::optional<Choice>>;  // per node; nothing where a node is not planned

// A beam search over the nodes in order for the fewest wire bytes of the whole program. A state holds, of each value that is still
// needed, the forms in which it is at hand; a form made for one user serves later ones. Nothing where the program is too large for the
// limits in together.cpp. `finer_results`: a result may be left cut finer than wanted.
std::optional<Choices> choose_together(Problem& problem, bool finer_results);

}  // namespace shardlab::spmd
