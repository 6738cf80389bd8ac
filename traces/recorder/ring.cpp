#include "traces/recorder/ring.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/text.h"

namespace shardlab::recorder {

// At the file's start, one page. Counters that different threads write lie on cache lines of their own.
struct RingHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::int32_t process;
  std::int64_t pid;
  std::uint64_t capacity;
  alignas(64) std::atomic<std::uint64_t> head;
  alignas(64) std::atomic<std::uint64_t> tail;
  alignas(64) std::atomic<std::uint64_t> dropped_records;
  std::atomic<std::uint64_t> dropped_bytes;
};

namespace {

constexpr std::uint64_t kMagic = 0x31676e69524c53ULL;  // "SLRing1"
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 4096;
constexpr std::size_t kAlign = 8;
constexpr std::uint32_t kPadding = 0xffffffff;  // the type of what fills the ring's end

static_assert(sizeof(RingHeader) <= kHeaderBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

struct RecordHeader {
  std::atomic<std::uint64_t> mark;  // stored last
  std::uint32_t type;
  std::uint32_t body_bytes;
  std::uint64_t checksum;
};
static_assert(sizeof(RecordHeader) == 24);

// Differs from whatever an earlier round left at the same place.
std::uint64_t mark_of(std::uint64_t position) { return (position + kAlign) * 0x9e3779b97f4a7c15ULL; }

std::uint64_t checksum_of(std::uint64_t position, std::uint32_t type, std::span<const std::byte> body) {
  std::uint64_t hash = hash_word(hash_word(position, type), body.size());
  const std::byte* data = body.data();
  std::size_t left = body.size();
  for (; left >= 8; left -= 8, data += 8) {
    std::uint64_t word;
    std::memcpy(&word, data, 8);
    hash = hash_word(hash, word);
  }
  std::uint64_t last = 0;
  if (left > 0) std::memcpy(&last, data, left);
  return hash_word(hash, last);
}

std::uint64_t record_bytes(std::size_t body_bytes) { return sizeof(RecordHeader) + (body_bytes + kAlign - 1) / kAlign * kAlign; }

void* map(int file, std::size_t bytes, const std::string& path) {
  void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int error = errno;
  close(file);
  if (mapping == MAP_FAILED) throw IoError(fmt::format("{}: cannot be mapped: {}", path, std::strerror(error)));
  return mapping;
}

}  // namespace

RingFile::RingFile(std::string path, void* mapping, std::size_t mapped_bytes)
    : path_(std::move(path)),
      header_(static_cast<RingHeader*>(mapping)),
      data_(static_cast<std::byte*>(mapping) + kHeaderBytes),
      mapped_bytes_(mapped_bytes) {}

RingFile::RingFile(RingFile&& other) noexcept
    : path_(std::move(other.path_)),
      header_(std::exchange(other.header_, nullptr)),
      data_(other.data_),
      mapped_bytes_(other.mapped_bytes_) {}

RingFile::~RingFile() {
  if (header_) munmap(header_, mapped_bytes_);
}

RingFile RingFile::create(const std::string& path, std::size_t capacity, int process, std::int64_t pid) {
  capacity = std::bit_ceil(std::max(capacity, kRingBytesMin));
  const std::size_t bytes = kHeaderBytes + capacity;
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) throw IoError(fmt::format("{}: cannot be made: {}", path, std::strerror(errno)));
  // A sparse file on a full disk would end the process by SIGBUS at some later write.
  if (const int error = posix_fallocate(file, 0, off_t(bytes)); error != 0) {
    close(file);
    unlink(path.c_str());
    throw IoError(fmt::format("{}: no room for {} bytes: {}", path, bytes, std::strerror(error)));
  }
  void* mapping = map(file, bytes, path);
  auto* header = new (mapping) RingHeader{};
  header->version = kVersion;
  header->process = process;
  header->pid = pid;
  header->capacity = capacity;
  std::atomic_ref(header->magic).store(kMagic, std::memory_order_release);
  return RingFile(path, mapping, bytes);
}

RingFile RingFile::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) throw IoError(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  struct stat status {};
  fstat(file, &status);
  const auto bytes = std::size_t(status.st_size);
  if (bytes < kHeaderBytes + kRingBytesMin) {
    close(file);
    throw IoError(fmt::format("{}: {} bytes are too few for a ring", path, bytes));
  }
  RingFile ring(path, map(file, bytes, path), bytes);
  const RingHeader& header = *ring.header_;
  if (header.magic != kMagic || header.version != kVersion) throw IoError(fmt::format("{}: not a ring of this version of shardlab", path));
  if (!std::has_single_bit(header.capacity) || kHeaderBytes + header.capacity != bytes)
    throw IoError(fmt::format("{}: cut off: {} bytes, but a capacity of {}", path, bytes, header.capacity));
  const std::uint64_t head = ring.head(), tail = ring.tail();
  if (tail > head || head - tail > header.capacity || head % kAlign != 0 || tail % kAlign != 0)
    throw IoError(fmt::format("{}: damaged: head {}, tail {}", path, head, tail));
  return ring;
}

