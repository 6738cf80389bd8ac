// The shardlab command: finds the command, reads its options, turns errors into messages and exit codes.
#include <cstdio>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/terminal.h"

namespace shardlab::cli {
namespace {

void print_help() {
  std::string text = "shardlab runs, records and diagnoses sharded, multi-process array programs.\n\nUsage: shardlab COMMAND [options]\n\n";
  for (const CommandDef* command : all_commands())
    if (!command->hidden) text += fmt::format("  {:8} {}\n", command->name, command->summary);
  text += "\nshardlab COMMAND --help says more of each; docs/cli.md has them all.\n";
  std::fputs(text.c_str(), stdout);
}

void print_help_of(const CommandDef& command) {
  std::string text = fmt::format("{}\n\nUsage: shardlab {} {}\n", command.summary, command.name, command.usage);
  if (!command.options.empty()) text += "\n";
  for (const OptionDef& option : command.options) {
    std::string names = fmt::format("{}{}{} {}", option.alias, option.alias.empty() ? "" : ", ", option.name, option.value);
    text += fmt::format("  {:28} {}\n", names, option.help);
  }
  if (!command.details.empty()) text += fmt::format("\n{}\n", command.details);
  std::fputs(text.c_str(), stdout);
}

const CommandDef& find_command(const std::string& name) {
  std::vector<std::string_view> names;
  for (const CommandDef* command : all_commands()) {
    if (command->name == name) return *command;
    if (!command->hidden) names.push_back(command->name);
  }
  throw_user_error("shardlab: there is no command '{}'{} (see shardlab --help)", name, did_you_mean(name, names));
}

// The program's own options come after its name: they are not ours.
bool asks_help(const CommandDef& command, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--help" || word == "-h") return true;
    if (word == "--" || (command.takes_program && !word.starts_with("-"))) return false;
  }
  return false;
}

int run_command(const std::vector<std::string>& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_help();
    return words.empty() ? kExitUserError : 0;
  }
  if (words[0] == "--version") {
    std::puts("shardlab " SHARDLAB_VERSION);
    return 0;
  }
  const CommandDef& command = find_command(words[0]);
  std::vector<std::string> rest(words.begin() + 1, words.end());
  if (asks_help(command, rest)) {
    print_help_of(command);
    return 0;
  }
  return command.run(Arguments::parse(command.name, command.options, std::move(rest), command.takes_program));
}

int guarded(const std::vector<std::string>& words) {
  try {
    return run_command(words);
  } catch (const InternalError& error) {
    print_error(fmt::format("{}\nThis is a fault of shardlab itself; please report it with the command line.", error.what()));
    return kExitOurFault;
  } catch (const Error& error) {
    print_error(error.what());
    return kExitUserError;
  } catch (const std::exception& error) {
    print_error(fmt::format("{}\nThis is a fault of shardlab itself; please report it with the command line.", error.what()));
    return kExitOurFault;
  }
}

}  // namespace
}  // namespace shardlab::cli

int main(int argc, char** argv) { return shardlab::cli::guarded(std::vector<std::string>(argv + 1, argv + argc)); }
