// Checkpoints: sharded arrays in a folder, written by all processes, read under any mesh and any number of processes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/exec/operand.h"

namespace shardlab::checkpoints {

// All processes call it, with the same arrays in the same order. Each process writes what its devices hold, replicas once; an uncommitted
// array is written by process 0. The folder must be one that all of them see. It is atomic: the checkpoint that the folder had stays valid
// until the new one is complete on disk, and is removed then; whoever dies meanwhile leaves the old one. It waits for the values and for
// all processes. UserError where two arrays have one name, or the processes save different things; IoError with the file.
void save(const std::string& folder, const std::vector<std::pair<std::string, Array>>& arrays,
          std::source_location where = std::source_location::current());

// What a folder holds. IoError where there is no checkpoint, or it is damaged.
struct Saved {
  std::string name;
  TensorType type;
};
std::vector<Saved> list(const std::string& folder);

// The array of that name, laid out as `sharding` says; every process reads what its own devices need. IoError where a file is missing, is
// shorter than it was, or has other data than were written; UserError for a name that there is not, and a sharding that does not fit.
Array load(const std::string& folder, const std::string& name, const Sharding& sharding,
           std::source_location where = std::source_location::current());

}  // namespace shardlab::checkpoints
