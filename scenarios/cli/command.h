// The definition of a command: its name, its options and what it does. One file a command; list.cpp names them all.
#pragma once

#include <span>
#include <string_view>

#include "scenarios/cli/arguments.h"

namespace shardlab::cli {

struct CommandDef {
  std::string_view name;
  std::string_view usage;         // after the name: "FILE… [options]"
  std::string_view summary;       // one line
  std::string_view details = {};  // below the options of `shardlab NAME --help`
  std::span<const OptionDef> options = {};
  bool takes_program = false;              // everything after "--", or from the first positional on, is a program and its arguments
  bool hidden = false;                     // for our own processes
  int (*run)(const Arguments& arguments);  // the exit code; throws UserError (3) and others (4)
};

std::span<const CommandDef* const> all_commands();

// Exit codes of the commands.
inline constexpr int kExitDiagnosed = 2;
inline constexpr int kExitUserError = 3;
inline constexpr int kExitOurFault = 4;

}  // namespace shardlab::cli
