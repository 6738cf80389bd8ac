#include "scenarios/cli/terminal.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "runtime/base/error.h"

namespace shardlab::cli {
namespace {

std::string coloured(std::string_view code, std::string_view text, int descriptor) {
  if (!is_terminal(descriptor)) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

}  // namespace

// The conventions of NO_COLOR (https://no-color.org) and CLICOLOR_FORCE.
bool is_terminal(int descriptor) {
  if (std::getenv("NO_COLOR") != nullptr) return false;
  return std::getenv("CLICOLOR_FORCE") != nullptr || ::isatty(descriptor) == 1;
}
std::string red(std::string_view text, int descriptor) { return coloured("31", text, descriptor); }
std::string green(std::string_view text, int descriptor) { return coloured("32", text, descriptor); }

void print_error(std::string_view text) { fmt::print(stderr, "{}\n", red(text, STDERR_FILENO)); }

std::filesystem::path own_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

void write_text(const std::string& path, std::string_view text) {
  if (path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  std::filesystem::path file(path);
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary);
  out.write(text.data(), std::streamsize(text.size()));
  out.close();
  if (!out) throw IoError(fmt::format("{} cannot be written; does its folder exist, is there space?", path));
}

}  // namespace shardlab::cli
