// The files that this process runs from, and where they lie in memory.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace shardlab {

struct Module {
  std::string path;      // "/proc/self/exe" for the program itself
  std::string build_id;  // as the linker wrote it, in hexadecimal; empty where it did not
  std::uintptr_t base = 0;
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> segments;  // [begin, end)

  bool contains(std::uintptr_t address) const;
  // The path by which others find the file.
  std::string file() const;
};

std::vector<Module> modules();

}  // namespace shardlab
