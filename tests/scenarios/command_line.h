// The shardlab command as tests call it, in the folder of temporary files.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/shell.h"

namespace shardlab::command_tests {

inline std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

inline std::string corpus(const std::string& name) { return variable("SHARDLAB_SOURCE_DIR") + "/scenarios/corpus/" + name; }

// Runs a shell line with SHARDLAB for the command.
inline support::Ran shell(const std::string& line) {
  return support::shell("SHARDLAB=\"$BIN/shardlab\"; cd '" + testing::TempDir() + "'; " + line);
}

inline std::string write(const std::string& name, const std::string& text) {
  std::string path = testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

inline nlohmann::json report_at(const std::string& name) {
  std::ifstream file(testing::TempDir() + name);
  return nlohmann::json::parse(file);
}

}  // namespace shardlab::command_tests
