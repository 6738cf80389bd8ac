// shardlab report: what a trace says.
#include <sstream>

#include "runtime/base/error.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/terminal.h"
#include "traces/report.h"
#include "traces/trace_reader.h"

namespace shardlab::cli {
namespace {

constexpr OptionDef kOptions[] = {
    {"--format", "-f", "NAME", "text (default), json, html or sarif"},
    {"--out", "-o", "FILE", "where it goes (default: standard output)"},
};

int run(const Arguments& arguments) {
  if (arguments.positional().size() != 1) throw_user_error("shardlab report: which trace? give one T.db");
  traces::TraceReader reader(arguments.positional()[0]);
  std::ostringstream text;
  traces::write_report(reader, arguments.text("--format").value_or("text"), text);
  write_text(arguments.text("--out").value_or("-"), text.str());
  return 0;
}

}  // namespace

const CommandDef kReport{
    .name = "report", .usage = "T.db [options]", .summary = "diagnoses and a summary of a trace", .options = kOptions, .run = run};

}  // namespace shardlab::cli
