// Where a call was made: a line of a C++ program, or a statement of a scenario.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

namespace shardlab {

// Cheap to copy: the strings are static or interned for the life of the process.
struct Where {
  const char* file = "";        // source file, or the scenario's name
  const char* function = "";    // enclosing function, or the statement's JSON pointer
  std::uint32_t line = 0;       // 1-based; 0 where unknown and for statements
  std::int32_t statement = -1;  // index of the statement in the scenario's program, -1 for C++

  static Where from(const std::source_location& location) { return {location.file_name(), location.function_name(), location.line(), -1}; }
  // `pointer` is the statement's JSON pointer, e.g. "/program/4".
  static Where at_statement(std::string_view scenario, std::string_view pointer, int statement);

  bool known() const { return line != 0 || statement >= 0; }
  // "toy.cpp:31", "statement 4 (/program/4)", "unknown place".
  std::string text() const;
};

// The file's name without its folders.
std::string_view base_name(std::string_view path);

// One copy of `text` that lives as long as the process.
const char* intern(std::string_view text);

}  // namespace shardlab
