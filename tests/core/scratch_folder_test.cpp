// A folder for temporary files goes with its owner, and with nobody else.
#include "runtime/base/scratch_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "runtime/base/error.h"

namespace shardlab {
namespace {

namespace fs = std::filesystem;

TEST(ScratchFolder, GoesWithAllThatLiesInIt) {
  fs::path path;
  {
    const ScratchFolder folder("test");
    path = folder.path();
    EXPECT_TRUE(path.filename().string().starts_with("shardlab-test-"));
    fs::create_directory(folder / "inner");
    std::ofstream(folder / "inner/file") << "text";
    EXPECT_TRUE(fs::exists(path / "inner/file"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(ScratchFolder, IsMovedWithItsOwner) {
  std::optional<ScratchFolder> first(std::in_place, "test");
  const fs::path path = first->path();
  ScratchFolder second = std::move(*first);
  first.reset();
  EXPECT_TRUE(fs::exists(path));
  second = ScratchFolder("test");
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::exists(second.path()));
  EXPECT_NE(second.path(), path);
}

TEST(ScratchFolder, SaysWhereNoneCanBeMade) {
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before ? before : "";
  ::setenv("TMPDIR", "/proc/nowhere", 1);
  try {
    ScratchFolder folder("test");
    ADD_FAILURE() << folder.path();
  } catch (const IoError& error) { EXPECT_NE(std::string(error.what()).find("TMPDIR"), std::string::npos) << error.what(); }
  if (before)
    ::setenv("TMPDIR", kept.c_str(), 1);
  else
    ::unsetenv("TMPDIR");
}

}  // namespace
}  // namespace shardlab
