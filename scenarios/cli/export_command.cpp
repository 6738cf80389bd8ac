// shardlab export: a trace in the formats of other tools.
#include <filesystem>

#include "runtime/base/error.h"
#include "scenarios/cli/commands.h"
#include "traces/exporters/export.h"
#include "traces/report_data.h"

namespace shardlab::cli {
namespace {

constexpr OptionDef kOptions[] = {
    {"--format", "-f", "NAME", "perfetto (default), chrome or chakra"},
    {"--out", "-o", "FILE", "where it goes (default: the trace's name with the format's ending, in this folder)"},
};

int run(const Arguments& arguments) {
  if (arguments.positional().size() != 1) throw_user_error("shardlab export: which trace? give one T.db");
  const std::string& trace = arguments.positional()[0];
  const exporters::ExportFormatDef& format = exporters::export_format(arguments.text("--format").value_or("perfetto"));
  const std::string out =
      arguments.text("--out").value_or(std::filesystem::path(trace).filename().replace_extension(format.ending).string());
  const exporters::Exported exported = exporters::export_trace(trace, format, out);
  for (const std::string& notice : exported.notices) fmt::print(stderr, "shardlab export: {}\n", notice);
  fmt::print("{}{}: {} events, {}\n", exported.files.front(),
             exported.files.size() > 1 ? fmt::format(" … {} ({} files)", exported.files.back(), exported.files.size()) : "",
             exported.events, traces::bytes_text(exported.bytes));
  return 0;
}

}  // namespace

const CommandDef kExport{.name = "export",
                         .usage = "T.db [options]",
                         .summary = "a trace for other tools: Perfetto, chrome://tracing, simulators that read Chakra",
                         .details =
                             "perfetto  T.pftrace  for ui.perfetto.dev: a track for each device, flows, counters of bytes\n"
                             "chrome    T.json     for chrome://tracing and what reads its JSON; large traces want perfetto\n"
                             "chakra    T.0.et …   execution traces for simulators, a file for each device, and T.groups.json",
                         .options = kOptions,
                         .run = run};

}  // namespace shardlab::cli
