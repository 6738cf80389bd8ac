// Output of the commands: colour where a terminal reads it, and this program's own place.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace shardlab::cli {

bool is_terminal(int descriptor);
std::string red(std::string_view text, int descriptor);
std::string green(std::string_view text, int descriptor);
// To standard error, in red.
void print_error(std::string_view text);
// The running program's file.
std::filesystem::path own_program();
// Writes a file whole; "-" is standard output. IoError.
void write_text(const std::string& path, std::string_view text);

}  // namespace shardlab::cli
