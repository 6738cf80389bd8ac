// shardlab view: hands over to the workbench beside this program.
#include <unistd.h>

#include <filesystem>

#include "runtime/base/error.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/terminal.h"

namespace shardlab::cli {
namespace {

int run(const Arguments& arguments) {
  std::filesystem::path workbench = own_program().parent_path() / "shardlab-view";
  if (!std::filesystem::exists(workbench))
    throw_user_error("the workbench was not built: {} is not there; install Qt 6 (qt6-base-dev) and build again", workbench.string());
  std::string program = workbench.string();
  std::vector<char*> words = {program.data()};
  std::vector<std::string> passed = arguments.program();
  for (std::string& word : passed) words.push_back(word.data());
  words.push_back(nullptr);
  ::execv(program.c_str(), words.data());
  throw IoError(fmt::format("{} cannot be run", program));
}

}  // namespace

const CommandDef kView{.name = "view",
                       .usage = "T.db [--screenshot OUT.png [--view NAME]]",
                       .summary = "open a trace in the workbench",
                       .details = "Every option goes to shardlab-view; `shardlab view -- --help` shows them.",
                       .takes_program = true,
                       .run = run};

}  // namespace shardlab::cli
