// A trace that was cut off within its list of tables, whatever version of the schema wrote it: what is left of the list is made a list of
// its own.
#pragma once

#include <optional>
#include <string>

#include "traces/database.h"

namespace shardlab::traces {

struct Regrown {
  Database database;
  std::string missing;  // how much of the file is there, and of which tables nothing is
};

// The rows whose pages lie before the cut. Tables that the list names beyond it are empty, those whose line in the list is lost are not
// there; where nothing is left of the list, all tables of this schema are empty. Nothing where `path` is no cut trace. Throws IoError where
// the file cannot be read.
std::optional<Regrown> regrow(const std::string& path);

}  // namespace shardlab::traces
