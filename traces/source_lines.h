// The lines around a place of a program, where they can be read here: of a source file, or of the scenario that a trace was recorded of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardlab::traces {

struct SourceLines {
  std::string file;                // as it was found; of a statement its pointer
  int first = 0;                   // number of lines[0]: from 1, of a statement its place in its list
  int line = 0;                    // the place itself
  std::vector<std::string> lines;  // empty where nothing can be read
};

// `where` is "path/toy.cpp:31", with `context` lines before and after. Looked for as given, and beside the trace.
SourceLines read_source_lines(const std::string& where, const std::string& trace_path, int context);

// The statement at `pointer` ("/program/2/body/0") of a scenario's document, as text: "y = device_put(h, sharding: [None, b])".
SourceLines read_statement_lines(const std::string& scenario, const std::string& pointer, int context);

// The scenario that a trace was recorded of, as JSON; empty where it was another program, or that part of the file is lost.
std::string scenario_of(const std::string& trace_path);

// "/program/4" of "statement 4 (/program/4)" and "statement 4 (/program/4, line 12)"; empty for other places.
std::string pointer_of(std::string_view where);

}  // namespace shardlab::traces
