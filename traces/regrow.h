// A trace that was cut off within its list of tables: the list is the same in every trace of a schema and page size, so it is made anew
// and put in the place of what is lost.
#pragma once

#include <optional>
#include <string>

#include "traces/database.h"

namespace shardlab::traces {

struct Regrown {
  Database database;
  std::string missing;  // how much of the file is there, and of which tables nothing is
};

// The rows whose pages lie before the cut, under the list of tables that a writer of this schema makes. Nothing where `path` is no cut
// trace of this schema. Throws IoError where the file cannot be read.
std::optional<Regrown> regrow(const std::string& path);

}  // namespace shardlab::traces
