#include "runtime/base/scratch_folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/base/error.h"

namespace shardlab {

namespace fs = std::filesystem;

ScratchFolder::ScratchFolder(std::string_view purpose) {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  std::string pattern = (parent / fmt::format("shardlab-{}-XXXXXX", purpose)).string();
  if (error || ::mkdtemp(pattern.data()) == nullptr)
    throw IoError(fmt::format("no temporary folder {} can be made: {}; TMPDIR names the folder for such files", pattern,
                              error ? error.message() : std::strerror(errno)));
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() { remove(); }

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

ScratchFolder& ScratchFolder::operator=(ScratchFolder&& other) noexcept {
  if (this == &other) return *this;
  remove();
  path_ = std::exchange(other.path_, {});
  return *this;
}

void ScratchFolder::remove() {
  if (path_.empty()) return;
  std::error_code ignored;  // a leftover among temporary files harms nobody
  fs::remove_all(path_, ignored);
}

}  // namespace shardlab
