// `shardlab report`: what a trace says, for people and for other tools.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "traces/trace_reader.h"

namespace shardlab::traces {

struct ReportData;

// Adding a format: one file, and one word in the list of report.cpp.
struct ReportFormatDef {
  std::string_view name, doc;
  void (*write)(const ReportData&, std::ostream&);
};
std::span<const ReportFormatDef* const> all_report_formats();

// Writes the report of a trace. `format` is "text", "json", "html" (one file, nothing loaded from elsewhere), "sarif" (2.1.0) or "junit".
// Throws UserError on another, with the nearest name. A torn trace gives a report that says what is missing.
void write_report(TraceReader& reader, std::string_view format, std::ostream& out);

}  // namespace shardlab::traces
