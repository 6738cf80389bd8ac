// The memory that the processes of one host share: a doorbell and a board for each process, a ring for each pair.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime/base/where.h"

namespace shardlab {

// A stream of bytes from one process to another. Positions only grow; the writer owns `written`, the reader owns `taken`. A writer that
// found no room sets `writer_waits`; the reader that makes room clears it and rings: no other read wakes anybody.
struct ShmRing {
  alignas(64) std::atomic<std::uint64_t> written;
  alignas(64) std::atomic<std::uint64_t> taken;
  std::atomic<std::uint32_t> writer_waits;
};

// Where a process sleeps and is woken. `bell` is the futex word: whoever changes something for that process increments it.
struct ShmDoorbell {
  alignas(64) std::atomic<std::uint32_t> bell;
  std::atomic<std::uint32_t> sleeping;
  std::atomic<std::uint32_t> aborted;
};

// What a process began last, in its own words: it outlives the process, and whoever started it reads it there. Written by the process
// alone; `version` is odd meanwhile.
struct ShmPlace {
  static constexpr std::size_t kTextMax = 240;
  alignas(64) std::atomic<std::uint32_t> version;
  std::uint32_t line;
  std::int32_t statement;
  char file[kTextMax], function[kTextMax];
};

// A mapping of the segment. The creator owns the memory: it lives as long as the creator or any process that opened it. It is an
// anonymous memory file, named by the creator's descriptor (/proc/PID/fd/N), so nothing is left behind whoever dies; where /proc cannot
// be used, a file in /dev/shm or $TMPDIR that the creator removes.
class ShmSegment {
 public:
  static constexpr std::size_t kTotalBytesMax = std::size_t(64) << 20;  // of all rings, unless there are very many processes
  static constexpr std::size_t kRingBytesMin = std::size_t(64) << 10;
  static constexpr std::size_t kRingBytesMax = std::size_t(1) << 20;

  static std::unique_ptr<ShmSegment> create(int num_processes);
  // Throws IoError when there is no segment of that name, or it is not one of ours.
  static std::unique_ptr<ShmSegment> open(const std::string& name);
  ~ShmSegment();
  ShmSegment(const ShmSegment&) = delete;
  ShmSegment& operator=(const ShmSegment&) = delete;

  const std::string& name() const { return name_; }
  int num_processes() const { return num_processes_; }
  std::size_t ring_bytes() const { return ring_bytes_; }
  ShmDoorbell& doorbell(int process) const;
  ShmRing& ring(int from, int to) const;
  std::byte* ring_data(int from, int to) const;

  void put_place(int process, Where where) const;
  Where place(int process) const;  // unknown where it put none, or died in the middle of it

  // Who makes a segment for others waits until they have opened it, lest it end before; false when the time was over.
  void arrive() const;
  bool wait_arrived(int others, std::chrono::milliseconds limit) const;

  // Wakes the process if it sleeps.
  void ring_bell(int process) const;
  // Every present and later exchange of that process ends; callable from any process.
  void abort(int process) const;
  void abort_all() const;

 private:
  ShmSegment() = default;
  ShmPlace& board(int process) const;
  void map(int descriptor, std::size_t bytes);

  std::string name_;
  std::string remove_path_;  // the creator's, where it is a file
  int descriptor_ = -1;
  int num_processes_ = 0;
  std::size_t ring_bytes_ = 0, bytes_ = 0;
  std::byte* base_ = nullptr;
};

}  // namespace shardlab
