// Makes a scenario that ends in a diagnosis small: the fewest statements, iterations, devices, processes and switches of its schedule.
#pragma once

#include <optional>
#include <string>

#include "scenarios/document/load.h"

namespace shardlab::scenarios {

struct Shrunk {
  std::string text;  // the scenario: simulated, with its schedule to replay and the diagnosis that it must give
  std::string code;
  int runs = 0;  // that it took
};

// Removes what can be removed while a simulated run still gives a diagnosis of the same code, one part at a time, until nothing can
// (delta debugging with blocks of halving size, Zeller and Hildebrandt 2002). Nothing where the simulated run gives none.
std::optional<Shrunk> shrink(const Loaded& loaded);

}  // namespace shardlab::scenarios
