#include "traces/exporters/program_steps.h"

#include <charconv>
#include <map>

#include "runtime/base/text.h"

namespace shardlab::exporters {
namespace {

// The number behind the "s" at the front, which is cut off; -1 where there is none.
int take_step(std::string_view& text) {
  int number = -1;
  if (!text.starts_with('s')) return number;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  if (error != std::errc()) return -1;
  text.remove_prefix(std::size_t(end - text.data()));
  return number;
}

}  // namespace

std::vector<ProgramStep> program_steps(std::string_view text) {
  std::vector<ProgramStep> steps;
  std::map<int, int> index;  // by the step's number
  bool on_mesh = false;
  for (std::string_view line : split(text, '\n')) {
    if (line.starts_with("on ")) on_mesh = true;
    if (!on_mesh || !line.starts_with("  s")) continue;
    line.remove_prefix(2);
    const int number = take_step(line);
    if (number < 0 || !line.starts_with(" = ")) continue;
    line.remove_prefix(3);
    const std::size_t name = line.find_first_of(" (");
    if (name == std::string_view::npos || line.substr(0, name) == "parameter") continue;
    ProgramStep step{.op = std::string(line.substr(0, name)), .from = {}};
    const std::size_t open = line.find('('), close = line.find(')');
    if (open < close && close != std::string_view::npos)
      for (std::string_view operand : split(line.substr(open + 1, close - open - 1), ',')) {
        operand.remove_prefix(std::min(operand.find_first_not_of(' '), operand.size()));
        if (const auto from = index.find(take_step(operand)); from != index.end()) step.from.push_back(from->second);
      }
    index[number] = int(steps.size());
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace shardlab::exporters
