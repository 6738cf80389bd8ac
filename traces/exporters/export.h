// `shardlab export`: a trace in the formats of other tools.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardlab::exporters {

class Source;

struct Exported {
  std::int64_t events = 0;           // slices and moments, each once for every device that it is of
  std::int64_t bytes = 0;            // of all files
  std::vector<std::string> files;    // in the order in which they were written
  std::vector<std::string> notices;  // what the trace lacks, so that it lacks here too
};

// Adding a format: one file, and one word in the list of export.cpp.
struct ExportFormatDef {
  std::string_view name, title, doc;
  std::string_view ending;  // of its file: ".json"
  // Writes to `path`, or to files named after it. Throws IoError where one cannot be written.
  void (*write)(Source& source, const std::string& path, Exported& exported);
};
std::span<const ExportFormatDef* const> all_export_formats();
// Throws UserError with the nearest name.
const ExportFormatDef& export_format(std::string_view name);

// Memory does not grow with the events. A torn trace gives what can be read. Throws UserError, IoError.
Exported export_trace(const std::string& trace, const ExportFormatDef& format, const std::string& path);

extern const ExportFormatDef kPerfetto, kChrome, kChakra;

}  // namespace shardlab::exporters
