// A scenario's statements as lines of text: what stands for source lines where a program is a document.
#pragma once

#include <string>

#include "gui/models/source_lines.h"

namespace shardlab::gui {

// The scenario that a trace was recorded of, as JSON; empty where it was another program, or that part of the file is lost.
std::string scenario_of(const std::string& trace_path);

// The statement at `pointer` ("/program/2/body/0") of the document, with `context` of its neighbours before and after; numbered by their
// place in their list. No lines where the document has no such statement.
SourceLines read_statement_lines(const std::string& scenario, const std::string& pointer, int context);

}  // namespace shardlab::gui
