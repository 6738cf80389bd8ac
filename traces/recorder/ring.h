// A ring of records in a file mapped MAP_SHARED: what a process wrote is there for others to read, however it died.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace shardlab::recorder {

constexpr std::size_t kRingBytesDefault = std::size_t(8) << 20;
constexpr std::size_t kRingBytesMin = std::size_t(4) << 10;

struct RingHeader;

// The mapped file. Shared by the producers and the consumer of one process, or opened on what a dead process left.
//
// Positions count the bytes of the whole stream and never wrap; a record's place in the ring is its position modulo the
// capacity. A producer reserves room by moving `head`, writes, and commits by storing a mark that depends on the position; the
// consumer takes what is committed in order and gives room back by moving `tail`. A record never straddles the ring's end.
class RingFile {
 public:
  // Makes the file, with its room on disk reserved. `capacity` is rounded up to a power of two. Throws IoError.
  static RingFile create(const std::string& path, std::size_t capacity, int process, std::int64_t pid);
  // Throws IoError where the file is missing, cut off, or no ring.
  static RingFile open(const std::string& path);
  ~RingFile();
  RingFile(RingFile&& other) noexcept;
  RingFile& operator=(RingFile&&) = delete;

  // Never blocks, never throws; from any thread. False where the ring has no room or the record is larger than half of it: it
  // is then counted as dropped. Under 1 µs for records of a hundred bytes.
  bool write(std::uint32_t type, std::span<const std::byte> body) noexcept;

  std::size_t capacity() const;
  int process() const;
  std::int64_t pid() const;
  std::uint64_t dropped_records() const;
  std::uint64_t dropped_bytes() const;
  // Of the stream: reserved and released so far. Their difference is what the ring holds.
  std::uint64_t head() const;
  std::uint64_t tail() const;
  const std::string& path() const { return path_; }

 private:
  friend class RingReader;
  RingFile(std::string path, void* mapping, std::size_t mapped_bytes);
  void put(std::uint64_t position, std::uint32_t type, std::uint32_t bytes, std::span<const std::byte> body) noexcept;

  std::string path_;
  RingHeader* header_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t mapped_bytes_ = 0;
};

struct RingRecord {
  std::uint64_t position = 0;  // which no other record of this ring shares; ascending
  std::uint32_t type = 0;
  std::span<const std::byte> body;  // until release()
};

enum class Writers : std::uint8_t {
  kAlive,  // an uncommitted record may still be committed: reading stops there
  kDead,   // it never will be: it is counted as torn, and reading goes on behind it
};

// The one consumer of a ring. One thread at a time.
class RingReader {
 public:
  explicit RingReader(RingFile& ring);
  // Visits what is committed and not yet read, at most `limit` records; returns how many.
  std::size_t read(Writers writers, const std::function<void(const RingRecord&)>& visit, std::size_t limit = SIZE_MAX);
  // Gives the room of what was read back to the producers. Without it the next reader of the file reads it again.
  void release();
  // Forgets what was read since the last release(), so that it is read again.
  void rewind();
  // Records that were reserved and never finished, and the bytes skipped for them.
  std::uint64_t torn_records() const { return torn_records_; }
  std::uint64_t torn_bytes() const { return torn_bytes_; }

 private:
  bool valid_at(std::uint64_t position) const;
  std::uint64_t next_valid(std::uint64_t position, std::uint64_t head) const;

  RingFile& ring_;
  std::uint64_t cursor_;
  std::uint64_t torn_records_ = 0, torn_bytes_ = 0;
};

}  // namespace shardlab::recorder
