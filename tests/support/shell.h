// Runs a line of a shell for tests of commands.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace shardlab::support {

struct Ran {
  int code = -1;       // 128 + the signal, where one ended it
  std::string output;  // both streams
};

// $BIN is the folder of the programs that were built.
inline Ran shell(const std::string& line) {
  const char* bin = std::getenv("SHARDLAB_BIN_DIR");
  FILE* pipe = ::popen((std::string("BIN='") + (bin ? bin : "") + "'; { " + line + "\n} 2>&1").c_str(), "r");
  Ran ran;
  char bytes[4096];
  for (std::size_t n; (n = std::fread(bytes, 1, sizeof bytes, pipe)) > 0;) ran.output.append(bytes, n);
  int status = ::pclose(pipe);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

}  // namespace shardlab::support
