// A folder for temporary files that goes, with all that lies in it, when its owner does.
#pragma once

#include <filesystem>
#include <string_view>

namespace shardlab {

class ScratchFolder {
 public:
  // Nobody else has it: `shardlab-PURPOSE-…` in the system's folder for temporary files. IoError where none can be made.
  explicit ScratchFolder(std::string_view purpose);
  ~ScratchFolder();
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&& other) noexcept;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

 private:
  void remove();
  std::filesystem::path path_;  // empty once moved from
};

}  // namespace shardlab
