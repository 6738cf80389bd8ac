#include "runtime/exec/checkpoint_index.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "runtime/base/error.h"

namespace shardlab::checkpoints {
namespace {

constexpr std::string_view kMagic = "shardlab-checkpoint";
constexpr int kVersion = 1;
constexpr int kRankMax = 64;

[[noreturn]] void fail(std::string_view what, const std::string& path) {
  throw IoError(fmt::format("{} {}: {}", path, what, std::strerror(errno)));
}

// A descriptor that closes itself.
class File {
 public:
  File(const std::string& path, int flags) : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (descriptor_ < 0) fail(flags & O_CREAT ? "cannot be written" : "cannot be read", path);
  }
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

void write_all(int descriptor, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot be written", path);
    bytes = bytes.subspan(std::size_t(written));
  }
}

}  // namespace

std::string index_file(const std::string& folder) { return (std::filesystem::path(folder) / "index").string(); }

std::string data_file(const std::string& folder, std::int64_t generation, int process) {
  return (std::filesystem::path(folder) / fmt::format("data-{}-{:05}", generation, process)).string();
}

std::string Index::text() const {
  std::string text = fmt::format("{} {}\ngeneration {}\n", kMagic, kVersion, generation);
  for (const SavedArray& array : arrays) {
    text += fmt::format("array {} {}", name_of(array.type.dtype), array.type.rank());
    for (std::int64_t extent : array.type.shape) text += fmt::format(" {}", extent);
    text += fmt::format(" {}\n", array.name);
    for (const SavedPart& part : array.parts) {
      text += fmt::format("part {} {}", part.process, part.offset);
      for (const Interval& interval : part.box) text += fmt::format(" {} {}", interval.start, interval.stop);
      text += '\n';
    }
  }
  return text + "end\n";
}

Index Index::parse(const std::string& text, const std::string& file) {
  Index index;
  std::istringstream lines(text);
  std::string line;
  int number = 0;
  bool ended = false;
  auto wrong = [&](std::string_view what) {
    throw IoError(fmt::format("{}, line {}: {}; it is no whole index of a checkpoint of version {}", file, number, what, kVersion));
  };
  while (!ended && std::getline(lines, line)) {
    ++number;
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (number == 1) {
      int version = 0;
      words >> version;
      if (kind != kMagic || version != kVersion) wrong(fmt::format("\"{}\"", line));
    } else if (kind == "generation") {
      words >> index.generation;
    } else if (kind == "array") {
      std::string dtype;
      int rank = 0;
      words >> dtype >> rank;
      if (!words || !dtype_from_name(dtype) || rank < 0 || rank > kRankMax)
        wrong(fmt::format("an array of dtype \"{}\" and rank {}", dtype, rank));
      SavedArray array{"", {*dtype_from_name(dtype), Shape(std::size_t(rank))}, {}};
      for (std::int64_t& extent : array.type.shape) words >> extent;
      std::getline(words >> std::ws, array.name);
      if (array.name.empty()) wrong("an array without a name");
      index.arrays.push_back(std::move(array));
    } else if (kind == "part" && !index.arrays.empty()) {
      SavedPart part{0, 0, Box(index.arrays.back().type.shape.size())};
      words >> part.process >> part.offset;
      for (Interval& interval : part.box) words >> interval.start >> interval.stop;
      if (!words) wrong("a part without its numbers");
      index.arrays.back().parts.push_back(std::move(part));
    } else if (kind == "end") {
      ended = true;
    } else {
      wrong(fmt::format("\"{}\"", line));
    }
  }
  if (!ended) wrong("the end is missing");
  return index;
}

std::string read_file(const std::string& path) {
  File file(path, O_RDONLY);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail("cannot be read", path);
  std::string text(std::size_t(status.st_size), '\0');
  for (std::size_t at = 0; at < text.size();) {
    ssize_t n = ::read(file.get(), text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("cannot be read", path);
    if (n == 0) throw IoError(fmt::format("{} became shorter while it was read", path));
    at += std::size_t(n);
  }
  return text;
}

void write_atomically(const std::string& path, const std::vector<std::span<const std::byte>>& parts) {
  std::string partial = path + ".partial";
  {
    File file(partial, O_WRONLY | O_CREAT | O_TRUNC);
    for (std::span<const std::byte> part : parts) write_all(file.get(), part, partial);
    if (::fsync(file.get()) != 0) fail("cannot be brought to disk", partial);
  }
  if (::rename(partial.c_str(), path.c_str()) != 0) fail("cannot be written", path);
  File folder(std::filesystem::path(path).parent_path().string(), O_RDONLY | O_DIRECTORY);
  if (::fsync(folder.get()) != 0) fail("cannot be brought to disk", path);
}

}  // namespace shardlab::checkpoints
