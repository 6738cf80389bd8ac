// shardlab report: what a trace says.
#include <algorithm>
#include <sstream>

#include "runtime/base/error.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/terminal.h"
#include "traces/report.h"
#include "traces/trace_reader.h"

namespace shardlab::cli {
namespace {

constexpr OptionDef kOptions[] = {
    {"--format", "-f", "NAME", "text (default), json, html, sarif or junit"},
    {"--out", "-o", "FILE", "where it goes (default: standard output)"},
};

// The verdict and its sides: what stands before the first empty line.
std::string coloured(const std::string& text) {
  std::size_t end = std::min(text.find("\n\n"), text.size());
  std::string head = text.substr(0, end);
  if (head.starts_with("The trace is incomplete") || head.starts_with("Nothing can be read")) return text;
  return ((head.starts_with("No diagnosis:") || head.starts_with("No error:")) ? green(head, 1) : red(head, 1)) + text.substr(end);
}

int run(const Arguments& arguments) {
  if (arguments.positional().size() != 1) throw_user_error("shardlab report: which trace? give one T.db");
  traces::TraceReader reader(arguments.positional()[0]);
  std::ostringstream text;
  std::string format = arguments.text("--format").value_or("text"), out = arguments.text("--out").value_or("-");
  traces::write_report(reader, format, text);
  write_text(out, format == "text" && out == "-" ? coloured(text.str()) : text.str());
  return 0;
}

}  // namespace

const CommandDef kReport{
    .name = "report", .usage = "T.db [options]", .summary = "diagnoses and a summary of a trace", .options = kOptions, .run = run};

}  // namespace shardlab::cli
