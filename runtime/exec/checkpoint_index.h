// The index of a checkpoint: which file holds which part of which array. It names its files, so that replacing it replaces all at once.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/core/tensor_type.h"

namespace shardlab::checkpoints {

struct SavedPart {
  int process = 0;  // who wrote it
  std::int64_t offset = 0;
  Box box;
};
struct SavedArray {
  std::string name;
  TensorType type;
  std::vector<SavedPart> parts;  // disjoint; together the whole
};
struct Index {
  std::int64_t generation = 0;
  std::vector<SavedArray> arrays;

  std::string text() const;
  // IoError that names `file` and the line where it is no index.
  static Index parse(const std::string& text, const std::string& file);
};

// The files of a folder.
std::string index_file(const std::string& folder);
std::string data_file(const std::string& folder, std::int64_t generation, int process);

// The whole of a file; IoError. And writing one so that it is there whole or not at all, also after a power failure.
std::string read_file(const std::string& path);
void write_atomically(const std::string& path, const std::vector<std::span<const std::byte>>& parts);

}  // namespace shardlab::checkpoints
