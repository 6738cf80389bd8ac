// The lines around a source place, where the file can be read here.
#pragma once

#include <QString>
#include <QStringList>

#include <string>

namespace shardlab::gui {

struct SourceLines {
  QString file;       // as it was found
  int first = 0;      // number of lines[0], 1-based
  int line = 0;       // the place itself
  QStringList lines;  // empty where the file is not readable
};

// `where` is "path/toy.cpp:31". Looked for as given, beside the trace, and below `roots`.
SourceLines read_source_lines(const std::string& where, const std::string& trace_path, int context);

}  // namespace shardlab::gui