void RingFile::put(std::uint64_t position, std::uint32_t type, std::uint32_t bytes, std::span<const std::byte> body) noexcept {
  std::byte* at = data_ + (position & (header_->capacity - 1));
  auto* record = reinterpret_cast<RecordHeader*>(at);
  record->type = type;
  record->body_bytes = bytes;
  record->checksum = checksum_of(position, type, body);
  if (!body.empty()) std::memcpy(at + sizeof(RecordHeader), body.data(), body.size());
  record->mark.store(mark_of(position), std::memory_order_release);
}

bool RingFile::write(std::uint32_t type, std::span<const std::byte> body) noexcept {
  const std::uint64_t capacity = header_->capacity;
  const std::uint64_t bytes = record_bytes(body.size());
  std::uint64_t head = header_->head.load(std::memory_order_relaxed);
  std::uint64_t skip = 0;
  bool room = bytes <= capacity / 2;
  while (room) {
    const std::uint64_t to_end = capacity - (head & (capacity - 1));
    skip = to_end < bytes ? to_end : 0;
    room = head + skip + bytes - header_->tail.load(std::memory_order_acquire) <= capacity;
    if (room && header_->head.compare_exchange_weak(head, head + skip + bytes, std::memory_order_acq_rel, std::memory_order_relaxed)) break;
  }
  if (!room) {
    header_->dropped_records.fetch_add(1, std::memory_order_relaxed);
    header_->dropped_bytes.fetch_add(bytes, std::memory_order_relaxed);
    return false;
  }
  if (skip >= sizeof(RecordHeader)) put(head, kPadding, std::uint32_t(skip - sizeof(RecordHeader)), {});
  put(head + skip, type, std::uint32_t(body.size()), body);
  return true;
}

std::size_t RingFile::capacity() const { return header_->capacity; }
int RingFile::process() const { return header_->process; }
std::int64_t RingFile::pid() const { return header_->pid; }
std::uint64_t RingFile::dropped_records() const { return header_->dropped_records.load(std::memory_order_relaxed); }
std::uint64_t RingFile::dropped_bytes() const { return header_->dropped_bytes.load(std::memory_order_relaxed); }
std::uint64_t RingFile::head() const { return header_->head.load(std::memory_order_acquire); }
std::uint64_t RingFile::tail() const { return header_->tail.load(std::memory_order_acquire); }

RingReader::RingReader(RingFile& ring) : ring_(ring), cursor_(ring.tail()) {}

bool RingReader::valid_at(std::uint64_t position) const {
  const std::uint64_t capacity = ring_.capacity();
  const std::uint64_t offset = position & (capacity - 1);
  if (capacity - offset < sizeof(RecordHeader)) return false;
  const auto* record = reinterpret_cast<const RecordHeader*>(ring_.data_ + offset);
  if (record->mark.load(std::memory_order_acquire) != mark_of(position)) return false;
  if (record->body_bytes > capacity - offset - sizeof(RecordHeader)) return false;
  const std::size_t hashed = record->type == kPadding ? 0 : record->body_bytes;
  return record->checksum == checksum_of(position, record->type, {ring_.data_ + offset + sizeof(RecordHeader), hashed});
}

std::uint64_t RingReader::next_valid(std::uint64_t position, std::uint64_t head) const {
  while (position < head && !valid_at(position)) position += kAlign;
  return std::min(position, head);
}

std::size_t RingReader::read(Writers writers, const std::function<void(const RingRecord&)>& visit, std::size_t limit) {
  const std::uint64_t capacity = ring_.capacity();
  const std::uint64_t head = ring_.head();
  std::size_t count = 0;
  while (cursor_ < head && count < limit) {
    const std::uint64_t offset = cursor_ & (capacity - 1);
    if (capacity - offset < sizeof(RecordHeader)) {  // too short for a header: the record went to the start
      cursor_ += capacity - offset;
      continue;
    }
    if (!valid_at(cursor_)) {
      if (writers == Writers::kAlive) break;
      const std::uint64_t next = next_valid(cursor_ + kAlign, head);
      ++torn_records_;
      torn_bytes_ += next - cursor_;
      cursor_ = next;
      continue;
    }
    const auto* record = reinterpret_cast<const RecordHeader*>(ring_.data_ + offset);
    if (record->type != kPadding) {
      visit({cursor_, record->type, {ring_.data_ + offset + sizeof(RecordHeader), record->body_bytes}});
      ++count;
    }
    cursor_ += record_bytes(record->body_bytes);
  }
  return count;
}

void RingReader::release() { ring_.header_->tail.store(cursor_, std::memory_order_release); }
void RingReader::rewind() { cursor_ = ring_.tail(); }

}  // namespace shardlab::recorder
