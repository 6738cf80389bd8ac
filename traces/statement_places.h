// Where the statements of a scenario stand in its file.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace shardlab::traces {

class TraceReader;

struct StatementPlaces {
  std::string file;                  // as the run was given it; empty where it is not known
  int line = 0;                      // of all of it, where the document is one line of the file; else 0
  std::map<std::string, int> lines;  // by the statement's pointer ("/program/4")

  // 0 where it is not known.
  int line_of(std::string_view pointer) const;
  // A text that names statements ("statement 4 (/program/4)"), with their lines ("statement 4 (/program/4, line 12)").
  std::string in(std::string_view text) const;
};

// As JSON in the trace's meta, and from there; nothing where the trace tells none.
constexpr std::string_view kStatementPlacesKey = "scenario_places";
std::string json_of(const StatementPlaces& places);
StatementPlaces read_statement_places(const TraceReader& reader);

}  // namespace shardlab::traces
