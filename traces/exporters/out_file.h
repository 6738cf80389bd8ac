// A file that grows piece by piece.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "runtime/base/error.h"

namespace shardlab::exporters {

// Throws IoError where the file cannot be made or written to its end.
class OutFile {
 public:
  explicit OutFile(std::string path) : path_(std::move(path)), file_(path_, std::ios::binary | std::ios::trunc) { check(); }
  void put(std::string_view bytes) {
    bytes_ += std::int64_t(bytes.size());
    pending_ += bytes;
    if (pending_.size() >= kPendingMax) flush();
  }
  void finish() {
    flush();
    file_.close();
    check();
  }
  const std::string& path() const { return path_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kPendingMax = 1 << 16;
  void flush() {
    file_.write(pending_.data(), std::streamsize(pending_.size()));
    check();
    pending_.clear();
  }
  void check() const {
    if (!file_) throw IoError(fmt::format("{}: cannot be written", path_));
  }
  std::string path_;
  std::ofstream file_;
  std::string pending_;
  std::int64_t bytes_ = 0;
};

}  // namespace shardlab::exporters
